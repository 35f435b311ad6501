/*
 * What the probe calls of CUDA's driver, which it opens itself: most of it is optional in a driver.
 * No header of NVIDIA's and nothing else of this repository is needed.
 */
#ifndef COT_BENCH_CONSOLIDATE_PROBE_CUDA_H
#define COT_BENCH_CONSOLIDATE_PROBE_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int result;		    /* CUresult */
typedef unsigned long long pointer; /* CUdeviceptr */
typedef struct context *context;
typedef struct module *module;
typedef struct function *function;
typedef struct stream *stream;
typedef struct event *event;

enum { NOT_IN_DRIVER = -1, EVENT_ORDER_ONLY = 2, EVENT_INTERPROCESS = 4, STREAM_NON_BLOCKING = 1 };
enum { NOT_READY = 600 };
enum { HANDLE_FD = 1, MEMORY_PINNED = 1, LOCATION_DEVICE = 1, ACCESS_READ_WRITE = 3 };
enum { WAIT_AT_LEAST = 0, OPEN_LAZILY = 1, HOST_MAPPED = 2 };

struct ipc_handle {
	char bytes[64];
};

struct location {
	int type, device;
};

struct memory_kind { /* CUmemAllocationProp */
	int type, handles;
	struct location location;
	void *windows;
	unsigned char flags[8];
};

struct access {
	struct location location;
	int flags;
};

#define PROBE_CALLS(F)                                                                           \
	F(cuInit, (unsigned))                                                                    \
	F(cuDriverGetVersion, (int *))                                                           \
	F(cuDeviceGetName, (char *, int, int))                                                   \
	F(cuGetErrorName, (result, const char **))                                               \
	F(cuDevicePrimaryCtxRetain, (context *, int))                                            \
	F(cuCtxSetCurrent, (context))                                                            \
	F(cuModuleLoadData, (module *, const void *))                                            \
	F(cuModuleGetFunction, (function *, module, const char *))                               \
	F(cuLaunchKernel, (function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, stream, void **, void **))                                  \
	F(cuStreamCreate, (stream *, unsigned))                                                  \
	F(cuStreamSynchronize, (stream))                                                         \
	F(cuStreamQuery, (stream))                                                               \
	F(cuStreamWaitEvent, (stream, event, unsigned))                                          \
	F(cuStreamWaitValue32_v2, (stream, pointer, uint32_t, unsigned))                         \
	F(cuStreamWriteValue32_v2, (stream, pointer, uint32_t, unsigned))                        \
	F(cuEventCreate, (event *, unsigned))                                                    \
	F(cuEventRecord, (event, stream))                                                        \
	F(cuIpcGetEventHandle, (struct ipc_handle *, event))                                     \
	F(cuIpcOpenEventHandle, (event *, struct ipc_handle))                                    \
	F(cuMemAlloc_v2, (pointer *, size_t))                                                    \
	F(cuMemcpyDtoH_v2, (void *, pointer, size_t))                                            \
	F(cuMemsetD32_v2, (pointer, unsigned, size_t))                                           \
	F(cuMemHostRegister_v2, (void *, size_t, unsigned))                                      \
	F(cuIpcGetMemHandle, (struct ipc_handle *, pointer))                                     \
	F(cuIpcOpenMemHandle_v2, (pointer *, struct ipc_handle, unsigned))                       \
	F(cuMemGetAllocationGranularity, (size_t *, const struct memory_kind *, int))            \
	F(cuMemAddressReserve, (pointer *, size_t, size_t, pointer, unsigned long long))         \
	F(cuMemAddressFree, (pointer, size_t))                                                   \
	F(cuMemCreate,                                                                           \
	  (unsigned long long *, size_t, const struct memory_kind *, unsigned long long))        \
	F(cuMemMap, (pointer, size_t, size_t, unsigned long long, unsigned long long))           \
	F(cuMemSetAccess, (pointer, size_t, const struct access *, size_t))                      \
	F(cuMemExportToShareableHandle, (void *, unsigned long long, int, unsigned long long))   \
	F(cuMemImportFromShareableHandle, (unsigned long long *, void *, int))

struct cuda {
#define F(name, parameters) result(*name) parameters;
	PROBE_CALLS(F)
#undef F
};

/* 0: there is no libcuda.so.1. A call that it does not have is NULL. */
int probe_cuda_open(struct cuda *cuda);

/* fill: p[i] = p[i] * by + plus + i. mark: waits ns, then writes value and the time (8 bytes on).
 * look: writes the time at `to` + 8 and what was at `from`. wrong: writes to an address. */
extern const char probe_ptx[];

#endif
