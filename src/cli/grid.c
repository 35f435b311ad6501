#include "cli/grid.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "cli/common.h"
#include "cli/scenario.h"
#include "study/jobs.h"
#include "study/study.h"

/* ---- options ---- */

enum {
	KEY_JSON = 512,
	KEY_CSV,
	KEY_REPORT,
	KEY_SEED,
	KEY_SEEDS,
	KEY_THREADS,
};

static const struct argp_option options[] = {
	{"seed", KEY_SEED, "N", 0, "The first random seed (default: the scenario's)", 2},
	{"seeds", KEY_SEEDS, "N", 0,
	 "Play all with N seeds, and show means with their 95 % intervals", 2},
	{"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 2},
	COT_CLI_JSON(KEY_JSON, 3),
	COT_CLI_CSV(KEY_CSV, "run", 3),
	{"report", KEY_REPORT, "FILE", 0, "Write an HTML page with charts", 3},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cot_cli_grid_options *o = state->input;

	switch (key) {
	case KEY_JSON:
		o->json = cot_cli_json(arg, state);
		return 0;
	case KEY_CSV:
		o->csv = arg ? arg : "-";
		return 0;
	case KEY_REPORT:
		o->report = arg;
		return 0;
	case KEY_SEED:
		o->seed = cot_study_whole(state, "--seed", arg, 0, INT64_MAX - COT_GRID_MAX_RUNS);
		o->seeded = true;
		return 0;
	case KEY_SEEDS:
		o->n_seeds =
			(unsigned)cot_study_whole(state, "--seeds", arg, 1, COT_GRID_MAX_SEEDS);
		return 0;
	case KEY_THREADS:
		o->n_threads =
			(unsigned)cot_study_whole(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = cot_cli_long_argp_children,
};

const struct argp_child cot_cli_grid_children[] = {{.argp = &argp}, {0}};

void cot_cli_grid_check(const struct cot_cli_grid_options *o, const char *scenario,
			struct argp_state *state)
{
	const char *files[] = {o->json, o->csv, o->report};
	unsigned i, j;

	for (i = 0; i < COT_ARRAY_LEN(files); i++) {
		if (!files[i])
			continue;
		for (j = 0; j < i; j++)
			if (files[j] && cot_cli_same_file(files[i], files[j]))
				argp_error(state, "two outputs are the same file '%s'", files[i]);
		if (scenario && strcmp(files[i], "-") != 0 && cot_cli_same_file(files[i], scenario))
			argp_error(state, "the output '%s' is the scenario itself", files[i]);
	}
	if (o->report && !strcmp(o->report, "-"))
		argp_error(state, "only --json or --csv can go to standard output");
}

/* ---- playing ---- */

/* First each set of programs is played alone with every seed, then each row with every seed. */
struct crew {
	struct cot_grid *grid;
	unsigned n_programs;
	struct cot_cli_alone *alone; /* [programs * n_seeds + seed] */
	bool playing;		     /* else alone */
	struct cot_progress progress;
	pthread_mutex_t lock; /* the rest */
	size_t failed_job;
	struct cot_error err; /* of that job, the lowest of those that failed */
};

static int record_failure(struct crew *c, size_t job, int rc, const struct cot_error *err)
{
	pthread_mutex_lock(&c->lock);
	if (rc && job < c->failed_job) {
		c->failed_job = job;
		c->err = *err;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* Its own copy of a row's scenario. */
static struct cot_scenario *seeded(const struct cot_grid *g, unsigned row, unsigned seed)
{
	struct cot_scenario *sc = malloc(sizeof(*sc));

	if (sc) {
		*sc = *g->rows[row].sc;
		sc->seed = g->first_seed + seed;
	}
	return sc;
}

/* A row that has these programs. */
static unsigned row_of(const struct cot_grid *g, unsigned programs)
{
	unsigned row = 0;

	while (g->rows[row].programs != programs)
		row++;
	return row;
}

static int run_alone(void *arg, size_t job)
{
	struct crew *c = arg;
	unsigned n_seeds = c->grid->n_seeds;
	unsigned row = row_of(c->grid, (unsigned)(job / n_seeds));
	struct cot_scenario *sc = seeded(c->grid, row, (unsigned)(job % n_seeds));
	struct cot_error err = {"out of memory"};
	int rc = sc ? cot_cli_play_alone(sc, &c->alone[job], &err) : -ENOMEM;

	free(sc);
	return record_failure(c, job, rc, &err);
}

static int keep_json(const struct cot_sim_summary *s, char **ret_text, struct cot_error *err)
{
	size_t size;
	FILE *out = open_memstream(ret_text, &size);
	int rc = out ? cot_sim_print_json(s, NULL, out, err) : -ENOMEM;

	if (out && fclose(out) && !rc)
		rc = -ENOMEM;
	return rc == -ENOMEM ? cot_error_set(err, rc, "out of memory") : rc;
}

/* A stalled run has apps without an outcome: they show as such. */
static int play(struct crew *c, size_t job, const struct cot_scenario *sc, unsigned programs,
		struct cot_error *err)
{
	struct cot_grid *g = c->grid;
	unsigned n_seeds = g->n_seeds, seed = (unsigned)(job % n_seeds);
	const struct cot_cli_alone *alone = &c->alone[programs * n_seeds + seed];
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_sim_result result;
	struct cot_sim_summary s;
	struct cot_cli_play run;
	int rc = cot_cli_play_begin(&run, sc, alone, NULL, NULL, NULL, err);

	while (!rc && status == COT_SIM_MORE && !cot_cli_interrupted())
		status = cot_cli_play_on(&run);
	rc = rc ? rc : cot_cli_play_check(status, err);
	if (!rc) {
		cot_sim_result(run.sim, &result);
		cot_sim_summarize(sc, &result, alone->us, &s);
		cot_cli_play_summarize(&run, &s);
		cot_figures_take(&s, cot_grid_values(g, (unsigned)(job / n_seeds), seed));
		if (g->json)
			rc = keep_json(&s, &g->json[job], err);
	}
	cot_cli_play_end(&run);
	return rc;
}

static int run_row(void *arg, size_t job)
{
	struct crew *c = arg;
	const struct cot_grid *g = c->grid;
	unsigned row = (unsigned)(job / g->n_seeds);
	struct cot_scenario *sc = seeded(g, row, (unsigned)(job % g->n_seeds));
	struct cot_error err = {"out of memory"};
	int rc = sc ? play(c, job, sc, g->rows[row].programs, &err) : -ENOMEM;

	free(sc);
	return record_failure(c, job, rc, &err);
}

static bool stop(void *arg)
{
	(void)arg;
	return cot_cli_interrupted();
}

static void show_progress(void *arg, size_t n_done, size_t n_jobs)
{
	struct crew *c = arg;

	cot_progress_update(&c->progress, (double)n_done / n_jobs);
}

static int run_all(struct crew *c, bool playing, unsigned n_threads)
{
	const struct cot_grid *g = c->grid;
	const struct cot_jobs jobs = {
		.n = (size_t)(playing ? g->n_rows : c->n_programs) * g->n_seeds,
		.run = playing ? run_row : run_alone,
		.progress = show_progress,
		.arg = c,
		.stop = stop,
	};
	int rc;

	c->failed_job = jobs.n;
	cot_progress_init(&c->progress, playing ? "simulating" : "each alone");
	rc = cot_jobs_run(&jobs, n_threads ? n_threads : cot_jobs_default_threads());
	cot_progress_finish(&c->progress);
	return rc;
}

static unsigned count_programs(const struct cot_grid *g)
{
	unsigned n = 0, i;

	for (i = 0; i < g->n_rows; i++)
		if (g->rows[i].programs >= n)
			n = g->rows[i].programs + 1;
	return n;
}

static int play_all(struct cot_grid *g, unsigned n_threads, struct cot_error *err)
{
	struct crew c = {.grid = g,
			 .n_programs = count_programs(g),
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .err = {"out of memory"}};
	int rc;

	c.alone = calloc((size_t)c.n_programs * g->n_seeds, sizeof(*c.alone));
	rc = c.alone ? run_all(&c, false, n_threads) : -ENOMEM;
	rc = rc ? rc : run_all(&c, true, n_threads);
	free(c.alone);
	if (rc == -EINTR || cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	if (rc == -EAGAIN)
		return cot_error_set(err, rc, "cannot make a thread: %s", strerror(-rc));
	if (rc)
		*err = c.err;
	return rc;
}

/* ---- outputs ---- */

struct output {
	const char *path;
	int (*print)(const struct cot_grid *g, FILE *out);
	struct cot_outfile *file;
};

static int write_all(const struct cot_grid *g, struct output *outs, unsigned n,
		     struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		if (!outs[i].file)
			continue;
		if (outs[i].print(g, cot_outfile_stream(outs[i].file)))
			return cot_error_set(err, -ENOMEM, "out of memory");
		rc = cot_outfile_finish(outs[i].file, err);
	}
	if (!rc && cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	for (i = 0; i < n && !rc; i++)
		if (outs[i].file)
			rc = cot_outfile_commit(outs[i].file, err);
	return rc;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

int cot_cli_grid_run(struct cot_grid *g, const struct cot_cli_grid_options *o,
		     struct cot_error *err)
{
	struct output outs[] = {
		{o->json, cot_grid_print_json, NULL},
		{o->csv, cot_grid_print_csv, NULL},
		{o->report, cot_grid_print_html, NULL},
	};
	unsigned i;
	int rc = 0;

	cot_cli_catch_signals();
	g->first_seed = o->seeded ? o->seed : g->sc->seed;
	g->n_seeds = o->n_seeds ? o->n_seeds : 1;
	if ((uint64_t)g->n_rows * g->n_seeds > COT_GRID_MAX_RUNS)
		return cot_error_set(err, -EINVAL,
				     "%u rows with %u seeds each are too many runs; expected "
				     "at most %u",
				     g->n_rows, g->n_seeds, COT_GRID_MAX_RUNS);
	/* Before the work, so that a wrong path is noticed at once. */
	for (i = 0; i < COT_ARRAY_LEN(outs) && !rc; i++)
		rc = outs[i].path ? cot_outfile_open(outs[i].path, &outs[i].file, err) : 0;
	if (!rc && cot_grid_open(g, o->json != NULL))
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	rc = rc ? rc : play_all(g, o->n_threads, err);
	rc = rc ? rc : write_all(g, outs, COT_ARRAY_LEN(outs), err);
	if (!rc && !is_stdout(o->json) && !is_stdout(o->csv) && cot_grid_print_text(g, stdout))
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	for (i = 0; i < COT_ARRAY_LEN(outs); i++)
		cot_outfile_destroy(outs[i].file);
	return rc ? rc : cot_cli_flush(err);
}
