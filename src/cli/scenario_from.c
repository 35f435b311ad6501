/*
 * cotenant scenario-from: a scenario from a recording; it is played, and both are shown side by
 * side.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/scenario.h"
#include "report/format.h"
#include "report/json.h"
#include "report/recording.h"
#include "text/number.h"
#include "trace/gpu.h"
#include "trace/scenario_read.h"

enum { KEY_GPU = 256, KEY_FROM_GPU, KEY_JSON };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write the scenario here; default scenario.yaml", 0},
	{"gpu", KEY_GPU, "NAME", 0,
	 "The simulated GPU, of cotenant list gpus; default: the recorded one, or h200", 0},
	{"from-gpu", KEY_FROM_GPU, "NUMBER", 0,
	 "The programs on this one of the recorded GPUs; needed where there were several", 0},
	COT_CLI_JSON(KEY_JSON, 1),
	{0},
};

struct arguments {
	const char *file, *path, *gpu, *json;
	uint32_t gpus; /* bits: of which recorded GPUs; 0: not said */
};

static uint32_t parse_from_gpu(const char *text, struct argp_state *state)
{
	uint64_t gpu;

	if (!cot_number_u64(text, &gpu) || gpu >= COT_RECORD_GPUS_MAX)
		argp_error(state, "--from-gpu is '%s'; expected a number below %u", text,
			   COT_RECORD_GPUS_MAX);
	return 1u << (gpu % COT_RECORD_GPUS_MAX);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->path = arg;
		return 0;
	case KEY_GPU:
		if (!cot_gpu_find(arg))
			argp_error(state, "there is no GPU '%s'; cotenant list gpus names them",
				   arg);
		a->gpu = arg;
		return 0;
	case KEY_FROM_GPU:
		a->gpus = parse_from_gpu(arg, state);
		return 0;
	case KEY_JSON:
		a->json = cot_cli_json(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_error(state, "one recording at a time; '%s' is one too many", arg);
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->file)
			argp_error(state, "no recording given; expected a file of cotenant record");
		if (cot_cli_same_file(a->path, a->file))
			argp_error(state, "an output is '%s', the recording itself", a->file);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct job {
	const struct arguments *args;
	struct cot_record record;
	char *text;
	size_t size;
	struct cot_scenario *sc;
	struct cot_sim_summary summary;
};

static bool is_wanted(const struct job *job, uint32_t program)
{
	return cot_recording_is_on(&job->record.programs[program], job->args->gpus);
}

static const char *gpu_of(const struct job *job)
{
	if (job->args->gpu)
		return job->args->gpu;
	return strstr(job->record.gpu, "K20c") ? "k20c" : "h200";
}

static int draft(struct job *job, struct cot_error *err)
{
	const char *gpu = gpu_of(job);
	FILE *out = open_memstream(&job->text, &job->size);

	if (!out)
		return cot_error_set(err, -ENOMEM, "out of memory");
	cot_recording_print_scenario(&job->record, job->args->gpus, gpu, cot_gpu_find(gpu)->n_sms,
				     out);
	if (fclose(out))
		return cot_error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int play(struct job *job, struct cot_error *err)
{
	static const struct cot_cli_overrides none = {.scheduler = NULL};
	struct cot_cli_alone alone;
	struct cot_cli_play p = {.host = NULL};
	struct cot_progress progress;
	struct cot_sim_result result;
	enum cot_sim_status status;
	int rc =
		cot_cli_parse_scenario(job->args->path, job->text, job->size, &none, &job->sc, err);

	if (!rc)
		rc = cot_cli_measure_alone(job->sc, &alone, err);
	if (rc < 0)
		return rc;
	rc = cot_cli_play_begin(&p, job->sc, &alone, NULL, NULL, NULL, err);
	if (!rc) {
		cot_progress_init(&progress, "simulating");
		do {
			status = cot_cli_play_on(&p);
			cot_progress_update(&progress, cot_sim_progress(p.sim));
		} while (status == COT_SIM_MORE && !cot_cli_interrupted());
		cot_progress_finish(&progress);
		rc = cot_cli_play_check(status, err);
	}
	if (!rc) {
		cot_sim_result(p.sim, &result);
		cot_sim_summarize(job->sc, &result, alone.us, &job->summary);
		cot_cli_play_summarize(&p, &job->summary);
	}
	cot_cli_play_end(&p);
	return rc;
}

static int save(const struct job *job, struct cot_error *err)
{
	struct cot_outfile *file;
	int rc = cot_outfile_open(job->args->path, &file, err);

	if (rc < 0)
		return rc;
	(void)fwrite(job->text, 1, job->size, cot_outfile_stream(file));
	rc = cot_outfile_commit(file, err);
	cot_outfile_destroy(file);
	return rc;
}

/* ---- side by side ---- */

struct row {
	const struct cot_record_program *program;
	struct cot_record_total total;
	const struct cot_record_times *times;
	bool played;
	char name[COT_RECORDING_NAME_MAX];
	double p50_ms, p99_ms, per_s; /* as played; 0: none */
};

/* Apps stand in the order of the programs. */
static void make_row(const struct job *job, uint32_t program, uint32_t *app, struct row *r)
{
	const struct cot_sim_summary *s = &job->summary;
	double seconds;

	r->program = &job->record.programs[program];
	cot_record_sum_up(&job->record, program, &r->total);
	/* A closed loop has no responses: nobody waits for the request before. */
	r->times = &r->total.times[cot_recording_is_open(&r->total) ? COT_RECORD_RESPONSE
								    : COT_RECORD_SERVICE];
	(void)cot_recording_name(&job->record, program, r->name);
	r->p50_ms = r->p99_ms = r->per_s = 0;
	r->played = cot_recording_can_play(r->program, &r->total);
	if (!r->played)
		return;
	seconds = (double)(s->result.end_ps - job->sc->apps[*app].start_ps) / 1e12;
	if (r->times->n) {
		r->p50_ms = s->responses[*app].p50_us / 1e3;
		r->p99_ms = s->responses[*app].p99_us / 1e3;
	}
	r->per_s = seconds > 0 ? (double)s->result.apps[*app].runs / seconds : 0;
	++*app;
}

static void time_cell(struct cot_table *t, bool known, double ms)
{
	struct cot_text text;

	cot_table_text(t, known ? cot_format_us(&text, ms * 1e3) : "");
}

static double recorded_rate(const struct row *r)
{
	return r->times->n ? r->total.per_s : r->total.launches_per_s;
}

static void rate_cell(struct cot_table *t, double per_s)
{
	struct cot_text text;

	cot_table_text(t, per_s > 0 ? cot_format_ratio(&text, per_s) : "");
}

static int show_table(const struct job *job)
{
	static const char *const heads[] = {"program",	    "p50 recorded", "p50 played",
					    "p99 recorded", "p99 played",   "per s recorded",
					    "per s played"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	uint32_t i, app = 0;
	struct row r;

	for (i = 0; i < job->record.n_programs; i++) {
		if (!is_wanted(job, i))
			continue;
		make_row(job, i, &app, &r);
		cot_table_text(t, r.name);
		time_cell(t, r.times->n, r.times->p50_ms);
		time_cell(t, r.p50_ms > 0, r.p50_ms);
		time_cell(t, r.times->n, r.times->p99_ms);
		time_cell(t, r.p99_ms > 0, r.p99_ms);
		rate_cell(t, recorded_rate(&r));
		rate_cell(t, recorded_rate(&r) > 0 ? r.per_s : 0);
	}
	cot_table_drop_empty(t);
	return cot_table_print(t, stdout);
}

static json_t *number_or_null(bool known, double x)
{
	return known ? cot_json_number(x) : json_null();
}

static json_t *make_json(const struct job *job)
{
	json_t *programs = json_array();
	uint32_t i, app = 0;
	struct row r;

	for (i = 0; i < job->record.n_programs; i++) {
		if (!is_wanted(job, i))
			continue;
		make_row(job, i, &app, &r);
		(void)json_array_append_new(
			programs,
			json_pack("{s:s, s:b, s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o}}", "name",
				  r.name, "in_scenario", r.played, "recorded", "p50_ms",
				  number_or_null(r.times->n > 0, r.times->p50_ms), "p99_ms",
				  number_or_null(r.times->n > 0, r.times->p99_ms), "per_second",
				  number_or_null(recorded_rate(&r) > 0, recorded_rate(&r)),
				  "played", "p50_ms", number_or_null(r.p50_ms > 0, r.p50_ms),
				  "p99_ms", number_or_null(r.p99_ms > 0, r.p99_ms), "per_second",
				  number_or_null(r.played, r.per_s)));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "schema", "cotenant.played/1", "scenario",
			 job->args->path, "gpu", gpu_of(job), "programs", programs);
}

static int show(const struct job *job, struct cot_error *err)
{
	if (job->args->json)
		return cot_cli_write_json(make_json(job), job->args->json, err);
	if (show_table(job))
		return cot_error_set(err, -ENOMEM, "out of memory");
	(void)printf("\n%s: the scenario, on %s\n", job->args->path, gpu_of(job));
	return 0;
}

/* All programs of a scenario are on one GPU. */
static int choose_gpu(struct arguments *a, const struct cot_record *r, struct cot_error *err)
{
	char text[8 * COT_RECORD_GPUS_MAX] = "";
	uint32_t i, gpus = 0;
	size_t n = 0;

	for (i = 0; i < r->n_programs; i++)
		gpus |= r->programs[i].gpus;
	if (a->gpus || !(gpus & (gpus - 1))) {
		a->gpus = a->gpus ? a->gpus : UINT32_MAX;
		return 0;
	}
	for (i = 0; i < COT_RECORD_GPUS_MAX; i++)
		if (gpus >> i & 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", n ? ", " : "", i);
	return cot_error_set(err, -EINVAL,
			     "%s: the programs were on GPUs %s; a scenario has one: expected "
			     "--from-gpu and its number",
			     a->file, text);
}

static int count_apps(const struct job *job, struct cot_error *err)
{
	struct cot_record_total t;
	uint32_t i, n = 0;

	for (i = 0; i < job->record.n_programs; i++) {
		if (!is_wanted(job, i))
			continue;
		cot_record_sum_up(&job->record, i, &t);
		n += cot_recording_can_play(&job->record.programs[i], &t);
	}
	if (n && n <= COT_MAX_APPS)
		return 0;
	return cot_error_set(err, -EINVAL, "%s: %u programs can be played; expected 1 to %d",
			     job->args->file, n, COT_MAX_APPS);
}

int cot_cmd_scenario_from(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "RECORDING",
		.doc = "Makes a scenario of RECORDING, a file of cotenant record, plays it, and "
		       "shows recorded and played times side by side.",
		.children = cot_cli_long_argp_children,
	};
	struct arguments a = {.path = "scenario.yaml"};
	struct job job = {.args = &a};
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	cot_cli_catch_signals();
	rc = cot_record_read(a.file, &job.record, NULL, &err);
	if (rc < 0 && rc != -ENOMEM) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	if (!rc)
		rc = choose_gpu(&a, &job.record, &err);
	if (!rc)
		rc = count_apps(&job, &err);
	if (!rc)
		rc = draft(&job, &err);
	if (!rc)
		rc = play(&job, &err);
	if (!rc)
		rc = save(&job, &err);
	if (!rc)
		rc = show(&job, &err);
	if (!rc)
		rc = cot_cli_flush(&err);
	cot_scenario_destroy(job.sc);
	free(job.text);
	cot_record_finish(&job.record);
	if (rc == -EINVAL) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	return cot_cli_end(rc, &err);
}
