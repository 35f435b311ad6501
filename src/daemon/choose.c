#include "daemon/choose.h"

#include <stdio.h>

#include "daemon/basis.h"
#include "daemon/log.h"
#include "daemon/roster.h"

static const char because[] = "a program has a target, and the configuration names no policy";

static bool is_slo(const struct cot_config *config)
{
	return config->policy == cot_policy_find("slo");
}

static bool any_target(const struct roster *r)
{
	const struct tenant *t;

	for_each_tenant (t, r)
		if (t->target.kind)
			return true;
	return false;
}

void cot_choose_in(const struct roster *r, struct cot_config *config)
{
	bool was = !r->basis->config.policy_chosen && is_slo(&r->basis->config);

	if (!config->policy_chosen && (any_target(r) || (was && cot_tenant_count(r))))
		config->policy = cot_policy_find("slo");
}

static void use(struct roster *r, const struct cot_policy_ops *policy)
{
	struct cot_config *config = &r->basis->config;
	struct cot_error err;

	/* Without MPS another one is at work, until it is back. */
	if (!r->mps_failed &&
	    cot_host_set_policy(r->basis->host, policy, &config->numbers, cot_now_ns(), &err) < 0) {
		log_error("cannot change the policy: %s", err.text);
		return;
	}
	config->policy = policy;
	log_info("the policy is '%s' from now on: %s", policy->name,
		 is_slo(config) ? because : "no program is there any longer");
}

void cot_choose_look(struct roster *r, struct cot_target target)
{
	const struct cot_config *config = &r->basis->config;

	if (config->policy_chosen || r->basis->stopping)
		return;
	if (!is_slo(config) && (target.kind || any_target(r)))
		use(r, cot_policy_find("slo"));
	else if (is_slo(config) && !target.kind && !cot_tenant_count(r))
		use(r, cot_policy_find("pools"));
}

const char *cot_choose_reason(const struct basis *b)
{
	return !b->config.policy_chosen && is_slo(&b->config) ? because : NULL;
}

const char *cot_choose_note(const struct basis *b, struct cot_target target)
{
	static char note[160];

	if (!target.kind || b->config.policy->measures || b->config.policy->queries)
		return NULL;
	(void)snprintf(note, sizeof(note),
		       "the policy '%s' does not look at targets; 'policy: slo' in the daemon's "
		       "configuration keeps them",
		       b->config.policy->name);
	return note;
}
