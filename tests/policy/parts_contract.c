/* What every policy keeps about parts of the GPU. */
#include "policy/policy_bench.h"
#include "policy/policy_contract.h"

#define S  COT_NS_PER_S
#define MS COT_NS_PER_MS

static bool are_apart(struct cot_part a, struct cot_part b)
{
	return a.n && b.n && (a.first >= b.first + b.n || b.first >= a.first + a.n);
}

/* Whatever a policy does beside: who asked for SMs has so many, and no other one has them. */
const char *policy_check_places_as_asked(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	const char *said = NULL;

	(void)seed;
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){.sms = 40});
	(void)bench_sms(b, 2, COT_CLASS_LATENCY, (struct cot_share){.pct = 25});
	(void)bench_sms(b, 3, COT_CLASS_BATCH, (struct cot_share){.sms = 16});
	(void)bench_solo(b, 4, COT_CLASS_BATCH, COT_WEIGHT_DEFAULT);
	(void)bench_parts(b, 1, true);
	(void)bench_parts(b, 2, true);
	(void)bench_parts(b, 3, true);
	bench_run(b, 2 * S);
	if (b->part[1].n != 40 || b->part[2].n != 36 || b->part[3].n != 16)
		said = "a program does not have the SMs that its user asked for";
	else if (!are_apart(b->part[1], b->part[2]) || !are_apart(b->part[1], b->part[3]) ||
		 !are_apart(b->part[2], b->part[3]))
		said = "two programs have the same SMs although there are enough";
	if (b->part[4].n)
		said = "a program that cannot be placed was placed";
	/* He may change his mind. */
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){.sms = 64});
	bench_run(b, 50 * MS);
	if (b->part[1].n != 64)
		said = "another share does not change the part";
	return policy_verdict(b, said);
}

/* A policy that keeps a batch program off SMs for a latency program gives them back. */
const char *policy_check_lone_program_has_all(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	const char *said = NULL;

	(void)seed;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, COT_WEIGHT_DEFAULT);
	(void)bench_solo(b, 2, COT_CLASS_LATENCY, COT_WEIGHT_DEFAULT);
	(void)bench_parts(b, 1, true);
	(void)bench_parts(b, 2, true);
	bench_run(b, 2 * S);
	(void)bench_leave(b, 2);
	bench_run(b, 2 * S);
	if (b->part[1].n)
		said = "the only program has a part of the GPU";
	return policy_verdict(b, said);
}
