/*
 * Predictions of tenants. A table arrives row by row, so that an event stays small, and replaces
 * the one before when its last row is there: a policy never sees a part of a table.
 */
#include <string.h>

#include "sched/inside.h"

static void publish(struct cot_sched *s, struct sched_tenant *t)
{
	struct predictions *p = &t->predictions;

	memcpy(p->rows, p->coming, p->n_coming * sizeof(p->rows[0]));
	t->pub.predictions = p->n_coming ? p->rows : NULL;
	t->pub.n_predictions = p->n_coming;
	t->pub.cost = p->cost;
	p->n_coming = 0;
	if (s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, COT_CHANGED_PREDICTIONS);
}

static bool is_cost(const struct cot_cost *c)
{
	return c->power_w <= COT_POWER_W_MAX && c->cpu_w <= COT_POWER_W_MAX &&
	       c->cpu_ns <= COT_PLAN_NS_MAX;
}

/* Whether it continues, or is the first row of, a table of so many. Sizes grow. */
static bool is_next(const struct predictions *p, const struct cot_event *ev)
{
	const struct cot_prediction *is = &ev->prediction.is;
	uint32_t row = ev->prediction.row;

	if (row >= ev->prediction.n || ev->prediction.n > COT_PREDICTIONS_MAX)
		return false;
	if (!is->sms || is->sms > COT_SMS_MAX || !is->duration_ns ||
	    is->bytes_per_s > COT_BYTES_PER_S_MAX || is->kernel_ns > COT_PLAN_NS_MAX ||
	    !is_cost(&ev->prediction.cost))
		return false;
	if (!row)
		return true;
	return row == p->n_coming && ev->prediction.n == p->n_expected &&
	       is->sms > p->coming[row - 1].sms;
}

int cot_sched_predict_on_row(struct cot_sched *s, struct sched_tenant *t,
			     const struct cot_event *ev)
{
	struct predictions *p;

	if (!t)
		return -EINVAL;
	p = &t->predictions;
	if (!ev->prediction.n && !ev->prediction.row) {
		p->n_coming = 0;
		p->cost = (struct cot_cost){0};
		publish(s, t);
		return 0;
	}
	if (!is_next(p, ev)) {
		p->n_coming = 0;
		return -EINVAL;
	}
	p->n_expected = ev->prediction.n;
	p->coming[ev->prediction.row] = ev->prediction.is;
	p->n_coming = ev->prediction.row + 1;
	p->cost = ev->prediction.cost;
	if (p->n_coming == p->n_expected)
		publish(s, t);
	return 0;
}
