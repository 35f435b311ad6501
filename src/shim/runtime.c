/*
 * The two threads. The listener reads what the daemon says, writes the flags that make workers
 * leave, and sees them go. The watcher waits for the ends of launches, gives back what they used,
 * and ends works. Both start with the first launch as workers and stop when the program ends.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/os.h"
#include "shim/shim.h"

#define GPUS_MAX	16u
#define SPIN_NS		(50 * 1000ull) /* a daemon that is not busy answers sooner */
#define STOP_NS		(200 * COT_NS_PER_MS)
#define LOOK_NS		(2 * COT_NS_PER_MS) /* evicted workers are looked for without pause */
#define LOOK_PAUSE_NS	(200 * 1000ull)
#define PAUSE_MIN_NS	(20 * 1000ull)
#define PAUSE_MAX_NS	(500 * 1000ull)
#define COUNTS_PAUSE_NS COT_NS_PER_S

/* What one thread waits for and others change. */
struct bell {
	_Atomic uint32_t count, n_waiting;
};

static struct bell changes, work_to_watch;
static bool started, registered; /* with the lock */
static _Atomic bool stopping;
static _Atomic unsigned n_alive;
static struct cot_wake listener_wake = {.ring = {.fd = -1}, .listen = {.fd = -1}};
static struct cot_shim_slot *running, **running_end = &running; /* in the order of launches */

/* ---- waiting ---- */

static void ring(struct bell *b)
{
	atomic_fetch_add(&b->count, 1);
	if (atomic_load(&b->n_waiting))
		(void)syscall(SYS_futex, &b->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static struct timespec span(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / COT_NS_PER_S),
				 .tv_nsec = (long)(ns % COT_NS_PER_S)};
}

/* With the lock, which it lets go of. False: it is too late. */
static bool wait_for(struct bell *b, uint64_t until_ns, uint64_t spin_ns)
{
	uint32_t before = atomic_load(&b->count);
	uint64_t start = cot_now_ns(), now = start;
	struct timespec t;

	if (now >= until_ns)
		return false;
	atomic_fetch_add(&b->n_waiting, 1);
	pthread_mutex_unlock(&cot_shim_lock);
	while (now < start + spin_ns && atomic_load(&b->count) == before) {
		(void)sched_yield();
		now = cot_now_ns();
	}
	if (atomic_load(&b->count) == before && now < until_ns) {
		t = span(until_ns - now);
		(void)syscall(SYS_futex, &b->count, FUTEX_WAIT_PRIVATE, before,
			      until_ns == COT_NEVER ? NULL : &t, NULL, 0);
	}
	pthread_mutex_lock(&cot_shim_lock);
	atomic_fetch_sub(&b->n_waiting, 1);
	return true;
}

void cot_shim_changed(void)
{
	ring(&changes);
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	return wait_for(&changes, until_ns, SPIN_NS);
}

void cot_shim_yield(void)
{
	pthread_mutex_unlock(&cot_shim_lock);
	(void)sched_yield();
	pthread_mutex_lock(&cot_shim_lock);
}

static void pause_for(uint64_t ns)
{
	struct timespec t = span(ns);

	(void)nanosleep(&t, NULL);
}

/* ---- flags ---- */

/* How many units of the launch are to leave, so that no more stay than the work still has. */
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

struct flag {
	cot_cu_address at;
	uint32_t value;
};

/* With both locks. */
static unsigned collect_flags(struct cot_shim_context *c, struct flag *flags)
{
	uint64_t now = cot_now_ns();
	unsigned i, n = 0;

	for (i = 0; i < COT_SHIM_SLOTS; i++) {
		struct cot_shim_slot *s = &c->slots[i];
		uint32_t flag = wanted_flag(s);

		if (flag > s->flag) {
			s->flag = flag;
			flags[n++] = (struct flag){s->control + COT_WORKERS_EVICT_OFFSET, flag};
		}
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

static struct cot_shim_slot *first_of(const struct cot_shim_work *w)
{
	struct cot_shim_slot *s = running;

	while (s && s->work != w)
		s = s->next;
	return s;
}

static bool have_left(const struct cot_shim_slot *s)
{
	const struct cot_workers_control *seen = &s->context->host[s->index];
	uint64_t evicted = (uint64_t)s->flag * s->args.per_sm;

	return seen->ended >= (evicted < s->args.n_workers ? evicted : s->args.n_workers);
}

/* What the evicted workers leave to the others. */
static uint64_t left_to_others(const struct cot_shim_slot *s)
{
	uint32_t next = s->context->host[s->index].next;
	uint64_t left = next < s->args.n_tasks ? s->args.n_tasks - next : 0;

	return left * s->flag / s->n_units;
}

/* With the lock, which it lets go of while it looks. */
static void look_at(struct cot_shim_work *w, struct cot_shim_slot *s)
{
	struct cot_shim_context *c = s->context;
	int rc = 0;

	if (s->flag) {
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
	    (s->flag && !have_left(s)))
		return;
	if (s->flag)
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
			struct cot_shim_slot *s = is_leaving(w) ? first_of(w) : NULL;

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
static uint64_t tell_counts(void)
{
	uint64_t now = cot_now_ns(), pause = COT_NEVER;
	struct cot_shim_gpu *g;

	for (g = cot_shim_gpus_first(); g; g = g->next) {
		cot_shim_gpu_send_counts(g, now, false);
		if (g->welcomed && any_work(g))
			pause = COUNTS_PAUSE_NS;
	}
	return pause;
}

static uint64_t pause_after(uint64_t oldest, uint64_t pause)
{
	if (!oldest)
		return pause;
	return cot_now_ns() < oldest + LOOK_NS ? 0 : LOOK_PAUSE_NS;
}

static void listen_for(uint64_t pause)
{
	struct pollfd p[1 + GPUS_MAX] = {{.fd = listener_wake.listen.fd, .events = POLLIN}};
	struct timespec t = span(pause);
	struct cot_shim_gpu *g;
	unsigned n = 1;

	for (g = cot_shim_gpus_first(); g && n <= GPUS_MAX; g = g->next)
		p[n++] = (struct pollfd){.fd = g->link.sock.fd, .events = POLLIN};
	pthread_mutex_unlock(&cot_shim_lock);
	if (!atomic_load(&listener_wake.pending))
		(void)ppoll(p, n, pause == COT_NEVER ? NULL : &t, NULL);
	if (atomic_load(&listener_wake.pending))
		cot_wake_clear(&listener_wake);
	pthread_mutex_lock(&cot_shim_lock);
	for (g = cot_shim_gpus_first(); g; g = g->next)
		cot_shim_gpu_receive(g);
}

static void prepare_thread(const char *name)
{
	int mode = COT_CU_CAPTURE_MODE_RELAXED;

	(void)prctl(PR_SET_NAME, name);
	/* What we do must not disturb a graph that the program is recording. */
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

static void *listener(void *unused)
{
	uint64_t pause = 0;

	(void)unused;
	prepare_thread("cotenant-shim");
	pthread_mutex_lock(&cot_shim_lock);
	while (!atomic_load(&stopping)) {
		listen_for(pause);
		carry_out();
		pause = tell_counts();
		pause = pause_after(look(), pause);
	}
	pthread_mutex_unlock(&cot_shim_lock);
	atomic_fetch_sub(&n_alive, 1);
	return NULL;
}

/* ---- the watcher ---- */

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
		ring(&work_to_watch);
}

/* How long a task takes: a worker does them one after the other. */
static void learn(struct cot_shim_slot *s)
{
	struct cot_shim_ref *r = s->ref;
	uint32_t before = atomic_load(&r->task_ns);
	double task_ns;
	float ms = 0;

	if (!s->timed || s->flag || COT_REAL(cuEventElapsedTime)(&ms, s->begin, s->end) ||
	    atomic_load(&r->handle) != s->handle)
		return;
	task_ns = (double)ms * 1e6 * s->args.n_workers / s->args.n_tasks;
	if (task_ns < 1)
		task_ns = 1;
	if (task_ns > UINT32_MAX / 2)
		task_ns = UINT32_MAX / 2;
	if (before)
		task_ns = (3.0 * before + task_ns) / 4;
	atomic_store(&r->task_ns, (uint32_t)task_ns);
}

void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left)
{
	unlink_running(s);
	s->work->n_launches++;
	s->work->n_tasks += s->args.n_tasks - s->args.first - left;
}

void cot_shim_runtime_ended(struct cot_shim_slot *s)
{
	struct cot_shim_work *w = s->work;

	unlink_running(s);
	learn(s);
	w->n_launches++;
	w->n_tasks += s->args.n_tasks - s->args.first;
	if (!s->original)
		s->armed = s->args.n_workers * s->args.chunk;
	cot_shim_slot_give(s, !s->original);
	cot_shim_work_put(w);
	ring(&work_to_watch);
}

static struct cot_shim_slot *next_of(struct cot_shim_slot *s, const struct cot_shim_work *w)
{
	do
		s = s->next;
	while (s && (s->settled || s->work != w));
	return s;
}

/*
 * A launch to wait for, of those that nobody else waits for: in the middle of its stream's, so that
 * many short ones do not wake us as often. *ret_others: there are some in other streams.
 */
static struct cot_shim_slot *choose_watched(bool *ret_others)
{
	struct cot_shim_slot *s, *first = NULL, *chosen = NULL;
	unsigned n = 0;

	*ret_others = false;
	for (s = running; s; s = s->next) {
		if (s->settled)
			continue;
		if (!first)
			first = chosen = s;
		if (s->work != first->work) {
			*ret_others = true;
			return first;
		}
		/* Every second one, the chosen one moves on by one. */
		if (n++ % 2 && n > 3)
			chosen = next_of(chosen, first->work);
	}
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
		if (COT_REAL(cuEventQuery)(s->end) == COT_CU_ERROR_NOT_READY) {
			s->work->looked = pass;
			continue;
		}
		cot_shim_runtime_ended(s);
		found = true;
	}
	return found;
}

/* With the lock, which it lets go of. In several streams, any may be the first to end. */
static void wait_for_end(struct cot_shim_slot *s, bool others, uint64_t *pause)
{
	struct cot_shim_context *c = s->context;
	cot_cu_handle end = s->end, handle = c->handle;

	c->n_busy++;
	pthread_mutex_unlock(&cot_shim_lock);
	if (others)
		pause_for(*pause);
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

static void *watcher(void *unused)
{
	uint64_t pause = PAUSE_MIN_NS, next;
	struct cot_shim_slot *s;
	bool others;

	(void)unused;
	prepare_thread("cotenant-shim");
	pthread_mutex_lock(&cot_shim_lock);
	while (!atomic_load(&stopping)) {
		next = cot_shim_works_expire(cot_now_ns());
		if (arm_all())
			continue;
		s = choose_watched(&others);
		if (s)
			wait_for_end(s, others, &pause);
		else
			(void)wait_for(&work_to_watch, next, 0);
	}
	pthread_mutex_unlock(&cot_shim_lock);
	atomic_fetch_sub(&n_alive, 1);
	return NULL;
}

/* ---- start and stop ---- */

/*
 * The program ends: the driver's own end may come next, and our threads must not be in it then.
 * One that waits for a kernel cannot be called back; it is given some time.
 */
static void stop(void)
{
	uint64_t until = cot_now_ns() + STOP_NS;
	struct cot_shim_gpu *g;

	pthread_mutex_lock(&cot_shim_lock);
	atomic_store(&stopping, true);
	for (g = cot_shim_gpus_first(); g; g = g->next)
		cot_shim_gpu_send_counts(g, cot_now_ns(), true);
	pthread_mutex_unlock(&cot_shim_lock);
	ring(&work_to_watch);
	cot_wake_ring(&listener_wake);
	while (atomic_load(&n_alive) && cot_now_ns() < until)
		pause_for(PAUSE_MIN_NS);
}

static bool start_one(void *(*body)(void *))
{
	atomic_fetch_add(&n_alive, 1);
	if (cot_shim_thread_start(body, NULL) == 0)
		return true;
	atomic_fetch_sub(&n_alive, 1);
	return false;
}

bool cot_shim_runtime_start(void)
{
	if (COT_LIKELY(started))
		return !atomic_load(&stopping);
	if (atomic_load(&stopping))
		return false;
	if (!registered && atexit(stop))
		return false;
	registered = true;
	if (cot_wake_open(&listener_wake) < 0)
		return false;
	if (!start_one(listener)) {
		cot_wake_close(&listener_wake);
		return false;
	}
	started = true;
	if (!start_one(watcher))
		atomic_store(&stopping, true); /* nothing more is launched as workers */
	return !atomic_load(&stopping);
}

void cot_shim_runtime_wake(void)
{
	if (started)
		cot_wake_ring(&listener_wake);
}

void cot_shim_runtime_forget(void)
{
	started = false;
	atomic_store(&stopping, false);
	atomic_store(&n_alive, 0);
	atomic_store(&changes.n_waiting, 0);
	atomic_store(&work_to_watch.n_waiting, 0);
	running = NULL;
	running_end = &running;
	cot_wake_close(&listener_wake);
	atomic_store(&listener_wake.pending, false);
}
