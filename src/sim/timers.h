/*
 * The event queue: a fixed set of timers, each with one due time, in an indexed binary heap.
 * Ties go to the lower id, so the order of events never depends on history.
 */
#ifndef COT_SIM_TIMERS_H
#define COT_SIM_TIMERS_H

#include <stdint.h>

#define COT_TIMER_OFF UINT64_MAX

struct timer_slot {
	uint64_t due_ps;
	uint32_t id;
};

struct timers {
	struct timer_slot *heap; /* n entries; owned */
	uint32_t *pos;		 /* id -> index in heap; owned */
	uint32_t n;
};

int cot_timers_init(struct timers *t, uint32_t n); /* all off. 0 or -ENOMEM */
void cot_timers_finish(struct timers *t);
void cot_timers_set(struct timers *t, uint32_t id, uint64_t due_ps);

static inline uint64_t timers_next_ps(const struct timers *t)
{
	return t->heap[0].due_ps;
}

static inline uint32_t timers_next_id(const struct timers *t)
{
	return t->heap[0].id;
}

#endif
