/*
 * Trains the thermal term of the power model from a step test: a GPU at rest starts a steady load
 * at time 0, and its power creeps up as the chip warms. Pure; see model.h.
 */
#ifndef COT_MODEL_HEAT_H
#define COT_MODEL_HEAT_H

#include <stdint.h>

struct cot_model_heat {
	double start_w; /* power with the load on the cold chip */
	double rise_w;	/* what the warm chip takes more: below 0 if it takes less */
	double tau_s;
	double worst_w; /* the largest distance of a sample from the curve */
};

/*
 * Fits start_w + rise_w * (1 - exp(-t / tau_s)) to n samples by least squares. t_s grows, from 0
 * on. tau_s is sought between the first gap of two samples (or a millionth of the test, if that is
 * longer) and ten times the length of the test.
 * -EINVAL with fewer than four samples or a time that does not grow.
 */
int cot_model_heat_fit(const double *t_s, const double *watts, uint32_t n,
		       struct cot_model_heat *ret_heat);

#endif
