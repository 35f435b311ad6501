/*
 * Calls without a stream that may end what a launch uses, or wait for all streams: no launch of the
 * program waits to be merged when they are made. Those that give memory of the GPU back are in
 * entry_bound.c.
 */
#include "guest/shim/driver.h"
#include "guest/shim/merge.h"

#define AFTER_ALL(name, params, args)       \
	CUresult name params                \
	{                                   \
		cot_shim_merge_flush();     \
		return COT_REAL(name) args; \
	}

AFTER_ALL(cuMemFreeHost, (void *ptr), (ptr))
AFTER_ALL(cuMemAddressFree, (CUdeviceptr ptr, size_t bytes), (ptr, bytes))
AFTER_ALL(cuMemSetAccess, (CUdeviceptr ptr, size_t bytes, const CUmemAccessDesc *access, size_t n),
	  (ptr, bytes, access, n))
AFTER_ALL(cuMemHostUnregister, (void *ptr), (ptr))
AFTER_ALL(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value))
AFTER_ALL(cuCtxRecordEvent, (CUcontext ctx, CUevent event), (ctx, event))
AFTER_ALL(cuCtxWaitEvent, (CUcontext ctx, CUevent event), (ctx, event))
AFTER_ALL(cuGreenCtxDestroy, (CUgreenCtx ctx), (ctx))
AFTER_ALL(cuGreenCtxRecordEvent, (CUgreenCtx ctx, CUevent event), (ctx, event))
AFTER_ALL(cuGreenCtxWaitEvent, (CUgreenCtx ctx, CUevent event), (ctx, event))
