#include "model/consolidate.h"

#include <errno.h>
#include <string.h>

static uint32_t instances(const uint32_t *copies, uint32_t n)
{
	uint32_t i, sum = 0;

	for (i = 0; i < n; i++)
		sum += copies[i];
	return sum;
}

static uint32_t kinds(const uint32_t *copies, uint32_t n)
{
	uint32_t i, sum = 0;

	for (i = 0; i < n; i++)
		sum += copies[i] > 0;
	return sum;
}

static bool is_candidate(const uint32_t *copies, uint32_t n)
{
	uint32_t total = instances(copies, n);

	return total >= 2 && (total <= COT_MODEL_MIXED_MAX || kinds(copies, n) == 1);
}

/*
 * Counts up like an odometer, kernel 0 fastest. A number that can only grow beyond a mixed set,
 * with another kernel in it, is skipped at once: the wheel goes back to 0.
 */
bool cot_model_next_candidate(const uint32_t *pending, uint32_t n, uint32_t *copies)
{
	uint32_t i;

	do {
		for (i = 0; i < n; i++) {
			if (copies[i] < pending[i]) {
				copies[i]++;
				if (kinds(copies, n) == 1 ||
				    instances(copies, n) <= COT_MODEL_MIXED_MAX)
					break;
			}
			copies[i] = 0;
		}
		if (i == n)
			return false;
	} while (!is_candidate(copies, n));
	return true;
}

struct best {
	struct cot_model_step step;
	double saving_j;
	bool found;
};

static bool better(const struct best *b, const struct cot_model_verdict *v, uint32_t n)
{
	double saving_j = v->least_j - v->together.energy_j;

	if (!b->found || saving_j != b->saving_j)
		return !b->found || saving_j > b->saving_j;
	if (n != b->step.n)
		return n > b->step.n;
	return v->together.seconds < b->step.verdict.together.seconds;
}

static int find_best(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		     const uint32_t *pending, uint32_t n, struct best *b)
{
	uint32_t copies[COT_MODEL_KINDS_MAX] = {0}, total;
	struct cot_model_verdict v;
	int rc;

	memset(b, 0, sizeof(*b));
	while (cot_model_next_candidate(pending, n, copies)) {
		rc = cot_model_judge(m, kernels, copies, n, &v);
		if (rc)
			return rc;
		total = instances(copies, n);
		if (!v.consolidate || !better(b, &v, total))
			continue;
		b->found = true;
		b->saving_j = v.least_j - v.together.energy_j;
		memcpy(b->step.copies, copies, sizeof(copies));
		b->step.n = total;
		b->step.where = COT_MODEL_TOGETHER;
		b->step.verdict = v;
		b->step.energy_j = v.together.energy_j;
		b->step.seconds = v.together.seconds;
	}
	return 0;
}

static int one_by_one(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		      const uint32_t *left, uint32_t n,
		      void (*take)(void *, const struct cot_model_step *), void *arg)
{
	struct cot_model_step step;
	struct cot_model_cost cost;
	uint32_t i, j;
	int rc;

	for (i = 0; i < n; i++) {
		if (!left[i])
			continue;
		memset(&step, 0, sizeof(step));
		step.copies[i] = 1;
		step.n = 1;
		rc = cot_model_alone(m, &kernels[i], &step.where, &step.energy_j);
		if (!rc)
			rc = cot_model_cost_of(m, &kernels[i], NULL, 1, &cost);
		if (rc)
			return rc;
		step.seconds = step.where == COT_MODEL_CPU ? kernels[i].cpu_s : cost.seconds;
		for (j = 0; j < left[i]; j++)
			take(arg, &step);
	}
	return 0;
}

int cot_model_plan(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		   const uint32_t *pending, uint32_t n,
		   void (*take)(void *arg, const struct cot_model_step *step), void *arg)
{
	uint32_t left[COT_MODEL_KINDS_MAX], i;
	struct best best;
	int rc;

	if (!n || n > COT_MODEL_KINDS_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (pending[i] > COT_MODEL_COPIES_MAX)
			return -EINVAL;
		left[i] = pending[i];
	}
	for (;;) {
		rc = find_best(m, kernels, left, n, &best);
		if (rc)
			return rc;
		if (!best.found)
			return one_by_one(m, kernels, left, n, take, arg);
		for (i = 0; i < n; i++)
			left[i] -= best.step.copies[i];
		take(arg, &best.step);
	}
}
