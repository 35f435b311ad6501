/*
 * The CUDA driver, opened at run time: whatever libcuda.so.1 is found, a GPU's or the emulated one.
 * Needs no headers of NVIDIA's. Every call returns 0 or -errno with one sentence in *err that names
 * the driver's function and its error. One context, made by cot_cuda_open(); one thread.
 */
#ifndef COT_KERNELS_RUN_CUDA_H
#define COT_KERNELS_RUN_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct CUctx_st *cot_cuda_context;
typedef struct CUmod_st *cot_cuda_module;
typedef struct CUfunc_st *cot_cuda_function;
typedef struct CUstream_st *cot_cuda_stream;
typedef struct CUevent_st *cot_cuda_event;

/* name in libcuda, name here, parameters */
#define COT_CUDA_CALLS(F)                                                                          \
	F(cuInit, init, (unsigned))                                                                \
	F(cuDriverGetVersion, version, (int *))                                                    \
	F(cuGetErrorName, error_name, (int, const char **))                                        \
	F(cuDeviceGet, device, (int *, int))                                                       \
	F(cuDeviceGetName, device_name, (char *, int, int))                                        \
	F(cuDeviceGetAttribute, device_attribute, (int *, int, int))                               \
	F(cuCtxCreate_v2, context_create, (cot_cuda_context *, unsigned, int))                     \
	F(cuCtxDestroy_v2, context_destroy, (cot_cuda_context))                                    \
	F(cuCtxGetStreamPriorityRange, priorities, (int *, int *))                                 \
	F(cuMemAlloc_v2, alloc, (uint64_t *, size_t))                                              \
	F(cuMemFree_v2, free, (uint64_t))                                                          \
	F(cuMemAllocHost_v2, alloc_host, (void **, size_t))                                        \
	F(cuMemFreeHost, free_host, (void *))                                                      \
	F(cuMemcpyHtoD_v2, to_gpu, (uint64_t, const void *, size_t))                               \
	F(cuMemcpyDtoH_v2, from_gpu, (void *, uint64_t, size_t))                                   \
	F(cuMemcpyHtoDAsync_v2, to_gpu_async, (uint64_t, const void *, size_t, cot_cuda_stream))   \
	F(cuMemcpyDtoDAsync_v2, on_gpu_async, (uint64_t, uint64_t, size_t, cot_cuda_stream))       \
	F(cuMemsetD32Async, fill_async, (uint64_t, unsigned, size_t, cot_cuda_stream))             \
	F(cuStreamCreateWithPriority, stream_create, (cot_cuda_stream *, unsigned, int))           \
	F(cuStreamDestroy_v2, stream_destroy, (cot_cuda_stream))                                   \
	F(cuStreamSynchronize, stream_wait, (cot_cuda_stream))                                     \
	F(cuEventCreate, event_create, (cot_cuda_event *, unsigned))                               \
	F(cuEventDestroy_v2, event_destroy, (cot_cuda_event))                                      \
	F(cuEventRecord, event_record, (cot_cuda_event, cot_cuda_stream))                          \
	F(cuEventQuery, event_query, (cot_cuda_event))                                             \
	F(cuEventElapsedTime, event_elapsed, (float *, cot_cuda_event, cot_cuda_event))            \
	F(cuModuleLoadDataEx, module_load,                                                         \
	  (cot_cuda_module *, const void *, unsigned, int *, void **))                             \
	F(cuModuleUnload, module_unload, (cot_cuda_module))                                        \
	F(cuModuleGetFunction, function_get, (cot_cuda_function *, cot_cuda_module, const char *)) \
	F(cuFuncGetAttribute, function_attribute, (int *, int, cot_cuda_function))                 \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy,                                  \
	  (int *, cot_cuda_function, int, size_t))                                                 \
	F(cuLaunchKernel, launch,                                                                  \
	  (cot_cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
	   unsigned, cot_cuda_stream, void **, void **))

struct cot_cuda {
	void *library;
	cot_cuda_context context;
	cot_cuda_stream stream; /* for kernels */
	cot_cuda_stream urgent; /* of the highest priority: writes flags while kernels run */
	char name[128];
	int driver_version, n_sms, capability;
	uint32_t *word; /* pinned: what flag writes come from */
#define F(symbol, name, parameters) int(*name) parameters;
	COT_CUDA_CALLS(F)
#undef F
	/* Not in every driver; NULL where it is missing. */
	int (*write_value)(cot_cuda_stream, uint64_t, uint32_t, unsigned);
};

/* Function attributes. */
enum {
	COT_CUDA_SHARED_BYTES = 1,
	COT_CUDA_LOCAL_BYTES = 3,
	COT_CUDA_REGISTERS = 4,
};

enum { COT_CUDA_NOT_READY = 600 };

/* Opens the library and makes a context on GPU `ordinal`. */
int cot_cuda_open(struct cot_cuda *cuda, int ordinal, struct cot_error *err);
void cot_cuda_close(struct cot_cuda *cuda);

/* 0 for success; otherwise a sentence from what was called and the driver's name of the error. */
int cot_cuda_check(const struct cot_cuda *cuda, int result, const char *what,
		   struct cot_error *err);

/* Compiles PTX; a failure's sentence has the first line of the compiler's log. */
int cot_cuda_load(const struct cot_cuda *cuda, const char *text, cot_cuda_module *ret_module,
		  struct cot_error *err);

/*
 * Writes one word that running kernels will see, and waits until it is written. `begun` (may be
 * NULL) is recorded right before.
 */
int cot_cuda_poke(const struct cot_cuda *cuda, uint64_t address, uint32_t value,
		  cot_cuda_event begun, struct cot_error *err);

#endif
