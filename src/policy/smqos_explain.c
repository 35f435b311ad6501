/* What users are told about a program. */
#include "policy/smqos_inside.h"

/* Why it has what it has. A program with a target at work has SMs of its own. */
static const char *reason_of_goal(const struct smqos_program *own, bool is_kept)
{
	if (own->quiet == SMQOS_QUIET_NOW)
		return "its rate alone is being measured: all others are on one unit of SMs";
	if (!(own->alone > 0))
		return "its rate alone is not known yet";
	if (own->quiet == SMQOS_QUIET_DUE)
		return "it has all that it can have and misses its target, or is faster than it was "
		       "alone: that will be measured again";
	if (!is_kept)
		return "it is below its target, and gets a unit of SMs when its epoch ends";
	return "it keeps its target, and gives away each unit of SMs that it can do without";
}

static const char *reason_of_other(const struct smqos_program *own)
{
	if (own->task.upper && own->task.lower)
		return "another unit of SMs would bring it less than a thirtieth";
	return "it tries how many units of SMs bring it more";
}

static bool has_goals(const struct cot_policy *p)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (smqos_has_goal(t) && smqos_is_awake(p, t))
			return true;
	return false;
}

/* NULL: it is dealt out to. */
static const char *reason_of_none(const struct cot_policy *p, const struct cot_tenant *t)
{
	if (!t->part_sms)
		return "it cannot be put on a part of the GPU";
	if (placing_is_asked(t) || placing_reserves(p, t))
		return "its user asked for SMs";
	if (!has_goals(p))
		return "no program with a rate target is at work";
	if (!smqos_is_awake(p, t))
		return "it launches nothing: while others do, it is on one unit of SMs";
	return NULL;
}

static uint32_t n_idle(const struct cot_policy *p, const struct cot_tenant *like)
{
	bool has[COT_SMS_MAX] = {false};
	const struct cot_tenant *t;
	uint32_t sm, n = 0;

	cot_for_each_tenant (t, p) {
		uint32_t end = t->part.n ? t->part.first + t->part.n : t->part_sms;

		if (t->gpu_mask & like->gpu_mask)
			for (sm = t->part.first; sm < end; sm++)
				has[sm] = true;
	}
	for (sm = 0; sm < like->part_sms; sm++)
		n += !has[sm];
	return n;
}

unsigned cot_smqos_explain(const struct cot_policy *p, const struct cot_tenant *t,
			   struct cot_fact *facts, unsigned max)
{
	const char *because = reason_of_none(p, t);
	const struct smqos_program *own = t->own;
	double share = cot_smqos_share(t);
	unsigned n = 0;

	if (max < 4)
		return 0;
	if (smqos_has_goal(t))
		facts[n++] = (struct cot_fact){
			.name = "promised", .value = t->target.amount, .unit = COT_FACT_PERMILLE};
	if (smqos_has_goal(t) && share > 0)
		facts[n++] = (struct cot_fact){.name = COT_SAYS_KEEPS,
					       .text = "of its rate alone, in the last second",
					       .value = (uint64_t)(share * 1000),
					       .unit = COT_FACT_PERMILLE};
	if (!because && smqos_has_goal(t))
		because = reason_of_goal(own, cot_smqos_is_kept(t));
	else if (!because)
		because = reason_of_other(own);
	facts[n++] = (struct cot_fact){.name = "because", .text = because};
	facts[n++] = (struct cot_fact){
		.name = "SMs that nobody has", .value = n_idle(p, t), .unit = COT_FACT_SMS};
	return n;
}
