/*
 * Batch programs on parts that are more than the pieces which they have together: one at a time has
 * them all, the others hold what they launch.
 *
 * In the same SMs a program of large kernels starves the others, and for longer than it is there:
 * what a starved one had launched before it was moved stays where it was. Measured on an H200, a
 * program of 40 ms kernels beside a training of many small ones on 8 SMs left that 0.1 steps in a
 * second, instead of 20, and for tens of seconds after both had been given SMs of their own.
 */
#include "policy/shared.h"
#include "policy/slo.h"

/* Longer than most kernels take on a piece of the GPU, and so that five others may wait for theirs
 * (HOLDING_MAX_NS). Our choice. */
#define TURN_NS COT_NS_PER_S

/* What a turn counts for one of weight 1. */
#define TURN (1000ull * COT_WEIGHT_DEFAULT)

void cot_slo_turn_offer(const struct slo_turn *turn, struct slo_turn_choice *choice,
			struct cot_tenant *t)
{
	struct slo_tenant *own = slo_of(t);

	/* Who had nothing to do does not catch up. */
	if (own->turns < turn->had)
		own->turns = turn->had;
	choice->holder_waits |= t->id == turn->tenant;
	if (!choice->next || own->turns < slo_of(choice->next)->turns)
		choice->next = t;
}

uint32_t cot_slo_turn_give(struct slo_turn *turn, const struct slo_turn_choice *choice,
			   uint64_t now_ns, uint64_t *wake_ns)
{
	struct slo_tenant *next = choice->next ? slo_of(choice->next) : NULL;

	if (!next) {
		turn->tenant = 0;
		return 0;
	}
	if (!choice->holder_waits || now_ns >= turn->until_ns) {
		turn->had = next->turns;
		next->turns += TURN / choice->next->weight;
		turn->tenant = choice->next->id;
		turn->until_ns = now_ns + TURN_NS;
	}
	policy_earlier(wake_ns, turn->until_ns);
	return turn->tenant;
}
