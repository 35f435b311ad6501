#include "policy/laius_inside.h"
#include "policy/shared.h"

struct facts {
	struct cot_fact *at;
	unsigned n, max;
};

static void say(struct facts *f, const char *name, enum cot_fact_unit unit, uint64_t value,
		const char *text)
{
	if (f->n < f->max)
		f->at[f->n++] = (struct cot_fact){name, text, value, unit};
}

static const char *const reasons[LAIUS_N_WHYS] = {
	[LAIUS_WHY_NONE] = "nothing was decided yet",
	[LAIUS_WHY_IDLE] = "it has no request on the GPU: batch programs have all SMs",
	[LAIUS_WHY_QUERY] = "it has a request on the GPU",
	[LAIUS_WHY_WAITS] = "its request waits for SMs that older requests have",
	[LAIUS_WHY_ALONE] = "no request is on the GPU: batch programs have all SMs",
	[LAIUS_WHY_SHARE] = "what requests leave is divided for the greatest sum of rates",
	[LAIUS_WHY_APART] =
		"its kernels are long for requests: it stays off the SMs that these need",
	[LAIUS_WHY_NO_SMS] = "it is held: requests have all SMs",
	[LAIUS_WHY_NO_BANDWIDTH] = "it is held: requests need the memory's bandwidth",
	[LAIUS_WHY_NOT_CHOSEN] = "it is held: others make more of SMs and bandwidth",
};

static const char *reason_of_query(const struct cot_policy *p, const struct cot_query *q)
{
	const struct laius_query *own = laius_query(q);
	const struct cot_lag *lag = &laius_state(p)->lags[own->lag];

	if (!own->runs)
		return reasons[LAIUS_WHY_WAITS];
	if (!q->plan)
		return "nothing is known of it, so its request has all SMs";
	if (!own->known)
		return "it has no target, so its request has all SMs";
	if (lag->quota > lag->planned)
		return "its request is behind its plan";
	if (q->plan->query_ns[lag->planned] > own->budget_ns)
		return "no part is enough for its request";
	return "it is just enough for its request";
}

static void say_query(struct facts *f, const struct cot_policy *p, const struct cot_query *q)
{
	const struct laius_query *own = laius_query(q);
	const struct cot_lag *lag = &laius_state(p)->lags[own->lag];

	say(f, "because", COT_FACT_TEXT, 0, reason_of_query(p, q));
	if (!own->runs)
		return;
	if (cot_policy_query_target_ns(q))
		say(f, "its target left it", COT_FACT_NS, own->budget_ns, NULL);
	if (!own->known)
		return;
	say(f, "planned", COT_FACT_SMS, q->plan->sms[lag->planned], NULL);
	say(f, "has", COT_FACT_SMS, q->plan->sms[lag->quota], NULL);
	say(f, "predicted", COT_FACT_NS, q->plan->query_ns[lag->planned], "on what was planned");
	say(f, "tasks done", COT_FACT_COUNT, q->n_done, NULL);
	say(f, "behind its plan", COT_FACT_NS, lag->behind_ns, NULL);
}

static void say_latency(struct facts *f, const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct laius_program *own = laius_program(t);
	const struct cot_query *q;
	uint32_t profile, off;

	cot_for_each_query(q, p) if (q->tenant == t && !laius_query(q)->lost) break;
	if (q)
		say_query(f, p, q);
	else
		say(f, "because", COT_FACT_TEXT, 0, reasons[own->why]);
	say(f, "requests", COT_FACT_COUNT, own->n_queries, "since the policy began");
	say(f, "not known", COT_FACT_COUNT, own->n_unknown, "of these: they had all SMs");
	say(f, "raised", COT_FACT_COUNT, own->n_raised, "times, because a request was behind");
	if (cot_laius_off(p, t, &profile, &off)) {
		say(f, "profile off", COT_FACT_PERMILLE, profile,
		    "of what requests took, in the mean");
		say(f, "predictions off", COT_FACT_PERMILLE, off,
		    "the same, with what was learned");
	}
	if (own->n_lost)
		say(f, "without an end", COT_FACT_COUNT, own->n_lost,
		    "of these: after 10 s to a minute they counted no longer");
}

static void say_batch(struct facts *f, const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct laius_program *own = laius_program(t);
	uint64_t milli = p->config->dram_bytes_per_s / 1000;

	say(f, "because", COT_FACT_TEXT, 0, reasons[own->why]);
	if (!own->part.hold)
		say(f, "has", COT_FACT_SMS, own->part.n ? own->part.n : t->part_sms, NULL);
	if (own->rate && milli)
		say(f, "takes of the memory's bandwidth", COT_FACT_PERMILLE, own->rate / milli,
		    t->n_predictions ? "as predicted" : "not known: as its SMs");
}

unsigned cot_laius_explain(const struct cot_policy *p, const struct cot_tenant *t,
			   struct cot_fact *facts, unsigned max)
{
	struct facts f = {.at = facts, .max = max};

	if (!t->part_sms)
		say(&f, "because", COT_FACT_TEXT, 0, "it cannot be put on a part of the GPU");
	else if (placing_is_asked(t) || placing_reserves(p, t))
		say(&f, "because", COT_FACT_TEXT, 0, "its user asked for SMs");
	else if (t->cls == COT_CLASS_LATENCY)
		say_latency(&f, p, t);
	else
		say_batch(&f, p, t);
	return f.n;
}
