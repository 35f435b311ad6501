/*
 * Multiprogram metrics of Eyerman & Eeckhout (IEEE Micro 2008) as the papers use them.
 * T_single: time alone; T_multi: mean time together. NP = T_single / T_multi, NTT = 1 / NP.
 */
#ifndef COT_SIM_METRICS_H
#define COT_SIM_METRICS_H

#include <stdint.h>

struct cot_multi_metrics {
	double antt;	 /* mean NTT: 1 is best, lower is better */
	double stp;	 /* sum of NP: n is best, higher is better */
	double fairness; /* min NP / max NP, in (0, 1] */
};

/* All times > 0, n >= 1. */
struct cot_multi_metrics cot_multi_metrics(const double *single_us, const double *multi_us,
					   uint32_t n);

#endif
