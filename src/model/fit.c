#include "model/fit.h"

#include <errno.h>
#include <string.h>

#include "base/rng.h"

#define N_MAX COT_MODEL_EVENTS_MAX
#define TINY  1e-10 /* of an event's variance: what is left of it is rounding */

/*
 * The normal equations in centred and scaled events, so that counts of any size mix, solved by
 * Cholesky's method.
 */
struct normal {
	uint32_t n_events, n_rows;
	double mean[N_MAX], scale[N_MAX], watts_mean;
	double a[N_MAX][N_MAX], b[N_MAX];
};

static bool used(const bool *use, uint32_t row)
{
	return !use || use[row];
}

static const double *row_of(const struct cot_model_samples *s, uint32_t row)
{
	return &s->rates[(size_t)row * s->n_events];
}

static void centre(const struct cot_model_samples *s, const bool *use, struct normal *eq)
{
	uint32_t i, j;
	double d;

	for (i = 0; i < s->n; i++) {
		if (!used(use, i))
			continue;
		eq->n_rows++;
		eq->watts_mean += s->watts[i];
		for (j = 0; j < s->n_events; j++)
			eq->mean[j] += row_of(s, i)[j];
	}
	if (!eq->n_rows)
		return;
	eq->watts_mean /= eq->n_rows;
	for (j = 0; j < s->n_events; j++)
		eq->mean[j] /= eq->n_rows;
	/* The largest distance from the mean scales: no square root, no overflow. */
	for (i = 0; i < s->n; i++)
		for (j = 0; used(use, i) && j < s->n_events; j++) {
			d = row_of(s, i)[j] - eq->mean[j];
			d = d < 0 ? -d : d;
			if (d > eq->scale[j])
				eq->scale[j] = d;
		}
}

static void add_row(const double *rates, double watts, struct normal *eq)
{
	double x[N_MAX];
	uint32_t j, k;

	for (j = 0; j < eq->n_events; j++)
		x[j] = (rates[j] - eq->mean[j]) / eq->scale[j];
	for (j = 0; j < eq->n_events; j++) {
		for (k = 0; k <= j; k++)
			eq->a[j][k] += x[j] * x[k];
		eq->b[j] += x[j] * (watts - eq->watts_mean);
	}
}

/* a = L D L'. Returns the event whose pivot vanishes, or n_events. */
static uint32_t factor(struct normal *eq)
{
	uint32_t i, j, k;
	double whole;

	for (j = 0; j < eq->n_events; j++) {
		whole = eq->a[j][j];
		for (k = 0; k < j; k++)
			eq->a[j][j] -= eq->a[j][k] * eq->a[j][k] * eq->a[k][k];
		if (!(eq->a[j][j] > TINY * whole))
			return j;
		for (i = j + 1; i < eq->n_events; i++) {
			for (k = 0; k < j; k++)
				eq->a[i][j] -= eq->a[i][k] * eq->a[j][k] * eq->a[k][k];
			eq->a[i][j] /= eq->a[j][j];
		}
	}
	return eq->n_events;
}

static void solve(struct normal *eq)
{
	uint32_t i, j;

	for (i = 0; i < eq->n_events; i++)
		for (j = 0; j < i; j++)
			eq->b[i] -= eq->a[i][j] * eq->b[j];
	for (i = 0; i < eq->n_events; i++)
		eq->b[i] /= eq->a[i][i];
	for (i = eq->n_events; i-- > 0;)
		for (j = i + 1; j < eq->n_events; j++)
			eq->b[i] -= eq->a[j][i] * eq->b[j];
}

static void set_shares(const struct cot_model_samples *s, const bool *use,
		       struct cot_model_fit *fit)
{
	uint32_t i, j, n = 0;
	double watts;

	for (i = 0; i < s->n; i++) {
		watts = cot_model_fit_predict(fit, row_of(s, i));
		if (!used(use, i) || watts <= 0)
			continue;
		n++;
		for (j = 0; j < s->n_events; j++)
			fit->share[j] += fit->watts[j] * row_of(s, i)[j] / watts;
		fit->lambda_share += fit->lambda_w / watts;
	}
	if (!n)
		return;
	fit->lambda_share /= n;
	for (j = 0; j < s->n_events; j++)
		fit->share[j] /= n;
}

int cot_model_fit(const struct cot_model_samples *s, const bool *use, struct cot_model_fit *ret,
		  uint32_t *ret_event)
{
	struct normal eq;
	uint32_t i, event;

	if (s->n_events > COT_MODEL_EVENTS_MAX)
		return -EINVAL;
	memset(&eq, 0, sizeof(eq));
	eq.n_events = s->n_events;
	centre(s, use, &eq);
	if (eq.n_rows < s->n_events + 1)
		return -EINVAL;
	for (i = 0; i < s->n_events; i++)
		if (!(eq.scale[i] > 0)) {
			*ret_event = i;
			return -EDOM;
		}
	for (i = 0; i < s->n; i++)
		if (used(use, i))
			add_row(row_of(s, i), s->watts[i], &eq);
	event = factor(&eq);
	if (event < s->n_events) {
		*ret_event = event;
		return -EDOM;
	}
	solve(&eq);
	memset(ret, 0, sizeof(*ret));
	ret->n_events = s->n_events;
	ret->lambda_w = eq.watts_mean;
	for (i = 0; i < s->n_events; i++) {
		ret->watts[i] = eq.b[i] / eq.scale[i];
		ret->lambda_w -= ret->watts[i] * eq.mean[i];
	}
	set_shares(s, use, ret);
	return 0;
}

double cot_model_fit_predict(const struct cot_model_fit *fit, const double *rates)
{
	double watts = fit->lambda_w;
	uint32_t i;

	for (i = 0; i < fit->n_events; i++)
		watts += fit->watts[i] * rates[i];
	return watts;
}

void cot_model_fit_errors(const struct cot_model_samples *s, const bool *use, bool wanted,
			  const struct cot_model_fit *fit, const double *base_w,
			  struct cot_model_errors *ret)
{
	double error, base;
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < s->n; i++) {
		base = base_w ? base_w[i] : 0;
		if (used(use, i) != wanted || s->watts[i] + base <= 0)
			continue;
		error = (cot_model_fit_predict(fit, row_of(s, i)) - s->watts[i]) /
			(s->watts[i] + base);
		error = error < 0 ? -error : error;
		if (!ret->n || error > ret->worst) {
			ret->worst = error;
			ret->worst_row = i;
		}
		ret->n++;
		ret->mean += error;
	}
	if (ret->n)
		ret->mean /= ret->n;
}

int cot_model_fit_split(const uint32_t *group, uint32_t n, uint32_t n_groups, uint32_t train_pct,
			uint64_t seed, bool *picked, bool *ret_use)
{
	uint32_t wanted, left, i;
	struct cot_rng rng = {seed};

	if (n_groups < 2)
		return -EINVAL;
	wanted = (uint32_t)(((uint64_t)n_groups * train_pct + 50) / 100);
	wanted = wanted < 1 ? 1 : wanted > n_groups - 1 ? n_groups - 1 : wanted;
	left = wanted;
	/* Selection sampling: each remaining group with the chance that fills the rest. */
	for (i = 0; i < n_groups; i++) {
		picked[i] = cot_rng_below(&rng, n_groups - i) < left;
		left -= picked[i];
	}
	for (i = 0; i < n; i++)
		ret_use[i] = picked[group[i]];
	return 0;
}
