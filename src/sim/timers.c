#include "sim/timers.h"

#include <errno.h>
#include <stdlib.h>

int cot_timers_init(struct timers *t, uint32_t n)
{
	uint32_t i;

	t->n_blocks = (n + COT_TIMER_BLOCK - 1) / COT_TIMER_BLOCK;
	t->due_ps = calloc(t->n_blocks, COT_TIMER_BLOCK * sizeof(*t->due_ps));
	t->low_ps = calloc(t->n_blocks, sizeof(*t->low_ps));
	if (!t->due_ps || !t->low_ps) {
		cot_timers_finish(t);
		return -ENOMEM;
	}
	for (i = 0; i < t->n_blocks * COT_TIMER_BLOCK; i++)
		t->due_ps[i] = COT_TIMER_OFF;
	for (i = 0; i < t->n_blocks; i++)
		t->low_ps[i] = COT_TIMER_OFF;
	t->next_ps = COT_TIMER_OFF;
	t->next_id = 0;
	t->passed = false;
	return 0;
}

void cot_timers_finish(struct timers *t)
{
	free(t->due_ps);
	free(t->low_ps);
	t->due_ps = NULL;
	t->low_ps = NULL;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t block_min_ps(const uint64_t *due_ps)
{
	return earlier(earlier(earlier(due_ps[0], due_ps[1]), earlier(due_ps[2], due_ps[3])),
		       earlier(earlier(due_ps[4], due_ps[5]), earlier(due_ps[6], due_ps[7])));
}

_Static_assert(COT_TIMER_BLOCK == 8, "block_min_ps() has all of a block");

static uint32_t first_block(const struct timers *t)
{
	uint32_t best = 0, i;

	for (i = 1; i < t->n_blocks; i++)
		if (t->low_ps[i] < t->low_ps[best])
			best = i;
	return best;
}

/* A timer of the block that is due at its bound, the lowest; COT_TIMER_BLOCK: none is. */
static inline uint32_t find_low(const uint64_t *due_ps, uint64_t low_ps)
{
	uint32_t i;

	for (i = 0; i < COT_TIMER_BLOCK && due_ps[i] != low_ps; i++)
		;
	return i;
}

static void find_anywhere(struct timers *t)
{
	for (;;) {
		uint32_t block = first_block(t);
		const uint64_t *due_ps = &t->due_ps[block * COT_TIMER_BLOCK];
		uint32_t i = find_low(due_ps, t->low_ps[block]);

		if (i < COT_TIMER_BLOCK) {
			t->next_ps = t->low_ps[block];
			t->next_id = block * COT_TIMER_BLOCK + i;
			return;
		}
		t->low_ps[block] = block_min_ps(due_ps);
	}
}

void cot_timers_find(struct timers *t)
{
	uint32_t id = t->next_id, block = id / COT_TIMER_BLOCK;
	uint64_t min_ps;

	t->passed = false;
	if ((id + 1) % COT_TIMER_BLOCK && t->due_ps[id + 1] == t->next_ps) {
		t->next_id = id + 1;
		return;
	}
	min_ps = block_min_ps(&t->due_ps[block * COT_TIMER_BLOCK]);
	if (min_ps == t->next_ps) {
		t->next_id = block * COT_TIMER_BLOCK +
			     find_low(&t->due_ps[block * COT_TIMER_BLOCK], min_ps);
		return;
	}
	t->low_ps[block] = min_ps;
	find_anywhere(t);
}
