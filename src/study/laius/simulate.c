/*
 * Two rounds of jobs: what each program does alone on each part of each GPU, which is what the
 * policies know of it; then every pair under every policy.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/sweep.h"
#include "study/jobs.h"
#include "study/laius/laius.h"
#include "study/rows.h"
#include "trace/scenario_read.h"

#define N_PROGRAMS	(COT_LAIUS_SERVICES + COT_LAIUS_BATCH)
#define INSTANTS_A_LOOK 20000u
#define TEXT_MAX	1024
/* Nobody here looks at the counts of an epoch, and making them took three quarters of the time.
 * Times differ by picoseconds (where work is cut is where it is rounded), which may decide
 * otherwise where requests pile up; of the values of all settings, with seed 1, none changed. */
#define EPOCHS "epoch_cycles: 100000000\n"
/* So many requests come: with three seeds one of them may be late. */
#define REQUESTS 34u
/* Of nine to sixteen sixteenths of the largest input: our choice, as the paper prints none. */
#define SIZES "[9, 10, 11, 12, 13, 14, 15, 16]"

struct program {
	struct cot_knowledge *known;
	double alone_us; /* of the largest request; of a batch program's run */
};

struct work {
	struct cot_laius_report *report;
	const struct cot_study_options *options;
	struct program programs[COT_LAIUS_SETTINGS][N_PROGRAMS];
	size_t n_jobs, n_before; /* of the round, and all before it */
	size_t n_all;
};

static const char *name_of(unsigned program)
{
	return program < COT_LAIUS_SERVICES ? cot_laius_services[program]
					    : cot_laius_batch[program - COT_LAIUS_SERVICES];
}

static const char *folder_of(unsigned program)
{
	return program < COT_LAIUS_SERVICES ? "tonic" : "rodinia";
}

static int read_scenario(const char *text, struct cot_scenario **ret_sc)
{
	struct cot_error err;

	return cot_scenario_parse("laius", text, strlen(text), NULL, ret_sc, &err);
}

/* ---- alone ---- */

static int make_alone(const struct cot_laius_setting *setting, unsigned program, const char *sizes,
		      struct cot_scenario **ret_sc)
{
	bool is_service = program < COT_LAIUS_SERVICES;
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "schema: cotenant.scenario/1\ngpu: %s\nscheduler: timeslice\n" EPOCHS
		       "policy: laius\n"
		       "stop: {runs: 1}\napps:\n  - name: a\n    trace: %s/%s\n%s%s%s",
		       setting->gpu, folder_of(program), name_of(program),
		       is_service ? "    class: latency\n    sizes: " : "", is_service ? sizes : "",
		       is_service ? "\n" : "");
	return read_scenario(text, ret_sc);
}

static int run_alone(void *arg, size_t job)
{
	struct work *w = arg;
	unsigned setting = (unsigned)(job / N_PROGRAMS), program = (unsigned)(job % N_PROGRAMS);
	const struct cot_laius_setting *s = &cot_laius_settings[setting];
	struct program *p = &w->programs[setting][program];
	struct cot_scenario *sc;
	int rc = make_alone(s, program, "[16]", &sc);

	if (rc)
		return rc;
	rc = cot_sim_isolated_us(sc, 0, NULL, NULL, &p->alone_us);
	cot_scenario_destroy(sc);
	if (!rc)
		rc = make_alone(s, program, SIZES, &sc);
	if (rc)
		return rc;
	rc = cot_sim_sweep(sc, 0, &p->known);
	cot_scenario_destroy(sc);
	return rc;
}

static void set_alone(struct work *w)
{
	unsigned setting, i;

	for (setting = 0; setting < w->report->n_settings; setting++) {
		struct cot_laius_result *r = &w->report->results[setting];
		const struct program *p = w->programs[setting];

		for (i = 0; i < COT_LAIUS_SERVICES; i++)
			r->target_us[i] = p[i].alone_us * cot_laius_settings[setting].target;
		for (i = 0; i < COT_LAIUS_BATCH; i++)
			r->batch_us[i] = p[COT_LAIUS_SERVICES + i].alone_us;
	}
}

/* ---- pairs ---- */

struct play {
	unsigned setting, seed, pair, way;
};

static struct play play_of(const struct work *w, size_t job)
{
	struct play p = {.way = (unsigned)(job % COT_LAIUS_WAYS)};

	job /= COT_LAIUS_WAYS;
	p.pair = (unsigned)(job % COT_LAIUS_PAIRS);
	job /= COT_LAIUS_PAIRS;
	while (job >= cot_laius_settings[p.setting].n_seeds)
		job -= cot_laius_settings[p.setting++].n_seeds;
	p.seed = (unsigned)job;
	(void)w;
	return p;
}

static size_t n_plays(const struct work *w)
{
	unsigned setting;
	size_t n = 0;

	for (setting = 0; setting < w->report->n_settings; setting++)
		n += cot_laius_settings[setting].n_seeds;
	return n * COT_LAIUS_PAIRS * COT_LAIUS_WAYS;
}

/* Baymax issues kernel by kernel, so that kernels are works there; and at no cost, since its own is
 * not known. */
static int make_pair(const struct work *w, const struct play *p, struct cot_scenario **ret_sc)
{
	static const char *const works = "    rewrite: true\n";
	const struct cot_laius_setting *s = &cot_laius_settings[p->setting];
	const struct cot_laius_result *r = &w->report->results[p->setting];
	unsigned service = p->pair / COT_LAIUS_BATCH, batch = p->pair % COT_LAIUS_BATCH;
	bool baymax = p->way == COT_LAIUS_BAYMAX;
	double target_us = r->target_us[service];
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "schema: cotenant.scenario/1\ngpu: %s\nscheduler: timeslice\n" EPOCHS
		       "policy: %s\n"
		       "workers: {grant_us: 0}\nseed: %" PRIu64 "\nstop: {at_us: %.0f}\napps:\n"
		       "  - name: %s\n    class: latency\n    p99: %.0fus\n    sizes: " SIZES "\n"
		       "    arrivals: {per_s: %.3f, gaps: %s}\n    trace: tonic/%s\n%s"
		       "  - name: %s\n    trace: rodinia/%s\n%s",
		       s->gpu, cot_laius_ways[p->way], w->options->seed + p->seed,
		       REQUESTS * target_us / s->load, cot_laius_services[service], target_us,
		       1e6 * s->load / target_us, s->random ? "random" : "even",
		       cot_laius_services[service], baymax ? works : "", cot_laius_batch[batch],
		       cot_laius_batch[batch], baymax ? works : "");
	return read_scenario(text, ret_sc);
}

static int run_to_end(struct cot_sim_host *h, const struct cot_study_options *options)
{
	enum cot_sim_status status = COT_SIM_MORE;

	while (status == COT_SIM_MORE) {
		status = cot_sim_host_run(h, INSTANTS_A_LOOK);
		if (options->stop(options->arg))
			return -EINTR;
	}
	if (status == COT_SIM_NO_MEMORY)
		return -ENOMEM;
	return status == COT_SIM_STALLED ? -EDEADLK : 0;
}

static void take(const struct work *w, const struct play *p, struct cot_sim_host *h,
		 struct cot_laius_outcome *ret)
{
	const struct cot_laius_result *r = &w->report->results[p->setting];
	struct cot_sim_result result;
	struct cot_sim_host_times t;

	cot_sim_result(cot_sim_host_sim(h), &result);
	cot_sim_host_times(h, 0, &t);
	*ret = (struct cot_laius_outcome){
		.n = t.n_responses,
		.n_missed = t.n_missed,
		.p99 = cot_us_from_ps((uint64_t)t.response_p99_ps) /
		       r->target_us[p->pair / COT_LAIUS_BATCH],
		.batch = result.apps[1].progress * r->batch_us[p->pair % COT_LAIUS_BATCH] /
			 cot_us_from_ps(result.end_ps),
	};
}

static int run_pair(void *arg, size_t job)
{
	struct work *w = arg;
	struct play p = play_of(w, job);
	const struct program *programs = w->programs[p.setting];
	const struct cot_knowledge *known[COT_MAX_APPS] = {
		programs[p.pair / COT_LAIUS_BATCH].known,
		programs[COT_LAIUS_SERVICES + p.pair % COT_LAIUS_BATCH].known,
	};
	const struct cot_sim_host_options options = {.known = known};
	struct cot_laius_result *r = &w->report->results[p.setting];
	struct cot_sim_host *h = NULL;
	struct cot_scenario *sc;
	struct cot_error err;
	int rc;

	if (!cot_laius_is_played(w->report, p.pair))
		return 0;
	rc = make_pair(w, &p, &sc);
	if (rc)
		return rc;
	rc = cot_sim_host_create(sc, &options, NULL, NULL, &h, &err);
	if (!rc)
		rc = run_to_end(h, w->options);
	if (!rc)
		take(w, &p, h, &r->outcomes[p.seed][p.pair][p.way]);
	cot_sim_host_destroy(h);
	cot_scenario_destroy(sc);
	return rc;
}

/* ---- both rounds ---- */

static void tell(void *arg, size_t n_done, size_t n_jobs)
{
	const struct work *w = arg;

	(void)n_jobs;
	if (w->options->progress)
		w->options->progress(w->options->arg,
				     (double)(w->n_before + n_done) / (double)w->n_all);
}

static int run_round(struct work *w, int (*run)(void *arg, size_t job), size_t n)
{
	const struct cot_jobs jobs = {
		.n = n,
		.run = run,
		.progress = tell,
		.arg = w,
		.stop = w->options->stop,
		.stop_arg = w->options->arg,
	};
	int rc = cot_jobs_run(&jobs, w->options->n_threads);

	w->n_before += n;
	return rc;
}

#define FIELD(member, ...) \
	COT_FIELD(#member, struct cot_laius_printed, member, __VA_ARGS__, .required = true)

static const struct cot_field fields[] = {
	FIELD(id, COT_TEXT),
	FIELD(figure, COT_TEXT),
	FIELD(metric, COT_TEXT),
	FIELD(way, COT_TEXT),
	FIELD(source, COT_TEXT),
	FIELD(value, COT_NUMBER(0, 100)),
	{0},
};

static int read_row(const struct cot_csv *csv, uint32_t row, void *arg, struct cot_error *err)
{
	struct cot_laius_report *r = arg;

	return cot_csv_fill(csv, row, fields, &r->printed[r->n_printed++], err);
}

static void finish(struct work *w)
{
	unsigned setting, i;

	for (setting = 0; setting < COT_LAIUS_SETTINGS; setting++)
		for (i = 0; i < N_PROGRAMS; i++)
			cot_knowledge_destroy(w->programs[setting][i].known);
	free(w);
}

int cot_laius_run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	struct work *w = calloc(1, sizeof(*w));
	struct cot_laius_report *r = data;
	size_t n_alone;
	int rc;

	if (!w)
		return -ENOMEM;
	r->quick = options->quick;
	r->seed = options->seed;
	r->n_settings = r->sensitivity ? COT_LAIUS_SETTINGS : 1;
	w->report = r;
	w->options = options;
	n_alone = (size_t)r->n_settings * N_PROGRAMS;
	w->n_all = n_alone + n_plays(w);
	rc = cot_rows_load("printed/laius.csv", fields, COT_LAIUS_PRINTED, read_row, r, err);
	if (!rc)
		rc = run_round(w, run_alone, n_alone);
	set_alone(w);
	if (!rc)
		rc = run_round(w, run_pair, n_plays(w));
	finish(w);
	return rc;
}
