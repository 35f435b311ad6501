#include "guest/shim/burst.h"

#include <stddef.h>
#include <string.h>

#define PROBES 4u

/* ---- which streams there are ---- */

struct cot_burst_stream *cot_burst_find_further(struct cot_bursts *b, struct cot_burst_id id)
{
	unsigned i;

	for (i = 1; i < PROBES; i++)
		if (cot_burst_is(cot_burst_place(b, id, i), id))
			return cot_burst_place(b, id, i);
	return NULL;
}

static uint32_t life_of(const struct cot_burst_stream *s)
{
	return atomic_load_explicit(&s->life, memory_order_relaxed);
}

/* Who sees the new life sees the new name: cot_burst_point(). */
static void rename_stream(struct cot_burst_stream *s, struct cot_burst_id id)
{
	atomic_store_explicit(&s->home, id.home, memory_order_relaxed);
	atomic_store_explicit(&s->thread, id.thread, memory_order_relaxed);
	atomic_store_explicit(&s->life, life_of(s) + 1, memory_order_release);
	s->since = s->put = s->covered = 0;
}

static struct cot_burst_stream *room_for(struct cot_bursts *b, struct cot_burst_id id)
{
	struct cot_burst_stream *room = NULL;
	unsigned i;

	for (i = 0; i < PROBES; i++) {
		struct cot_burst_stream *s = cot_burst_place(b, id, i);

		if (!atomic_load(&s->home))
			return s;
		if (!s->burst)
			room = s;
	}
	return room;
}

void cot_burst_confuse(struct cot_bursts *b)
{
	uint32_t i;

	b->n_unclear++;
	b->confused = true;
	for (i = 0; i < b->n_busy; i++)
		b->streams[b->busy[i]].burst->unclear = true;
}

struct cot_burst_stream *cot_burst_get(struct cot_bursts *b, struct cot_burst_id id,
				       uint64_t context, bool blocking)
{
	struct cot_burst_stream *s = cot_burst_find(b, id);

	if (s)
		return s;
	s = room_for(b, id);
	if (!s) {
		cot_burst_confuse(b);
		return NULL;
	}
	rename_stream(s, id);
	s->context = context;
	s->blocking = blocking;
	return s;
}

static uint32_t index_of(const struct cot_bursts *b, const struct cot_burst_stream *s)
{
	return (uint32_t)(s - b->streams);
}

/* ---- bursts ---- */

static uint64_t last_position(const struct cot_bursts *b)
{
	return atomic_load_explicit(&b->position, memory_order_relaxed);
}

/* They cannot be told apart from what begins now. */
static void blur(struct cot_bursts *b, struct cot_burst *of)
{
	b->n_unclear++;
	of->unclear = true;
	of->partly = false;
}

static struct cot_burst_input *input_of(struct cot_bursts *b, uint64_t thread)
{
	return &b->inputs[cot_burst_hash(thread, 0) % COT_BURST_THREADS];
}

/* What its thread has copied to the GPU just before belongs to it. */
static void take_input(struct cot_bursts *b, struct cot_burst *of)
{
	struct cot_burst_input *in = input_of(b, of->thread);

	if (in->thread != of->thread)
		return;
	b->n_inputs--;
	if (of->begin_ns > in->end_ns + COT_BURST_SOON_NS) {
		b->lost_input = true;
	} else {
		of->n_inputs = in->n;
		if (in->n <= COT_BURST_INPUTS)
			of->begin_ns = in->begin_ns;
	}
	in->thread = 0;
}

static void keep_input(struct cot_bursts *b, const struct cot_burst *over, uint64_t now_ns)
{
	struct cot_burst_input *in = input_of(b, over->thread);

	if (!over->thread)
		return;
	b->n_inputs += !in->thread;
	*in = (struct cot_burst_input){.thread = over->thread,
				       .begin_ns = over->begin_ns,
				       .end_ns = now_ns,
				       .n = over->n_inputs + 1};
	b->kept_input = true;
}

static struct cot_burst *begin(struct cot_bursts *b, uint64_t thread, uint64_t now_ns)
{
	struct cot_burst *new = b->bursts;

	while (new->n_streams)
		new ++; /* there are no more than busy streams, and this one is not yet */
	*new = (struct cot_burst){.begin_ns = now_ns,
				  .number = ++b->n_bursts,
				  .thread = thread,
				  .unclear = b->confused};
	if (b->n_inputs)
		take_input(b, new);
	return new;
}

static void enter(struct cot_bursts *b, struct cot_burst_stream *s, struct cot_burst *burst)
{
	uint32_t n = b->n_busy;

	b->busy[n] = index_of(b, s);
	atomic_store_explicit(&b->n_busy, n + 1, memory_order_relaxed);
	s->since = last_position(b);
	s->burst = burst;
	burst->n_streams++;
}

/* Its burst may have no streams then. */
static void leave(struct cot_bursts *b, struct cot_burst_stream *s)
{
	uint32_t i, n = b->n_busy - 1;

	for (i = 0; b->busy[i] != index_of(b, s); i++)
		;
	b->busy[i] = b->busy[n];
	atomic_store_explicit(&b->n_busy, n, memory_order_relaxed);
	s->burst->n_streams--;
	s->burst = NULL;
	s->n_edges = 0;
}

/* All of both is in the one that began first. */
static struct cot_burst *merge(struct cot_bursts *b, struct cot_burst *x, struct cot_burst *y)
{
	struct cot_burst *to = !y || (x && x->number < y->number) ? x : y, *from = to == x ? y : x;
	uint32_t i;

	if (!from || from == to)
		return to;
	for (i = 0; i < b->n_busy; i++)
		if (b->streams[b->busy[i]].burst == from)
			b->streams[b->busy[i]].burst = to;
	to->n_streams += from->n_streams;
	to->works |= from->works;
	if (from->begin_ns < to->begin_ns)
		to->begin_ns = from->begin_ns;
	to->partly |= from->partly;
	to->unclear |= from->unclear;
	from->n_streams = 0;
	return to;
}

/* To which this thread adds: one at most. */
static struct cot_burst *burst_of_thread(struct cot_bursts *b, uint64_t thread)
{
	uint32_t i;

	for (i = 0; i < b->n_busy; i++)
		if (b->streams[b->busy[i]].burst->thread == thread)
			return b->streams[b->busy[i]].burst;
	return NULL;
}

/* ---- positions, and what waits for what ---- */

static bool has_put_any(const struct cot_burst_stream *s)
{
	return cot_burst_has_put(s, COT_BURST_INPUT);
}

/* Who sees it sees that its stream is dirty: cot_burst_point(). */
static uint64_t next_position(struct cot_bursts *b)
{
	uint64_t next = last_position(b) + 1;

	atomic_store_explicit(&b->position, next, memory_order_release);
	return next;
}

/* What comes next gets another position. */
static void end_position(struct cot_burst_stream *s)
{
	if (has_put_any(s))
		atomic_store_explicit(&s->dirty, COT_BURST_NONE, memory_order_relaxed);
}

/*
 * Without a lock. Another stream may get the place meanwhile: who has its life sees its name, too.
 * What another thread puts in meanwhile may be before the wait or after it, but what has a position
 * that we see is ended here: so the stream is not dirty any longer when its last position is
 * covered, unless something has followed. That the position is ended once more while something
 * follows does no harm.
 */
struct cot_burst_point cot_burst_point(struct cot_bursts *b, struct cot_burst_id id)
{
	struct cot_burst_stream *s = cot_burst_find(b, id);
	uint64_t position;
	uint32_t life;

	if (!s)
		return (struct cot_burst_point){0};
	life = atomic_load_explicit(&s->life, memory_order_acquire);
	if (!cot_burst_is(s, id))
		return (struct cot_burst_point){0};
	position = atomic_load_explicit(&b->position, memory_order_acquire);
	end_position(s);
	return (struct cot_burst_point){
		.stream = index_of(b, s), .life = life, .position = position};
}

struct cot_burst_point cot_burst_point_of_context(struct cot_bursts *b, uint64_t context)
{
	uint32_t i;

	for (i = 0; i < b->n_busy; i++)
		if (b->streams[b->busy[i]].context == context)
			end_position(&b->streams[b->busy[i]]);
	return (struct cot_burst_point){.position = last_position(b)};
}

static struct cot_burst_edge *edge_to(const struct cot_bursts *b, struct cot_burst_stream *from,
				      const struct cot_burst_stream *to)
{
	uint32_t i;

	for (i = 0; i < COT_BURST_EDGES && i < from->n_edges; i++)
		if (from->edges[i].to == index_of(b, to) && from->edges[i].life == life_of(to))
			return &from->edges[i];
	return NULL;
}

/* Where there is no room the oldest one is forgotten: then less is known to be covered. */
static void add_edge(struct cot_bursts *b, struct cot_burst_stream *from,
		     const struct cot_burst_stream *to, uint64_t of)
{
	struct cot_burst_edge *e = edge_to(b, from, to);

	if (!e)
		e = &from->edges[from->n_edges++ % COT_BURST_EDGES];
	*e = (struct cot_burst_edge){
		.to = index_of(b, to), .life = life_of(to), .at = next_position(b), .of = of};
}

static struct cot_burst_stream *stream_at(struct cot_bursts *b, struct cot_burst_point p)
{
	struct cot_burst_stream *s = &b->streams[p.stream];

	return p.life && life_of(s) == p.life ? s : NULL;
}

static void unite(struct cot_bursts *b, struct cot_burst_stream *from, struct cot_burst_stream *to)
{
	if (!to->burst)
		return;
	(void)merge(b, from->burst, to->burst);
	/* The wait is in it as well, behind what was put: who waits for that waits for `from`. */
	if (has_put_any(to))
		to->put = next_position(b);
	end_position(to);
}

void cot_burst_order(struct cot_bursts *b, struct cot_burst_stream *s, struct cot_burst_point after)
{
	struct cot_burst_stream *from = stream_at(b, after);
	uint32_t i;

	if (!from || from == s || after.position <= from->covered)
		return;
	if (from->burst) {
		add_edge(b, from, s, after.position);
		unite(b, from, s);
	}
	/* What `from` waits for itself. It may be idle, and is forgotten then. */
	for (i = 0; i < b->n_busy; i++) {
		struct cot_burst_stream *f = &b->streams[b->busy[i]];
		const struct cot_burst_edge *e = f == from ? NULL : edge_to(b, f, from);

		if (e && e->at <= after.position && e->of > f->covered) {
			add_edge(b, f, s, e->of);
			unite(b, f, s);
		}
	}
}

/* ---- operations ---- */

static bool is_legacy(const struct cot_burst_stream *s)
{
	return atomic_load_explicit(&s->thread, memory_order_relaxed) == COT_BURST_LEGACY;
}

/* What the default stream and those that were not made without it wait for by themselves. */
static bool is_ordered(const struct cot_burst_stream *s, const struct cot_burst_stream *after)
{
	return s != after && s->context == after->context &&
	       (is_legacy(s) ? after->blocking : s->blocking && is_legacy(after));
}

static void order_default(struct cot_bursts *b, struct cot_burst_stream *s)
{
	uint32_t i;

	for (i = 0; i < b->n_busy; i++) {
		struct cot_burst_stream *f = &b->streams[b->busy[i]];

		if (!is_ordered(s, f))
			continue;
		end_position(f);
		add_edge(b, f, s, f->put);
	}
}

/* The burst of all that this stream waits for; NULL: there is none. */
static struct cot_burst *burst_before(struct cot_bursts *b, struct cot_burst_stream *s)
{
	struct cot_burst *burst = s->burst;
	uint32_t i;

	for (i = 0; i < b->n_busy; i++) {
		struct cot_burst_stream *f = &b->streams[b->busy[i]];
		const struct cot_burst_edge *e = edge_to(b, f, s);

		if (e && e->of > f->covered)
			burst = merge(b, burst, f->burst);
	}
	return burst;
}

/* Of an operation of a thread whose last burst is partly over; it may be the next request's. */
static struct cot_burst *begin_anew(struct cot_bursts *b, struct cot_burst *last, uint64_t now_ns)
{
	struct cot_burst *new = begin(b, last->thread, now_ns);

	blur(b, last);
	last->thread = 0;
	new->unclear = true;
	return new;
}

static struct cot_burst *burst_for(struct cot_bursts *b, struct cot_burst_stream *s,
				   uint64_t thread, uint64_t now_ns)
{
	struct cot_burst *before = burst_before(b, s);
	struct cot_burst *own = s->burst ? NULL : burst_of_thread(b, thread);

	if (before && before->partly)
		blur(b, before);
	if (!own || own == before)
		return before ? before : begin(b, thread, now_ns);
	if (!own->partly)
		return merge(b, before, own);
	own = begin_anew(b, own, now_ns);
	return before ? before : own;
}

void cot_burst_put(struct cot_bursts *b, struct cot_burst_stream *s, uint64_t thread,
		   enum cot_burst_kind kind, uint64_t now_ns)
{
	struct cot_burst *burst;

	if (cot_burst_has_put(s, kind))
		return;
	if (!has_put_any(s)) {
		order_default(b, s);
		burst = burst_for(b, s, thread, now_ns);
		if (!s->burst)
			enter(b, s, burst);
	}
	s->burst->works |= kind == COT_BURST_WORK;
	/* In this order: cot_burst_point(). */
	atomic_store_explicit(&s->dirty, (uint8_t)kind, memory_order_relaxed);
	s->put = next_position(b);
}

/* ---- events ---- */

static const struct cot_burst_event *event_at(const struct cot_bursts *b, uint64_t event,
					      uint64_t handle)
{
	uint64_t at = cot_burst_hash(event, 0);
	unsigned i;

	for (i = 0; i < PROBES; i++)
		if (b->events[(at + i) % COT_BURST_EVENTS].handle == handle)
			return &b->events[(at + i) % COT_BURST_EVENTS];
	return NULL;
}

/* Where this event is, or would be found if it were put there; `handle` 0: a free place. */
static struct cot_burst_event *place_of_event(struct cot_bursts *b, uint64_t event, uint64_t handle)
{
	const struct cot_burst_event *e = event_at(b, event, handle);

	return e ? &b->events[e - b->events] : NULL;
}

/* Where there is no room another one is forgotten: then less is known to be covered. */
void cot_burst_record(struct cot_bursts *b, uint64_t event, struct cot_burst_point at)
{
	struct cot_burst_event *e = place_of_event(b, event, event);

	if (!e)
		e = place_of_event(b, event, 0);
	if (!e)
		e = &b->events[(cot_burst_hash(event, 0) + at.position % PROBES) %
			       COT_BURST_EVENTS];
	*e = (struct cot_burst_event){.handle = event, .at = at};
}

void cot_burst_forget(struct cot_bursts *b, uint64_t event)
{
	struct cot_burst_event *e = place_of_event(b, event, event);

	if (e)
		*e = (struct cot_burst_event){0};
}

struct cot_burst_point cot_burst_recorded(const struct cot_bursts *b, uint64_t event)
{
	const struct cot_burst_event *e = event_at(b, event, event);

	return e ? e->at : (struct cot_burst_point){0};
}

/* ---- waits ---- */

static bool cover(struct cot_burst_stream *s, uint64_t position)
{
	if (position <= s->covered)
		return false;
	s->covered = position;
	if (s->burst && position > s->since) {
		s->since = position;
		s->burst->touched = true;
	}
	return true;
}

/* Until nothing more follows: whoever waits for a stream knows what that has waited for. */
static void cover_before(struct cot_bursts *b)
{
	bool more = true;
	uint32_t i, k;

	while (more) {
		more = false;
		for (i = 0; i < b->n_busy; i++) {
			struct cot_burst_stream *f = &b->streams[b->busy[i]];

			for (k = 0; k < COT_BURST_EDGES && k < f->n_edges; k++) {
				const struct cot_burst_edge *e = &f->edges[k];
				const struct cot_burst_stream *to = &b->streams[e->to];

				if (life_of(to) == e->life && to->covered >= e->at)
					more |= cover(f, e->of);
			}
		}
	}
}

static bool is_covered(const struct cot_burst_stream *s)
{
	return !has_put_any(s) && s->put <= s->covered;
}

static void end_burst(struct cot_bursts *b, const struct cot_burst *burst, uint64_t now_ns)
{
	if (burst->works)
		b->seen(burst->begin_ns, now_ns);
	else
		keep_input(b, burst, now_ns);
}

static void end_streams(struct cot_bursts *b, uint64_t now_ns)
{
	uint32_t i = 0;

	while (i < b->n_busy) {
		struct cot_burst_stream *s = &b->streams[b->busy[i]];
		struct cot_burst *burst = s->burst;

		if (!is_covered(s)) {
			i++;
			continue;
		}
		leave(b, s);
		if (!burst->n_streams && !burst->unclear)
			end_burst(b, burst, now_ns);
	}
}

/* Bursts of which something is left. What comes now gets a position of its own, to be noticed. */
static void note_partly(struct cot_bursts *b)
{
	uint32_t i;

	for (i = 0; i < b->n_busy; i++) {
		struct cot_burst_stream *s = &b->streams[b->busy[i]];

		if (!s->burst->touched && !s->burst->partly)
			continue;
		s->burst->partly = true;
		s->burst->touched = false;
		end_position(s);
	}
}

static void settle(struct cot_bursts *b, uint64_t now_ns)
{
	cover_before(b);
	end_streams(b, now_ns);
	note_partly(b);
}

void cot_burst_covered(struct cot_bursts *b, struct cot_burst_point point, uint64_t now_ns)
{
	struct cot_burst_stream *s = stream_at(b, point);

	if (s && cover(s, point.position))
		settle(b, now_ns);
}

void cot_burst_covered_context(struct cot_bursts *b, uint64_t context, struct cot_burst_point point,
			       uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < b->n_busy; i++)
		if (b->streams[b->busy[i]].context == context)
			(void)cover(&b->streams[b->busy[i]], point.position);
	settle(b, now_ns);
	b->confused &= b->n_busy != 0;
}

/* ---- ends ---- */

void cot_burst_drop(struct cot_bursts *b, struct cot_burst_stream *s)
{
	if (s->burst) {
		blur(b, s->burst);
		leave(b, s);
	}
	atomic_store_explicit(&s->dirty, COT_BURST_NONE, memory_order_relaxed);
	rename_stream(s, (struct cot_burst_id){0});
}

void cot_burst_drop_context(struct cot_bursts *b, uint64_t context)
{
	uint32_t i;

	for (i = 0; i < COT_BURST_STREAMS; i++)
		if (atomic_load(&b->streams[i].home) &&
		    (!context || b->streams[i].context == context))
			cot_burst_drop(b, &b->streams[i]);
}
