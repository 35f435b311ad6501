/*
 * Device resources: the SMs of a GPU, and how a program divides them. A CUdevResource is a value
 * of the program's, in which the driver keeps notes; a description is what green contexts are made
 * from. Thread-safe.
 *
 *     device -- split --> groups of SMs, and the rest -- describe --> description -- green context
 *
 * A split takes SMs from the lowest number up. So the same split gives the same SMs to every
 * program, as it does to the clients of one MPS server on an H200.
 */
#ifndef COT_EMU_DRIVER_RESOURCE_H
#define COT_EMU_DRIVER_RESOURCE_H

#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/gpu/sms.h"

/* Some of the SMs of a GPU. */
struct cot_emu_part {
	CUdevice device;
	struct cot_emu_sms sms;
	uint32_t n_sms;
	uint32_t split_flags; /* with which it was split off */
	uint32_t cluster;     /* so many blocks may be in a cluster there */
};

/* CUDA_ERROR_NOT_SUPPORTED: this GPU has no green contexts. */
CUresult cot_emu_resource_of_device(CUdevice device, CUdevResource *ret_resource);
void cot_emu_resource_of_part(const struct cot_emu_part *part, CUdevResource *ret_resource);
/*
 * Writes at most *n groups of at least `least` SMs, and says in *n how many; without `groups` only
 * that. `rest` may be NULL.
 */
CUresult cot_emu_resource_split(const CUdevResource *whole, unsigned flags, unsigned least,
				CUdevResource *groups, unsigned *n, CUdevResource *rest);
/* All of them together. There is no way to free a description; the same one is made once. */
CUresult cot_emu_resource_describe(const CUdevResource *resources, unsigned n,
				   CUdevResourceDesc *ret_description);
/* CUDA_ERROR_INVALID_VALUE: there is no such description. */
CUresult cot_emu_resource_described(CUdevResourceDesc description, struct cot_emu_part *ret_part);
/* How many blocks a cluster may have that uses all SMs. */
uint32_t cot_emu_resource_cluster(void);

#endif
