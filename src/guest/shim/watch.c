/* The watcher: waits for the ends of launches, gives back what they used, and ends works. */
#include "guest/shim/context.h"
#include "guest/shim/driver.h"
#include "guest/shim/end.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define PAUSE_MIN_NS (20 * 1000ull)
#define PAUSE_MAX_NS (500 * 1000ull)
/* Until the driver says that a launch has ended, the watcher sees no other stream's end. */
#define SLEEP_MAX_NS COT_NS_PER_MS

static struct cot_shim_slot *running, **running_end = &running; /* in the order of launches */

/* ---- what runs ---- */

struct cot_shim_slot *cot_shim_watch_first(const struct cot_shim_work *w)
{
	struct cot_shim_slot *s = running;

	while (s && s->work != w)
		s = s->next;
	return s;
}

void cot_shim_watch_forget(void)
{
	running = NULL;
	running_end = &running;
}

static void unlink_running(struct cot_shim_slot *s)
{
	struct cot_shim_slot **at = &running;

	while (*at && *at != s)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = s->next;
	if (!s->next)
		running_end = at;
	s->next = NULL;
}

void cot_shim_runtime_watch(struct cot_shim_slot *s)
{
	s->state = COT_SHIM_SLOT_RUNNING;
	s->next = NULL;
	*running_end = s;
	running_end = &s->next;
	if (!s->settled)
		cot_shim_ring(&cot_shim_to_watch);
}

void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left)
{
	unlink_running(s);
	s->work->n_launches++;
	s->work->n_tasks += cot_shim_slot_tasks(s) - left;
}

void cot_shim_runtime_ended(struct cot_shim_slot *s)
{
	struct cot_shim_work *w = s->work;

	unlink_running(s);
	cot_shim_end_learn(s);
	w->n_launches++;
	w->n_tasks += cot_shim_slot_tasks(s);
	if (!s->original) {
		/*
		 * It is made ready for one more launch like this one: the first tasks that workers
		 * claim are behind those that they begin with, if they begin with any.
		 */
		s->armed = s->args.first < s->args.n_tasks ? s->args.n_workers * s->args.chunk : 0;
		s->armed_flag = s->surplus;
	}
	cot_shim_slot_give(s, !s->original);
	cot_shim_work_put(w);
	cot_shim_ring(&cot_shim_to_watch);
}

/* ---- the watcher ---- */

static struct cot_shim_slot *next_of(struct cot_shim_slot *s, const struct cot_shim_work *w)
{
	do
		s = s->next;
	while (s && (s->settled || s->work != w));
	return s;
}

static uint64_t sum_ns(uint64_t a, uint64_t b)
{
	return a < COT_NEVER - b ? a + b : COT_NEVER;
}

/* How to wait for a launch. */
enum how {
	ASLEEP,	       /* until the driver says so */
	LOOKING,       /* now and then: another stream's may end before, or may come and do so */
	LOOKING_OFTEN, /* there are some in other streams */
};

/*
 * A launch to wait for, of those that no other thread waits for: in the middle of its stream's, so
 * that many short ones do not wake this thread as often.
 */
static struct cot_shim_slot *choose_watched(enum how *ret_how)
{
	struct cot_shim_slot *s, *first = NULL, *chosen = NULL;
	uint64_t all_ns = 0;
	unsigned n = 0;

	*ret_how = ASLEEP;
	for (s = running; s; s = s->next) {
		if (s->settled)
			continue;
		if (!first)
			first = chosen = s;
		if (s->work != first->work) {
			*ret_how = LOOKING_OFTEN;
			return first;
		}
		all_ns = sum_ns(all_ns, cot_shim_end_expected_ns(s));
		/* Every second one, the chosen one moves on by one. */
		if (n++ % 2 && n > 3)
			chosen = next_of(chosen, first->work);
	}
	if (all_ns > SLEEP_MAX_NS || (first && cot_shim_slot_evicts(first)))
		*ret_how = LOOKING;
	return chosen;
}

/* With the lock. Whether any had ended. In a stream, none ends before the one in front of it. */
static bool collect_ended(void)
{
	static uint32_t pass;
	struct cot_shim_slot *s, *next;
	struct cot_shim_context *current = NULL;
	bool found = false;

	pass++;
	for (s = running; s; s = next) {
		next = s->next;
		if (s->settled || s->work->looked == pass)
			continue;
		if (s->context != current)
			(void)COT_REAL(cuCtxSetCurrent)(s->context->handle);
		current = s->context;
		if (COT_REAL(cuEventQuery)(s->end) == CUDA_ERROR_NOT_READY) {
			s->work->looked = pass;
			continue;
		}
		cot_shim_runtime_ended(s);
		found = true;
	}
	return found;
}

/* With the lock, which it lets go of. In several streams, any may be the first to end. */
static void wait_for_end(struct cot_shim_slot *s, enum how how, uint64_t *pause)
{
	struct cot_shim_context *c = s->context;
	CUcontext handle = c->handle;
	CUevent end = s->end;

	c->n_busy++;
	pthread_mutex_unlock(&cot_shim_lock);
	if (how != ASLEEP)
		cot_shim_pause(how == LOOKING ? PAUSE_MAX_NS : *pause);
	else if (!COT_REAL(cuCtxSetCurrent)(handle))
		(void)COT_REAL(cuEventSynchronize)(end);
	pthread_mutex_lock(&cot_shim_lock);
	c->n_busy--;
	cot_shim_changed();
	if (collect_ended())
		*pause = PAUSE_MIN_NS;
	else if (*pause < PAUSE_MAX_NS)
		*pause += *pause / 4;
}

static bool arm_all(void)
{
	struct cot_shim_context *c;
	bool found = false;

	for (c = cot_shim_contexts_first(); c; c = c->next) {
		if (!c->to_arm || !c->usable)
			continue;
		found = true;
		pthread_mutex_unlock(&cot_shim_lock);
		(void)COT_REAL(cuCtxSetCurrent)(c->handle);
		cot_shim_context_arm(c);
		pthread_mutex_lock(&cot_shim_lock);
	}
	return found;
}

void cot_shim_watch(void)
{
	uint64_t pause = PAUSE_MIN_NS, next, looked;
	struct cot_shim_slot *s;
	enum how how;

	while (!atomic_load(&cot_shim_stopping)) {
		next = cot_shim_works_expire(cot_now_ns());
		looked = cot_shim_query_look(cot_now_ns());
		if (arm_all())
			continue;
		s = choose_watched(&how);
		if (s)
			wait_for_end(s, how, &pause);
		else
			(void)cot_shim_wait_for(&cot_shim_to_watch, looked < next ? looked : next,
						0);
	}
}
