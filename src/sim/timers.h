/*
 * The event queue: a fixed set of timers, each with one due time. Ties go to the lower id, so the
 * order of events never depends on history.
 *
 * There are some dozens of timers, nearly every event sets one of them, and SMs that work in step
 * have theirs due together. So the due times are in a plain table, in blocks of which a lower bound
 * is known: setting a timer is a store and two comparisons, and the next one of those that are due
 * together is its neighbour.
 */
#ifndef COT_SIM_TIMERS_H
#define COT_SIM_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define COT_TIMER_OFF	UINT64_MAX
#define COT_TIMER_BLOCK 8u

struct timers {
	uint64_t *due_ps; /* whole blocks of them; owned */
	uint64_t *low_ps; /* per block: no timer of it is due earlier; owned */
	uint32_t n_blocks;
	/* The first timer. Once it was set again (`passed`): none is due before it, nor at its time
	 * with a lower id. */
	uint64_t next_ps;
	uint32_t next_id;
	bool passed;
};

int cot_timers_init(struct timers *t, uint32_t n); /* all off. 0 or -ENOMEM */
void cot_timers_finish(struct timers *t);
/* Looks for the first timer, after it has passed. */
void cot_timers_find(struct timers *t);

static inline void cot_timers_set(struct timers *t, uint32_t id, uint64_t due_ps)
{
	uint64_t *low_ps = &t->low_ps[id / COT_TIMER_BLOCK];

	t->due_ps[id] = due_ps;
	if (due_ps < *low_ps)
		*low_ps = due_ps;
	if (due_ps < t->next_ps || (due_ps == t->next_ps && id <= t->next_id)) {
		t->next_ps = due_ps;
		t->next_id = id;
		t->passed = false;
	} else if (id == t->next_id) {
		t->passed = true;
	}
}

static inline uint64_t timers_next_ps(struct timers *t)
{
	if (t->passed)
		cot_timers_find(t);
	return t->next_ps;
}

static inline uint32_t timers_next_id(struct timers *t)
{
	if (t->passed)
		cot_timers_find(t);
	return t->next_id;
}

#endif
