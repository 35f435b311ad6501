/* Launches of a program that has a part: there, or where the program put them. */
#include "guest/shim/context.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/timed.h"
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

static CUresult launch_at(const struct cot_shim_original *o, CUstream stream)
{
	struct cot_shim_original there = *o;
	CUlaunchConfig config;

	if (stream == o->config->hStream)
		return cot_shim_original_launch(o);
	config = *o->config;
	config.hStream = stream;
	there.config = &config;
	return cot_shim_original_launch(&there);
}

static CUresult launch_at_home(const struct cot_shim_original *o, struct cot_shim_turn *turn,
			       enum cot_shim_why why)
{
	cot_shim_turn_go_home(turn);
	cot_shim_count_stayed(why);
	return launch_at(o, o->config->hStream);
}

/* ---- the first launch on a GPU makes it known to the daemon ---- */

static _Atomic uint32_t n_awaited; /* GPUs */

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
	cot_shim_streams_join(p);
	pthread_mutex_lock(&cot_shim_lock);
	p->gpu = cot_shim_gpu_get(device, (uint32_t)n_sms, uuid);
	if (p->gpu && cot_shim_runtime_start()) {
		cot_shim_gpu_want(p->gpu);
		atomic_store(&p->awaited, true);
		atomic_fetch_add(&n_awaited, 1);
	}
	cot_shim_wake(); /* it may be wanted already, for workers: that there are parts is news */
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
	/* A part is being made, which may take long: it is looked at with the next launch. */
	if (!cot_shim_gate_try(&cot_shim_parts_lock))
		return;
	if (!cot_shim_parts_of(context))
		look_at(context);
	atomic_store(&cot_shim_parts_looked, context);
	cot_shim_gate_open(&cot_shim_parts_lock);
}

/* ---- before the first part ---- */

/* How long the first launch on a GPU waits for what is better made before it. */
#define AWAIT_NS (30 * COT_NS_PER_MS)

/* A program that was started with a limit waits for its part, too. */
static bool is_ready(const struct cot_shim_parts *p)
{
	return p->prepared && (!cot_shim_settings.limited || p->status || atomic_load(&p->first));
}

static void await(struct cot_shim_parts *p)
{
	uint64_t until = cot_now_ns() + AWAIT_NS;

	pthread_mutex_lock(&cot_shim_lock);
	while (!is_ready(p))
		if (!cot_shim_changed_wait(until))
			break;
	pthread_mutex_unlock(&cot_shim_lock);
	if (atomic_exchange(&p->awaited, false))
		atomic_fetch_sub(&n_awaited, 1);
}

bool cot_shim_part_expect(void)
{
	struct cot_shim_parts *p;

	look();
	if (COT_LIKELY(!atomic_load_explicit(&n_awaited, memory_order_relaxed)))
		return false;
	p = cot_shim_parts_current();
	if (!p || !atomic_load(&p->awaited))
		return false;
	await(p);
	return true;
}

static CUstream begin(struct cot_shim_turn *turn, const struct cot_shim_original *o)
{
	CUstream to = cot_shim_turn_begin_launch(turn, o->config->hStream, o->per_thread);

	/* It may be of a context that has parts, but is not known. */
	if (COT_LIKELY(turn->stream != NULL) || !cot_shim_part_expect())
		return to;
	return cot_shim_turn_begin_launch(turn, o->config->hStream, o->per_thread);
}

/* ---- launches ---- */

int cot_shim_part_launch(const struct cot_shim_original *o)
{
	uint32_t live = cot_shim_launch_begin(o->config->hStream, o->per_thread, false);
	struct cot_shim_timed timed;
	struct cot_shim_turn turn;
	enum cot_shim_why why;
	CUstream to;
	CUresult rc;

	to = begin(&turn, o);
	cot_shim_timed_begin(&timed, live, &turn, o, 0);
	if (!cot_shim_turn_part(&turn)) {
		rc = launch_at(o, to);
		cot_shim_count_at_home(&turn, o->config->hStream, o->per_thread);
	} else if (cot_shim_stays(o->function, &why)) {
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
	cot_shim_timed_end(&timed, &turn, rc);
	cot_shim_launch_end(live, &turn, rc);
	cot_shim_turn_end(&turn);
	return rc;
}
