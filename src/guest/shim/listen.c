/*
 * The listener: reads what the daemon says, writes the flags that make workers leave, and sees them
 * go.
 */
#include <poll.h>
#include <time.h>

#include "guest/shim/code.h"
#include "guest/shim/context.h"
#include "guest/shim/counts.h"
#include "guest/shim/driver.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define GPUS_MAX      16u
#define LOOK_NS	      (2 * COT_NS_PER_MS) /* look for the end of evicted workers without pause */
#define LOOK_PAUSE_NS (200 * 1000ull)
/* On the SMs that are to be left there are fewer than was thought, and others have to go too. */
#define ANYWHERE_NS	(2 * COT_NS_PER_MS)
#define ANYWHERE_TASKS	4u
#define COUNTS_PAUSE_NS COT_NS_PER_S

/* ---- flags ---- */

/* How many units of the launch must leave, so that no more stay than the work still has. */
static uint32_t wanted_flag(const struct cot_shim_slot *s)
{
	const struct cot_shim_work *w = s->work;
	uint32_t stay;

	if ((s->state != COT_SHIM_SLOT_TAKEN && s->state != COT_SHIM_SLOT_RUNNING) || !w ||
	    w->state != COT_SHIM_WORK_GRANTED || s->original)
		return 0;
	stay = w->capsms - w->evicted;
	if (!stay && !s->settled)
		stay = 1;
	return s->n_units > stay ? s->n_units - stay : 0;
}

static bool have_left(const struct cot_shim_slot *s)
{
	const struct cot_workers_control *seen = &s->context->host[s->index];
	uint64_t evicted = (uint64_t)s->flag * s->args.per_sm;

	return seen->ended >= (evicted < s->args.n_workers ? evicted : s->args.n_workers);
}

/* Workers on the right SM have had the time to leave since the launch could begin. */
static bool is_late(struct cot_shim_slot *s, uint64_t now)
{
	uint64_t patience = ANYWHERE_NS;

	if (!cot_shim_slot_evicts(s) || s->anywhere || s->state != COT_SHIM_SLOT_RUNNING ||
	    cot_shim_watch_first(s->work) != s || have_left(s))
		return false;
	if (!s->flag_ns)
		s->flag_ns = now;
	patience += (uint64_t)ANYWHERE_TASKS * s->args.chunk * atomic_load(&s->ref->task_ns);
	return now > s->flag_ns + patience;
}

struct flag {
	CUdeviceptr at;
	uint32_t value;
};

/* With both locks. */
static unsigned collect_flags(struct cot_shim_context *c, struct flag *flags)
{
	uint64_t now = cot_now_ns();
	unsigned i, n = 0;

	for (i = 0; i < COT_SHIM_SLOTS; i++) {
		struct cot_shim_slot *s = &c->slots[i], *first;
		uint32_t flag = wanted_flag(s);

		if (flag > s->flag) {
			first = cot_shim_watch_first(s->work);
			s->flag = flag;
			s->flag_ns = 0;
			/* Later is_late() checks only the first launch of a work. */
			s->anywhere |= first && first != s;
		} else if (is_late(s, now)) {
			s->anywhere = true;
		} else {
			continue;
		}
		flags[n++] =
			(struct flag){s->control + COT_WORKERS_EVICT_OFFSET,
				      s->flag | (s->anywhere ? COT_WORKERS_EVICT_ANYWHERE : 0)};
	}
	for (i = 0; i < COT_PROTO_WORKS_MAX; i++) {
		struct cot_shim_work *w = &c->gpu->works[i];

		if (w->context == c && w->told < w->evicted && w->evict_ns == 0)
			w->evict_ns = now;
	}
	return n;
}

static void write_flags(struct cot_shim_context *c)
{
	static struct flag flags[COT_SHIM_SLOTS]; /* the listener's */
	unsigned n, i;

	pthread_mutex_lock(&c->submit);
	pthread_mutex_lock(&cot_shim_lock);
	n = c->usable ? collect_flags(c, flags) : 0;
	pthread_mutex_unlock(&cot_shim_lock);
	for (i = 0; i < n; i++)
		(void)cot_shim_write(c, c->stream, flags[i].at, flags[i].value);
	pthread_mutex_unlock(&c->submit);
}

/* ---- seeing them go ---- */

/* What the evicted workers leave to the others. */
static uint64_t left_to_others(const struct cot_shim_slot *s)
{
	uint32_t next = s->context->host[s->index].next;
	uint64_t left = next < s->args.n_tasks ? s->args.n_tasks - next : 0;

	return left * (s->flag - s->surplus) / (s->n_units - s->surplus);
}

/* With the lock, which it lets go of while it looks. */
static void look_at(struct cot_shim_work *w, struct cot_shim_slot *s)
{
	struct cot_shim_context *c = s->context;
	int rc = 0;

	if (cot_shim_slot_evicts(s)) {
		c->n_busy++;
		pthread_mutex_unlock(&cot_shim_lock);
		rc = COT_REAL(cuCtxSetCurrent)(c->handle);
		if (!rc)
			rc = cot_shim_read(s);
		pthread_mutex_lock(&cot_shim_lock);
		c->n_busy--;
		cot_shim_changed();
	}
	/* The launch may have ended meanwhile. */
	if (rc || s->original || s->state != COT_SHIM_SLOT_RUNNING || s->work != w ||
	    (cot_shim_slot_evicts(s) && !have_left(s)))
		return;
	if (cot_shim_slot_evicts(s))
		w->n_remapped += left_to_others(s);
	cot_shim_work_tell_evicted(w, cot_now_ns());
	w->evict_ns = 0;
}

static bool is_leaving(const struct cot_shim_work *w)
{
	return w->state == COT_SHIM_WORK_GRANTED && w->told < w->evicted && w->n_users;
}

/* With the lock. The time of the oldest flag that has not been obeyed yet; 0: none. */
static uint64_t look(void)
{
	struct cot_shim_gpu *g;
	uint64_t oldest = 0;
	unsigned i;

	for (g = cot_shim_gpus_first(); g; g = g->next) {
		for (i = 0; i < COT_PROTO_WORKS_MAX; i++) {
			struct cot_shim_work *w = &g->works[i];
			struct cot_shim_slot *s = is_leaving(w) ? cot_shim_watch_first(w) : NULL;

			if (s)
				look_at(w, s);
			if (is_leaving(w) && (!oldest || w->evict_ns < oldest))
				oldest = w->evict_ns ? w->evict_ns : 1;
		}
	}
	return oldest;
}

/* ---- the listener ---- */

static bool has_evictions(const struct cot_shim_context *c)
{
	unsigned i;

	for (i = 0; c->usable && !c->closing && i < COT_PROTO_WORKS_MAX; i++)
		if (c->gpu->works[i].context == c && is_leaving(&c->gpu->works[i]))
			return true;
	return false;
}

/* With the lock, which it lets go of. */
static void carry_out(void)
{
	struct cot_shim_context *c;

	for (c = cot_shim_contexts_first(); c; c = c->next) {
		if (!has_evictions(c))
			continue;
		c->n_busy++;
		pthread_mutex_unlock(&cot_shim_lock);
		if (!COT_REAL(cuCtxSetCurrent)(c->handle))
			write_flags(c);
		pthread_mutex_lock(&cot_shim_lock);
		c->n_busy--;
		cot_shim_changed();
	}
}

static bool any_work(const struct cot_shim_gpu *g)
{
	unsigned i;

	for (i = 0; i < COT_PROTO_WORKS_MAX; i++)
		if (g->works[i].state != COT_SHIM_WORK_FREE)
			return true;
	return false;
}

/* With the lock: what is due; returns for how long there is nothing to do. */
static uint64_t tell(void)
{
	uint64_t now = cot_now_ns(), greet = cot_shim_gpus_greet(now);
	uint64_t pause = greet == COT_NEVER ? COT_NEVER : greet > now ? greet - now : 0;
	struct cot_shim_gpu *g;
	bool active = false, heard = false;

	for (g = cot_shim_gpus_first(); g; g = g->next) {
		cot_shim_gpu_send_counts(g, now, false);
		heard |= g->welcomed;
		active |= g->welcomed && (any_work(g) || cot_shim_counts_changed());
	}
	/* Without a daemon nobody needs to be woken: there is none to tell. */
	if (heard && !active)
		cot_shim_counts_rest();
	if (active && pause > COUNTS_PAUSE_NS)
		pause = COUNTS_PAUSE_NS;
	return pause;
}

static uint64_t pause_after(uint64_t oldest, uint64_t pause)
{
	if (!oldest)
		return pause;
	return cot_now_ns() < oldest + LOOK_NS ? 0 : LOOK_PAUSE_NS;
}

static uint64_t pause_until(uint64_t until_ns, uint64_t pause)
{
	uint64_t now = cot_now_ns(), left = until_ns > now ? until_ns - now : 0;

	return until_ns != COT_NEVER && left < pause ? left : pause;
}

static void listen_for(uint64_t pause)
{
	struct pollfd p[1 + GPUS_MAX] = {{.fd = cot_shim_to_listen.listen.fd, .events = POLLIN}};
	struct timespec t = cot_shim_span(pause);
	struct cot_shim_gpu *g;
	unsigned n = 1;

	for (g = cot_shim_gpus_first(); g && n <= GPUS_MAX; g = g->next)
		p[n++] = (struct pollfd){.fd = g->link.sock.fd, .events = POLLIN};
	pthread_mutex_unlock(&cot_shim_lock);
	if (!atomic_load(&cot_shim_to_listen.pending))
		(void)ppoll(p, n, pause == COT_NEVER ? NULL : &t, NULL);
	if (atomic_load(&cot_shim_to_listen.pending))
		cot_wake_clear(&cot_shim_to_listen);
	pthread_mutex_lock(&cot_shim_lock);
	for (g = cot_shim_gpus_first(); g; g = g->next)
		cot_shim_gpu_receive(g);
}

void cot_shim_listen(void)
{
	uint64_t pause = 0, parts_ns;

	while (!atomic_load(&cot_shim_stopping)) {
		listen_for(pause);
		carry_out();
		parts_ns = cot_shim_parts_carry_out();
		pause = pause_until(parts_ns, tell());
		pause = pause_after(look(), pause);
	}
}
