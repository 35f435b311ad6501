#include <cotenant/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "cli/scenario.h"
#include "sim/host.h"
#include "trace/policy_name.h"

static struct cot_compare_row *add_row(struct cot_comparison *c, const struct hw_sched_ops *ops,
				       enum cot_preempt preempt)
{
	struct cot_compare_row *r = &c->rows[c->n_rows];

	r->ops = ops;
	r->sc = &c->scenarios[c->n_rows++];
	*r->sc = *c->sc;
	(void)snprintf(r->sc->scheduler, sizeof(r->sc->scheduler), "%s", ops->name);
	r->sc->policy[0] = '\0';
	r->sc->batch_sms = 0;
	r->sc->preempt = preempt;
	return r;
}

static bool any_goal(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].qos.ipc > 0.0)
			return true;
	return false;
}

/* Schedulers that keep goals would all be the same where there is none. */
static void add_schedulers(struct cot_comparison *c)
{
	unsigned i;

	for (i = 0; i < hw_n_scheds && c->n_rows + 2 <= COT_COMPARE_MAX_ROWS; i++) {
		if (hw_scheds[i]->needs_goals && !any_goal(c->sc))
			continue;
		(void)add_row(c, hw_scheds[i], COT_PREEMPT_SWITCH);
		if (hw_scheds[i]->preempts)
			(void)add_row(c, hw_scheds[i], COT_PREEMPT_DRAIN);
	}
}

/* Over the scheduler that the scenario has for its policy. */
static int add_policy(struct cot_comparison *c, const char *word, struct cot_error *err)
{
	const struct hw_sched_ops *ops = hw_sched_find(c->sc->scheduler);

	if (c->n_rows == COT_COMPARE_MAX_ROWS)
		return cot_error_set(err, -EINVAL, "more than %u policies; expected fewer",
				     COT_COMPARE_MAX_ROWS);
	return cot_cli_set_policy(word, add_row(c, ops, c->sc->preempt)->sc, err);
}

static bool has_row(const struct cot_comparison *c, const char *word)
{
	char other[COT_POLICY_NAME_MAX];
	unsigned i;

	for (i = 0; i < c->n_rows; i++)
		if (!strcmp(cot_policy_name_word(c->rows[i].sc, other), word))
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
	if (!rc && !has_row(c, cot_policy_name_word(c->sc, own)))
		rc = add_policy(c, own, err);
	return rc;
}

static int add_words(struct cot_comparison *c, const char *words, struct cot_error *err)
{
	char *list = strdup(words), *word, *rest = list;
	int rc = list ? 0 : cot_error_set(err, -ENOMEM, "out of memory");

	while (!rc && (word = strsep(&rest, ",")))
		rc = add_policy(c, word, err);
	free(list);
	return rc;
}

int cot_compare_add_rows(struct cot_comparison *c, const char *words, struct cot_error *err)
{
	c->scenarios = calloc(COT_COMPARE_MAX_ROWS, sizeof(*c->scenarios));
	if (!c->scenarios)
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (words)
		return add_words(c, words, err);
	add_schedulers(c);
	return c->sc->policy[0] ? add_all_policies(c, err) : 0;
}

void cot_compare_finish(struct cot_comparison *c)
{
	free(c->scenarios);
}
