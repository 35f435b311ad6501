#include "model/lag.h"

static const uint64_t *times_of(const struct cot_lag *l, uint32_t task)
{
	return &l->task_ns[(uint64_t)task * l->n_quotas];
}

void cot_lag_begin(struct cot_lag *l, const uint64_t *task_ns, uint32_t n_tasks, uint32_t n_quotas,
		   uint32_t planned)
{
	uint32_t i, x;

	*l = (struct cot_lag){.task_ns = task_ns,
			      .n_tasks = n_tasks,
			      .n_quotas = n_quotas,
			      .planned = planned,
			      .quota = planned};
	for (i = 0; i < n_tasks; i++)
		for (x = 0; x < n_quotas; x++)
			l->left_ns[x] += times_of(l, i)[x];
	l->planned_ns = l->left_ns[planned];
}

static void take_done(struct cot_lag *l, uint32_t n_done)
{
	uint32_t x;

	for (; l->n_done < n_done && l->n_done < l->n_tasks; l->n_done++)
		for (x = 0; x < l->n_quotas; x++)
			l->left_ns[x] -= times_of(l, l->n_done)[x];
}

uint32_t cot_lag_next(struct cot_lag *l, uint32_t n_done, uint64_t elapsed_ns)
{
	uint64_t expected_ns;

	take_done(l, n_done);
	expected_ns = l->planned_ns - l->left_ns[l->planned];
	l->behind_ns = elapsed_ns > expected_ns ? elapsed_ns - expected_ns : 0;
	if (!l->behind_ns) {
		l->quota = l->planned;
		return l->quota;
	}
	while (l->quota + 1 < l->n_quotas && elapsed_ns + l->left_ns[l->quota] > l->planned_ns)
		l->quota++;
	return l->quota;
}
