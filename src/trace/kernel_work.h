/*
 * The keys of a written kernel that say what its blocks do, for kernels that share the GPU's issue
 * slots and memory with others. Private to src/trace.
 */
#ifndef COT_TRACE_KERNEL_WORK_H
#define COT_TRACE_KERNEL_WORK_H

#include "trace/program.h"

#define COT_WARP_THREADS 32u

/* Checks them and fills *ret_work; a mistake is placed at the kernel's `node` of the document. */
int cot_kernel_work_read(const struct cot_yaml *doc, const struct cot_written_kernel *written,
			 uint32_t node, struct cot_kernel_work *ret_work, struct cot_error *err);

#endif
