/* Launches of a program that has a part: there, or where the program put them. */
#include "guest/shim/code.h"
#include "guest/shim/context.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/wait.h"

static bool is_refused_on_part(CUresult result, enum cot_shim_why *ret_why)
{
	switch (result) {
	case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
		*ret_why = COT_SHIM_WHY_COOPERATIVE;
		return true;
	case CUDA_ERROR_INVALID_CLUSTER_SIZE:
		*ret_why = COT_SHIM_WHY_CLUSTER;
		return true;
	case CUDA_ERROR_INVALID_RESOURCE_TYPE:
	case CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION:
		*ret_why = COT_SHIM_WHY_PART;
		return true;
	default:
		return false;
	}
}

/* Rewritten kernels run as workers: the daemon has given them their share already. */
static bool follows(CUfunction function, enum cot_shim_why *ret_why)
{
	const struct cot_shim_ref *r = cot_shim_handles_find(function);

	*ret_why = COT_SHIM_WHY_WORKERS;
	return !(r && r->kernel) && !cot_shim_stays(function, ret_why);
}

static CUresult launch_at(const struct cot_shim_original *o, CUstream stream)
{
	CUlaunchConfig config = *o->config;
	struct cot_shim_original there = *o;

	config.hStream = stream;
	there.config = &config;
	return cot_shim_settings.rewrites && !o->cooperative ? cot_shim_launch(&there)
							     : cot_shim_original_launch(&there);
}

static CUresult launch_at_home(const struct cot_shim_original *o, struct cot_shim_turn *turn,
			       enum cot_shim_why why)
{
	cot_shim_turn_go_home(turn);
	cot_shim_count_stayed(why);
	return launch_at(o, o->config->hStream);
}

/* ---- the first launch on a GPU makes it known to the daemon ---- */

static void look_at(CUcontext context)
{
	char uuid[COT_PROTO_NAME_MAX];
	int device, n_sms = 0;
	struct cot_shim_parts *p;

	if (COT_REAL(cuCtxGetDevice)(&device) || !cot_shim_is_primary(context, device) ||
	    COT_REAL(cuDeviceGetAttribute)(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
					   device) ||
	    n_sms <= 0 || n_sms > (int)COT_SMS_MAX)
		return;
	cot_shim_uuid_text(device, uuid);
	p = cot_shim_parts_add(context, device, (uint32_t)n_sms);
	if (!p)
		return;
	pthread_mutex_lock(&cot_shim_lock);
	p->gpu = cot_shim_gpu_get(device, (uint32_t)n_sms, uuid);
	if (p->gpu && cot_shim_runtime_start())
		cot_shim_gpu_want(p->gpu);
	pthread_mutex_unlock(&cot_shim_lock);
}

static void look(void)
{
	CUcontext context = NULL;

	if (COT_REAL(cuCtxGetCurrent)(&context) || !context ||
	    atomic_load_explicit(&cot_shim_parts_looked, memory_order_relaxed) == context)
		return;
	if (cot_shim_parts_of(context)) {
		atomic_store_explicit(&cot_shim_parts_looked, context, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&cot_shim_parts_lock);
	if (!cot_shim_parts_of(context))
		look_at(context);
	atomic_store(&cot_shim_parts_looked, context);
	pthread_mutex_unlock(&cot_shim_parts_lock);
}

int cot_shim_part_launch(const struct cot_shim_original *o)
{
	uint32_t live = atomic_load_explicit(&cot_shim_parts_live, memory_order_relaxed);
	struct cot_shim_turn turn;
	enum cot_shim_why why;
	CUstream to;
	CUresult rc;

	if (COT_UNLIKELY(live == COT_SHIM_PACED))
		cot_shim_pace_wait(cot_shim_stream_find(o->config->hStream, o->per_thread));
	to = cot_shim_turn_begin(&turn, o->config->hStream, o->per_thread);
	if (COT_UNLIKELY(!turn.stream))
		look(); /* of a context that has parts, maybe, but is not known */
	if (!cot_shim_turn_part(&turn)) {
		rc = launch_at(o, to);
		if (COT_UNLIKELY(turn.strays))
			cot_shim_count_stayed(COT_SHIM_WHY_STREAM);
	} else if (!follows(o->function, &why)) {
		rc = launch_at_home(o, &turn, why);
	} else {
		rc = launch_at(o, to);
		if (COT_UNLIKELY(is_refused_on_part(rc, &why)))
			rc = launch_at_home(o, &turn, why);
		else if (COT_UNLIKELY(turn.strays))
			cot_shim_count_stayed(COT_SHIM_WHY_STREAM);
		else
			cot_shim_count_followed();
	}
	if (COT_UNLIKELY(live == COT_SHIM_PACED) && turn.stream && !rc)
		cot_shim_pace_launched(&turn);
	cot_shim_turn_end(&turn);
	return rc;
}
