/*
 *   batch programs      run |  frozen           | run |  frozen           | run |
 *                       <-----  every_us  ------>
 *
 * Below the usual slices of pools batch programs run in breaths. In these requests interrupt them
 * as usual, and each pays for two switches; between them none does. Breaths are short, so that no
 * queue of requests builds up in one, and not shorter than what a freeze and a thaw need: 1 ms
 * each on an H200. scenarios/slo-load.yaml shows it.
 */
#include "policy/slo.h"

/* `longer`: so much a p99 grows where requests are seldom, in 1/1000 of what two switches cost: as
 * simulated, with 120 of these requests in a second. The rest of the growth is that of the queue.
 */
static const struct {
	uint32_t run_us, every_us, longer;
} rungs[SLO_USUAL + 1] = {
	{4000, 500000, 0},   {4000, 80000, 400},   {4000, 40000, 850}, {4000, 20000, 1250},
	{7000, 20000, 1500}, {12000, 20000, 1900}, {1, 1, 2300},
};

struct slo_breath cot_slo_breath(uint32_t rung)
{
	if (rung >= SLO_USUAL)
		return (struct slo_breath){0};
	return (struct slo_breath){rungs[rung].run_us, rungs[rung].every_us};
}

uint32_t cot_slo_breath_permille(uint32_t rung)
{
	if (rung >= SLO_USUAL)
		return 1000;
	return rungs[rung].run_us * 1000 / rungs[rung].every_us;
}

/* The part of the time that requests leave, in 1/1000000: switches are work, too. */
static uint64_t left(uint32_t busy, uint64_t load, uint32_t rung)
{
	uint64_t work = load * SLO_SWITCHES_US / 10 * cot_slo_breath_permille(rung) / 1000;

	work += busy * 1000ull;
	return work < 1000000 ? 1000000 - work : 0;
}

/* Where they run for half of the time, the median of a service contains switches. */
static uint32_t own_busy(uint32_t busy, uint64_t load, uint32_t rung)
{
	uint64_t switches = load * SLO_SWITCHES_US / 10000;

	if (cot_slo_breath_permille(rung) < 500)
		return busy;
	return busy > switches ? busy - (uint32_t)switches : 0;
}

static uint32_t as_use(uint64_t permille)
{
	return permille < UINT32_MAX ? (uint32_t)permille : UINT32_MAX;
}

uint32_t cot_slo_breath_grown(const struct slo_use *use, const struct slo_rung *was, uint32_t rung)
{
	uint64_t load = use->n * 10ull, before, now;

	if (!was->use || !was->load || !was->busy || !use->busy)
		return 0;
	before = left(own_busy(was->busy, was->load, rung), was->load, rung);
	now = left(own_busy(use->busy, load, rung), load, rung);
	return now ? as_use(was->use * before / now) : UINT32_MAX;
}

/* Time in a queue goes with 1 / (1 - busy); and a request beside batch programs waits for a switch
 * or two. */
uint32_t cot_slo_breath_guess(const struct slo_use *use, uint32_t used, uint64_t load,
			      uint32_t rung, uint32_t to)
{
	int64_t here, there, quiet, wait, grown;
	uint32_t busy;

	/* It may have risen since. */
	if (load && load < use->n * 10ull)
		load = use->n * 10ull;
	busy = own_busy(use->busy, load, rung);
	if (!use->busy || !use->target_us || !load || load > UINT32_MAX)
		return 0;
	here = (int64_t)left(busy, load, rung);
	there = (int64_t)left(busy, load, to);
	if (!there)
		return UINT32_MAX;
	quiet = 1000000 - (int64_t)busy * 1000;
	wait = ((int64_t)rungs[to].longer - rungs[rung].longer) * SLO_SWITCHES_US / use->target_us;
	grown = (used * here + wait * quiet) / there;
	return grown > 0 ? as_use((uint64_t)grown) : 1;
}
