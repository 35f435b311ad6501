/* Plays the scenarios. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/sim.h"
#include "study/jobs.h"
#include "study/live/live.h"
#include "trace/scenario_read.h"

#define INSTANTS_A_LOOK 20000u
/* Until the shares that the clock follows from are those that it leads to. */
#define PASSES	       3u
#define SHARE_LEAST    0.01
#define COPY_INSTS_MAX 1e9

static int parse(const char *text, struct cot_scenario **ret, struct cot_error *err)
{
	return cot_scenario_parse("scenario", text, strlen(text), NULL, ret, err);
}

static bool is_there(const struct cot_live_case *c, enum cot_live_shape shape, uint32_t *ret_app)
{
	for (*ret_app = 0; *ret_app < c->n_apps; (*ret_app)++)
		if (c->apps[*ret_app].program->shape == shape)
			return true;
	return false;
}

/* How many instructions make copying kernels as long as they are alone. */
static int find_copy_insts(const struct cot_live_case *c, const struct cot_live_gpu *g,
			   double *ret_insts, struct cot_error *err)
{
	const struct cot_live_pace even = {1, 1};
	char text[COT_LIVE_SCENARIO_MAX];
	struct cot_scenario *sc;
	uint32_t app;
	double us;
	int rc;

	*ret_insts = COT_LIVE_COPY_INSTS;
	if (!is_there(c, COT_LIVE_COPY, &app) || c->way->policy != COT_LIVE_PARTS)
		return 0;
	rc = cot_live_scenario(c, g, &even, *ret_insts, text);
	if (!rc)
		rc = parse(text, &sc, err);
	if (rc)
		return rc;
	rc = cot_sim_isolated_us(sc, app, NULL, NULL, &us);
	cot_scenario_destroy(sc);
	if (rc || !(us > 0.0))
		return rc ? rc : -EDEADLK;
	*ret_insts *= c->apps[app].alone_us / us;
	*ret_insts = *ret_insts < 1.0		   ? 1.0
		     : *ret_insts < COPY_INSTS_MAX ? *ret_insts
						   : COPY_INSTS_MAX;
	return 0;
}

/* ---- one simulation ---- */

static void take(const struct cot_sim_host *h, struct cot_sim_result *result,
		 struct cot_live_case *c)
{
	struct cot_sim_host_times t;
	uint32_t i;

	for (i = 0; i < c->n_apps; i++) {
		struct cot_live_app *a = &c->apps[i];

		if (!a->latency) {
			a->predicted.part = result->apps[i].progress * a->alone_us /
					    cot_us_from_ps(result->end_ps);
			continue;
		}
		cot_sim_host_times(h, i, &t);
		a->predicted.p50_us = t.response_p50_ps / COT_PS_PER_US;
		a->predicted.p99_us = t.response_p99_ps / COT_PS_PER_US;
	}
}

static int run(struct cot_scenario *sc, struct cot_live_case *c, struct cot_error *err)
{
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_sim_result result;
	struct cot_sim_host *h;
	int rc = cot_sim_host_create(sc, NULL, NULL, NULL, &h, err);

	if (rc)
		return rc;
	while (status == COT_SIM_MORE)
		status = cot_sim_host_run(h, INSTANTS_A_LOOK);
	if (status == COT_SIM_DONE) {
		cot_sim_result(cot_sim_host_sim(h), &result);
		take(h, &result, c);
	}
	cot_sim_host_destroy(h);
	if (status == COT_SIM_NO_MEMORY)
		return cot_error_set(err, -ENOMEM, "out of memory");
	return status == COT_SIM_DONE ? 0
				      : cot_error_set(err, -EDEADLK, "the scenario stands still");
}

/* ---- the clock ---- */

/* The part of the GPU that hot programs had; 0: there are none. */
static double hot_share(const struct cot_live_case *c, const struct cot_live_pace *pace)
{
	double share = 0.0;
	uint32_t i;

	for (i = 0; i < c->n_apps; i++)
		if (c->apps[i].program->hot)
			share += c->apps[i].predicted.part * pace->hot;
	return share;
}

static struct cot_live_pace pace_of(const struct cot_live_gpu *g, double share)
{
	if (share < SHARE_LEAST)
		return (struct cot_live_pace){1, 1};
	return (struct cot_live_pace){1 / cot_live_hot_gain(g, share), cot_live_hot_loss(g, share)};
}

int cot_live_play(struct cot_live_case *c, const struct cot_live_gpu *g,
		  char ret_text[COT_LIVE_SCENARIO_MAX], struct cot_error *err)
{
	struct cot_live_pace pace = {1, 1};
	struct cot_scenario *sc;
	double insts, share = 0.0;
	uint32_t pass;
	int rc = find_copy_insts(c, g, &insts, err);

	for (pass = 0; !rc && pass < PASSES; pass++) {
		pace = pass ? pace_of(g, share) : pace;
		rc = cot_live_scenario(c, g, &pace, insts, ret_text);
		if (!rc)
			rc = parse(ret_text, &sc, err);
		if (rc)
			break;
		rc = run(sc, c, err);
		cot_scenario_destroy(sc);
		share = hot_share(c, &pace);
		if (!(share > 0.0))
			break;
	}
	return rc;
}

/* ---- all ---- */

struct work {
	struct cot_live_check *check;
	struct cot_error *errors; /* of each case */
};

static int play_one(void *arg, size_t job)
{
	struct work *w = arg;
	struct cot_live_case *c = &w->check->cases[job];
	char text[COT_LIVE_SCENARIO_MAX];

	return c->why ? 0 : cot_live_play(c, &w->check->gpu, text, &w->errors[job]);
}

static int say(const struct work *w, int rc, struct cot_error *err)
{
	uint32_t i;

	for (i = 0; i < w->check->n_cases; i++)
		if (w->errors[i].text[0])
			return cot_error_set(err, rc, "%s in the way %s: %s",
					     w->check->cases[i].group,
					     w->check->cases[i].way->window, w->errors[i].text);
	return cot_error_set(err, rc, "the mixes cannot be played: %s", strerror(-rc));
}

int cot_live_predict(struct cot_live_check *c, struct cot_error *err)
{
	struct work w = {c, calloc(COT_LIVE_CASES_MAX, sizeof(*w.errors))};
	const struct cot_jobs jobs = {.n = c->n_cases, .run = play_one, .arg = &w};
	int rc;

	if (!w.errors)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_jobs_run(&jobs, cot_jobs_default_threads());
	if (rc)
		rc = say(&w, rc, err);
	free(w.errors);
	return rc;
}
