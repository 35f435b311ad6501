/*
 * What a topology would give, by the time alone, the load and the target: from measurements on an
 * H200. Guesses are for what was never run; what was measured is in slo_learn.c.
 */
#include "policy/slo.h"

/* A request beside a pool waits for a switch, the rest of a slice, and the clock; batch programs
 * lose two switches: measured on an H200 (docs/live.md). The GPU is busy so much longer with each
 * request, and those that come meanwhile wait for that, too. */
#define POOLS_WAIT_US  350u
#define POOLS_QUEUE_US 500u
/* The same of a latency program outside MPS, by the ratio of `rotate` and `pools` beside a matrix
 * product and two trainings (results/h200x2/2026-11-28/targets-6): a p99 of 1.26 to 1.73 times that
 * alone at a low load, where pools had 1.41 to 1.92; 2.41 at a high one, where pools had 3.07. */
#define SOLO_WAIT_US  250u
#define SOLO_QUEUE_US 430u

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static uint32_t worst(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void cot_slo_need_add(struct slo_need *need, uint32_t target_us, const struct slo_known *k)
{
	bool known = target_us && k->alone_p99_us && k->load;

	need->known = known && (need->known || !need->n);
	need->launch_us = k->launch_us && (need->launch_us || !need->n)
				  ? worst(need->launch_us, k->launch_us)
				  : 0;
	need->n++;
	if (target_us && (!need->strict_us || target_us < need->strict_us))
		need->strict_us = target_us;
	if (!known)
		return;
	if (!need->target_us || (uint64_t)target_us * need->alone_p99_us <
					(uint64_t)need->target_us * k->alone_p99_us) {
		need->target_us = target_us;
		need->alone_p99_us = k->alone_p99_us;
	}
	/* 10 s are 10^7 us, and 1000 thousandths. */
	need->busy = least(need->busy + (uint64_t)k->load * k->alone_p50_us / 10000, 1000);
	need->load = least((uint64_t)need->load + k->load, UINT32_MAX);
}

/* What the p99 is, in 1/1000 of that alone, and what a batch program keeps: on 8, 32, 64, 96 and
 * 112 of 132 SMs (in 1/1000), measured on an H200 (results/h200/2026-11-23/parts-2). */
static const struct {
	uint32_t p99, rate, permille;
} parts[] = {
	{1270, 90, 61}, {1360, 330, 242}, {1450, 640, 485}, {1860, 820, 727}, {3140, 900, 848},
};

/*
 * Requests that launch kernel after kernel, as decoders do: each waits for the program, not for
 * SMs. On an H200 the p99 of one with a launch in 33 us was 0.92 to 1.13 times that alone, whatever
 * SMs it had (results/h200/2026-11-23/targets-3). A network in a graph has one launch in a request.
 * The bound is our choice, after that was seen.
 */
#define SMALL_US   60u
#define SMALL_P99  1130u
#define SMALL_RATE 900u
#define SMALL_SMS  500u

bool cot_slo_need_is_small(const struct slo_need *need)
{
	return need->launch_us && need->launch_us <= SMALL_US;
}

/* Time in a queue goes with 1 / (1 - busy). */
static bool keeps_in_queue(const struct slo_need *need, uint64_t p99_us, uint64_t busy)
{
	return need->busy < 1000 && busy < 1000 &&
	       need->target_us * (1000 - busy) >= p99_us * (1000 - need->busy);
}

/* Requests that take longer keep the GPU busy for longer, too. A wrong guess costs a run, so some
 * of the time to spare is left. */
static bool keeps_on_parts(const struct slo_need *need, uint32_t longer)
{
	return keeps_in_queue(need, (uint64_t)need->alone_p99_us * longer / 800,
			      (uint64_t)need->busy * longer / 1000);
}

bool cot_slo_need_may_share(const struct slo_need *need)
{
	return need->target_us * 1000ull >= (uint64_t)parts[0].p99 * need->alone_p99_us;
}

static struct slo_guess guess_parts(const struct slo_need *need)
{
	struct slo_guess g = {0};
	uint32_t i;

	if (cot_slo_need_is_small(need))
		return (struct slo_guess){
			.keeps = need->target_us * 1000ull >=
				 (uint64_t)need->alone_p99_us * SMALL_P99,
			.rate = SMALL_RATE,
			.permille = SMALL_SMS,
		};
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && keeps_on_parts(need, parts[i].p99); i++)
		g = (struct slo_guess){true, parts[i].rate, parts[i].permille};
	return g;
}

/* With equal slices, whose p99 is 3.9 times that alone, there are far fewer switches: a twentieth
 * of the time, our guess. */
#define SLICES_P99  3900u
#define SLICES_COST 50u

static bool keeps_in_turns(const struct slo_need *need, uint32_t wait_us, uint32_t queue_us)
{
	return keeps_in_queue(need, (uint64_t)need->alone_p99_us + wait_us,
			      need->busy + (uint64_t)need->load * queue_us / 10000);
}

/* Outside MPS latency programs take turns with each other as well, of which nothing is known. */
static bool keeps(enum slo_topology topology, const struct slo_need *need)
{
	if (topology == SLO_POOLS)
		return keeps_in_turns(need, POOLS_WAIT_US, POOLS_QUEUE_US);
	return need->n == 1 && keeps_in_turns(need, SOLO_WAIT_US, SOLO_QUEUE_US);
}

static struct slo_guess guess_turns(enum slo_topology topology, const struct slo_need *need)
{
	uint32_t slack = least((uint64_t)need->target_us * 1000 / need->alone_p99_us, UINT32_MAX);
	uint64_t cost = (uint64_t)need->load * SLO_SWITCHES_US / 10000, lost;

	if (slack >= SLICES_P99 && cost > SLICES_COST)
		cost = SLICES_COST;
	lost = need->busy + cost;
	return (struct slo_guess){
		.keeps = keeps(topology, need),
		.rate = lost < 990 ? 1000 - (uint32_t)lost : 10,
	};
}

struct slo_guess cot_slo_guess(enum slo_topology topology, const struct slo_need *need)
{
	if (!need->known)
		return (struct slo_guess){0};
	return topology == SLO_PARTS ? guess_parts(need) : guess_turns(topology, need);
}
