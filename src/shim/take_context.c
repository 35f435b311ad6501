/* What ends a context or a stream: what the shim has of it ends before. */
#include "shim/entry.h"

int cuCtxDestroy(cot_cu_handle context)
{
	if (cot_shim_is_on())
		cot_shim_context_close(context);
	return COT_REAL(cuCtxDestroy)(context);
}

int cuCtxDestroy_v2(cot_cu_handle context)
{
	if (cot_shim_is_on())
		cot_shim_context_close(context);
	return COT_REAL(cuCtxDestroy_v2)(context);
}

/* One of several owners may let go of it: what the shim had there is then made anew. */
int cuDevicePrimaryCtxRelease(int device)
{
	if (cot_shim_is_on())
		cot_shim_contexts_close_device(device);
	return COT_REAL(cuDevicePrimaryCtxRelease)(device);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	if (cot_shim_is_on())
		cot_shim_contexts_close_device(device);
	return COT_REAL(cuDevicePrimaryCtxRelease_v2)(device);
}

int cuDevicePrimaryCtxReset(int device)
{
	if (cot_shim_is_on())
		cot_shim_contexts_close_device(device);
	return COT_REAL(cuDevicePrimaryCtxReset)(device);
}

int cuDevicePrimaryCtxReset_v2(int device)
{
	if (cot_shim_is_on())
		cot_shim_contexts_close_device(device);
	return COT_REAL(cuDevicePrimaryCtxReset_v2)(device);
}

int cuStreamDestroy(cot_cu_handle stream)
{
	if (cot_shim_is_on())
		cot_shim_stream_gone(stream);
	return COT_REAL(cuStreamDestroy)(stream);
}

int cuStreamDestroy_v2(cot_cu_handle stream)
{
	if (cot_shim_is_on())
		cot_shim_stream_gone(stream);
	return COT_REAL(cuStreamDestroy_v2)(stream);
}
