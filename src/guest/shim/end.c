/*
 * The events around a launch: how its end is waited for, and what its time tells. A thread that
 * waits for a *settled* launch waits as the program itself would for its stream: a sleep until the
 * GPU's interrupt makes a launch of 1 ms half as long again (measured on an H200 in a virtual
 * machine). The watcher, which may wait for hours, sleeps.
 */
#include "guest/shim/end.h"
#include "guest/shim/code.h"
#include "guest/shim/context.h"
#include "guest/shim/driver.h"

#define TIME_EVERY   64u
#define TIME_FROM_NS COT_NS_PER_MS /* an event more does not matter then */
#define FIRST_FEW    4u

/* ---- events ---- */

static bool is_awaited_awake(const struct cot_shim_slot *s)
{
	return s->settled && !s->context->sleeps;
}

int cot_shim_end_make(struct cot_shim_slot *s)
{
	bool awake = is_awaited_awake(s);
	unsigned flags = awake ? 0 : CU_EVENT_BLOCKING_SYNC;
	int rc = 0;

	if (!s->ends[awake])
		rc = COT_REAL(cuEventCreate)(&s->ends[awake], flags);
	s->end = s->ends[awake];
	if (!rc && !s->begin)
		rc = COT_REAL(cuEventCreate)(&s->begin, CU_EVENT_BLOCKING_SYNC);
	return rc;
}

static void destroy(CUevent *event)
{
	if (*event)
		(void)COT_REAL(cuEventDestroy_v2)(*event);
	*event = NULL;
}

void cot_shim_end_unmake(struct cot_shim_slot *s)
{
	destroy(&s->begin);
	destroy(&s->ends[0]);
	destroy(&s->ends[1]);
	s->end = NULL;
}

void cot_shim_end_wait(const struct cot_shim_slot *s)
{
	(void)COT_REAL(cuEventSynchronize)(s->end);
}

/* ---- how long a task takes ---- */

/* Those that do tasks. */
static uint32_t n_workers(const struct cot_shim_slot *s)
{
	return s->args.n_workers - s->surplus * s->args.per_sm;
}

uint64_t cot_shim_end_expected_ns(const struct cot_shim_slot *s)
{
	uint32_t task_ns = atomic_load(&s->ref->task_ns);

	return task_ns ? (uint64_t)cot_shim_slot_tasks(s) * task_ns / n_workers(s) : COT_NEVER;
}

/* The first launches, and now and then one of short kernels. */
bool cot_shim_end_is_timed(const struct cot_shim_slot *s)
{
	unsigned n = atomic_fetch_add(&s->ref->n_launched, 1);

	return !(n & (n - 1)) || n % TIME_EVERY == 0 || cot_shim_end_expected_ns(s) >= TIME_FROM_NS;
}

/*
 * A worker does tasks one after the other. The first launch is often no example: code is loaded,
 * memory is touched for the first time, and other programs that start with this one run beside it.
 * So of the first few the shortest counts.
 */
static uint32_t mean(uint32_t before, uint32_t task_ns, unsigned n)
{
	if (!before || (n < FIRST_FEW && task_ns < before))
		return task_ns;
	return (uint32_t)((3ull * before + task_ns) / 4);
}

/*
 * Of a crowded grant: some of its workers may have waited for a place until nothing was left to do.
 * Then its tasks seem to take longer than they do, never shorter.
 */
static bool may_have_waited(const struct cot_shim_slot *s)
{
	return s->args.first == s->args.n_tasks && !s->surplus;
}

static uint32_t learnt(const struct cot_shim_slot *s, uint32_t task_ns)
{
	uint32_t before = atomic_load(&s->ref->task_ns);

	if (before && may_have_waited(s))
		return task_ns < before ? task_ns : before;
	return mean(before, task_ns, atomic_fetch_add(&s->ref->n_timed, 1));
}

void cot_shim_end_learn(const struct cot_shim_slot *s)
{
	struct cot_shim_ref *r = s->ref;
	double task_ns;
	float ms = 0;

	if (!s->timed || cot_shim_slot_evicts(s) ||
	    COT_REAL(cuEventElapsedTime)(&ms, s->begin, s->end) ||
	    atomic_load(&r->handle) != s->handle)
		return;
	task_ns = (double)ms * 1e6 * n_workers(s) / cot_shim_slot_tasks(s);
	if (task_ns < 1)
		task_ns = 1;
	if (task_ns > UINT32_MAX / 2)
		task_ns = UINT32_MAX / 2;
	atomic_store(&r->task_ns, learnt(s, (uint32_t)task_ns));
}
