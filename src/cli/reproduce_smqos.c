#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/reproduce.h"
#include "report/outfile.h"
#include "study/jobs.h"
#include "study/smqos/simulate.h"
#include "text/number.h"

struct arguments {
	struct cot_smq_options study;
	const char *json, *html;
	struct cot_progress bar;
};

enum {
	OPT_QUICK = 256,
	OPT_JSON,
	OPT_REPORT,
	OPT_SEED,
	OPT_THREADS,
	OPT_SMS,
	OPT_EPOCH,
	OPT_THRESHOLD,
	OPT_NOISE,
	OPT_SENSITIVITY,
	OPT_ABLATION,
	OPT_MIX,
	OPT_TARGET
};

static const struct argp_option options[] = {
	{"quick", OPT_QUICK, NULL, 0, "Every seventh mix only", 0},
	{"json", OPT_JSON, "FILE", 0, "Write all values as JSON; - is standard output", 0},
	{"report", OPT_REPORT, "FILE", 0, "Write a page with the figures (HTML)", 0},
	{"mix", OPT_MIX, "A,B", 0,
	 "Also show this mix epoch by epoch: A has the goal, B is the batch task", 0},
	{"target", OPT_TARGET, "PERCENT", 0, "The goal of --mix: 80, 85, 90 (default) or 95", 0},
	{"sensitivity", OPT_SENSITIVITY, NULL, 0,
	 "Also run with other thresholds, epochs, noise and numbers of SMs", 0},
	{"ablation", OPT_ABLATION, NULL, 0,
	 "Also run with other assumptions where the paper is silent or our model differs; a minute "
	 "or two",
	 0},
	{"sms", OPT_SMS, "N", 0, "SMs of the GPU (default 32)", 1},
	{"epoch", OPT_EPOCH, "CYCLES", 0, "Length of an epoch (default 10000)", 1},
	{"threshold", OPT_THRESHOLD, "X", 0, "Threshold of SMQoS's search (default 0.03)", 1},
	{"noise", OPT_NOISE, "X", 0, "Noise of the tasks' rates (default 0.01)", 1},
	{"seed", OPT_SEED, "N", 0, "Draw other noise (default 1)", 1},
	{"threads", OPT_THREADS, "N", 0, "Use N threads (default: all processors)", 1},
	{0},
};

static uint64_t parse_u64(struct argp_state *state, const char *name, const char *text,
			  uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!cot_number_u64(text, &value) || value < min || value > max)
		argp_error(state, "%s: '%.40s'; expected a whole number from %llu to %llu", name,
			   text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

static double parse_double(struct argp_state *state, const char *name, const char *text, double min,
			   double max)
{
	double value = 0.0;

	if (!cot_number_double(text, &value) || value < min || value > max)
		argp_error(state, "%s: '%.40s'; expected a number from %g to %g", name, text, min,
			   max);
	return value;
}

static unsigned parse_benchmark(struct argp_state *state, const char *text)
{
	unsigned i;

	for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
		if (!strcmp(text, cot_smq_benchmarks[i]))
			return i;
	argp_error(state,
		   "--mix: no benchmark '%.40s'; expected two of bino, merge, cp, tpacf, hs, pf, "
		   "atax, bicg, gesummv, lib, lbm, mri-g",
		   text);
	return 0;
}

static void parse_mix(struct argp_state *state, const char *text, struct cot_smq_options *o)
{
	char copy[64], *comma;

	snprintf(copy, sizeof(copy), "%s", text);
	comma = strchr(copy, ',');
	if (!comma)
		argp_error(state, "--mix: '%.40s'; expected two benchmarks such as pf,lbm", text);
	*comma = '\0';
	o->has_mix = true;
	o->ls = parse_benchmark(state, copy);
	o->batch = parse_benchmark(state, comma + 1);
}

static void parse_target(struct argp_state *state, const char *text, struct cot_smq_options *o)
{
	uint64_t value = parse_u64(state, "--target", text, 80, 95);

	if (value % 5)
		argp_error(state, "--target: '%.40s'; expected 80, 85, 90 or 95", text);
	o->target = (unsigned)(value - 80) / 5;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct cot_smq_options *o = &a->study;

	switch (key) {
	case OPT_QUICK:
		o->quick = true;
		break;
	case OPT_JSON:
		a->json = arg;
		break;
	case OPT_REPORT:
		a->html = arg;
		break;
	case OPT_SEED:
		o->seed = parse_u64(state, "--seed", arg, 0, INT64_MAX);
		break;
	case OPT_THREADS:
		o->n_threads =
			(unsigned)parse_u64(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		break;
	case OPT_SMS:
		o->settings.n_sms = (uint32_t)parse_u64(state, "--sms", arg, 2, COT_SMQ_MAX_SMS);
		break;
	case OPT_EPOCH:
		o->settings.epoch_cycles =
			(uint32_t)parse_u64(state, "--epoch", arg, 1000, 1000000);
		break;
	case OPT_THRESHOLD:
		o->settings.threshold = parse_double(state, "--threshold", arg, 0.0001, 0.5);
		break;
	case OPT_NOISE:
		o->settings.noise = parse_double(state, "--noise", arg, 0.0, 0.2);
		break;
	case OPT_SENSITIVITY:
		o->sensitivity = true;
		break;
	case OPT_ABLATION:
		o->ablation = true;
		break;
	case OPT_MIX:
		parse_mix(state, arg, o);
		break;
	case OPT_TARGET:
		parse_target(state, arg, o);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.40s' is too much; expected options only", arg);
		break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = NULL;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = cot_cli_argp_children,
	.doc = "Repeat the evaluation of Sun et al., \"SMQoS: Improving Utilization and Energy "
	       "Efficiency with QoS Awareness on GPUs\": 132 mixes of two tasks under four targets "
	       "and three systems, beside the values that the paper prints.",
};

static void show_progress(void *arg, double done)
{
	struct arguments *a = arg;

	cot_progress_update(&a->bar, done);
}

static bool interrupted(void *arg)
{
	(void)arg;
	return cot_cli_interrupted();
}

/* An output and who writes it. */
struct output {
	const char *path; /* NULL: not wanted */
	int (*write)(FILE *out, const struct cot_smq_report *r);
	struct cot_outfile *file;
};

#define N_OUTPUTS 3

static int open_outputs(struct output *outs, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].path)
			rc = cot_outfile_open(outs[i].path, &outs[i].file, err);
	return rc;
}

/* All files are complete before the first one gets its name. */
static int write_outputs(struct output *outs, const struct cot_smq_report *r, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++) {
		if (!outs[i].path)
			continue;
		rc = outs[i].write(cot_outfile_stream(outs[i].file), r);
		if (rc)
			cot_error_set(err, rc, "out of memory");
		else
			rc = cot_outfile_finish(outs[i].file, err);
	}
	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].path)
			rc = cot_outfile_commit(outs[i].file, err);
	return rc;
}

static int run_study(struct arguments *a, struct output *outs)
{
	struct cot_smq_report *r = calloc(1, sizeof(*r));
	struct cot_error err = {.text = "out of memory"};
	int rc = r ? 0 : -ENOMEM;

	if (!rc)
		rc = open_outputs(outs, &err);
	if (!rc) {
		cot_progress_init(&a->bar, "reproduce smqos");
		rc = cot_smq_study_run(&a->study, r, &err);
		cot_progress_finish(&a->bar);
		if (!rc)
			rc = write_outputs(outs, r, &err);
		cot_smq_report_finish(r);
	}
	free(r);
	if (rc == -EINTR) {
		cot_cli_complain("interrupted; nothing was written");
		return COT_EXIT_INTERRUPTED;
	}
	if (rc)
		cot_cli_complain("%s", err.text);
	return rc ? COT_EXIT_FAILURE : COT_EXIT_OK;
}

int cot_reproduce_smqos(int argc, char **argv)
{
	struct arguments a = {.study = {.settings = cot_smq_defaults, .seed = 1, .target = 2}};
	struct output outs[N_OUTPUTS] = {{.write = cot_smq_write_json},
					 {.write = cot_smq_write_html},
					 {.write = cot_smq_write_text}};
	unsigned i;
	int status;

	argp_err_exit_status = COT_EXIT_USAGE;
	a.study.n_threads = cot_jobs_default_threads();
	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	a.study.progress = show_progress;
	a.study.stop = interrupted;
	a.study.arg = &a;
	outs[0].path = a.json;
	outs[1].path = a.html;
	/* JSON on standard output stands alone. */
	outs[2].path = a.json && !strcmp(a.json, "-") ? NULL : "-";
	cot_cli_catch_signals();
	status = run_study(&a, outs);
	for (i = 0; i < N_OUTPUTS; i++)
		cot_outfile_destroy(outs[i].file);
	return status;
}
