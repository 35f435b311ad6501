/* How far off the predictions are. */
#include <errno.h>
#include <stdlib.h>

#include "study/live/live.h"

struct values {
	double *errors; /* without their signs */
	struct cot_live_errors *out;
	uint32_t of_case;
};

static double size_of(double error)
{
	return error < 0.0 ? -error : error;
}

static void add(struct values *v, double predicted, double measured)
{
	double error = predicted / measured - 1.0;

	if (!(measured > 0.0))
		return;
	v->out->n_near += size_of(error) <= COT_LIVE_NEAR;
	v->out->n_goal += size_of(error) <= COT_LIVE_GOAL;
	if (size_of(error) > size_of(v->out->worst)) {
		v->out->worst = error;
		v->out->worst_case = v->of_case;
	}
	v->errors[v->out->n++] = size_of(error);
}

static void add_case(struct values *v, const struct cot_live_case *c, enum cot_live_kind kind)
{
	bool all = kind == COT_LIVE_N_KINDS;
	uint32_t i;

	for (i = 0; i < c->n_apps; i++) {
		const struct cot_live_figures *p = &c->apps[i].predicted, *m = &c->apps[i].measured;

		if (all || kind == COT_LIVE_KIND_P50)
			add(v, p->p50_us, m->p50_us);
		if (all || kind == COT_LIVE_KIND_P99)
			add(v, p->p99_us, m->p99_us);
	}
	if (all || kind == COT_LIVE_KIND_RATE)
		add(v, cot_live_sum(c, true), cot_live_sum(c, false));
}

int cot_live_errors(const struct cot_live_check *c, enum cot_live_policy policy,
		    enum cot_live_kind kind, struct cot_live_errors *ret)
{
	struct values v = {.out = ret};
	uint32_t i;

	*ret = (struct cot_live_errors){.n = 0};
	v.errors = calloc(COT_LIVE_CASES_MAX, (2 * COT_LIVE_APPS_MAX + 1) * sizeof(*v.errors));
	if (!v.errors)
		return -ENOMEM;
	for (i = 0; i < c->n_cases; i++) {
		const struct cot_live_case *one = &c->cases[i];

		v.of_case = i;
		if (!one->why && (policy == COT_LIVE_N_POLICIES || policy == one->way->policy))
			add_case(&v, one, kind);
	}
	ret->median = cot_live_middle(v.errors, ret->n);
	free(v.errors);
	return 0;
}
