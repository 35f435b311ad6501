/* What hosts ask the core, or a policy that must change nothing to answer. */
#include <string.h>

#include "sched/inside.h"

/* As describe() of table.c fills it in. */
static struct cot_tenant tenant_of(const struct cot_tenant_desc *d,
				   const struct cot_prediction *predictions, uint32_t n)
{
	return (struct cot_tenant){
		.cls = d->cls,
		.pool_cls = d->cls,
		.weight = d->weight,
		.gpu_mask = d->gpu_mask,
		.block_us = d->block_us,
		.target = d->target,
		.quota = d->quota,
		.reserve = d->reserve,
		.sms = d->sms,
		.key = d->key,
		.pace_us = d->pace_us,
		.predictions = n ? predictions : NULL,
		.n_predictions = n,
	};
}

enum cot_home cot_sched_home(struct cot_sched *s, const struct cot_tenant_desc *d,
			     const struct cot_prediction *predictions, uint32_t n_predictions)
{
	const struct cot_policy_ops *ops = s->policy.ops;
	struct cot_tenant t = tenant_of(d, predictions, n_predictions);
	enum cot_home home;

	if (!s->started || !ops->wants_pools || !ops->home)
		return COT_HOME_CLASS;
	s->is_asked = true;
	home = ops->home(&s->policy, &t);
	s->is_asked = false;
	if ((unsigned)home < COT_N_HOMES)
		return home;
	cot_sched_watchdog_count_wrong(s);
	return COT_HOME_CLASS;
}

static bool is_text(const char *text)
{
	return text && *text && strnlen(text, COT_FACT_TEXT_MAX) < COT_FACT_TEXT_MAX;
}

static bool is_fact(const struct cot_fact *f)
{
	if (!is_text(f->name) || (unsigned)f->unit >= COT_N_FACT_UNITS)
		return false;
	return is_text(f->text) || (!f->text && f->unit != COT_FACT_TEXT);
}

/* Leaves out what is no fact. */
static unsigned checked(struct cot_sched *s, struct cot_fact *facts, unsigned n)
{
	unsigned i, kept = 0;

	for (i = 0; i < n; i++) {
		if (is_fact(&facts[i]))
			facts[kept++] = facts[i];
		else
			cot_sched_watchdog_count_wrong(s);
	}
	return kept;
}

unsigned cot_sched_explain(struct cot_sched *s, uint32_t id,
			   struct cot_fact ret_facts[COT_FACTS_MAX])
{
	const struct cot_policy_ops *ops = s->policy.ops;
	const struct cot_tenant *t = cot_sched_tenant(s, id);
	unsigned n;

	if (!t || !s->started || !ops->explain)
		return 0;
	memset(ret_facts, 0, COT_FACTS_MAX * sizeof(ret_facts[0]));
	s->is_asked = true;
	n = ops->explain(&s->policy, t, ret_facts, COT_FACTS_MAX);
	s->is_asked = false;
	if (n > COT_FACTS_MAX) {
		cot_sched_watchdog_count_wrong(s);
		n = COT_FACTS_MAX;
	}
	return checked(s, ret_facts, n);
}

bool cot_sched_ran(const struct cot_sched *s, uint32_t id, uint64_t now_ns, struct cot_ran *ret_ran)
{
	const struct cot_tenant *t = cot_sched_tenant(s, id);

	if (!t)
		return false;
	*ret_ran = cot_sched_ran_until(s, t, now_ns);
	return true;
}
