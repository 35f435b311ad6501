/* A machine (machine.h) that is a GPU: a module on it, and launches on cuda->stream. */
#ifndef COT_KERNELS_LAUNCH_CUDA_MACHINE_H
#define COT_KERNELS_LAUNCH_CUDA_MACHINE_H

#include "kernels/launch/cuda.h"
#include "kernels/launch/machine.h"

#define COT_CUDA_MACHINE_ENTRIES 64u

struct cot_cuda_machine {
	struct cot_machine base; /* first */
	struct cot_cuda *cuda;	 /* not owned */
	CUmodule module;
	struct {
		char name[128];
		CUfunction function;
	} entries[COT_CUDA_MACHINE_ENTRIES]; /* those asked for so far */
	uint32_t n_entries;
};

int cot_cuda_machine_init(struct cot_cuda_machine *m, struct cot_cuda *cuda, const char *ptx,
			  struct cot_error *err);
void cot_cuda_machine_finish(struct cot_cuda_machine *m);

int cot_cuda_machine_function(struct cot_cuda_machine *m, const char *entry,
			      CUfunction *ret_function, struct cot_error *err);

#endif
