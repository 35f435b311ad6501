#include "policy/slo.h"

/*
 * The rungs of pools, from the usual slices on. A request waits for the rest of a batch slice, so
 * that the p99 grows with these first; then the latency slices shrink, and long requests are
 * interrupted. None is that of equal slices, so that what is found after a restart says which rung
 * it is. The H200 accepts 20 us to 10 ms. The steps are our choice.
 */
static const struct slo_slices pools[] = {
	{10000, 20},  {10000, 250}, {10000, 500}, {10000, 1000}, {10000, 2000}, {10000, 4000},
	{5000, 4000}, {2500, 4000}, {2000, 8000}, {1000, 8000},	 {500, 10000},
};
#define N_POOLS ((uint32_t)(sizeof(pools) / sizeof(pools[0])))

struct slo_ladder cot_slo_ladder(enum slo_topology topology, uint32_t pieces)
{
	struct slo_ladder ladder = {.topology = topology};

	if (slo_in_turns(topology)) {
		ladder.lowest = SLO_FROZEN;
		ladder.start = SLO_USUAL;
		ladder.top = (uint8_t)(SLO_USUAL + N_POOLS - 1);
	} else if (topology == SLO_PARTS) {
		if (pieces > SLO_RUNGS_MAX - 1)
			pieces = SLO_RUNGS_MAX - 1;
		ladder.lowest = 1;
		ladder.top = (uint8_t)(pieces ? pieces : 1);
		/* A quarter of the GPU: measured on an H200, the p99 of a network beside a matrix
		 * product on 32 of 132 SMs is 1.36 times that alone, with the least possible 1.27.
		 */
		ladder.start = (uint8_t)(ladder.top < 4 ? 1 : ladder.top / 4);
	}
	return ladder;
}

struct slo_slices cot_slo_ladder_slices(const struct cot_policy_config *config, uint32_t rung)
{
	uint32_t i = rung > SLO_USUAL ? rung - SLO_USUAL : 0;
	struct slo_slices s = pools[i < N_POOLS ? i : N_POOLS - 1];

	if (s.batch_us < config->batch_slice_us || !i)
		s.batch_us = config->batch_slice_us;
	if (s.latency_us > config->latency_slice_us || s.latency_us == pools[0].latency_us)
		s.latency_us = config->latency_slice_us;
	return s;
}

uint32_t cot_slo_ladder_sms(const struct slo_ladder *ladder, const struct placing *l, uint32_t rung)
{
	uint32_t top = ladder->top ? ladder->top : 1;

	if (rung >= top)
		return l->n_sms;
	return cot_placing_round(l, l->n_sms * rung / top ? l->n_sms * rung / top : 1);
}

uint32_t cot_slo_ladder_rung_of_slices(const struct cot_policy_config *config,
				       struct slo_slices slices)
{
	uint32_t rung;

	for (rung = SLO_USUAL + N_POOLS - 1; rung > SLO_USUAL; rung--) {
		struct slo_slices s = cot_slo_ladder_slices(config, rung);

		if (s.batch_us <= slices.batch_us && s.latency_us >= slices.latency_us)
			break;
	}
	return rung;
}

uint32_t cot_slo_ladder_rung_of_sms(const struct slo_ladder *ladder, const struct placing *l,
				    uint32_t n_sms)
{
	uint32_t rung = ladder->top;

	while (rung > ladder->lowest && cot_slo_ladder_sms(ladder, l, rung) > n_sms)
		rung--;
	return rung;
}
