/*
 * Requests of a program that does not mark them, as *bursts*: from the first operation (a copy, a
 * launch, a graph) that a thread puts into an idle stream to the moment at which the host knows
 * that all of the burst is done, because a wait that covers it returns.
 *
 * To a burst belong all streams into which its thread puts operations before it is over, and those
 * that wait for its streams, by events or as the default stream does. What other threads do in
 * other streams are bursts of their own.
 *
 *      put            wait covers all of it
 *     ------> open ---------------------------> over: seen
 *              |  wait covers some of it
 *              +-----------------------> open, partly
 *                                          |  put: the next request has begun, maybe
 *                                          +-----> open, unclear --covered--> not seen
 *
 * Copies to the GPU alone are no request, but the input of their thread's next one, which has begun
 * with them if it follows within COT_BURST_SOON_NS. More than COT_BURST_INPUTS in a row are data
 * that the program loads, and belong to nothing.
 *
 * Where requests overlap so that nobody can tell which operation is of which, nothing is seen;
 * n_unclear counts how often. So each time that is given out is one of the program's.
 *
 * How far a stream has got is a *position*. They are counted for all streams together. The first
 * operation gets the next one, and those that follow have the same (`dirty`) until a wait or a
 * record begins, which is up to the last position that there is.
 *
 * Pure: no clock, no driver. Not thread-safe, but for cot_burst_find(), what it finds, and
 * cot_burst_point().
 */
#ifndef COT_GUEST_SHIM_BURST_H
#define COT_GUEST_SHIM_BURST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define COT_BURST_STREAMS 256u /* that have something to wait for, at a time */
#define COT_BURST_EVENTS  1024u
#define COT_BURST_EDGES	  4u
#define COT_BURST_SOON_NS (1000 * 1000ull) /* after a copy: what a program does in between */
#define COT_BURST_INPUTS  64u		   /* copies that are waited for, of one request */
#define COT_BURST_THREADS 64u		   /* of which inputs are known, at a time */

/* A stream by its handle, with thread 0; a default stream by its context. */
struct cot_burst_id {
	uint64_t home, thread;
};

#define COT_BURST_LEGACY 1u /* `thread` of a default stream that is of no thread */

/* What an operation is, as far as it matters here. */
enum cot_burst_kind { COT_BURST_NONE, COT_BURST_INPUT, COT_BURST_WORK }; /* INPUT: to the GPU */

/* A burst that was input alone. */
struct cot_burst_input {
	uint64_t thread, begin_ns, end_ns; /* 0: none; begin: of the first in a row */
	uint32_t n;			   /* in a row */
};

/* When stream `to` is covered up to `at`, this one is up to `of`. */
struct cot_burst_edge {
	uint32_t to, life;
	uint64_t at, of;
};

struct cot_burst {
	uint64_t begin_ns, number;
	uint64_t thread;    /* that adds to it; 0: none any longer */
	uint32_t n_streams; /* that are busy; 0: there is no such burst */
	uint32_t n_inputs;  /* that were over before, and belong to it */
	bool works, partly, unclear, touched;
};

struct cot_burst_stream {
	_Atomic uint64_t home, thread; /* 0, 0: none */
	_Atomic uint8_t dirty; /* the greatest kind of what has the position `put` and may go on */
	_Atomic uint32_t life; /* another one for each stream that has been here */
	uint64_t context;
	bool blocking;
	uint64_t since, put, covered; /* positions; `since`: of what is not covered */
	struct cot_burst *burst;      /* NULL: nothing to wait for */
	uint32_t n_edges;
	struct cot_burst_edge edges[COT_BURST_EDGES];
};

/* Up to where something is recorded, or waited for; life 0: nothing. */
struct cot_burst_point {
	uint32_t stream, life;
	uint64_t position;
};

struct cot_burst_event {
	uint64_t handle;
	struct cot_burst_point at;
};

struct cot_bursts {
	_Atomic uint64_t position;
	uint64_t n_unclear, n_bursts;
	bool confused;
	bool kept_input, lost_input; /* since somebody cleared them: for the next one; too old */
	void (*seen)(uint64_t begin_ns, uint64_t end_ns);
	_Atomic uint32_t n_busy;
	uint32_t busy[COT_BURST_STREAMS];
	struct cot_burst_stream streams[COT_BURST_STREAMS];
	struct cot_burst bursts[COT_BURST_STREAMS];
	struct cot_burst_event events[COT_BURST_EVENTS];
	uint32_t n_inputs; /* that are kept */
	struct cot_burst_input inputs[COT_BURST_THREADS];
};

static inline bool cot_burst_is(const struct cot_burst_stream *s, struct cot_burst_id id)
{
	return atomic_load_explicit(&s->home, memory_order_relaxed) == id.home &&
	       atomic_load_explicit(&s->thread, memory_order_relaxed) == id.thread;
}
static inline uint64_t cot_burst_hash(uint64_t x, uint64_t y)
{
	return ((x >> 3) + y) * 0x9e3779b97f4a7c15ull >> 32;
}
/* Where it is if it is known, or one of the next places. */
static inline struct cot_burst_stream *cot_burst_place(struct cot_bursts *b, struct cot_burst_id id,
						       unsigned probe)
{
	return &b->streams[(cot_burst_hash(id.home, id.thread) + probe) % COT_BURST_STREAMS];
}
struct cot_burst_stream *cot_burst_find_further(struct cot_bursts *b, struct cot_burst_id id);
/* NULL: it is not known. From any thread: the answer may be about a stream that has just come or
 * gone. */
static inline struct cot_burst_stream *cot_burst_find(struct cot_bursts *b, struct cot_burst_id id)
{
	struct cot_burst_stream *s = cot_burst_place(b, id, 0);

	return COT_LIKELY(cot_burst_is(s, id)) ? s : cot_burst_find_further(b, id);
}
/* Whether one more operation of this kind changes nothing. */
static inline bool cot_burst_has_put(const struct cot_burst_stream *s, enum cot_burst_kind kind)
{
	return atomic_load_explicit(&s->dirty, memory_order_relaxed) >= kind;
}

/* The same; a new one is of that context. NULL: there is no room, and what is open is unclear. */
struct cot_burst_stream *cot_burst_get(struct cot_bursts *b, struct cot_burst_id id,
				       uint64_t context, bool blocking);
/* Something was put into a stream of which nothing can be known: all is unclear until a wait for a
 * context leaves nothing open. */
void cot_burst_confuse(struct cot_bursts *b);
/* The program destroys it, or the context; 0: all contexts, maybe. */
void cot_burst_drop(struct cot_bursts *b, struct cot_burst_stream *s);
void cot_burst_drop_context(struct cot_bursts *b, uint64_t context);

void cot_burst_put(struct cot_bursts *b, struct cot_burst_stream *s, uint64_t thread,
		   enum cot_burst_kind kind, uint64_t now_ns);
/* What has been put into it until now; position 0: it is not known. From any thread. */
struct cot_burst_point cot_burst_point(struct cot_bursts *b, struct cot_burst_id id);
/* What has been put into any stream of the context; its point is of no stream. */
struct cot_burst_point cot_burst_point_of_context(struct cot_bursts *b, uint64_t context);

/* The event was recorded there; it is gone, or was recorded where we do not know. */
void cot_burst_record(struct cot_bursts *b, uint64_t event, struct cot_burst_point at);
void cot_burst_forget(struct cot_bursts *b, uint64_t event);
/* Where it was recorded last. */
struct cot_burst_point cot_burst_recorded(const struct cot_bursts *b, uint64_t event);
/* What is put into the stream from now on waits for that point. */
void cot_burst_order(struct cot_bursts *b, struct cot_burst_stream *s,
		     struct cot_burst_point after);

/* The host knows that this is done. */
void cot_burst_covered(struct cot_bursts *b, struct cot_burst_point point, uint64_t now_ns);
void cot_burst_covered_context(struct cot_bursts *b, uint64_t context, struct cot_burst_point point,
			       uint64_t now_ns);

#endif
