/*
 * Plays a scenario under every fixed arrangement and under the policy. What is before all programs
 * are there and have settled does not count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "study/mixes/mixes.h"
#include "trace/policy_name.h"

#define INSTANTS_A_LOOK 20000u
#define MS		(1000 * COT_PS_PER_US)

const char *const cot_mixes_ways[COT_MIXES_WAYS] = {
	"pools",   "rotate",  "timeslice", "parts@1",	"parts@3",
	"parts@5", "parts@6", "parts@7",   "first run", "next run",
};

/* A way to play. */
struct way {
	const char *policy;
	uint64_t begin_ms, end_ms; /* what counts */
	/* From one run to the next. */
	struct cot_lesson *lessons;
	uint32_t n_lessons;
	FILE *notes; /* NULL: nobody wants to know */
};

/* ---- running ---- */

static int run_until(struct cot_sim_host *h, uint64_t t_ps, const struct cot_study_options *options)
{
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_sim *sim = cot_sim_host_sim(h);
	unsigned n;

	while (status == COT_SIM_MORE && cot_sim_now_ps(sim) < t_ps) {
		for (n = 0;
		     n < INSTANTS_A_LOOK && status == COT_SIM_MORE && cot_sim_now_ps(sim) < t_ps;
		     n++)
			status = cot_sim_host_run(h, 1);
		if (options->stop(options->arg))
			return -EINTR;
	}
	if (status == COT_SIM_NO_MEMORY)
		return -ENOMEM;
	return status == COT_SIM_STALLED ? -EDEADLK : 0;
}

/* ---- what came of it ---- */

static void add_latency(const struct cot_sim_host *h, uint32_t i, struct cot_mix_outcome *o)
{
	struct cot_sim_host_times t;
	double use;

	cot_sim_host_times(h, i, &t);
	use = t.response_p99_ps / (double)t.limit_ps;
	/* Without any answer in so many seconds nothing is kept. */
	if (!t.n_responses || t.n_missed * 100 > t.n_responses)
		o->kept = false;
	if (use > o->use)
		o->use = use;
}

static void take(const struct cot_mix *m, const struct cot_sim_host *h,
		 const struct cot_sim_result *before, struct cot_sim_result *after,
		 struct cot_mix_outcome *ret)
{
	uint32_t i;

	*ret = (struct cot_mix_outcome){.kept = true};
	for (i = 0; i < m->sc->n_apps; i++) {
		if (m->sc->apps[i].cls == COT_CLASS_LATENCY)
			add_latency(h, i, ret);
		else
			ret->batch_sum += (after->apps[i].progress - before->apps[i].progress) *
					  m->alone_us[i] /
					  cot_us_from_ps(after->end_ps - before->end_ps);
	}
}

/* ---- what the policy says ---- */

static void note_fact(const struct cot_fact *f, FILE *out)
{
	static const char *const units[COT_N_FACT_UNITS] = {
		[COT_FACT_NS] = "ns",	       [COT_FACT_AT_NS] = "ns of the run",
		[COT_FACT_PERMILLE] = "/1000", [COT_FACT_SMS] = "SMs",
		[COT_FACT_US] = "us",	       [COT_FACT_COUNT] = "",
	};

	if (f->unit == COT_FACT_TEXT)
		(void)fprintf(out, "    %s: %s\n", f->name, f->text);
	else
		(void)fprintf(out, "    %s: %" PRIu64 " %s %s\n", f->name, f->value, units[f->unit],
			      f->text ? f->text : "");
}

static void note(const struct cot_mix *m, struct cot_sim_host *h, const struct way *way)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned n, i;
	uint32_t app;

	(void)fprintf(way->notes, "policy %s, after %" PRIu64 " ms\n", way->policy, way->end_ms);
	for (app = 0; app < m->sc->n_apps; app++) {
		n = cot_sim_host_explain(h, app, facts);
		(void)fprintf(way->notes, "  %s\n", m->sc->apps[app].name);
		for (i = 0; i < n; i++)
			note_fact(&facts[i], way->notes);
	}
}

static int play(const struct cot_mix *m, struct way *way, const struct cot_study_options *options,
		struct cot_mix_outcome *ret, struct cot_error *err)
{
	const struct cot_sim_host_options host_options = {
		.alone_p99_ps = m->alone_p99_ps,
		.lessons = way->lessons,
		.n_lessons = way->n_lessons,
	};
	struct cot_scenario *sc = malloc(sizeof(*sc));
	struct cot_sim_result before, after;
	struct cot_sim_host *h = NULL;
	int rc;

	if (!sc)
		return -ENOMEM;
	*sc = *m->sc;
	sc->stop_ps = way->end_ms * MS;
	rc = cot_policy_name_read(way->policy, NULL, 0, sc, err);
	if (!rc)
		rc = cot_sim_host_create(sc, &host_options, NULL, NULL, &h, err);
	if (!rc)
		rc = run_until(h, way->begin_ms * MS, options);
	if (!rc) {
		cot_sim_result(cot_sim_host_sim(h), &before);
		rc = cot_sim_host_forget_times(h);
	}
	if (!rc)
		rc = run_until(h, way->end_ms * MS, options);
	if (!rc) {
		cot_sim_result(cot_sim_host_sim(h), &after);
		take(m, h, &before, &after, ret);
		if (way->notes)
			note(m, h, way);
		if (way->lessons)
			way->n_lessons = cot_sched_lessons(cot_sim_host_sched(h), way->lessons);
	}
	cot_sim_host_destroy(h);
	free(sc);
	return rc;
}

static void find_best(struct cot_mix_result *r)
{
	int i;

	r->best = -1;
	for (i = 0; i < (int)COT_MIXES_FIXED; i++)
		if (r->outcomes[i].kept &&
		    (r->best < 0 || r->outcomes[i].batch_sum > r->outcomes[r->best].batch_sum))
			r->best = i;
}

int cot_mix_play(const struct cot_mix *m, const char *policy,
		 const struct cot_study_options *options, FILE *notes,
		 struct cot_mix_result *ret_result, struct cot_error *err)
{
	struct cot_lesson *lessons = calloc(COT_LESSONS_MAX, sizeof(*lessons));
	struct way way = {.begin_ms = COT_MIX_BEGIN_MS, .end_ms = COT_MIX_END_MS};
	unsigned i;
	int rc = lessons ? 0 : -ENOMEM;

	ret_result->seed = m->seed;
	for (i = 0; i < COT_MIXES_FIXED && !rc; i++) {
		way.policy = cot_mixes_ways[i];
		rc = play(m, &way, options, &ret_result->outcomes[i], err);
	}
	way = (struct way){.policy = policy,
			   .begin_ms = COT_MIX_BEGIN_MS + COT_MIX_LEARN_MS,
			   .end_ms = COT_MIX_END_MS + COT_MIX_LEARN_MS,
			   .lessons = lessons,
			   .notes = notes};
	if (!rc)
		rc = play(m, &way, options, &ret_result->outcomes[COT_MIXES_FIRST], err);
	way.begin_ms = COT_MIX_BEGIN_MS;
	way.end_ms = COT_MIX_END_MS;
	if (!rc)
		rc = play(m, &way, options, &ret_result->outcomes[COT_MIXES_AGAIN], err);
	find_best(ret_result);
	free(lessons);
	return rc;
}
