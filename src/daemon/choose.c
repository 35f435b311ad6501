#include "daemon/choose.h"

#include <stdio.h>

#include "daemon/basis.h"
#include "daemon/log.h"
#include "daemon/roster.h"

static const char because[] = "a program has a target, and the configuration names no policy";
static const char by_hand[] = "chosen with 'cotenant policy'";

static bool is_slo(const struct cot_config *config)
{
	return config->policy == cot_policy_find("slo");
}

/* One of those that programs have. */
static struct cot_target some_target(const struct roster *r)
{
	const struct tenant *t;

	for_each_tenant (t, r)
		if (t->target.kind)
			return t->target;
	return (struct cot_target){0};
}

static bool any_target(const struct roster *r)
{
	return some_target(r).kind;
}

/* Whether nobody has chosen: then the targets decide. */
static bool is_open(const struct basis *b)
{
	return !b->by_user && !b->config.named;
}

void cot_choose_in(const struct roster *r, struct cot_config *config)
{
	bool was = is_open(r->basis) && is_slo(&r->basis->config);

	if (!config->named && (any_target(r) || (was && cot_tenant_count(r))))
		config->policy = cot_policy_find("slo");
}

const struct cot_policy_ops *cot_choose_now(const struct roster *r,
					    const struct cot_policy_ops *policy)
{
	return r->mps_failed && policy->wants_pools ? cot_policy_find("rotate") : policy;
}

static int set(struct roster *r, const struct cot_policy_ops *policy, struct cot_error *err)
{
	const struct cot_sched *s = cot_host_sched(r->basis->host);
	const struct cot_policy_ops *now = cot_choose_now(r, policy);
	int rc = 0;

	if (now != cot_sched_wanted_policy(s) || now != cot_sched_policy(s)->ops)
		rc = cot_host_set_policy(r->basis->host, now, &r->basis->config.numbers,
					 cot_now_ns(), err);
	if (!rc)
		r->basis->config.policy = policy;
	return rc;
}

int cot_choose_by_user(struct roster *r, const struct cot_policy_ops *policy, struct cot_error *err)
{
	const struct cot_config *config = &r->basis->config;
	const struct cot_policy_ops *unnamed = cot_policy_find(any_target(r) ? "slo" : "pools");
	int rc = set(r, policy ? policy : config->named ? config->named : unnamed, err);

	if (rc < 0)
		return rc;
	r->basis->by_user = policy;
	r->state.dirty = true;
	return 0;
}

static void use(struct roster *r, const struct cot_policy_ops *policy)
{
	struct cot_config *config = &r->basis->config;
	struct cot_error err;

	if (set(r, policy, &err) < 0) {
		log_error("cannot change the policy: %s", err.text);
		return;
	}
	log_info("the policy is '%s' from now on: %s", policy->name,
		 is_slo(config) ? because : "no program is there any longer");
}

void cot_choose_look(struct roster *r, struct cot_target target)
{
	const struct cot_config *config = &r->basis->config;

	if (!is_open(r->basis) || r->basis->stopping)
		return;
	if (!is_slo(config) && (target.kind || any_target(r)))
		use(r, cot_policy_find("slo"));
	else if (is_slo(config) && !target.kind && !cot_tenant_count(r))
		use(r, cot_policy_find("pools"));
}

const char *cot_choose_reason(const struct basis *b)
{
	if (b->by_user)
		return by_hand;
	return is_open(b) && is_slo(&b->config) ? because : NULL;
}

const char *cot_choose_note(const struct basis *b, struct cot_target target)
{
	static char note[160];

	if (!target.kind || b->config.policy->measures || b->config.policy->queries)
		return NULL;
	(void)snprintf(note, sizeof(note),
		       "the policy '%s' does not look at targets; 'cotenant policy slo' keeps them",
		       b->config.policy->name);
	return note;
}

const char *cot_choose_neglects(const struct roster *r)
{
	return cot_choose_note(r->basis, some_target(r));
}

unsigned cot_choose_elsewhere(const struct roster *r)
{
	const struct cot_policy_ops *policy = r->basis->config.policy;
	const struct tenant *t;
	unsigned n = 0;

	for_each_tenant (t, r)
		n += t->pool && (!policy->wants_pools || t->pool->shared != policy->one_pool);
	return n;
}
