/* Device resources, and green contexts on them. */
#include "emu/driver/green.h"

#include "emu/driver/inside.h"

/* ---- resources ---- */

static CUresult check_type(const CUdevResource *resource, CUdevResourceType type)
{
	if (!resource)
		return CUDA_ERROR_INVALID_VALUE;
	return type == CU_DEV_RESOURCE_TYPE_SM ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_TYPE;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	CUresult result = cot_emu_ready();

	if (!result && cot_emu_visible(device) < 0)
		result = CUDA_ERROR_INVALID_DEVICE;
	if (!result)
		result = check_type(resource, type);
	return result ? result : cot_emu_resource_of_device(device, resource);
}

CUresult cuCtxGetDevResource(CUcontext ctx, CUdevResource *resource, CUdevResourceType type)
{
	struct cot_emu_place place;
	CUresult result = cot_emu_place_get(ctx, &place);

	if (!result)
		result = check_type(resource, type);
	if (result)
		return result;
	if (!place.green)
		return cot_emu_resource_of_device(place.context->device, resource);
	cot_emu_resource_of_part(&place.green->part, resource);
	return CUDA_SUCCESS;
}

static CUresult get_green(CUgreenCtx ctx, struct CUgreenCtx_st **ret_green)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_green_get(ctx, ret_green);
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx ctx, CUdevResource *resource, CUdevResourceType type)
{
	struct CUgreenCtx_st *g;
	CUresult result = get_green(ctx, &g);

	if (!result)
		result = check_type(resource, type);
	if (!result)
		cot_emu_resource_of_part(&g->part, resource);
	return result;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned *n, const CUdevResource *whole,
				     CUdevResource *rest, unsigned flags, unsigned least)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!n || !whole || (parts && !*n))
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_resource_split(whole, flags, least, parts, n, rest);
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned n)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!desc || !resources || !n)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_resource_describe(resources, n, desc);
}

/* ---- green contexts ---- */

CUresult cuGreenCtxCreate(CUgreenCtx *ctx, CUdevResourceDesc desc, CUdevice device, unsigned flags)
{
	struct cot_emu_context *primary;
	struct CUgreenCtx_st *g;
	struct cot_emu_part part;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	result = cot_emu_resource_described(desc, &part);
	if (!result && part.device != device)
		result = CUDA_ERROR_INVALID_VALUE;
	primary = result ? NULL : cot_emu_context_primary(device);
	if (primary)
		cot_emu_context_settle(primary);
	if (!result)
		result = cot_emu_green_make(&part, &g);
	if (!result)
		*ctx = g;
	return result;
}

CUresult cuGreenCtxDestroy(CUgreenCtx ctx)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_green_destroy(ctx);
}

CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
	struct CUgreenCtx_st *g;
	CUresult result = get_green(green, &g);

	if (result || !context)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*context = cot_emu_green_context(g);
	return CUDA_SUCCESS;
}

/* NULL: the current one. */
CUresult cuGreenCtxGetId(CUgreenCtx ctx, unsigned long long *id)
{
	struct CUgreenCtx_st *g = cot_emu_current_place().green;
	CUresult result = ctx ? get_green(ctx, &g) : cot_emu_ready();

	if (result || !id)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (!g)
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = g->id;
	return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned flags, int priority)
{
	struct cot_emu_place place;
	struct CUgreenCtx_st *g;
	struct CUstream_st *s;
	CUresult result = get_green(ctx, &g);

	if (result)
		return result;
	if (!stream || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	place = (struct cot_emu_place){g->context, g};
	result = cot_emu_stream_make(place, flags, cot_emu_stream_priority(priority), &s);
	if (!result)
		result = cot_emu_barrier_join(place, s);
	if (!result)
		*stream = s;
	return result;
}

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *ctx)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !ctx)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*ctx = s->green;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !ctx || !green)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*ctx = (CUcontext)s->context;
	*green = s->green;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx ctx, CUevent event)
{
	struct CUgreenCtx_st *g;
	CUresult result = get_green(ctx, &g);

	if (result || !event)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	return cot_emu_place_record((struct cot_emu_place){g->context, g}, event);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx ctx, CUevent event)
{
	struct CUgreenCtx_st *g;
	CUresult result = get_green(ctx, &g);

	if (result || !event)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	return cot_emu_place_wait((struct cot_emu_place){g->context, g}, event);
}
