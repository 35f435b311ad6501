/*
 * The pace: how much a program may have launched that the GPU has not done yet, in time. What is
 * queued where a stream was goes on there after a change of parts, so less of it lets a change act
 * sooner.
 *
 *      | group before: runs | last group: queued | this group: being launched
 *                           ^ its end is an event
 *
 * The launches of a stream are counted off in groups that take half of the pace each. A group
 * begins when the last but one has ended: the program's thread waits for that. How many launches
 * make a group is learned from how long groups take. A kernel that takes longer than half of the
 * pace is a group. One more of its kind is queued when it is nearly done: half of the pace before
 * it should be. So what is queued takes no longer than its longest kernel and the pace.
 *
 * A program may have the GPU wait for what its host does later: after the next launch, for
 * instance. So no wait is without a bound, and after one that was too long nothing is held back any
 * more, until the daemon names another pace.
 */
#include <sched.h>
#include <sys/prctl.h>

#include "guest/log.h"
#include "guest/shim/parts.h"
#include "guest/shim/wait.h"

#define GROUPS	     2u	   /* that are not known to have ended, within a pace */
#define LAUNCHES_MAX 1024u /* in a group: no driver queues many more */
#define PATIENCE_NS  COT_NS_PER_S
#define YIELD_NS     (20 * 1000ull) /* before the thread sleeps */
#define NAPS	     16u	    /* in a pace */
#define NAP_MIN_NS   (10 * 1000ull)
#define NAP_MAX_NS   COT_NS_PER_MS

void cot_shim_pace_set(struct cot_shim_parts *p, uint32_t pace_us)
{
	if (p->pace_us == pace_us)
		return; /* it may have been given up */
	p->pace_us = pace_us;
	atomic_store(&p->pace_ns, pace_us * COT_NS_PER_US);
}

/* ---- waiting ---- */

/* A moment. The kernel may let a thread sleep 50 us longer than it has asked for: not this one. */
static void nap(uint64_t ns)
{
	int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);

	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	cot_shim_pause(ns);
	if (slack > 0)
		(void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

static uint64_t nap_of(uint64_t pace_ns)
{
	uint64_t ns = pace_ns / NAPS;

	return ns < NAP_MIN_NS ? NAP_MIN_NS : ns < NAP_MAX_NS ? ns : NAP_MAX_NS;
}

/* False: it took too long. Without a pace any longer nobody need wait. */
static bool wait_for(const struct cot_shim_parts *p, CUevent end, uint64_t pace_ns,
		     uint64_t *ret_waited_ns)
{
	uint64_t began_ns = cot_now_ns(), waited_ns = 0;

	*ret_waited_ns = 0;
	while (COT_REAL(cuEventQuery)(end) == CUDA_ERROR_NOT_READY && atomic_load(&p->pace_ns)) {
		if (waited_ns >= PATIENCE_NS)
			return false;
		if (waited_ns < YIELD_NS)
			(void)sched_yield();
		else
			nap(nap_of(pace_ns));
		waited_ns = cot_now_ns() - began_ns;
		*ret_waited_ns = waited_ns;
	}
	return true;
}

static void give_up(struct cot_shim_parts *p)
{
	if (!atomic_exchange(&p->pace_ns, 0))
		return;
	cot_log(COT_LOG_WARN,
		"not paced any longer: the GPU has not done for %u ms what a launch "
		"waits for",
		(unsigned)(PATIENCE_NS / COT_NS_PER_MS));
}

/* ---- groups ---- */

/* The group at `at` has ended: how long a launch took in it, or in the one after it where nobody
 * waited. That may be long because the program did other things: it only shows that it takes less.
 */
static void learn(struct cot_shim_pace *g, uint64_t took_ns, bool waited)
{
	uint32_t size = g->size[waited ? g->at : 1 - g->at];
	uint64_t each_ns = size ? took_ns / size + 1 : 0;

	if (!g->launch_ns)
		g->launch_ns = each_ns;
	else if (each_ns && (waited || each_ns < g->launch_ns))
		g->launch_ns = (g->launch_ns + each_ns) / 2;
}

/* How many launches take half of the pace. Not many more than in the last group: what was learned
 * of a few may be wrong. */
static uint32_t size_of_group(const struct cot_shim_pace *g, uint64_t pace_ns)
{
	uint64_t n = g->launch_ns ? pace_ns / GROUPS / g->launch_ns : 1;
	uint64_t most = 2ull * g->size[1 - g->at];

	n = n < most ? n : most;
	return n < 1 ? 1 : n < LAUNCHES_MAX ? (uint32_t)n : LAUNCHES_MAX;
}

/* The other group runs since `since_ns`, and is a kernel that takes long: not before it is nearly
 * done. */
static void wait_for_end(const struct cot_shim_pace *g, const struct cot_shim_parts *p,
			 uint64_t pace_ns, uint64_t since_ns)
{
	uint64_t takes_ns = g->launch_ns * g->size[1 - g->at], due_ns;

	if (!g->under_way[1 - g->at] || takes_ns <= pace_ns / GROUPS)
		return;
	due_ns = since_ns + (takes_ns < PATIENCE_NS ? takes_ns : PATIENCE_NS) - pace_ns / GROUPS;
	while (cot_now_ns() < due_ns && atomic_load(&p->pace_ns) &&
	       COT_REAL(cuEventQuery)(g->ends[1 - g->at]) == CUDA_ERROR_NOT_READY)
		nap(nap_of(pace_ns));
}

/* With g->lock. */
static void begin_group(struct cot_shim_pace *g, struct cot_shim_parts *p, uint64_t pace_ns)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint64_t waited_ns = 0, now_ns;
	bool in_time = true;

	/* Another thread may be recording a graph: our calls must not disturb it. */
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!g->ends[g->at])
		g->ends[g->at] = cot_shim_parts_event(p);
	else if (g->under_way[g->at])
		in_time = wait_for(p, g->ends[g->at], pace_ns, &waited_ns);
	g->under_way[g->at] = false;
	now_ns = cot_now_ns();
	learn(g, now_ns - g->began_ns, waited_ns != 0);
	if (waited_ns && in_time)
		wait_for_end(g, p, pace_ns, now_ns);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!in_time)
		give_up(p);
	if (waited_ns)
		cot_shim_count_pace_wait(waited_ns + cot_now_ns() - now_ns, !in_time);
	g->began_ns = now_ns;
	g->size[g->at] = size_of_group(g, pace_ns);
	atomic_store(&g->left, (int32_t)g->size[g->at]);
}

void cot_shim_pace_wait(struct cot_shim_stream *s)
{
	struct cot_shim_pace *g = s ? &s->pace : NULL;
	uint64_t pace_ns;

	if (!g || atomic_load_explicit(&g->left, memory_order_relaxed) > 0 ||
	    atomic_load(&s->capturing))
		return;
	pace_ns = atomic_load(&s->parts->pace_ns);
	if (!pace_ns)
		return;
	pthread_mutex_lock(&g->lock);
	if (atomic_load(&g->left) <= 0)
		begin_group(g, s->parts, pace_ns);
	pthread_mutex_unlock(&g->lock);
}

/* With g->lock. */
static void end_group(struct cot_shim_pace *g, CUstream in)
{
	g->under_way[g->at] = g->ends[g->at] && !COT_REAL(cuEventRecord)(g->ends[g->at], in);
	cot_shim_count_paced(g->size[g->at]);
	g->at = 1 - g->at;
}

void cot_shim_pace_launched(const struct cot_shim_turn *t)
{
	struct cot_shim_stream *s = t->stream;
	struct cot_shim_pace *g = &s->pace;

	if (atomic_load_explicit(&g->left, memory_order_relaxed) <= 0 ||
	    atomic_fetch_sub(&g->left, 1) != 1)
		return;
	pthread_mutex_lock(&g->lock);
	end_group(g, cot_shim_turn_in(t));
	pthread_mutex_unlock(&g->lock);
}

void cot_shim_pace_end(struct cot_shim_stream *s)
{
	struct cot_shim_pace *g = &s->pace;
	unsigned i;

	pthread_mutex_lock(&g->lock);
	for (i = 0; i < GROUPS; i++) {
		if (g->ends[i])
			(void)COT_REAL(cuEventDestroy_v2)(g->ends[i]);
		g->ends[i] = NULL;
		g->under_way[i] = false;
		g->size[i] = 0;
	}
	g->at = 0;
	g->launch_ns = 0;
	atomic_store(&g->left, 0);
	pthread_mutex_unlock(&g->lock);
}
