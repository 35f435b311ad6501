/* Contexts, and the table for the MPS server. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/export.h"
#include "emu/mps/client.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_context *contexts; /* under list_lock */

static _Thread_local struct cot_emu_context *stack[COT_EMU_CTX_STACK];
static _Thread_local unsigned depth;

static struct cot_emu_context *of_handle(CUcontext ctx)
{
	return (struct cot_emu_context *)ctx;
}

/* A share of the SMs, as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE gives to a client. */
static uint32_t sms_of_client(uint32_t n_sms)
{
	const char *s = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	double pct = s ? strtod(s, NULL) : 100;
	uint32_t n;

	if (!cot_emu_under_mps() || !(pct > 0 && pct < 100))
		return n_sms;
	n = (uint32_t)(n_sms * pct / 100);
	return n ? n : 1;
}

static CUresult join_pool(struct cot_emu_context *c)
{
	uint32_t tokens[COT_EMU_POOL_CHANNELS], i;
	CUresult result;

	/* The server sees the same GPUs as we do: under MPS it is the daemon that chooses them. */
	result = cot_mps_join(c->device, &c->pool, tokens, COT_EMU_CTX_CHANNELS, &c->n_channels);
	if (result)
		return result;
	for (i = 0; i < c->n_channels; i++)
		c->channels[i] = cot_emu_channel_of_token(tokens[i]);
	return CUDA_SUCCESS;
}

static CUresult fill_context(struct cot_emu_context *c)
{
	CUresult result;

	if (!c->shared && cot_emu_under_mps()) {
		result = join_pool(c);
		if (result)
			return result;
	}
	result = cot_emu_hardware_create(c);
	if (result)
		goto err_pool;
	result = cot_emu_stream_make(c, &c->null_stream);
	if (result)
		goto err_hardware;
	return CUDA_SUCCESS;
err_hardware:
	cot_emu_hardware_destroy(c);
err_pool:
	if (c->pool >= 0)
		cot_mps_leave(c->pool);
	return result;
}

CUresult cot_emu_context_make(CUdevice device, unsigned n_shared_channels,
			      struct cot_emu_context **ret_context)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	if (n_shared_channels > COT_EMU_POOL_CHANNELS)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->device = device;
	c->shared = n_shared_channels > 0;
	c->n_channels = c->shared ? n_shared_channels : COT_EMU_CTX_CHANNELS;
	c->n_sms = sms_of_client(cot_emu_gpu_config(cot_emu_machine())->params.n_sms);
	c->pool = -1;
	pthread_mutex_init(&c->lock, NULL);
	result = fill_context(c);
	if (result) {
		free(c);
		return result;
	}
	pthread_mutex_lock(&list_lock);
	c->next = contexts;
	contexts = c;
	pthread_mutex_unlock(&list_lock);
	*ret_context = c;
	return CUDA_SUCCESS;
}

void cot_emu_context_free(struct cot_emu_context *c)
{
	struct cot_emu_context **at;
	struct CUstream_st *s;

	pthread_mutex_lock(&list_lock);
	for (at = &contexts; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	pthread_mutex_unlock(&list_lock);
	/* The work goes with the context; what it would have done to memory is not done. */
	while ((s = c->streams)) {
		c->streams = s->next;
		cot_emu_stream_abandon(s);
		cot_emu_stream_unref(s);
	}
	cot_emu_hardware_destroy(c);
	if (c->pool >= 0)
		cot_mps_leave(c->pool);
	cot_emu_modules_free(c);
	cot_emu_blocks_free(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

CUresult cot_emu_current(struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!depth || !stack[depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = stack[depth - 1];
	return (CUresult)atomic_load(&stack[depth - 1]->fault);
}

/* ---- current context ---- */

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx || depth == COT_EMU_CTX_STACK)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack[depth++] = of_handle(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ctx)
		*ctx = (CUcontext)stack[depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!depth)
		depth = 1;
	stack[depth - 1] = of_handle(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = depth ? (CUcontext)stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = c->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

static struct CUstream_st *nth_stream(struct cot_emu_context *c, uint32_t n)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s && n; s = s->next)
		n--;
	if (s)
		cot_emu_stream_ref(s);
	pthread_mutex_unlock(&c->lock);
	return s;
}

CUresult cuCtxSynchronize(void)
{
	struct cot_emu_context *c;
	struct CUstream_st *s;
	CUresult result = cot_emu_current(&c);
	uint32_t i;

	for (i = 0; !result && (s = nth_stream(c, i)); i++) {
		result = cot_emu_stream_drain(s, true);
		cot_emu_stream_unref(s);
	}
	return result;
}

/* ---- making and destroying ---- */

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result;

	(void)flags; /* how to wait: we always sleep */
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_context_make(device, 0, &c);
	if (result)
		return result;
	*ctx = (CUcontext)c;
	return cuCtxPushCurrent_v2(*ctx);
}

static void forget_current(const struct cot_emu_context *c)
{
	if (depth && stack[depth - 1] == c)
		depth--;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct cot_emu_context *c = of_handle(ctx);
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!c || c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	forget_current(c);
	cot_emu_context_free(c);
	return CUDA_SUCCESS;
}

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cot_emu_context *find_primary(CUdevice device)
{
	struct cot_emu_context *c;

	pthread_mutex_lock(&list_lock);
	for (c = contexts; c && !(c->primary && c->device == device); c = c->next)
		;
	pthread_mutex_unlock(&list_lock);
	return c;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primary_lock);
	c = find_primary(device);
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

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	pthread_mutex_lock(&primary_lock);
	c = find_primary(device);
	if (!c)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--c->n_refs) {
		forget_current(c);
		cot_emu_context_free(c);
	}
	pthread_mutex_unlock(&primary_lock);
	return result;
}

/* ---- for the MPS server ---- */

static CUresult mps_create(CUdevice device, unsigned n_channels, uint32_t *ret_tokens,
			   struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_context_make(device, n_channels, ret_context);
	unsigned i;

	for (i = 0; !result && i < n_channels; i++)
		ret_tokens[i] = cot_emu_channel_token((*ret_context)->channels[i]);
	return result;
}

static bool mps_faulted(struct cot_emu_context *c)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	const struct cot_emu_group *g;
	bool faulted;

	if (!m)
		return true;
	g = cot_emu_model_group(m, cot_emu_model_group_of(m, c->channels[0]));
	faulted = !g || g->faulted;
	cot_emu_gpu_commit(gpu, false);
	return faulted;
}

static void mps_bury(void)
{
	cot_emu_gpu_bury(cot_emu_machine());
}

static const struct cot_emu_export_mps export_mps = {
	.size = sizeof(export_mps),
	.create = mps_create,
	.destroy = cot_emu_context_free,
	.faulted = mps_faulted,
	.bury = mps_bury,
};

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const CUuuid mps_id = COT_EMU_EXPORT_MPS_ID;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (memcmp(id, &mps_id, sizeof(mps_id)))
		return CUDA_ERROR_NOT_FOUND;
	*table = &export_mps;
	return CUDA_SUCCESS;
}
