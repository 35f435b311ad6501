#include "model/power.h"

#include <string.h>

#include "model/mwp.h"

#define LN2_HIGH  0x1.62e42fefa3800p-1 /* 42 bits: its multiples below 2^11 are exact */
#define LN2_LOW	  0x1.ef35793c76730p-45
#define LN2_INV	  0x1.71547652b82fep+0
#define DECAY_END 745.2 /* beyond this exp(-x) is 0 */
#define TERMS	  16

/* exp(-x) = 2^-n * exp(-r) with r in [-ln2/2, ln2/2], the second factor by its series. */
double cot_model_decay(double x)
{
	double r, sum = 1;
	int n, i;

	if (!(x < DECAY_END))
		return 0;
	n = (int)(x * LN2_INV + 0.5);
	r = (x - n * LN2_HIGH) - n * LN2_LOW;
	for (i = TERMS; i > 0; i--)
		sum = 1 - sum * r / i;
	for (; n >= 30; n -= 30)
		sum *= 0x1p-30;
	for (; n > 0; n--)
		sum *= 0.5;
	return sum;
}

/* 1 - (1 - exp(-x)) / x, the mean of 1 - exp(-u) for u in [0, x]. Small x would cancel. */
static double warmed_up(double x)
{
	double sum = 0;
	int i;

	if (x >= 0.5)
		return 1 - (1 - cot_model_decay(x)) / x;
	/* x/2 - x^2/6 + x^3/24 - ... */
	for (i = TERMS; i > 1; i--)
		sum = (1 - sum) * x / i;
	return sum;
}

/* A coalesced access moves its bytes in transactions of 128; an uncoalesced one has its own. */
static double transactions_of(const struct cot_model_kernel *k)
{
	double whole = (double)(uint64_t)(k->load_bytes / COT_MODEL_TRANSACTION);
	double coal = whole * COT_MODEL_TRANSACTION < k->load_bytes ? whole + 1 : whole;

	return k->uncoal * k->transactions + k->coal * coal;
}

void cot_model_events_of(const struct cot_model_kernel *k, struct cot_model_events *ret)
{
	double warps = (double)k->n_blocks * cot_model_warps_per_block(k);
	uint32_t i;

	ret->transactions = warps * transactions_of(k);
	ret->instructions = warps * (k->comp + k->uncoal + k->coal);
	for (i = 0; i < COT_MODEL_EXTRA_MAX; i++)
		ret->extra[i] = warps * k->extra[i];
}

void cot_model_events_add(struct cot_model_events *sum, const struct cot_model_events *more)
{
	uint32_t i;

	sum->transactions += more->transactions;
	sum->instructions += more->instructions;
	for (i = 0; i < COT_MODEL_EXTRA_MAX; i++)
		sum->extra[i] += more->extra[i];
}

void cot_model_draw_of(const struct cot_model_gpu *gpu, const struct cot_model_power *power,
		       const struct cot_model_events *events, double cycles,
		       struct cot_model_draw *ret)
{
	double sm_cycles = cycles * gpu->n_sms;
	uint32_t i;

	ret->memory_rate = events->transactions / sm_cycles;
	ret->instruction_rate = events->instructions / sm_cycles;
	ret->memory_w = power->memory_w * ret->memory_rate;
	ret->instruction_w = power->instruction_w * ret->instruction_rate;
	ret->extra_w = 0;
	for (i = 0; i < COT_MODEL_EXTRA_MAX; i++)
		ret->extra_w += power->extra_w[i] * (events->extra[i] / sm_cycles);
	ret->lambda_w = power->lambda_w;
	ret->dynamic_w = ret->memory_w + ret->instruction_w + ret->lambda_w;
	ret->dynamic_w += ret->extra_w;
	if (ret->dynamic_w < 0)
		ret->dynamic_w = 0;
}

double cot_model_power_at(const struct cot_model_power *power, double dynamic_w, double t_s)
{
	double warmth = 0;

	if (power->thermal_gain > 0)
		warmth =
			power->thermal_gain * dynamic_w * (1 - cot_model_decay(t_s / power->tau_s));
	return power->idle_w + warmth + dynamic_w;
}

double cot_model_thermal_w(const struct cot_model_power *power, double dynamic_w, double seconds)
{
	if (!(power->thermal_gain > 0))
		return 0;
	return power->thermal_gain * dynamic_w * warmed_up(seconds / power->tau_s);
}

double cot_model_energy_j(const struct cot_model_power *power, double dynamic_w, double seconds)
{
	return (power->idle_w + cot_model_thermal_w(power, dynamic_w, seconds) + dynamic_w) *
	       seconds;
}
