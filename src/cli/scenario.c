#include "cli/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cotenant/policy.h>

#include "cli/common.h"
#include "sim/qos.h"
#include "sim/sim.h"
#include "text/text.h"
#include "trace/policy_name.h"
#include "trace/scenario_read.h"

#define MAX_SCHEDULERS 64u
#define MAX_POLICIES   64u

static unsigned policy_names(const char *names[MAX_POLICIES])
{
	unsigned n;

	for (n = 0; n < cot_n_policies && n < MAX_POLICIES; n++)
		names[n] = cot_policies[n]->name;
	return n;
}

int cot_cli_set_policy(const char *word, struct cot_scenario *sc, struct cot_error *err)
{
	const char *names[MAX_POLICIES];

	return cot_policy_name_read(word, names, policy_names(names), sc, err);
}

int cot_cli_parse_scenario(const char *path, const void *bytes, size_t size,
			   const struct cot_cli_overrides *o, struct cot_scenario **ret_sc,
			   struct cot_error *err)
{
	const char *names[MAX_SCHEDULERS], *policies[MAX_POLICIES];
	struct cot_scenario_options opt = {
		.schedulers = names,
		.policies = policies,
		.scheduler = o->scheduler,
		.preempt = o->preempt,
		.policy = o->policy,
		.seed = o->seed,
		.settings = o->settings,
		.n_settings = o->n_settings,
	};
	int rc;

	while (opt.n_schedulers < hw_n_scheds && opt.n_schedulers < MAX_SCHEDULERS) {
		names[opt.n_schedulers] = hw_scheds[opt.n_schedulers]->name;
		opt.n_schedulers++;
	}
	opt.n_policies = policy_names(policies);
	rc = cot_scenario_parse(strcmp(path, "-") != 0 ? path : "stdin", bytes, size, &opt, ret_sc,
				err);
	if (rc)
		return rc;
	rc = cot_qos_resolve(*ret_sc);
	if (!rc)
		return 0;
	cot_scenario_destroy(*ret_sc);
	*ret_sc = NULL;
	return cot_error_set(err, rc, "cannot simulate the apps with a qos alone: %s",
			     strerror(-rc));
}

int cot_cli_read_scenario(const char *path, const struct cot_cli_overrides *o,
			  struct cot_origin *origin, struct cot_scenario **ret_sc,
			  struct cot_error *err)
{
	size_t size;
	char *bytes;
	int rc = cot_text_read(path, &bytes, &size, err);

	if (rc)
		return rc;
	(void)cot_sha256(bytes, size, origin->sha256);
	rc = cot_cli_parse_scenario(path, bytes, size, o, ret_sc, err);
	free(bytes);
	return rc;
}

struct alone {
	struct cot_progress *progress; /* NULL: none */
	uint32_t index, n_apps;
};

/* Of a lone app's run only the app's number tells how far we are. */
static bool keep_going(void *arg)
{
	struct alone *a = arg;

	if (a->progress)
		cot_progress_update(a->progress, (double)a->index / a->n_apps);
	return !cot_cli_interrupted();
}

static int measure_one(struct alone *a, const struct cot_scenario *sc, struct cot_cli_alone *ret)
{
	uint32_t i = a->index;
	int rc = cot_sim_isolated_us(sc, i, keep_going, a, &ret->us[i]);

	if (!rc && sc->apps[i].target.kind == COT_TARGET_SLOWDOWN)
		rc = cot_sim_alone_p99_ps(sc, i, keep_going, a, &ret->p99_ps[i]);
	if (rc != -EDEADLK)
		return rc;
	ret->us[i] = (double)NAN;
	return 0;
}

static int measure_all(const struct cot_scenario *sc, struct cot_progress *progress,
		       struct cot_cli_alone *ret_alone, struct cot_error *err)
{
	struct alone a = {.progress = progress, .n_apps = sc->n_apps};
	int rc = 0;

	for (a.index = 0; a.index < sc->n_apps && !rc; a.index++) {
		ret_alone->p99_ps[a.index] = 0;
		rc = measure_one(&a, sc, ret_alone);
		if (rc == -EINTR)
			(void)cot_error_set(err, rc, "interrupted; nothing was written");
		else if (rc < 0)
			(void)cot_error_set(err, rc, "cannot simulate '%s' alone: %s",
					    sc->apps[a.index].name, strerror(-rc));
	}
	return rc;
}

int cot_cli_play_alone(const struct cot_scenario *sc, struct cot_cli_alone *ret_alone,
		       struct cot_error *err)
{
	return measure_all(sc, NULL, ret_alone, err);
}

int cot_cli_measure_alone(const struct cot_scenario *sc, struct cot_cli_alone *ret_alone,
			  struct cot_error *err)
{
	struct cot_progress progress;
	int rc;

	cot_progress_init(&progress, "each alone");
	rc = measure_all(sc, &progress, ret_alone, err);
	cot_progress_finish(&progress);
	return rc;
}

/* Of scenarios that know neither latency programs nor arrivals nobody wants responses. */
static bool has_requests(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].cls == COT_CLASS_LATENCY || sc->apps[i].arrivals.per_s > 0.0)
			return true;
	return false;
}

static int begin_without_policy(struct cot_cli_play *p, const struct cot_scenario *sc,
				const struct cot_cli_alone *alone,
				const struct cot_sim_observer *observer, void *arg,
				struct cot_error *err)
{
	int rc;

	if (!has_requests(sc))
		return cot_sim_create(sc, NULL, observer, arg, &p->sim, err);
	p->measured = true;
	if (cot_sim_host_measure_init(&p->measures, sc, NULL, NULL, NULL))
		return cot_error_set(err, -ENOMEM, "out of memory");
	cot_sim_host_measure_limits(&p->measures, alone->p99_ps);
	cot_fanout_add(&p->fanout, &cot_sim_measures_observer, &p->measures);
	if (observer)
		cot_fanout_add(&p->fanout, observer, arg);
	rc = cot_sim_create(sc, NULL, &cot_fanout_observer, &p->fanout, &p->sim, err);
	if (!rc)
		cot_sim_host_measure_start(&p->measures, p->sim);
	return rc;
}

int cot_cli_play_begin(struct cot_cli_play *p, const struct cot_scenario *sc,
		       const struct cot_cli_alone *alone, const struct cot_knowledge *const *known,
		       const struct cot_sim_observer *observer, void *arg, struct cot_error *err)
{
	const struct cot_sim_host_options options = {.alone_p99_ps = alone->p99_ps, .known = known};
	int rc;

	*p = (struct cot_cli_play){0};
	if (!sc->policy[0])
		return begin_without_policy(p, sc, alone, observer, arg, err);
	rc = cot_sim_host_create(sc, &options, observer, arg, &p->host, err);
	if (!rc)
		p->sim = cot_sim_host_sim(p->host);
	return rc;
}

void cot_cli_play_summarize(const struct cot_cli_play *p, struct cot_sim_summary *s)
{
	if (p->host)
		cot_sim_summarize_responses(s, p->host);
	else if (p->measured)
		cot_sim_summarize_measures(s, &p->measures);
}

enum cot_sim_status cot_cli_play_on(struct cot_cli_play *p)
{
	return p->host ? cot_sim_host_run(p->host, COT_CLI_PLAY_INSTANTS)
		       : cot_sim_run(p->sim, COT_CLI_PLAY_INSTANTS);
}

int cot_cli_play_check(enum cot_sim_status status, struct cot_error *err)
{
	if (cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	return status == COT_SIM_NO_MEMORY ? cot_error_set(err, -ENOMEM, "out of memory") : 0;
}

void cot_cli_play_end(struct cot_cli_play *p)
{
	if (p->host)
		cot_sim_host_destroy(p->host);
	else
		cot_sim_destroy(p->sim);
	if (p->measured)
		cot_sim_host_measure_finish(&p->measures);
}
