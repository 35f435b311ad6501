#include "sim/host_home.h"

#include "base/words.h"
#include "sim/host.h"
#include "sim/hw/hw.h"

#define REGISTER_PS 1000u /* before an application begins */

static bool is_pooled(const struct host_homes *h, uint32_t app)
{
	return h->policy->wants_pools && !h->sc->apps[app].solo;
}

static bool is_asked(const struct host_homes *h, uint32_t app)
{
	return is_pooled(h, app) && h->policy->home;
}

bool cot_sim_host_home_is_pool(uint32_t entity)
{
	return entity >= COT_SIM_HOST_LATENCY_POOL;
}

static uint32_t by_class(const struct host_homes *h, uint32_t app)
{
	if (!is_pooled(h, app))
		return app + 1;
	if (h->policy->one_pool || h->sc->apps[app].cls == COT_CLASS_BATCH)
		return COT_SIM_HOST_BATCH_POOL;
	return COT_SIM_HOST_LATENCY_POOL;
}

static uint32_t by_home(const struct host_homes *h, uint32_t app, enum cot_home home)
{
	if (home == COT_HOME_ALONE)
		return app + 1;
	if (home == COT_HOME_CLASS || h->policy->one_pool)
		return by_class(h, app);
	return home == COT_HOME_LATENCY ? COT_SIM_HOST_LATENCY_POOL : COT_SIM_HOST_BATCH_POOL;
}

static void put(struct host_homes *h, uint32_t app, uint32_t entity)
{
	uint32_t context = app, i;

	for (i = 0; i < h->sc->n_apps; i++)
		if (h->of_context[i] == entity)
			context = i;
	h->of_app[app] = entity;
	h->of_context[context] = entity;
	h->sc->apps[app].context = context;
	h->sc->apps[app].pooled = cot_sim_host_home_is_pool(entity);
}

void cot_sim_host_home_init(struct host_homes *h, struct cot_scenario *sc,
			    const struct cot_policy_ops *policy)
{
	uint32_t i;

	*h = (struct host_homes){.sc = sc, .policy = policy};
	for (i = 0; i < sc->n_apps; i++) {
		h->register_ps[i] = sc->apps[i].start_ps;
		if (!is_asked(h, i)) {
			put(h, i, by_class(h, i));
			continue;
		}
		sc->apps[i].context = i;
		sc->apps[i].start_ps += REGISTER_PS;
	}
}

/* As the daemon does for programs that wait for the same pools: the shortest target of those that
 * start in the same instant decides. */
static void aim_for_all(const struct host_homes *h, uint32_t app, struct cot_tenant_desc *as)
{
	uint64_t start_ps = h->sc->apps[app].start_ps;
	const struct cot_app *other;
	uint32_t i;

	if (as->cls != COT_CLASS_LATENCY)
		return;
	for (i = 0; i < h->sc->n_apps; i++) {
		other = &h->sc->apps[i];
		if (!h->of_app[i] && is_asked(h, i) && other->cls == COT_CLASS_LATENCY &&
		    other->start_ps == start_ps)
			as->target = cot_target_shorter(as->target, other->target);
	}
}

uint32_t cot_sim_host_home_find(struct host_homes *h, struct cot_sched *s, uint32_t app,
				const struct cot_tenant_desc *d)
{
	struct cot_tenant_desc as = *d;

	if (h->of_app[app])
		return h->of_app[app];
	aim_for_all(h, app, &as);
	put(h, app, by_home(h, app, cot_sched_home(s, &as, NULL, 0)));
	return h->of_app[app];
}

uint32_t cot_sim_host_home_context(const struct host_homes *h, uint32_t entity)
{
	uint32_t i;

	for (i = 0; h->of_context[i] != entity; i++)
		;
	return i;
}

uint64_t cot_sim_host_home_due_ps(const struct host_homes *h, uint64_t now_ps)
{
	uint64_t due_ps = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < h->sc->n_apps; i++)
		if (!h->of_app[i] && h->register_ps[i] >= now_ps && h->register_ps[i] < due_ps)
			due_ps = h->register_ps[i];
	return due_ps;
}

struct cot_sim_entity cot_sim_host_home_entity(const struct host_homes *h, uint32_t entity,
					       const struct hw_context *c)
{
	const char *name = "batch pool";

	if (!cot_sim_host_home_is_pool(entity))
		name = h->sc->apps[entity - 1].name;
	else if (entity == COT_SIM_HOST_LATENCY_POOL)
		name = "latency pool";
	return (struct cot_sim_entity){.name = name,
				       .slice_ps = c->slice_ps,
				       .frozen = c->frozen,
				       .drains = c->preempt == COT_PREEMPT_DRAIN};
}
