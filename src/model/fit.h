/*
 * Trains the coefficients of the power model (equation (11)) by ordinary least squares and says how
 * far it is off on workloads that it has not seen. Pure; see model.h.
 */
#ifndef COT_MODEL_FIT_H
#define COT_MODEL_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COT_MODEL_EVENTS_MAX 16u

/* Rows of event rates, and the dynamic power that was measured with each. */
struct cot_model_samples {
	uint32_t n, n_events;
	const double *rates; /* n rows of n_events */
	const double *watts; /* n: power while running minus idle power */
};

struct cot_model_fit {
	uint32_t n_events;
	double watts[COT_MODEL_EVENTS_MAX]; /* per event and cycle of the virtual SM: a_i */
	double lambda_w;
	/* Part of the dynamic power, mean over the rows: of each event and of lambda. */
	double share[COT_MODEL_EVENTS_MAX], lambda_share;
};

/*
 * Fits to the rows with use[i] (NULL: all). -EINVAL: fewer rows than coefficients or more than
 * COT_MODEL_EVENTS_MAX events. -EDOM: the rates of an event (*ret_event) follow from those before
 * it, or never change; then no coefficient can be determined.
 */
int cot_model_fit(const struct cot_model_samples *s, const bool *use, struct cot_model_fit *ret_fit,
		  uint32_t *ret_event);

double cot_model_fit_predict(const struct cot_model_fit *fit, const double *rates);

struct cot_model_errors {
	uint32_t n;
	double mean, worst; /* |predicted - measured| / measured */
	uint32_t worst_row;
};

/* Errors over the rows with use[i] equal to `wanted`. Predicted and measured power both get base_w
 * added (NULL: 0): 0 compares the GPU's dynamic power, the idle power that of the system. n = 0 if
 * no row. */
void cot_model_fit_errors(const struct cot_model_samples *s, const bool *use, bool wanted,
			  const struct cot_model_fit *fit, const double *base_w,
			  struct cot_model_errors *ret_errors);

/*
 * Draws the training set: of n_groups workloads (group[i] < n_groups says to which one row i
 * belongs) `train_pct` per cent, at least one and not all, by the seed. A workload is never on both
 * sides. -EINVAL with fewer than two workloads; `picked` has room for n_groups.
 */
int cot_model_fit_split(const uint32_t *group, uint32_t n, uint32_t n_groups, uint32_t train_pct,
			uint64_t seed, bool *picked, bool *ret_use);

#endif
