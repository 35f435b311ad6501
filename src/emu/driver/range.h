/*
 * Which addresses are memory of the emulated GPU, or host memory that it may reach: one table for
 * the process, since a device address is a host address here. The interpreter's table of what
 * kernels may touch is kept equal to it. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_RANGE_H
#define COT_EMU_DRIVER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/exec/exec.h"

enum cot_emu_range_kind {
	COT_EMU_RANGE_DEVICE = 1,
	COT_EMU_RANGE_MANAGED = 2,
	COT_EMU_RANGE_HOST = 4,	      /* ours: cuMemHostAlloc */
	COT_EMU_RANGE_REGISTERED = 8, /* the program's: cuMemHostRegister */
	COT_EMU_RANGE_VARIABLE = 16,  /* of a module, which owns the memory */
	COT_EMU_RANGE_MAPPED = 32,    /* at an address that the program chose: cuMemMap */
};

struct cot_emu_context;

struct cot_emu_range {
	uint64_t start, bytes;
	uint64_t id; /* filled in; never used twice */
	enum cot_emu_range_kind kind;
	unsigned flags;
	struct cot_emu_context *context;
	CUdevice device;
	CUmemoryPool pool; /* NULL: none */
	size_t mapped;	   /* bytes of a mapping of its own; 0: from malloc */
};

/* What kernels may touch; NULL when out of memory. */
struct cot_exec_ranges *cot_emu_range_memory(void);

/* 0, -EEXIST, -ENOMEM. */
int cot_emu_range_add(const struct cot_emu_range *range);
/* The range that has this address. */
bool cot_emu_range_find(uint64_t address, struct cot_emu_range *ret_range);
/* Takes away the range that begins here and is of one of the kinds. */
bool cot_emu_range_remove(uint64_t start, unsigned kinds, struct cot_emu_range *ret_range);
/* Takes away one range of the context, or false when there is none left. */
bool cot_emu_range_take(const struct cot_emu_context *context, struct cot_emu_range *ret_range);

#endif
