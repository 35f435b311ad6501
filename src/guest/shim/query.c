/*
 * Queries: what the daemon hears of a request while it runs, if its policy wants that. A query
 * begins with the first launch after the program has marked a request, or, where it marks none,
 * with the first one while the host waits for nothing; copies before that belong to it. It ends
 * with the mark, or with the burst (burst.h): threads that have bursts at the same time have one
 * query together. The daemon hears of it just after that launch, which so begins the sooner; just
 * before it, where making it takes a while (a graph), or where the program may not launch yet.
 *
 * A launch belongs to the query that its thread has begun, or to the only one that there is. An
 * event is behind every n-th of them, where n launches take as long as the daemon need not know
 * earlier (COT_PROTO_QUERY_NS); how long they take is learned from these events. The watcher looks
 * which have passed. So between events a launch costs a search and two additions, and nobody waits.
 * Behind the last launch, as the query before had so many, is none: what comes next is the end.
 *
 * Launches in several streams count in the order in which they were made.
 */
#include <string.h>

#include "guest/marks.h"
#include "guest/shim/parts.h"
#include "guest/shim/runtime.h"
#include "guest/shim/timed.h"

#define QUERIES	     COT_PROTO_QUERIES_MAX
#define EVENTS	     64u /* behind a query's launches, that have not passed */
#define AHEAD	     8u	 /* of them: from then on they are further apart */
#define LAUNCHES_MAX 8u	 /* from one event to the next: the next ones may be longer */
#define LOOK_NS	     COT_PROTO_QUERY_NS
/* Of pinned memory it is 3 times as many on an H200, of other memory fewer. Our guess. */
#define COPY_BYTES_PER_NS 16u

/* Those of libcotenant.so, if that is there: preload/request.c. */
extern bool cotenant_request_watch(const struct cot_request_watch *w)
	__attribute__((weak, visibility("default")));

enum { NEW, BEGUN, TOLD, LEFT_OUT };

struct point {
	CUevent event;
	uint32_t n; /* launches before it */
	uint64_t recorded_ns;
};

struct query {
	_Atomic uint64_t thread; /* that began it; 0: there is no such query */
	_Atomic uint32_t state;
	_Atomic uint32_t n;   /* launches */
	_Atomic int32_t left; /* launches until the next event */
	/* With the lock. */
	bool marked;
	uint64_t id; /* the program's */
	uint32_t number;
	struct cot_shim_parts *parts; /* whose events it has; NULL: none */
	uint64_t arrived_ns, began_ns, size, in_bytes, out_bytes;
	uint64_t launch_ns; /* when its first launch begins */
	uint32_t group;	    /* launches from one event to the next */
	uint32_t first, n_points;
	struct point points[EVENTS];
	uint32_t n_passed; /* launches before the last event that has passed */
	uint64_t passed_ns;
	uint64_t copy_told_ns; /* a copy out; 0: none was */
};

_Atomic bool cot_shim_queries_on;
static struct query queries[QUERIES];
static _Atomic uint32_t n_open;
static _Atomic bool marks; /* the program has some */
static uint32_t last_number;
static uint64_t last_told_ns, launch_ns; /* what a launch takes; 0: not known */
/* When copies into the GPU are done, and until when others were told to give way. */
static uint64_t copies_end_ns, copies_told_ns;
static _Atomic uint32_t usual_n; /* launches of the last query */
static uint64_t look_ns;	 /* when the watcher looks next; COT_NEVER: when it is rung */

static bool is_on(void)
{
	return atomic_load_explicit(&cot_shim_queries_on, memory_order_relaxed);
}

/* ---- which there are ---- */

static bool is_open(const struct query *q)
{
	return atomic_load_explicit(&q->thread, memory_order_relaxed) != 0;
}

static bool is_in_state(const struct query *q, uint32_t state)
{
	return atomic_load_explicit(&q->state, memory_order_relaxed) == state;
}

/* NULL: there is none, or it may be any of several. */
static struct query *find(void)
{
	uint64_t self = (uint64_t)pthread_self();
	uint32_t i, n = atomic_load_explicit(&n_open, memory_order_relaxed);
	struct query *only = NULL;

	for (i = 0; n && i < QUERIES; i++) {
		uint64_t thread = atomic_load_explicit(&queries[i].thread, memory_order_relaxed);

		if (thread == self)
			return &queries[i];
		if (thread && n == 1)
			only = &queries[i];
	}
	return only;
}

static struct query *find_marked(uint64_t id)
{
	uint32_t i;

	for (i = 0; i < QUERIES; i++)
		if (is_open(&queries[i]) && queries[i].marked && queries[i].id == id)
			return &queries[i];
	return NULL;
}

/* NULL: there is no room; then nothing is told of it. */
static struct query *open_one(bool marked, uint64_t id)
{
	struct query *q = queries;

	while (q < queries + QUERIES && is_open(q))
		q++;
	if (q == queries + QUERIES)
		return NULL;
	atomic_store(&q->state, NEW);
	atomic_store(&q->n, 0);
	q->marked = marked;
	q->id = id;
	q->arrived_ns = q->began_ns = q->size = q->in_bytes = q->out_bytes = 0;
	q->first = q->n_points = q->n_passed = 0;
	q->passed_ns = q->copy_told_ns = 0;
	atomic_fetch_add(&n_open, 1);
	atomic_store(&q->thread, (uint64_t)pthread_self());
	return q;
}

/* It may have been closed meanwhile, with the connection. */
static void close_one(struct query *q)
{
	if (atomic_exchange(&q->thread, 0))
		atomic_fetch_sub(&n_open, 1);
}

/* ---- what the daemon is told ---- */

/* Not of a query that begins just after another one. */
static bool may_tell(const struct cot_shim_gpu *g, uint64_t now_ns)
{
	return g && g->queries && now_ns >= last_told_ns + COT_PROTO_QUERY_NS;
}

static void drop_events(struct query *q)
{
	uint32_t i;

	for (i = 0; i < EVENTS; i++) {
		if (q->points[i].event && atomic_load(&q->parts->context))
			(void)COT_REAL(cuEventDestroy_v2)(q->points[i].event);
		q->points[i].event = NULL;
	}
	q->parts = NULL;
}

static uint32_t size_of_group(void)
{
	uint64_t n = launch_ns ? COT_PROTO_QUERY_NS / launch_ns : 1;

	return n < 1 ? 1 : n < LAUNCHES_MAX ? (uint32_t)n : LAUNCHES_MAX;
}

static void tell_begin(struct query *q, struct cot_shim_parts *p)
{
	uint64_t now_ns = q->launch_ns;
	struct cot_msg_query_begin m = {.arrived_ns = q->arrived_ns, .began_ns = now_ns};

	if (!may_tell(p->gpu, now_ns)) {
		atomic_store(&q->state, LEFT_OUT);
		return;
	}
	last_told_ns = now_ns;
	if (q->parts && q->parts != p)
		drop_events(q);
	q->parts = p;
	if (!++last_number)
		last_number = 1;
	m.query = q->number = last_number;
	m.size = q->size ? q->size : q->in_bytes;
	if (q->began_ns) {
		m.began_ns = q->began_ns;
		m.in_ns = q->in_bytes ? now_ns - q->began_ns : 0;
	}
	if (m.arrived_ns > m.began_ns)
		m.arrived_ns = 0;
	q->group = size_of_group();
	atomic_store(&q->left, (int32_t)q->group);
	atomic_store(&q->state, TOLD);
	(void)cot_shim_gpu_send(p->gpu, &m, COT_MSG_QUERY_BEGIN, sizeof(m), 0);
}

static void tell_tasks(struct query *q)
{
	struct cot_msg_query_tasks m = {
		.query = q->number, .n_done = q->n_passed, .done_ns = q->passed_ns};

	(void)cot_shim_gpu_send(q->parts->gpu, &m, COT_MSG_QUERY_TASKS, sizeof(m), 0);
}

static void tell_end(struct query *q, uint64_t now_ns)
{
	struct cot_msg_query_end m = {.query = q->number,
				      .n_tasks = atomic_load(&q->n),
				      .ended_ns = now_ns,
				      .out_bytes = q->out_bytes};

	if (!is_in_state(q, TOLD))
		return;
	atomic_store(&usual_n, m.n_tasks);
	if (q->parts && q->parts->gpu->queries)
		(void)cot_shim_gpu_send(q->parts->gpu, &m, COT_MSG_QUERY_END, sizeof(m), 0);
}

/* ---- marks ---- */

static void begin_marked(uint64_t id, uint64_t arrival_ns, uint64_t now_ns)
{
	struct query *q;

	if (cot_shim_is_timed())
		cot_shim_timed_mark();
	if (!atomic_load(&marks)) {
		cot_shim_query_burst_over(now_ns); /* the program knows better */
		atomic_store(&marks, true);
	}
	if (!is_on())
		return;
	pthread_mutex_lock(&cot_shim_lock);
	q = find_marked(id);
	if (q) { /* it begins anew */
		tell_end(q, now_ns);
		close_one(q);
	}
	q = open_one(true, id);
	if (q)
		q->arrived_ns = arrival_ns;
	pthread_mutex_unlock(&cot_shim_lock);
}

static void size_marked(uint64_t id, uint64_t size)
{
	struct query *q;

	if (!is_on())
		return;
	pthread_mutex_lock(&cot_shim_lock);
	q = find_marked(id);
	if (q)
		q->size = size;
	pthread_mutex_unlock(&cot_shim_lock);
}

static void end_marked(uint64_t id, uint64_t now_ns)
{
	struct query *q;

	if (cot_shim_is_timed())
		cot_shim_timed_mark();
	if (!is_on())
		return;
	pthread_mutex_lock(&cot_shim_lock);
	q = find_marked(id);
	if (q) {
		tell_end(q, now_ns);
		close_one(q);
	}
	pthread_mutex_unlock(&cot_shim_lock);
}

/* ---- without marks ---- */

/* Where nothing will be seen to end nothing begins. */
static bool has_bursts(void)
{
	return cot_shim_settings.requests && cotenant_request_watch &&
	       !atomic_load_explicit(&marks, memory_order_relaxed);
}

/* With the lock. */
static struct query *find_or_open(void)
{
	struct query *q = find();

	if (q || !has_bursts() || atomic_load(&n_open))
		return q;
	return open_one(false, 0);
}

void cot_shim_query_burst_over(uint64_t now_ns)
{
	uint32_t i;

	if (!atomic_load(&n_open) || !has_bursts())
		return;
	pthread_mutex_lock(&cot_shim_lock);
	for (i = 0; i < QUERIES; i++) {
		if (!is_open(&queries[i]) || queries[i].marked)
			continue;
		tell_end(&queries[i], now_ns);
		close_one(&queries[i]);
	}
	pthread_mutex_unlock(&cot_shim_lock);
}

/* ---- operations ---- */

/* Copies in come one after the other; so that not each of them is told, a bit more is. */
static void tell_copy_in(struct cot_shim_gpu *g, size_t bytes, uint64_t now_ns)
{
	struct cot_msg_query_copy m = {.way = COT_WAY_IN};

	copies_end_ns =
		(copies_end_ns > now_ns ? copies_end_ns : now_ns) + bytes / COPY_BYTES_PER_NS;
	if (copies_end_ns > now_ns + COT_PROTO_COPIES_NS)
		copies_end_ns = now_ns + COT_PROTO_COPIES_NS;
	if (copies_end_ns <= copies_told_ns)
		return;
	m.for_ns = copies_end_ns + COT_PROTO_QUERY_NS - now_ns;
	if (m.for_ns > COT_PROTO_COPIES_NS)
		m.for_ns = COT_PROTO_COPIES_NS;
	copies_told_ns = now_ns + m.for_ns;
	(void)cot_shim_gpu_send(g, &m, COT_MSG_QUERY_COPY, sizeof(m), 0);
}

/* When the launches before it are done nobody can say: it is over with the query. */
static void tell_copy_out(struct query *q, struct cot_shim_gpu *g, uint64_t now_ns)
{
	struct cot_msg_query_copy m = {
		.query = q->number, .way = COT_WAY_OUT, .for_ns = COT_PROTO_COPIES_NS};

	if (now_ns < q->copy_told_ns + COT_PROTO_COPIES_NS / 2)
		return;
	q->copy_told_ns = now_ns;
	(void)cot_shim_gpu_send(g, &m, COT_MSG_QUERY_COPY, sizeof(m), 0);
}

static void tell_copy(struct query *q, struct cot_shim_gpu *g, size_t bytes, uint32_t way,
		      uint64_t now_ns)
{
	if (!g || !g->queries)
		return;
	if (way == COT_WAY_IN)
		tell_copy_in(g, bytes, now_ns);
	else if (is_in_state(q, TOLD))
		tell_copy_out(q, g, now_ns);
}

void cot_shim_query_copied(size_t bytes, uint32_t way)
{
	const struct cot_shim_parts *p =
		bytes >= COT_PROTO_COPY_MIN ? cot_shim_parts_current() : NULL;
	uint64_t now_ns = cot_now_ns();
	struct query *q;

	pthread_mutex_lock(&cot_shim_lock);
	q = find_or_open();
	if (q && !q->began_ns)
		q->began_ns = now_ns;
	if (q && way == COT_WAY_OUT)
		q->out_bytes += bytes;
	else if (q && is_in_state(q, NEW))
		q->in_bytes += bytes;
	if (q && p)
		tell_copy(q, p->gpu, bytes, way, now_ns);
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_query_begin(const struct cot_shim_stream *s, bool takes_long)
{
	struct query *q = find();

	if (COT_LIKELY(q ? !is_in_state(q, NEW) : !has_bursts()))
		return;
	/* After a capture the mark of its streams may be an old one. */
	if (!s || !is_on() || (atomic_load(&s->capturing) && cot_shim_any_capture()))
		return;
	pthread_mutex_lock(&cot_shim_lock);
	q = find_or_open();
	if (q && is_in_state(q, NEW)) {
		q->launch_ns = cot_now_ns();
		atomic_store(&q->state, BEGUN);
		if (takes_long || atomic_load(&s->parts->hold_until_ns))
			tell_begin(q, s->parts);
	}
	pthread_mutex_unlock(&cot_shim_lock);
}

static void tell_begun(struct query *q, const struct cot_shim_turn *t)
{
	pthread_mutex_lock(&cot_shim_lock);
	if (is_open(q) && is_in_state(q, BEGUN))
		tell_begin(q, t->stream->parts);
	pthread_mutex_unlock(&cot_shim_lock);
}

/* Takes the event of the next point, which may be NULL: a new one. False: there are too many. */
static bool take_event(struct query *q, const struct cot_shim_stream *s, struct point *ret_point)
{
	struct point *next = &q->points[(q->first + q->n_points) % EVENTS];

	if (!is_in_state(q, TOLD) || q->parts != s->parts || q->n_points == EVENTS)
		return false;
	ret_point->event = next->event;
	next->event = NULL;
	return true;
}

/* The query may be another one now. */
static void give_event(struct query *q, const struct point *point, uint32_t number, bool recorded)
{
	struct point *next = &q->points[(q->first + q->n_points) % EVENTS];

	if (!q->parts || q->n_points == EVENTS || next->event)
		return; /* it ends with its context */
	*next = *point;
	if (!recorded || q->number != number || !is_open(q))
		return;
	q->n_points++;
	if (look_ns == COT_NEVER)
		cot_shim_ring(&cot_shim_to_watch);
}

/* The further it is ahead of the GPU the more: a program that launches everything at once still has
 * events behind its last launches. */
static uint32_t launches_to_next(const struct query *q)
{
	return q->group << q->n_points / AHEAD;
}

/* No other thread does so for this query: `left` is set in the end. The driver is called without
 * the lock, since it may wait until there is room in the stream. */
static void put_event(struct query *q, const struct cot_shim_turn *t, uint32_t n)
{
	struct point point = {.n = n, .recorded_ns = cot_now_ns()};
	bool taken, recorded = false;
	uint32_t number;

	pthread_mutex_lock(&cot_shim_lock);
	number = q->number;
	taken = take_event(q, t->stream, &point);
	pthread_mutex_unlock(&cot_shim_lock);
	if (taken && !point.event)
		point.event = cot_shim_parts_event(t->stream->parts);
	if (point.event)
		recorded = !COT_REAL(cuEventRecord)(point.event, cot_shim_turn_in(t));
	pthread_mutex_lock(&cot_shim_lock);
	if (point.event)
		give_event(q, &point, number, recorded);
	atomic_store(&q->left, (int32_t)launches_to_next(q));
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_query_launched(const struct cot_shim_turn *t)
{
	struct query *q = find();
	uint32_t n;

	if (!q || atomic_load(&t->stream->capturing))
		return;
	if (is_in_state(q, BEGUN))
		tell_begun(q, t);
	if (!is_in_state(q, TOLD))
		return;
	n = atomic_fetch_add(&q->n, 1) + 1;
	if (COT_LIKELY(atomic_fetch_sub(&q->left, 1) != 1))
		return;
	if (n == atomic_load_explicit(&usual_n, memory_order_relaxed))
		atomic_store(&q->left, 1);
	else
		put_event(q, t, n);
}

/* ---- what has ended ---- */

/* So many launches have taken no longer than that, and no less if the GPU had them all the time. */
static void learn(struct query *q, uint32_t n, uint64_t took_ns, bool busy)
{
	uint64_t each_ns = took_ns / n + 1;

	if (!launch_ns)
		launch_ns = each_ns;
	else if (busy || each_ns < launch_ns)
		launch_ns = (launch_ns + each_ns) / 2;
	q->group = size_of_group();
}

static void look_at(struct query *q, uint64_t now_ns)
{
	uint64_t recorded_ns = q->points[q->first].recorded_ns;
	uint32_t n = q->n_passed;

	while (q->n_points &&
	       COT_REAL(cuEventQuery)(q->points[q->first].event) != CUDA_ERROR_NOT_READY) {
		n = q->points[q->first].n;
		q->first = (q->first + 1) % EVENTS;
		q->n_points--;
	}
	if (n <= q->n_passed)
		return;
	if (q->passed_ns)
		learn(q, n - q->n_passed, now_ns - q->passed_ns, recorded_ns <= q->passed_ns);
	q->n_passed = n;
	q->passed_ns = now_ns;
	tell_tasks(q);
}

static bool has_points(const struct query *q)
{
	return is_open(q) && is_in_state(q, TOLD) && q->n_points;
}

uint64_t cot_shim_query_look(uint64_t now_ns)
{
	bool any = false;
	uint32_t i;

	if (look_ns != COT_NEVER && now_ns < look_ns)
		return look_ns;
	for (i = 0; i < QUERIES && atomic_load(&n_open); i++) {
		struct query *q = &queries[i];

		if (!has_points(q) || COT_REAL(cuCtxSetCurrent)(atomic_load(&q->parts->context)))
			continue;
		look_at(q, now_ns);
		any |= has_points(q);
	}
	look_ns = any ? now_ns + LOOK_NS : COT_NEVER;
	return look_ns;
}

/* ---- whether, and ends ---- */

/* With the lock. Nobody hears of those that have begun. */
static void close_all(void)
{
	uint32_t i;

	for (i = 0; i < QUERIES; i++)
		if (is_open(&queries[i]))
			close_one(&queries[i]);
}

void cot_shim_query_want(void)
{
	static const struct cot_request_watch watch = {begin_marked, size_marked, end_marked};
	struct cot_shim_gpu *g = cot_shim_gpus_first();

	while (g && !g->queries)
		g = g->next;
	if (((g && !is_on()) || cot_shim_is_timed()) && cotenant_request_watch &&
	    cotenant_request_watch(&watch))
		atomic_store(&marks, true);
	if (!g && is_on())
		close_all();
	atomic_store(&cot_shim_queries_on, g != NULL);
}

void cot_shim_query_drop(const struct cot_shim_parts *p)
{
	uint32_t i;

	pthread_mutex_lock(&cot_shim_lock);
	for (i = 0; i < QUERIES; i++) {
		struct query *q = &queries[i];

		if (q->parts != p)
			continue;
		if (is_open(q))
			tell_end(q, cot_now_ns());
		atomic_store(&q->state, LEFT_OUT);
		drop_events(q);
	}
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_query_forget(void)
{
	memset(queries, 0, sizeof(queries));
	atomic_store(&n_open, 0);
	atomic_store(&marks, false);
	atomic_store(&cot_shim_queries_on, false);
	atomic_store(&usual_n, 0);
	last_number = 0;
	last_told_ns = launch_ns = look_ns = 0;
	copies_end_ns = copies_told_ns = 0;
}
