/*
 * Power and energy of the whole system while kernels run, equations (10) to (12) of the patent:
 *
 *     P(t) = idle_w + P_T(t) + P_dyn        P_dyn = memory_w * e1 + instruction_w * e2 + ... +
 * lambda_w
 *
 * idle_w is what the idle system takes; the GPU's static power is part of it. e1 and e2 are global
 * memory transactions and instructions per cycle of a "virtual" SM: the mean over all SMs of the
 * GPU, idle ones included. The patent has these two; a GPU of today takes more kinds, e3 and on.
 * Powers of SMs are never added up: much of what one SM is seen to take is taken once for all.
 *
 * P_T is the leakage that grows with temperature: the chip warms up towards a rise that goes with
 * P_dyn, by exp(-t/tau) as a resistor and a capacitor do. Pure; see model.h.
 */
#ifndef COT_MODEL_POWER_H
#define COT_MODEL_POWER_H

#include "model/model.h"

struct cot_model_power {
	double idle_w;
	double memory_w;		     /* per transaction and cycle of the virtual SM */
	double instruction_w;		     /* per warp instruction and cycle of the virtual SM */
	double extra_w[COT_MODEL_EXTRA_MAX]; /* per other event and cycle of the virtual SM */
	double lambda_w;     /* the intercept: whenever a kernel runs; a fit may make it negative */
	double thermal_gain; /* steady P_T per watt of P_dyn: k_T * R_th; 0: no thermal term */
	double tau_s;	     /* > 0 with a thermal gain */
};

/* Occurrences on the whole GPU during one run of a kernel: blocks * warps * counts of a warp. */
struct cot_model_events {
	double transactions, instructions;
	double extra[COT_MODEL_EXTRA_MAX];
};

void cot_model_events_of(const struct cot_model_kernel *k, struct cot_model_events *ret_events);
void cot_model_events_add(struct cot_model_events *sum, const struct cot_model_events *more);

struct cot_model_draw {
	double memory_rate, instruction_rate; /* e1 and e2, per cycle and SM */
	double memory_w, instruction_w, extra_w, lambda_w;
	double dynamic_w; /* their sum, not less than 0 */
};

/* The events in `cycles` (> 0) on the virtual SM. */
void cot_model_draw_of(const struct cot_model_gpu *gpu, const struct cot_model_power *power,
		       const struct cot_model_events *events, double cycles,
		       struct cot_model_draw *ret_draw);

/* System power at t_s after the start of a run that draws dynamic_w, from a GPU at rest. */
double cot_model_power_at(const struct cot_model_power *power, double dynamic_w, double t_s);

/* P_T's mean over the first `seconds` (> 0) of a run. */
double cot_model_thermal_w(const struct cot_model_power *power, double dynamic_w, double seconds);

/* The integral of cot_model_power_at() over `seconds`. */
double cot_model_energy_j(const struct cot_model_power *power, double dynamic_w, double seconds);

/* exp(-x) for x >= 0 with the same last bit everywhere; relative error below 4e-15. */
double cot_model_decay(double x);

#endif
