#include "sim/timers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int cot_timers_init(struct timers *t, uint32_t n)
{
	uint32_t i;

	t->heap = calloc(n, sizeof(*t->heap));
	t->pos = calloc(n, sizeof(*t->pos));
	t->n = n;
	if (!t->heap || !t->pos) {
		cot_timers_finish(t);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		t->heap[i] = (struct timer_slot){COT_TIMER_OFF, i};
		t->pos[i] = i;
	}
	return 0;
}

void cot_timers_finish(struct timers *t)
{
	free(t->heap);
	free(t->pos);
	t->heap = NULL;
	t->pos = NULL;
}

static inline bool before(struct timer_slot a, struct timer_slot b)
{
	return a.due_ps < b.due_ps || (a.due_ps == b.due_ps && a.id < b.id);
}

static inline void put(struct timers *t, uint32_t at, struct timer_slot s)
{
	t->heap[at] = s;
	t->pos[s.id] = at;
}

static void sift_up(struct timers *t, uint32_t at, struct timer_slot s)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (!before(s, t->heap[parent]))
			break;
		put(t, at, t->heap[parent]);
		at = parent;
	}
	put(t, at, s);
}

static void sift_down(struct timers *t, uint32_t at, struct timer_slot s)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= t->n)
			break;
		if (child + 1 < t->n && before(t->heap[child + 1], t->heap[child]))
			child++;
		if (!before(t->heap[child], s))
			break;
		put(t, at, t->heap[child]);
		at = child;
	}
	put(t, at, s);
}

void cot_timers_set(struct timers *t, uint32_t id, uint64_t due_ps)
{
	uint32_t at = t->pos[id];
	struct timer_slot old = t->heap[at], s = {due_ps, id};

	if (due_ps == old.due_ps)
		return;
	if (before(s, old))
		sift_up(t, at, s);
	else
		sift_down(t, at, s);
}
