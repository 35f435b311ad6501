/* Which launches wait to be merged, and what ends their waiting; see merge.h. */
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "guest/shim/backend.h"
#include "guest/shim/merge_inside.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "model/merge.h"

/* A launch waits only if another stream had one so recently. */
#define RECENT_NS COT_MERGE_RECENT_NS
/* After a launch has waited in vain, so many do not wait; twice as many after the next one. */
#define VAIN_FIRST 4u
#define VAIN_MAX   256u
/* The timer's precision, which Linux otherwise makes 50 us. */
#define SLACK_NS 1000ul

pthread_mutex_t cot_shim_merge_lock = PTHREAD_MUTEX_INITIALIZER;
__thread bool cot_shim_merge_inside;

/* With cot_shim_merge_lock. */
static struct cot_shim_group group;
static uint32_t n_skip, vain = VAIN_FIRST;
static CUstream last_stream, other_stream; /* the last two that had launches */
static uint64_t last_ns, other_ns;
static struct cot_merge_threads launching;
static CUcontext known_context;
static uint32_t known_sms;

static _Atomic bool releasing; /* that may take some microseconds: launches go on meanwhile */
static _Atomic int late;       /* what a launch failed with that had waited */
static struct cot_shim_bell to_time;
static _Atomic int started; /* the thread: 0 not tried, 1 runs, -1 cannot */

/* ---- release ---- */

/* With the lock: our calls are in the group's context, and do not come back here. */
static void release(void)
{
	CUcontext current = NULL, popped;
	bool was_inside = cot_shim_merge_inside, pushed;
	int rc;

	if (!group.n)
		return;
	cot_shim_merge_inside = true;
	atomic_store(&releasing, true);
	vain = group.n > 1 ? VAIN_FIRST : vain * 2 < VAIN_MAX ? vain * 2 : VAIN_MAX;
	n_skip = group.n > 1 ? 0 : vain;
	pushed = COT_REAL(cuCtxGetCurrent)(&current) || current != group.context;
	if (pushed && COT_REAL(cuCtxPushCurrent_v2)(group.context))
		pushed = false;
	rc = cot_shim_merge_release(&group);
	if (pushed)
		(void)COT_REAL(cuCtxPopCurrent_v2)(&popped);
	if (rc)
		atomic_store(&late, rc);
	atomic_store(&releasing, false);
	cot_shim_merge_inside = was_inside;
}

static void release_all(void)
{
	if (cot_shim_merge_inside)
		return;
	pthread_mutex_lock(&cot_shim_merge_lock);
	release();
	pthread_mutex_unlock(&cot_shim_merge_lock);
}

int cot_shim_merge_late(int rc)
{
	rc = cot_shim_backend_rc(rc);
	if (COT_LIKELY(!atomic_load_explicit(&late, memory_order_relaxed)) || rc)
		return rc;
	return atomic_exchange(&late, 0);
}

static void enter_default(bool ends)
{
	cot_shim_merge_default_entered(ends);
	release_all();
}

static void enter(CUstream stream, bool per_thread, bool ends)
{
	struct cot_shim_merge_stream *s;

	if (cot_shim_merge_inside)
		return;
	if (stream == CU_STREAM_PER_THREAD || (!stream && per_thread))
		return;
	if (!stream || stream == CU_STREAM_LEGACY) {
		enter_default(ends);
		return;
	}
	s = cot_shim_merge_stream_find(stream);
	if (!s)
		return;
	if (!ends)
		atomic_store(&s->unknown, true);
	if (atomic_load(&s->held))
		release_all();
}

static uintptr_t this_thread(void)
{
	return (uintptr_t)&cot_shim_merge_inside;
}

/* Until when others of this thread's group are to come; 0: none are, or it does not wait. */
static uint64_t others_due(const struct cot_shim_merge_stream *s)
{
	uint64_t due_ns = 0;

	pthread_mutex_lock(&cot_shim_merge_lock);
	if (group.n && atomic_load(&s->held))
		due_ns = cot_merge_threads_due(
			&launching, this_thread(), cot_now_ns(),
			group.until_ns - cot_shim_settings.merge_us * 1000ull, group.until_ns);
	pthread_mutex_unlock(&cot_shim_merge_lock);
	return due_ns;
}

/* It would wait anyhow. Until the window ends at most; what comes after it releases the launches.
 * Not asleep: that takes longer than the window. */
static void linger(CUstream stream)
{
	const struct cot_shim_merge_stream *s;

	if (cot_shim_merge_inside || !stream || stream == CU_STREAM_LEGACY ||
	    stream == CU_STREAM_PER_THREAD)
		return;
	s = cot_shim_merge_stream_find(stream);
	while (s && atomic_load(&s->held) && others_due(s))
		(void)sched_yield();
}

void cot_shim_merge_stream_gone(CUstream stream)
{
	struct cot_shim_merge_stream *s;

	if (!atomic_load(&cot_shim_merging) || !stream)
		return;
	if (cot_shim_merge_hooks.stream_gone)
		cot_shim_merge_hooks.stream_gone(stream);
	pthread_mutex_lock(&cot_shim_merge_lock);
	release();
	s = cot_shim_merge_stream_find(stream);
	if (s)
		cot_shim_merge_stream_drop(s);
	last_stream = other_stream = NULL;
	pthread_mutex_unlock(&cot_shim_merge_lock);
}

static void forget_contexts(void)
{
	cot_shim_merge_streams_forget();
	cot_shim_merge_events_forget();
	known_context = NULL;
	last_stream = other_stream = NULL;
}

void cot_shim_merge_contexts_gone(void)
{
	if (!atomic_load(&cot_shim_merging))
		return;
	if (cot_shim_merge_hooks.contexts_gone)
		cot_shim_merge_hooks.contexts_gone();
	pthread_mutex_lock(&cot_shim_merge_lock);
	release();
	forget_contexts();
	pthread_mutex_unlock(&cot_shim_merge_lock);
}

void cot_shim_merge_code_gone(void)
{
	if (!atomic_load(&cot_shim_merging))
		return;
	if (cot_shim_merge_hooks.code_gone)
		cot_shim_merge_hooks.code_gone();
	pthread_mutex_lock(&cot_shim_merge_lock);
	release();
	cot_shim_merge_verdicts_forget();
	pthread_mutex_unlock(&cot_shim_merge_lock);
}

void cot_shim_merge_forget(void)
{
	if (cot_shim_merge_hooks.forget)
		cot_shim_merge_hooks.forget();
	cot_shim_merge_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_store(&cot_shim_merging, false);
	cot_shim_merge_inside = false;
	group.n = 0;
	group.blocks = 0;
	atomic_store(&started, 0);
	atomic_store(&releasing, false);
	atomic_store(&to_time.n_waiting, 0);
	forget_contexts();
}

/* ---- the thread that releases what nothing else does ---- */

static uint64_t next_release(void)
{
	uint64_t until_ns = COT_NEVER;

	pthread_mutex_lock(&cot_shim_merge_lock);
	if (group.n && cot_now_ns() >= group.until_ns)
		release();
	if (group.n)
		until_ns = group.until_ns;
	pthread_mutex_unlock(&cot_shim_merge_lock);
	return until_ns;
}

/* With cot_shim_lock, which it lets go of for all that it does. */
static void time_groups(void)
{
	uint64_t until_ns;

	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
	while (!atomic_load(&cot_shim_stopping)) {
		pthread_mutex_unlock(&cot_shim_lock);
		until_ns = next_release();
		if (until_ns != COT_NEVER)
			cot_shim_pause(until_ns > cot_now_ns() ? until_ns - cot_now_ns() : 0);
		pthread_mutex_lock(&cot_shim_lock);
		if (until_ns == COT_NEVER)
			(void)cot_shim_wait_for(&to_time, cot_now_ns() + COT_NS_PER_S / 10, 0);
	}
	pthread_mutex_unlock(&cot_shim_lock);
	atomic_store(&cot_shim_merging, false);
	release_all();
	pthread_mutex_lock(&cot_shim_lock);
}

static void stop(void)
{
	cot_shim_ring(&to_time);
	cot_shim_count_say_merged();
}

static bool start(void)
{
	int is = atomic_load(&started);

	if (COT_LIKELY(is))
		return is > 0;
	pthread_mutex_lock(&cot_shim_lock);
	if (!atomic_load(&started)) {
		cot_shim_merge_hooks = (struct cot_shim_merge_hooks){
			.enter = enter, .linger = linger, .release_all = release_all, .stop = stop};
		is = cot_shim_runtime_start() && cot_shim_runtime_start_one(time_groups) ? 1 : -1;
		atomic_store(&cot_shim_merging, is > 0);
		atomic_store(&started, is);
	}
	pthread_mutex_unlock(&cot_shim_lock);
	return atomic_load(&started) > 0;
}

/* ---- which launches ---- */

/* What was found last of a kernel: the threads of a block that was launched before, and how many
 * such blocks fit an SM. */
static uint32_t known_room(const struct cot_shim_ref *ref, uint32_t threads)
{
	uint64_t known = atomic_load(&ref->fit);

	return (uint32_t)known == threads ? (uint32_t)(known >> 32) : 0;
}

static void learn_room(const struct cot_shim_original *o, struct cot_shim_ref *ref)
{
	uint32_t threads = o->config->block[0] * o->config->block[1] * o->config->block[2];
	int n = 0;

	if (!COT_REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&n, o->function, (int)threads,
								   0) &&
	    n > 0)
		atomic_store(&ref->fit, (uint64_t)n << 32 | threads);
}

static enum cot_shim_why obstacle_of_stream(CUstream stream)
{
	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return COT_SHIM_WHY_MERGE_STREAM;
	if (cot_shim_any_capture())
		return COT_SHIM_WHY_CAPTURED;
	/* A pace, a hold, or a request of which the launch is a task. */
	if (atomic_load(&cot_shim_parts_live) == COT_SHIM_WATCHED)
		return COT_SHIM_WHY_MERGE_OTHERS;
	return COT_SHIM_WHY_NOT;
}

enum cot_shim_why cot_shim_merge_shape(const struct cot_shim_original *o,
				       const struct cot_shim_ref *ref, struct cot_shim_held *h)
{
	const CUlaunchConfig *c = o->config;
	const struct cot_shim_kernel *k = ref ? atomic_load(&ref->kernel) : NULL;
	uint64_t plane = (uint64_t)c->grid[0] * c->grid[1],
		 threads = (uint64_t)c->block[0] * c->block[1] * c->block[2];

	if (o->cooperative || (o->with_attributes && c->numAttrs))
		return COT_SHIM_WHY_ATTRIBUTE;
	if (!k || k->n_params > COT_SHIM_HELD_PARAM_LIST - 1 ||
	    k->params_bytes > COT_SHIM_HELD_PARAMS || atomic_load(&ref->broken))
		return COT_SHIM_WHY_MERGE_KERNEL;
	if (c->sharedMemBytes)
		return COT_SHIM_WHY_MERGE_SHARED;
	if (o->extra || (k->n_params && !o->params))
		return COT_SHIM_WHY_ARGUMENTS;
	if (!plane || !c->grid[2] || plane > UINT16_MAX || plane * c->grid[2] > UINT16_MAX ||
	    !threads || threads > COT_SHIM_MERGE_THREADS)
		return COT_SHIM_WHY_MERGE_LARGE;
	*h = (struct cot_shim_held){.kernel = k,
				    .function = o->function,
				    .grid = {c->grid[0], c->grid[1], c->grid[2]},
				    .block = {c->block[0], c->block[1], c->block[2]},
				    .blocks = (uint32_t)(plane * c->grid[2])};
	h->per_sm = known_room(ref, (uint32_t)threads);
	return COT_SHIM_WHY_NOT;
}

static enum cot_shim_why obstacle(const struct cot_shim_original *o, const struct cot_shim_ref *ref,
				  struct cot_shim_held *h)
{
	enum cot_shim_why why = cot_shim_merge_shape(o, ref, h);

	return why == COT_SHIM_WHY_NOT ? obstacle_of_stream(o->config->hStream) : why;
}

/* As the program made it. It ends by itself if its kernel is one that could be merged. */
static int launch_now(const struct cot_shim_original *o, bool ends)
{
	bool was_inside = cot_shim_merge_inside;
	int rc;

	cot_shim_merge_before(o->config->hStream, o->per_thread, ends);
	cot_shim_merge_inside = true;
	rc = cot_shim_part_launch(o);
	cot_shim_merge_inside = was_inside;
	return rc;
}

static int launch_unmerged(const struct cot_shim_original *o, bool ends, enum cot_shim_why why)
{
	cot_shim_count_unmerged(why);
	return launch_now(o, ends);
}

/* ---- waiting ---- */

/* With the lock: whether launches come in more than one stream. */
static bool has_company(CUstream stream, uint64_t now_ns)
{
	if (last_stream != stream) {
		other_stream = last_stream;
		other_ns = last_ns;
	}
	last_stream = stream;
	last_ns = now_ns;
	return other_stream && now_ns - other_ns < RECENT_NS;
}

/* With the lock: the context's GPU. */
static uint32_t sms_of(CUcontext context)
{
	CUdevice device;
	int n = 0;

	if (context == known_context)
		return known_sms;
	release();
	cot_shim_merge_events_forget();
	if (COT_REAL(cuCtxGetDevice)(&device) ||
	    COT_REAL(cuDeviceGetAttribute)(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ||
	    n <= 0)
		return 0;
	known_context = context;
	known_sms = (uint32_t)n;
	return known_sms;
}

/* With the lock: why it cannot wait now. */
static enum cot_shim_why look(struct cot_shim_held *h, CUstream stream, uint64_t now_ns,
			      CUcontext *ret_context)
{
	CUcontext context = NULL;

	if (COT_REAL(cuCtxGetCurrent)(&context) || !context || !sms_of(context))
		return COT_SHIM_WHY_CONTEXT;
	if (h->blocks >= known_sms * h->per_sm)
		return COT_SHIM_WHY_MERGE_LARGE;
	h->in = cot_shim_merge_stream_of(stream);
	if (!h->in || h->in->context != context)
		return COT_SHIM_WHY_CONTEXT;
	if (atomic_load(&h->in->held))
		release();
	cot_merge_thread_launched(&launching, this_thread(), now_ns);
	if (!has_company(stream, now_ns) ||
	    (!group.n && n_skip && !cot_shim_settings.merge_always && n_skip--))
		return COT_SHIM_WHY_MERGE_ALONE;
	*ret_context = context;
	return cot_shim_merge_stream_ends(h->in) ? COT_SHIM_WHY_NOT : COT_SHIM_WHY_MERGE_STREAM;
}

/* With the lock. */
static void wait_for_others(const struct cot_shim_original *o, const struct cot_shim_held *h,
			    CUcontext context, uint64_t now_ns)
{
	struct cot_shim_held *to = &group.held[group.n];
	uint32_t i;

	*to = *h;
	for (i = 0; i < h->kernel->n_params; i++)
		memcpy(to->params + h->kernel->params[i].at, o->params[i],
		       h->kernel->params[i].bytes);
	if (!group.n) {
		group.context = context;
		group.n_sms = known_sms;
		group.until_ns = now_ns + cot_shim_settings.merge_us * 1000ull;
	}
	group.blocks += h->blocks;
	group.n++;
	atomic_store(&h->in->held, true);
	/* More would only wait for room. */
	if (group.n == COT_SHIM_HELD_MAX || group.blocks >= (uint64_t)known_sms * h->per_sm)
		release();
	else if (group.n == 1)
		cot_shim_ring(&to_time);
}

static enum cot_shim_why try_to_wait(const struct cot_shim_original *o, struct cot_shim_held *h)
{
	uint64_t now_ns = cot_now_ns();
	enum cot_shim_why why;
	CUcontext context;

	if (atomic_load(&releasing))
		return COT_SHIM_WHY_MERGE_BUSY;
	pthread_mutex_lock(&cot_shim_merge_lock);
	cot_shim_merge_inside = true;
	why = look(h, o->config->hStream, now_ns, &context);
	cot_shim_merge_inside = false;
	if (why == COT_SHIM_WHY_NOT)
		wait_for_others(o, h, context, now_ns);
	pthread_mutex_unlock(&cot_shim_merge_lock);
	return why;
}

int cot_shim_merge_launch(const struct cot_shim_original *o)
{
	struct cot_shim_ref *ref = cot_shim_code_ref(o->function);
	bool ends = ref && atomic_load(&ref->kernel) && !o->cooperative;
	struct cot_shim_held h;
	enum cot_shim_why why;
	int rc;

	if (!start() || cot_shim_settings.class_ == COT_CLASS_LATENCY)
		return cot_shim_part_launch(o);
	why = obstacle(o, ref, &h);
	if (why != COT_SHIM_WHY_NOT)
		return launch_unmerged(o, ends, why);
	if (!h.per_sm) {
		/* What the driver takes once, it takes again: so a launch that waits can succeed
		 * beforehand. */
		rc = launch_unmerged(o, ends, COT_SHIM_WHY_NOT);
		if (!rc)
			learn_room(o, ref);
		return cot_shim_merge_late(rc);
	}
	h.ref = ref;
	why = try_to_wait(o, &h);
	if (why != COT_SHIM_WHY_NOT)
		return cot_shim_merge_late(launch_unmerged(o, ends, why));
	return cot_shim_merge_late(CUDA_SUCCESS);
}
