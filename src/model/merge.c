#include "model/merge.h"

#define LOOKS 4u /* places for a key */

static uint64_t waves(uint64_t blocks, uint64_t room)
{
	return (blocks + room - 1) / room;
}

bool cot_merge_judge(const struct cot_merge_set *set)
{
	uint64_t in_a_row = set->n_longest ? set->n_longest : set->n;
	uint64_t apart = in_a_row * set->launch_ns;
	uint64_t together = (uint64_t)(set->merged_ns ? set->merged_ns : set->launch_ns) +
			    (uint64_t)set->n_events * set->event_ns;

	if (set->n < 2 || !set->n_sms || !set->per_sm || !set->merged_per_sm)
		return false;
	if (waves(set->blocks, (uint64_t)set->n_sms * set->merged_per_sm) >
	    waves(set->blocks, (uint64_t)set->n_sms * set->per_sm))
		return false;
	return together < apart;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

uint64_t cot_merge_key(uint64_t function, uint32_t threads, uint32_t n, uint64_t blocks)
{
	uint32_t bucket = 0;

	while (blocks >>= 1)
		bucket++;
	function = mix(mix(function) ^ ((uint64_t)threads << 32 | (uint64_t)n << 8 | bucket));
	/* Never 0, and without the lowest bit. */
	return (function & ~1ull) | 2;
}

bool cot_merge_verdict_find(const struct cot_merge_verdicts *v, uint64_t key, bool *ret_merge)
{
	uint32_t i;

	for (i = 0; i < LOOKS; i++) {
		uint64_t there = v->keys[((key >> 8) + i) % COT_MERGE_VERDICTS];

		if ((there & ~1ull) != key)
			continue;
		*ret_merge = there & 1;
		return true;
	}
	return false;
}

void cot_merge_verdict_put(struct cot_merge_verdicts *v, uint64_t key, bool merge)
{
	uint64_t *at = &v->keys[(key >> 8) % COT_MERGE_VERDICTS];
	uint32_t i;

	for (i = 0; i < LOOKS; i++) {
		uint64_t *free_one = &v->keys[((key >> 8) + i) % COT_MERGE_VERDICTS];

		if (*free_one && (*free_one & ~1ull) != key)
			continue;
		at = free_one;
		break;
	}
	*at = key | (uint64_t)merge;
}

/* ---- threads ---- */

#define SMOOTH 4

static struct cot_merge_thread *place_of(struct cot_merge_threads *t, uintptr_t id)
{
	struct cot_merge_thread *oldest = &t->list[0];
	uint32_t i;

	for (i = 0; i < COT_MERGE_THREADS; i++) {
		if (t->list[i].id == id)
			return &t->list[i];
		if (t->list[i].last_ns < oldest->last_ns)
			oldest = &t->list[i];
	}
	*oldest = (struct cot_merge_thread){id, 0, COT_MERGE_RECENT_NS};
	return oldest;
}

void cot_merge_thread_launched(struct cot_merge_threads *t, uintptr_t id, uint64_t now_ns)
{
	struct cot_merge_thread *l = place_of(t, id);
	uint64_t gap_ns = now_ns - l->last_ns;

	if (gap_ns > COT_MERGE_RECENT_NS)
		gap_ns = COT_MERGE_RECENT_NS;
	if (l->gap_ns == COT_MERGE_RECENT_NS)
		l->gap_ns = gap_ns;
	else
		l->gap_ns = (l->gap_ns * (SMOOTH - 1) + gap_ns) / SMOOTH;
	l->last_ns = now_ns;
}

uint64_t cot_merge_threads_due(const struct cot_merge_threads *t, uintptr_t id, uint64_t now_ns,
			       uint64_t since_ns, uint64_t until_ns)
{
	uint64_t last_ns = 0, due_ns;
	uint32_t i;

	for (i = 0; i < COT_MERGE_THREADS; i++) {
		const struct cot_merge_thread *l = &t->list[i];

		if (!l->id || l->id == id || l->last_ns >= since_ns)
			continue;
		if (l->last_ns + l->gap_ns > until_ns)
			continue;
		due_ns = l->last_ns + l->gap_ns + l->gap_ns / 2;
		due_ns = due_ns < until_ns ? due_ns : until_ns;
		if (due_ns > now_ns && due_ns > last_ns)
			last_ns = due_ns;
	}
	return last_ns;
}
