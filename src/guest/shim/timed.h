/*
 * How long each launch takes on the GPU, of a program that is profiled (proto/timed.h): an event
 * before and one behind it, in the stream where it is. Nothing happens in any other program, and
 * here only while the profiler has a round on, since the events take their time on the CPU.
 *
 * An idle GPU waits for the launch between the two events; so a kernel that the GPU waits for
 * counts a few microseconds longer than it runs. Launches that a graph records are left out, and a
 * graph counts as one.
 */
#ifndef COT_GUEST_SHIM_TIMED_H
#define COT_GUEST_SHIM_TIMED_H

#include "base/compiler.h"
#include "guest/shim/parts.h"

/* Whether the program is profiled. */
extern _Atomic bool cot_shim_timed_on;

static inline bool cot_shim_is_timed(void)
{
	/* Who sees it sees the mapping. */
	return COT_UNLIKELY(atomic_load_explicit(&cot_shim_timed_on, memory_order_acquire));
}

/* Once, with the shim's first call: looks whether it is. */
void cot_shim_timed_start(void);
/* A request has begun or ended, by the program's own word, or as it was seen. */
void cot_shim_timed_mark(void);
void cot_shim_timed_burst(void);

/* A launch under way; all 0: it is not timed. */
struct cot_shim_timed {
	CUevent end;
	uint64_t number;
};

/* In the launch's turn, before it: that kernel; or with NULL a graph, and a number that is its own.
 */
void cot_shim_timed_before(struct cot_shim_timed *t, const struct cot_shim_turn *turn,
			   const struct cot_shim_original *o, uint64_t graph);
/* After it. */
void cot_shim_timed_behind(struct cot_shim_timed *t, const struct cot_shim_turn *turn, CUresult rc);

static inline void cot_shim_timed_begin(struct cot_shim_timed *t, uint32_t live,
					const struct cot_shim_turn *turn,
					const struct cot_shim_original *o, uint64_t graph)
{
	t->end = NULL;
	if (COT_UNLIKELY(live == COT_SHIM_WATCHED) && cot_shim_is_timed())
		cot_shim_timed_before(t, turn, o, graph);
}

static inline void cot_shim_timed_end(struct cot_shim_timed *t, const struct cot_shim_turn *turn,
				      CUresult rc)
{
	if (COT_UNLIKELY(t->end != NULL))
		cot_shim_timed_behind(t, turn, rc);
}

void cot_shim_timed_drop(const struct cot_shim_parts *p); /* its context ends */
void cot_shim_timed_forget(void);			  /* after fork() */

#endif
