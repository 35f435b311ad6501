/*
 * Lessons: what policies learned, and what the host brings of earlier runs. The table is sorted for
 * policies; beside it stands when each was written, for the host to keep them in that order.
 */
#include <string.h>

#include "sched/inside.h"

static bool is_after(const struct cot_lesson *l, const struct cot_lesson *than)
{
	return l->key > than->key || (l->key == than->key && l->kind > than->kind);
}

static void move(struct lessons *t, uint32_t to, uint32_t from, uint32_t n)
{
	memmove(&t->rows[to], &t->rows[from], n * sizeof(t->rows[0]));
	memmove(&t->written[to], &t->written[from], n * sizeof(t->written[0]));
}

static void drop_oldest(struct lessons *t)
{
	uint32_t i, oldest = 0;

	for (i = 1; i < t->n; i++)
		if (t->written[i] < t->written[oldest])
			oldest = i;
	t->n--;
	move(t, oldest, oldest + 1, t->n - oldest);
}

/* The place for a lesson that is not there. */
static uint32_t make_room(struct lessons *t, const struct cot_lesson *l)
{
	uint32_t at;

	if (t->n == COT_LESSONS_MAX)
		drop_oldest(t);
	at = t->n;
	while (at && is_after(&t->rows[at - 1], l))
		at--;
	move(t, at + 1, at, t->n - at);
	t->n++;
	return at;
}

static bool is_known(const struct cot_sched *s, const struct cot_lesson *l)
{
	const struct cot_lesson *known = cot_lesson_find(&s->policy, l->key, l->kind);

	return known && !memcmp(known->value, l->value, sizeof(l->value));
}

static void write_down(struct cot_sched *s, const struct cot_lesson *l)
{
	const struct cot_lesson *known = cot_lesson_find(&s->policy, l->key, l->kind);
	struct lessons *t = &s->lessons;
	uint32_t at = known ? (uint32_t)(known - t->rows) : make_room(t, l);

	t->rows[at] = *l;
	t->written[at] = ++t->last;
	s->policy.lessons = t->rows;
	s->policy.n_lessons = t->n;
}

int cot_sched_learn_on_lesson(struct cot_sched *s, const struct cot_lesson *l)
{
	if (!l->key)
		return -EINVAL;
	write_down(s, l);
	return 0;
}

/* No more than so many in each second by the clock. */
static bool are_too_many(struct cot_sched *s)
{
	struct lessons *t = &s->lessons;
	uint64_t second = s->policy.now_ns / COT_NS_PER_S;

	if (second != t->second) {
		t->second = second;
		t->n_second = 0;
	}
	return ++t->n_second > COT_LEARN_MAX;
}

int cot_sched_learn(struct cot_sched *s, const struct cot_lesson *l)
{
	if (!l->key)
		return -EINVAL;
	if (s->stopped)
		return not_now(s);
	if (is_known(s, l))
		return 0;
	if (are_too_many(s))
		return -ENOSPC;
	write_down(s, l);
	s->stats.lessons++;
	return 0;
}

uint32_t cot_sched_lessons(const struct cot_sched *s,
			   struct cot_lesson ret_lessons[COT_LESSONS_MAX])
{
	const struct lessons *t = &s->lessons;
	uint64_t last = 0, next;
	uint32_t n, i, at = 0;

	for (n = 0; n < t->n; n++) {
		next = UINT64_MAX;
		for (i = 0; i < t->n; i++)
			if (t->written[i] > last && t->written[i] < next) {
				next = t->written[i];
				at = i;
			}
		ret_lessons[n] = t->rows[at];
		last = next;
	}
	return n;
}
