#include <cotenant/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "cli/scenario.h"
#include "sim/host.h"
#include "sim/sim.h"
#include "text/nearest.h"
#include "text/text.h"
#include "trace/policy_name.h"
#include "trace/scenario_read.h"

enum { SCHEDULER, POLICY, PREEMPT, N_KEYS };

static const struct cot_grid_key keys[N_KEYS] = {
	{"scheduler", "scheduler"},
	{"policy", "policy"},
	{"preempts by", "preempt"},
};

/* A row and its scenario; NULL: there are too many. */
static struct cot_scenario *add_row(struct cot_comparison *c, const struct hw_sched_ops *ops,
				    enum cot_preempt preempt)
{
	struct cot_grid_row *r = &c->grid.rows[c->grid.n_rows];
	struct cot_scenario *sc = &c->scenarios[c->grid.n_rows];

	if (c->grid.n_rows == COT_COMPARE_MAX_ROWS)
		return NULL;
	c->grid.n_rows++;
	*sc = *c->sc;
	(void)snprintf(sc->scheduler, sizeof(sc->scheduler), "%s", ops->name);
	sc->policy[0] = '\0';
	sc->batch_sms = 0;
	sc->preempt = preempt;
	r->sc = sc;
	(void)snprintf(r->labels[SCHEDULER], COT_GRID_LABEL_MAX, "%s", ops->name);
	if (ops->preempts)
		(void)snprintf(r->labels[PREEMPT], COT_GRID_LABEL_MAX, "%s",
			       cot_preempt_name(preempt));
	return sc;
}

static int too_many(struct cot_error *err)
{
	return cot_error_set(err, -EINVAL, "more than %u ways to play it; expected fewer",
			     COT_COMPARE_MAX_ROWS);
}

static bool any_goal(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].qos.ipc > 0.0)
			return true;
	return false;
}

static int add_scheduler(struct cot_comparison *c, const struct hw_sched_ops *ops,
			 struct cot_error *err)
{
	if (!add_row(c, ops, COT_PREEMPT_SWITCH))
		return too_many(err);
	return ops->preempts && !add_row(c, ops, COT_PREEMPT_DRAIN) ? too_many(err) : 0;
}

/* Schedulers that keep goals would all be the same where there is none. */
static int add_all_schedulers(struct cot_comparison *c, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < hw_n_scheds && !rc; i++)
		if (!hw_scheds[i]->needs_goals || any_goal(c->sc))
			rc = add_scheduler(c, hw_scheds[i], err);
	return rc;
}

/* Over the scheduler that the scenario has for its policy. */
static int add_policy(struct cot_comparison *c, const char *word, struct cot_error *err)
{
	struct cot_scenario *sc = add_row(c, hw_sched_find(c->sc->scheduler), c->sc->preempt);
	char other[COT_POLICY_NAME_MAX];
	int rc;

	if (!sc)
		return too_many(err);
	rc = cot_cli_set_policy(word, sc, err);
	if (!rc)
		(void)snprintf(c->grid.rows[c->grid.n_rows - 1].labels[POLICY], COT_GRID_LABEL_MAX,
			       "%s", cot_policy_name_word(sc, other));
	return rc;
}

static bool has_policy(const struct cot_comparison *c, const char *word)
{
	unsigned i;

	for (i = 0; i < c->grid.n_rows; i++)
		if (!strcmp(c->grid.rows[i].labels[POLICY], word))
			return true;
	return false;
}

static int add_parts(struct cot_comparison *c, struct cot_error *err)
{
	uint32_t sizes[COT_SIM_HOST_PART_SIZES];
	unsigned n = cot_sim_host_part_sizes(&c->sc->gpu, sizes), i;
	char word[COT_POLICY_NAME_MAX];
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		(void)snprintf(word, sizeof(word), "parts@%u", (unsigned)sizes[i]);
		rc = add_policy(c, word, err);
	}
	return rc;
}

static int add_all_policies(struct cot_comparison *c, struct cot_error *err)
{
	char own[COT_POLICY_NAME_MAX];
	unsigned i;
	int rc = 0;

	for (i = 0; i < cot_n_policies && !rc; i++) {
		rc = add_policy(c, cot_policies[i]->name, err);
		if (!rc && cot_policies[i] == &cot_policy_timeslice)
			rc = add_parts(c, err);
	}
	if (!rc && c->sc->policy[0] && !has_policy(c, cot_policy_name_word(c->sc, own)))
		rc = add_policy(c, own, err);
	return rc;
}

static int add_scheduler_word(struct cot_comparison *c, const char *word, struct cot_error *err)
{
	const struct hw_sched_ops *ops = hw_sched_find(word);
	char hint[COT_NEAREST_HINT_MAX], quote[COT_QUOTE_MAX], names[256] = "";
	struct cot_nearest near = {.word = word};
	unsigned i;

	if (ops)
		return add_scheduler(c, ops, err);
	for (i = 0; i < hw_n_scheds; i++) {
		cot_nearest_try(&near, hw_scheds[i]->name);
		cot_text_add_word(names, sizeof(names), hw_scheds[i]->name);
	}
	return cot_error_set(err, -EINVAL, "unknown scheduler '%s'%s; expected one of %s",
			     cot_text_quote(word, quote), cot_nearest_hint(&near, hint), names);
}

static int add_words(struct cot_comparison *c, const char *words,
		     int (*add)(struct cot_comparison *c, const char *word, struct cot_error *err),
		     struct cot_error *err)
{
	char *list = strdup(words), *word, *rest = list;
	int rc = list ? 0 : cot_error_set(err, -ENOMEM, "out of memory");

	while (!rc && (word = strsep(&rest, ",")))
		rc = add(c, word, err);
	free(list);
	return rc;
}

static int add_wanted(struct cot_comparison *c, const char *schedulers, const char *policies,
		      struct cot_error *err)
{
	bool all = !schedulers && !policies;
	int rc = 0;

	if (all || (schedulers && !strcmp(schedulers, "all")))
		rc = add_all_schedulers(c, err);
	else if (schedulers)
		rc = add_words(c, schedulers, add_scheduler_word, err);
	if (rc)
		return rc;
	if ((all && c->sc->policy[0]) || (policies && !strcmp(policies, "all")))
		return add_all_policies(c, err);
	return policies ? add_words(c, policies, add_policy, err) : 0;
}

int cot_compare_add_rows(struct cot_comparison *c, const char *schedulers, const char *policies,
			 struct cot_error *err)
{
	c->scenarios = calloc(COT_COMPARE_MAX_ROWS, sizeof(*c->scenarios));
	c->grid.rows = calloc(COT_COMPARE_MAX_ROWS, sizeof(*c->grid.rows));
	if (!c->scenarios || !c->grid.rows)
		return cot_error_set(err, -ENOMEM, "out of memory");
	c->grid.schema = "cotenant.compare/1";
	c->grid.sc = c->sc;
	c->grid.origin = &c->origin;
	c->grid.n_keys = N_KEYS;
	memcpy(c->grid.keys, keys, sizeof(keys));
	return add_wanted(c, schedulers, policies, err);
}

void cot_compare_finish(struct cot_comparison *c)
{
	cot_grid_finish(&c->grid);
	cot_origin_finish(&c->origin);
	free(c->scenarios);
	cot_scenario_destroy(c->sc);
}
