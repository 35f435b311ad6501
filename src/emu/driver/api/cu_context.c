/* Contexts: a thread's current one, a device's primary one, settings, waiting. */
#include "emu/driver/capture.h"
#include "emu/driver/green.h"
#include "emu/driver/inside.h"

/* ---- current context ---- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	return ctx && cot_emu_current_push(cot_emu_place_of(ctx)) ? CUDA_SUCCESS
								  : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	CUresult result = cot_emu_ready();
	struct cot_emu_place place;

	if (result)
		return result;
	if (!cot_emu_current_pop(&place))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx)
		*ctx = cot_emu_place_handle(place);
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	cot_emu_current_set(cot_emu_place_of(ctx));
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = cot_emu_place_handle(cot_emu_current_place());
	return CUDA_SUCCESS;
}

/* ---- making and destroying ---- */

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result;

	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_context_make(device, 0, &c);
	if (result)
		return result;
	c->flags = flags; /* how to wait: we always sleep */
	*ctx = (CUcontext)c;
	return cuCtxPushCurrent_v2(*ctx);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct cot_emu_place place = cot_emu_place_of(ctx);
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!place.context || place.green || place.context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	cot_emu_current_forget(place.context);
	cot_emu_context_free(place.context);
	return CUDA_SUCCESS;
}

/* ---- a device's primary context ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_primary_retain(device, &c);
	if (!result)
		*ctx = (CUcontext)c;
	return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_primary_release(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_primary_reset(device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	if (active)
		*active = cot_emu_context_primary(device) != NULL;
	if (flags)
		*flags = cot_emu_primary_flags(device);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	cot_emu_primary_set_flags(device, flags);
	return CUDA_SUCCESS;
}

/* ---- settings of the current context ---- */

CUresult cuCtxGetFlags(unsigned *flags)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result || !flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*flags = c->primary ? cot_emu_primary_flags(c->device) : c->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct cot_emu_place place;
	CUresult result = cot_emu_place_get(ctx, &place);

	if (result || !id)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*id = place.green ? place.green->id : place.context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_context_get(ctx, &c);

	if (result || !version)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!value || (unsigned)limit >= COT_EMU_N_LIMITS)
		return value ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
	*value = c->limits[limit];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if ((unsigned)limit >= COT_EMU_N_LIMITS)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	c->limits[limit] = value;
	return CUDA_SUCCESS;
}

/* Caches and banks are not emulated: 0 is no preference, and 1 the banks' width of four bytes. */
static CUresult get_constant(int *ret, int value)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result || !ret)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*ret = value;
	return CUDA_SUCCESS;
}

static CUresult check_current(void)
{
	struct cot_emu_context *c;

	return cot_emu_current(&c);
}

CUresult cuCtxGetCacheConfig(int *config)
{
	return get_constant(config, 0);
}

CUresult cuCtxSetCacheConfig(int config)
{
	(void)config;
	return check_current();
}

CUresult cuCtxGetSharedMemConfig(int *config)
{
	return get_constant(config, 1);
}

CUresult cuCtxSetSharedMemConfig(int config)
{
	(void)config;
	return check_current();
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	return check_current();
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_context_get(ctx, &c);

	if (result || !device)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*device = c->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct cot_emu_place place;
	CUresult result = cot_emu_place_get(ctx, &place);

	if (!result)
		result = cot_emu_capture_check_unsafe();
	return result ? result : cot_emu_place_drain(place);
}

CUresult cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
}

CUresult cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	struct cot_emu_place place;
	CUresult result = cot_emu_place_get(ctx, &place);

	if (result || !event)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	return cot_emu_place_record(place, event);
}

CUresult cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	struct cot_emu_place place;
	CUresult result = cot_emu_place_get(ctx, &place);

	if (result || !event)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	return cot_emu_place_wait(place, event);
}

/* The form of CUDA 13; its parameters are for MPS and graphics, which are refused. */
CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned flags, CUdevice device)
{
	return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(ctx, flags, device);
}

/* ---- peers: each GPU is alone ---- */

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	CUresult result = check_current();

	if (result)
		return result;
	return !peer || flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	CUresult result = check_current();

	if (result)
		return result;
	return peer ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- profilers: there is none ---- */

CUresult cuProfilerStart(void)
{
	return cot_emu_ready();
}

CUresult cuProfilerStop(void)
{
	return cot_emu_ready();
}
