/*
 * A GPU by means of the CUDA driver. Every call returns 0 or -errno with one sentence in *err that
 * names the driver's function and its error. One context, made by cot_cuda_open(); one thread.
 */
#ifndef COT_KERNELS_LAUNCH_CUDA_H
#define COT_KERNELS_LAUNCH_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/driver.h"

struct cot_cuda {
	struct cot_driver api;
	CUcontext context;
	CUstream stream; /* for kernels */
	CUstream urgent; /* of the highest priority: writes flags while kernels run */
	char name[128];
	int driver_version, n_sms, capability;
	uint32_t *word; /* pinned: what flag writes come from */
};

/* Opens the library and makes a context on GPU `ordinal`. */
int cot_cuda_open(struct cot_cuda *cuda, int ordinal, struct cot_error *err);
void cot_cuda_close(struct cot_cuda *cuda);

/* As cot_driver_check(), and as COT_DRIVER_CALL(). */
int cot_cuda_check(const struct cot_cuda *cuda, int result, const char *what,
		   struct cot_error *err);
#define COT_CUDA_CALL(cuda, err, ...) COT_DRIVER_CALL(&(cuda)->api, err, __VA_ARGS__)

/* Compiles PTX; a failure's sentence has the first line of the compiler's log. */
int cot_cuda_load(const struct cot_cuda *cuda, const char *text, CUmodule *ret_module,
		  struct cot_error *err);

/*
 * Writes one word that running kernels will see, and waits until it is written. `begun` (may be
 * NULL) is recorded right before.
 */
int cot_cuda_poke(const struct cot_cuda *cuda, uint64_t address, uint32_t value, CUevent begun,
		  struct cot_error *err);

#endif
