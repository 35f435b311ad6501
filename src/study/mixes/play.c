/*
 * Plays a scenario under every fixed arrangement and under the policy. What is before all programs
 * are there and have settled does not count.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/format.h"
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

/* A fixed arrangement that needs more than so much of a target is not played on: it has never been
 * seen to keep it later. */
#define FAR_OFF 2.0

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

static bool side_by_side(const struct cot_mix *m, const struct cot_sim_host *h)
{
	const struct cot_app *apps = m->sc->apps;
	uint32_t a, b;

	for (a = 0; a < m->sc->n_apps; a++)
		for (b = a + 1; b < m->sc->n_apps; b++)
			if (apps[a].cls != apps[b].cls && cot_sim_host_together(h, a, b))
				return true;
	return false;
}

static void add_batch(const struct cot_mix *m, uint32_t i, double rate, struct cot_mix_outcome *o)
{
	double for_100 = rate * 100 / m->sc->apps[i].weight;

	if (for_100 < o->batch_least)
		o->batch_least = for_100;
	o->batch_sum += rate;
}

static void take(const struct cot_mix *m, const struct cot_sim_host *h,
		 const struct cot_sim_result *before, struct cot_sim_result *after,
		 struct cot_mix_outcome *ret)
{
	double us = cot_us_from_ps(after->end_ps - before->end_ps);
	uint32_t i;

	*ret = (struct cot_mix_outcome){
		.kept = true, .parts = side_by_side(m, h), .batch_least = INFINITY};
	for (i = 0; i < m->sc->n_apps; i++) {
		if (m->sc->apps[i].cls == COT_CLASS_LATENCY)
			add_latency(h, i, ret);
		else
			add_batch(m, i,
				  (after->apps[i].progress - before->apps[i].progress) *
					  m->alone_us[i] / us,
				  ret);
	}
}

/* ---- what the policy says ---- */

static void note_value(const struct cot_fact *f, uint64_t now_ns, FILE *out)
{
	struct cot_text t;

	switch (f->unit) {
	case COT_FACT_NS:
		(void)fputs(cot_format_us(&t, (double)f->value / 1e3), out);
		return;
	case COT_FACT_AT_NS:
		(void)fprintf(out, "%s ago", cot_format_us(&t, (double)(now_ns - f->value) / 1e3));
		return;
	case COT_FACT_US:
		(void)fputs(cot_format_us(&t, (double)f->value), out);
		return;
	case COT_FACT_PERMILLE:
		(void)fprintf(out, "%.1f %%", (double)f->value / 10);
		return;
	case COT_FACT_SMS:
		(void)fprintf(out, "%" PRIu64 " SM%s", f->value, f->value == 1 ? "" : "s");
		return;
	default:
		(void)fprintf(out, "%" PRIu64, f->value);
	}
}

/* As `cotenant explain` says it. */
static void note_fact(const struct cot_fact *f, uint64_t now_ns, FILE *out)
{
	(void)fprintf(out, "    %s: ", f->name);
	if (f->unit == COT_FACT_TEXT) {
		(void)fprintf(out, "%s\n", f->text);
		return;
	}
	note_value(f, now_ns, out);
	(void)fprintf(out, "%s%s\n", f->text ? ", " : "", f->text ? f->text : "");
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
			note_fact(&facts[i], way->end_ms * COT_NS_PER_MS, way->notes);
	}
}

/* What came of the seconds from begin_ms to end_ms; what was before has been played. */
static int play_on(const struct cot_mix *m, struct cot_sim_host *h, const struct way *way,
		   const struct cot_study_options *options, struct cot_mix_outcome *ret)
{
	struct cot_sim_result before, after;
	int rc = run_until(h, way->begin_ms * MS, options);

	if (rc)
		return rc;
	cot_sim_result(cot_sim_host_sim(h), &before);
	rc = cot_sim_host_forget_times(h);
	if (!rc)
		rc = run_until(h, way->end_ms * MS, options);
	if (rc)
		return rc;
	cot_sim_result(cot_sim_host_sim(h), &after);
	take(m, h, &before, &after, ret);
	return 0;
}

static int begin(const struct cot_mix *m, const struct way *way, struct cot_scenario *sc,
		 struct cot_sim_host **ret, struct cot_error *err)
{
	const struct cot_sim_host_options options = {
		.alone_p99_ps = m->alone_p99_ps,
		.lessons = way->lessons,
		.n_lessons = way->n_lessons,
	};
	int rc;

	*sc = *m->sc;
	/* Later than what counts, the same for all: so the same seconds are the same. */
	sc->stop_ps = (COT_MIX_END_MS + COT_MIX_LEARN_MS) * MS;
	rc = cot_policy_name_read(way->policy, NULL, 0, sc, err);
	return rc ? rc : cot_sim_host_create(sc, &options, NULL, NULL, ret, err);
}

static int play(const struct cot_mix *m, struct way *way, const struct cot_study_options *options,
		struct cot_mix_outcome *ret, struct cot_error *err)
{
	struct cot_scenario *sc = malloc(sizeof(*sc));
	struct cot_sim_host *h = NULL;
	int rc = sc ? begin(m, way, sc, &h, err) : -ENOMEM;

	if (!rc)
		rc = play_on(m, h, way, options, ret);
	if (!rc && way->notes)
		note(m, h, way);
	if (!rc)
		way->n_lessons = cot_sched_lessons(cot_sim_host_sched(h), way->lessons);
	cot_sim_host_destroy(h);
	free(sc);
	return rc;
}

/* In the seconds of the next run, and in those of the first. */
static int play_fixed(const struct cot_mix *m, const char *policy,
		      const struct cot_study_options *options, struct cot_mix_outcome *ret_outcome,
		      struct cot_mix_outcome *ret_later, struct cot_error *err)
{
	const struct way later = {.policy = policy,
				  .begin_ms = COT_MIX_BEGIN_MS + COT_MIX_LEARN_MS,
				  .end_ms = COT_MIX_END_MS + COT_MIX_LEARN_MS};
	const struct way soon = {.begin_ms = COT_MIX_BEGIN_MS, .end_ms = COT_MIX_END_MS};
	struct cot_scenario *sc = malloc(sizeof(*sc));
	struct cot_sim_host *h = NULL;
	int rc = sc ? begin(m, &later, sc, &h, err) : -ENOMEM;

	if (!rc)
		rc = play_on(m, h, &soon, options, ret_outcome);
	if (!rc) {
		*ret_later = *ret_outcome;
		ret_later->kept = false;
		if (ret_outcome->use <= FAR_OFF)
			rc = play_on(m, h, &later, options, ret_later);
	}
	cot_sim_host_destroy(h);
	free(sc);
	return rc;
}

int cot_mix_play(const struct cot_mix *m, const char *policy,
		 const struct cot_study_options *options, FILE *notes,
		 struct cot_mix_result *ret_result, struct cot_error *err)
{
	struct cot_lesson *lessons = calloc(COT_LESSONS_MAX, sizeof(*lessons));
	struct way way = {.policy = policy,
			  .begin_ms = COT_MIX_BEGIN_MS + COT_MIX_LEARN_MS,
			  .end_ms = COT_MIX_END_MS + COT_MIX_LEARN_MS,
			  .lessons = lessons,
			  .notes = notes};
	unsigned i;
	int rc = lessons ? 0 : -ENOMEM;

	ret_result->seed = m->seed;
	for (i = 0; i < COT_MIXES_FIXED && !rc; i++)
		rc = play_fixed(m, cot_mixes_ways[i], options, &ret_result->outcomes[i],
				&ret_result->later[i], err);
	if (!rc)
		rc = play(m, &way, options, &ret_result->outcomes[COT_MIXES_FIRST], err);
	way.begin_ms = COT_MIX_BEGIN_MS;
	way.end_ms = COT_MIX_END_MS;
	if (!rc)
		rc = play(m, &way, options, &ret_result->outcomes[COT_MIXES_AGAIN], err);
	free(lessons);
	return rc;
}
