/* What users are told about a program. */
#include "policy/consolidate_inside.h"
#include "policy/shared.h"

static bool is_latency_active(const struct cot_policy *p, const struct cot_tenant *like)
{
	const struct cot_tenant *t;
	uint64_t wake_ns;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_LATENCY && (t->gpu_mask & like->gpu_mask) &&
		    cot_parts_is_active(p, t, &wake_ns))
			return true;
	return false;
}

static const char *reason_in_gang(const struct cot_tenant *t)
{
	const struct consolidate_program *own = consolidate_program(t);

	if (!t->n_predictions)
		return "nothing is predicted of it, so it runs with all such programs, on SMs of "
		       "its own";
	if (own->way == COT_GANG_PARTS)
		return "its set takes less together than apart, and least on SMs of its own";
	if (own->way == COT_GANG_SHARED)
		return "its set takes less together than apart, and least on all SMs";
	if (own->way == COT_GANG_CPU)
		return "it takes least on the CPU: there its launches are, as far as it has CPU "
		       "versions of their kernels";
	return "no set with it takes less together than apart";
}

static const char *reason_of(const struct cot_policy *p, const struct cot_tenant *t)
{
	if (!t->part_sms)
		return "it cannot be put on a part of the GPU";
	if (placing_is_asked(t) || placing_reserves(p, t))
		return "its user asked for SMs";
	if (t->cls == COT_CLASS_LATENCY)
		return "it is a latency program: batch programs form no gangs while it is active";
	if (is_latency_active(p, t))
		return "a latency program is active, so there are no gangs";
	if (p->n_tenants > CONSOLIDATE_PROGRAMS_MAX)
		return "there are more programs than can take turns, so there are no gangs";
	if (!consolidate_program(t)->gang)
		return consolidate_gpu(p, t)->gather_ns ? "it waits a moment for others to come"
							: "it launches nothing";
	return reason_in_gang(t);
}

unsigned cot_consolidate_explain(const struct cot_policy *p, const struct cot_tenant *t,
				 struct cot_fact *facts, unsigned max)
{
	const struct consolidate_program *own = consolidate_program(t);
	const struct consolidate_gpu *g = consolidate_gpu(p, t);
	bool in_turns = own->gang && !own->part.cpu;
	unsigned n = 0;

	if (max < 8)
		return 0;
	if (in_turns) {
		facts[n++] = (struct cot_fact){
			.name = "gang", .value = own->gang, .unit = COT_FACT_COUNT};
		facts[n++] = (struct cot_fact){
			.name = "gangs", .value = g->n_gangs, .unit = COT_FACT_COUNT};
		facts[n++] = (struct cot_fact){
			.name = "programs in it", .value = own->n, .unit = COT_FACT_COUNT};
	}
	if (in_turns && own->saved)
		facts[n++] = (struct cot_fact){.name = "saved by it",
					       .text = "of what its programs take apart, predicted",
					       .value = own->saved,
					       .unit = COT_FACT_PERMILLE};
	if (in_turns && g->n_gangs > 1)
		facts[n++] = (struct cot_fact){
			.name = "turn", .value = own->turn_us, .unit = COT_FACT_US};
	if (in_turns && own->power_w)
		facts[n++] = (struct cot_fact){.name = "predicted power",
					       .text = "of the GPU with this gang",
					       .value = own->power_w,
					       .unit = COT_FACT_W};
	if (in_turns && own->cpu_less)
		facts[n++] = (struct cot_fact){
			.name = "on the CPU",
			.text = "it would take less: 'cotenant run --cpu ... --cpu-by policy' lets "
				"it be put there"};
	facts[n++] = (struct cot_fact){.name = "because", .text = reason_of(p, t)};
	return n;
}
