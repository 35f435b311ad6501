/* What ends a context or a stream: what the shim has of it ends before. */
#include "guest/shim/context.h"
#include "guest/shim/driver.h"
#include "guest/shim/fork.h"
#include "guest/shim/memory.h"
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"
#include "guest/shim/share.h"

static void close_device(int device)
{
	if (!cot_shim_is_on())
		return;
	cot_shim_seen_context_gone(NULL);
	cot_shim_merge_contexts_gone();
	cot_shim_contexts_close_device(device);
	cot_shim_parts_close(device);
}

static void close_context(CUcontext ctx)
{
	if (!cot_shim_is_on())
		return;
	cot_shim_seen_context_gone(ctx);
	cot_shim_merge_contexts_gone();
	cot_shim_context_close(ctx);
	if (cot_shim_memory_is_bound())
		cot_shim_memory_context_gone(ctx);
}

static void forget_stream(CUstream stream)
{
	if (!cot_shim_is_on())
		return;
	cot_shim_seen_stream_gone(stream);
	cot_shim_merge_stream_gone(stream);
	cot_shim_stream_gone(stream);
	cot_shim_share_stream_gone(stream);
	if (stream)
		cot_shim_graphs_leave(stream);
	cot_shim_stream_end(stream);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	close_context(ctx);
	return COT_REAL(cuCtxDestroy)(ctx);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	close_context(ctx);
	return COT_REAL(cuCtxDestroy_v2)(ctx);
}

/* NULL: there is none now. */
static CUcontext primary_of(int device)
{
	CUcontext context = NULL;
	unsigned flags;
	int active = 0;

	if (COT_REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) || !active ||
	    COT_REAL(cuDevicePrimaryCtxRetain)(&context, device))
		return NULL;
	(void)COT_REAL(cuDevicePrimaryCtxRelease_v2)(device);
	return context;
}

/* It may be only one of several owners that releases it: the shim then makes its objects there
 * again, and its memory stays. */
static CUresult end_primary(CUresult (*call)(CUdevice device), CUdevice device)
{
	CUcontext before = cot_shim_memory_is_bound() ? primary_of(device) : NULL;
	CUresult rc;

	close_device(device);
	rc = call(device);
	if (before && !primary_of(device))
		cot_shim_memory_context_gone(before);
	return rc;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	return end_primary(COT_REAL(cuDevicePrimaryCtxRelease), device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return end_primary(COT_REAL(cuDevicePrimaryCtxRelease_v2), device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return end_primary(COT_REAL(cuDevicePrimaryCtxReset), device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return end_primary(COT_REAL(cuDevicePrimaryCtxReset_v2), device);
}

CUresult cuStreamDestroy(CUstream stream)
{
	forget_stream(stream);
	return COT_REAL(cuStreamDestroy)(stream);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	forget_stream(stream);
	return COT_REAL(cuStreamDestroy_v2)(stream);
}
