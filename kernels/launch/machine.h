/*
 * Something that runs kernels: the CUDA driver (kernels/launch/cuda_machine.c), or an interpreter
 * in a test. Calls on one machine happen in their order, as if on one stream; launch() may return
 * before the kernel has ended, read() waits for it. Functions return 0, or -errno with one sentence
 * in *err.
 *
 * One thread.
 */
#ifndef COT_KERNELS_LAUNCH_MACHINE_H
#define COT_KERNELS_LAUNCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_MACHINE_MAX_ARGS 67u /* of four fused kernels: 16 each, and what fuse adds */

struct cot_machine;

/* Values of arguments in the machine's byte order, one after the other. */
struct cot_machine_args {
	const void *values[COT_MACHINE_MAX_ARGS];
	uint32_t sizes[COT_MACHINE_MAX_ARGS];
	uint32_t n;
	uint32_t shared_bytes; /* dynamic shared memory of the launch */
};

struct cot_machine_ops {
	int (*alloc)(struct cot_machine *m, size_t bytes, uint64_t *ret_address,
		     struct cot_error *err);
	void (*free)(struct cot_machine *m, uint64_t address);
	int (*write)(struct cot_machine *m, uint64_t address, const void *from, size_t bytes,
		     struct cot_error *err);
	int (*read)(struct cot_machine *m, void *to, uint64_t address, size_t bytes,
		    struct cot_error *err);
	int (*copy)(struct cot_machine *m, uint64_t to, uint64_t from, size_t bytes,
		    struct cot_error *err);
	/* How many blocks of n_threads fit on an SM; at least 1. */
	int (*occupancy)(struct cot_machine *m, const char *entry, uint32_t n_threads,
			 uint32_t *ret_blocks, struct cot_error *err);
	int (*launch)(struct cot_machine *m, const char *entry, const uint32_t grid[3],
		      const uint32_t block[3], const struct cot_machine_args *args,
		      struct cot_error *err);
};

struct cot_machine {
	const struct cot_machine_ops *ops;
	uint32_t n_sms;
};

#endif
