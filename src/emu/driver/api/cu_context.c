/* Contexts: a thread's current one, a device's primary one, settings, waiting. */
#include "emu/driver/capture.h"
#include "emu/driver/driver.h"

static struct cot_emu_context *of_handle(CUcontext ctx)
{
	return (struct cot_emu_context *)ctx;
}

/* ---- current context ---- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	return ctx && cot_emu_current_push(of_handle(ctx)) ? CUDA_SUCCESS
							   : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!cot_emu_current_pop(&c))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx)
		*ctx = (CUcontext)c;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	cot_emu_current_set(of_handle(ctx));
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = (CUcontext)cot_emu_current_top();
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
	struct cot_emu_context *c = of_handle(ctx);
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!c || c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	cot_emu_current_forget(c);
	cot_emu_context_free(c);
	return CUDA_SUCCESS;
}

/* ---- a device's primary context ---- */

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned primary_flags[COT_EMU_MAX_GPUS]; /* under the lock */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primary_lock);
	c = cot_emu_context_primary(device);
	if (!c)
		result = cot_emu_context_make(device, 0, &c);
	if (!result) {
		c->primary = true;
		c->n_refs++;
		*ctx = (CUcontext)c;
	}
	pthread_mutex_unlock(&primary_lock);
	return result;
}

/* With the lock held. */
static void drop_primary(struct cot_emu_context *c)
{
	c->primary = false;
	cot_emu_current_forget(c);
	cot_emu_context_free(c);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	pthread_mutex_lock(&primary_lock);
	c = cot_emu_context_primary(device);
	if (!c)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--c->n_refs)
		drop_primary(c);
	pthread_mutex_unlock(&primary_lock);
	return result;
}

/* The next one who retains it gets a new one. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	c = cot_emu_context_primary(device);
	if (c)
		drop_primary(c);
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	const struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	c = cot_emu_context_primary(device);
	if (active)
		*active = c != NULL;
	if (flags)
		*flags = primary_flags[device];
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	primary_flags[device] = flags;
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

/* ---- settings of the current context ---- */

CUresult cuCtxGetFlags(unsigned *flags)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result || !flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*flags = c->primary ? primary_flags[c->device] : c->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_context_get(ctx, &c);

	if (result || !id)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*id = c->id;
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
	struct cot_emu_context *c;
	CUresult result = cot_emu_context_get(ctx, &c);

	if (!result)
		result = cot_emu_capture_check_unsafe();
	return result ? result : cot_emu_context_drain(c);
}

CUresult cuCtxSynchronize(void)
{
	return cuCtxSynchronize_v2(NULL);
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

/* ---- profilers: nobody listens ---- */

CUresult cuProfilerStart(void)
{
	return cot_emu_ready();
}

CUresult cuProfilerStop(void)
{
	return cot_emu_ready();
}
