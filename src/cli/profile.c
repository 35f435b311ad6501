/*
 * cotenant profile: runs a program on parts of the GPU of several sizes, and writes down how long
 * its requests, or what it repeats, take.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/words.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/emulate.h"
#include "cli/profile.h"
#include "text/nearest.h"
#include "text/number.h"

#define REQUESTS      100u
#define KERNELS_S     2u
#define KERNELS_S_MAX 60u
#define PATIENCE_S    70u /* the longest window, of a minute, and its margin */
#define PLACE	      "{}"

struct arguments {
	struct cot_profile profile;
	struct cot_emulate emulate;
	const char *output, *judge, *json; /* NULL: not given */
	uint32_t n_sizes;
	uint64_t sizes[COT_KNOWN_INPUTS_MAX];
	int first; /* index of the program in argv */
};

enum {
	KEY_CLASS = 256,
	KEY_SIZES,
	KEY_PARTS,
	KEY_REQUESTS,
	KEY_KERNELS,
	KEY_JUDGE,
	KEY_EMULATE,
	KEY_JSON
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Where to write; default: PROGRAM.knowledge", 0},
	{"class", KEY_CLASS, "CLASS", 0,
	 "latency (the default): its requests are measured; or batch: what it repeats", 0},
	{"sizes", KEY_SIZES, "N,...", 0,
	 "Sizes of input: it runs once for each, which stands for " PLACE " in its arguments", 0},
	{"parts", KEY_PARTS, "SMS,...", 0, "Sizes of parts; default: all that the GPU has", 0},
	{"requests", KEY_REQUESTS, "N", 0,
	 "The least number of requests for a figure; default 100, or what ends in a minute", 0},
	{"kernel-seconds", KEY_KERNELS, "S", 0,
	 "Time single kernels for so long on each part, at most 60; default 2; 0: not at all", 0},
	{"judge", KEY_JUDGE, "FILE", 0,
	 "Run nothing; show how far predictors are off that learn from this file", 0},
	{"emulate", KEY_EMULATE, "DEVICE", 0, "Run on an emulated GPU, as cotenant run does", 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

/* "8,16,132": numbers that grow. */
static bool read_list(const char *text, uint64_t min, uint64_t max, uint32_t most, uint64_t *ret,
		      uint32_t *ret_n)
{
	char word[24];
	uint32_t n = 0;
	size_t length;

	for (;; text += length + 1) {
		length = strcspn(text, ",");
		if (length >= sizeof(word) || n == most)
			return false;
		memcpy(word, text, length);
		word[length] = '\0';
		if (!cot_number_u64(word, &ret[n]) || ret[n] < min || ret[n] > max ||
		    (n && ret[n] <= ret[n - 1]))
			return false;
		n++;
		if (!text[length])
			break;
	}
	*ret_n = n;
	return true;
}

static void parse_parts(struct arguments *a, const char *text, struct argp_state *state)
{
	uint64_t sms[COT_KNOWN_QUOTAS_MAX];
	uint32_t i;

	if (!read_list(text, 1, COT_SMS_MAX, COT_KNOWN_QUOTAS_MAX, sms, &a->profile.n_sms))
		argp_error(state,
			   "--parts is '%s'; expected up to %u numbers of SMs, the smallest first, "
			   "as in 8,64,132",
			   text, COT_KNOWN_QUOTAS_MAX);
	for (i = 0; i < a->profile.n_sms; i++)
		a->profile.sms[i] = (uint32_t)sms[i];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	char hint[COT_NEAREST_HINT_MAX];
	uint64_t n;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case KEY_CLASS:
		if (!cot_class_read(arg, &a->profile.cls))
			argp_error(state, "--class is '%s'%s; expected latency or batch", arg,
				   cot_nearest_of(arg, cot_class_words, 2, hint));
		return 0;
	case KEY_SIZES:
		if (!read_list(arg, 1, COT_KNOWN_SIZE_MAX, COT_KNOWN_INPUTS_MAX, a->sizes,
			       &a->n_sizes))
			argp_error(state,
				   "--sizes is '%s'; expected up to %u whole numbers, the smallest "
				   "first, as in 1,8,64",
				   arg, COT_KNOWN_INPUTS_MAX);
		return 0;
	case KEY_PARTS:
		parse_parts(a, arg, state);
		return 0;
	case KEY_REQUESTS:
		if (!cot_number_u64(arg, &n) || !n || n > UINT32_MAX)
			argp_error(state, "--requests is '%s'; expected a whole number from 1 on",
				   arg);
		a->profile.n_requests = (uint32_t)n;
		return 0;
	case KEY_KERNELS:
		if (!cot_number_u64(arg, &n) || n > KERNELS_S_MAX)
			argp_error(state,
				   "--kernel-seconds is '%s'; expected a whole number from 0 to %u",
				   arg, KERNELS_S_MAX);
		a->profile.kernels_s = (uint32_t)n;
		return 0;
	case KEY_JUDGE:
		a->judge = arg;
		return 0;
	case KEY_EMULATE:
		a->emulate.device = arg;
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->judge)
			argp_error(state, "--judge runs no program, but one is given: '%s'", arg);
		a->first = state->next - 1;
		state->next = state->argc; /* the rest is the program's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (!a->judge)
			argp_error(state, "no program given; as in: cotenant profile -- ./serve");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- all inputs on all parts ---- */

struct profiling {
	const struct arguments *a;
	char *const *argv; /* of the program */
	struct cot_knowledge *k;
	struct cot_progress progress;
	char why_not[COT_NVML_WHY_MAX]; /* some bandwidth was not measured; "": all was */
	const char *no_kernels;		/* why some kernels are not known; NULL: all are */
	uint32_t done;
	/* p99 to the median, of each figure. */
	uint32_t n_spreads, spreads[COT_KNOWN_INPUTS_MAX * COT_KNOWN_QUOTAS_MAX];
};

/* An argument with the size in the place of "{}". */
static char *with_size(const char *text, uint64_t size)
{
	const char *place = strstr(text, PLACE);
	char *all = NULL;

	if (!place)
		return strdup(text);
	if (asprintf(&all, "%.*s%llu%s", (int)(place - text), text, (unsigned long long)size,
		     place + strlen(PLACE)) < 0)
		return NULL;
	return all;
}

static void free_arguments(char **argv)
{
	size_t i;

	for (i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

/* free_arguments(); NULL: out of memory. */
static char **arguments_for(char *const argv[], uint64_t size)
{
	size_t n = 0, i;
	char **all;

	while (argv[n])
		n++;
	all = calloc(n + 1, sizeof(*all));
	for (i = 0; all && i < n; i++) {
		all[i] = with_size(argv[i], size);
		if (!all[i]) {
			free_arguments(all);
			return NULL;
		}
	}
	return all;
}

static void take_figure(struct profiling *p, struct cot_known_input *in, uint32_t x,
			const struct cot_profile_figure *f)
{
	double launches = f->launches_per_request;

	if (!in) {
		p->k->repeats.time_ns[x] = f->p50_ns;
		p->k->repeats.bytes_per_s[x] = f->bytes_per_s;
		return;
	}
	in->time_ns[x] = f->p50_ns;
	in->bytes_per_s[x] = f->bytes_per_s;
	in->requests += f->n;
	if (launches >= 0.5 && launches < COT_KNOWN_TASKS_MAX)
		in->n_launches = (uint32_t)(launches + 0.5);
	p->spreads[p->n_spreads++] =
		(uint32_t)(f->p99_ns * 1000 / f->p50_ns < 1000000 ? f->p99_ns * 1000 / f->p50_ns
								  : 1000000);
}

static int walk(struct profiling *p, struct cot_profile_run *run, struct cot_known_input *in,
		struct cot_error *err)
{
	uint32_t inputs = p->a->n_sizes ? p->a->n_sizes : 1, n, x;
	uint32_t sms[COT_KNOWN_QUOTAS_MAX];
	struct cot_profile_figure f;
	const char *why;
	int rc = cot_profile_sizes(&p->a->profile, run, &n, sms, p->k->gpu, err);

	if (rc)
		return rc;
	p->k->n_quotas = n;
	memcpy(p->k->sms, sms, sizeof(sms));
	for (x = 0; x < n; x++) {
		cot_progress_update(&p->progress, (double)p->done++ / (inputs * n));
		rc = cot_profile_measure(&p->a->profile, run, sms[x], &f, err);
		if (rc)
			return rc;
		take_figure(p, in, x, &f);
		if (!cot_profile_kernels_measure(run, x, p->a->profile.kernels_s))
			return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	}
	why = p->a->profile.kernels_s ? cot_profile_kernels_take(run, p->k, in) : NULL;
	p->no_kernels = why ? why : p->no_kernels;
	return 0;
}

static int run_input(struct profiling *p, uint64_t size, struct cot_error *err)
{
	struct cot_known_input *in = NULL;
	struct cot_profile_run run = {0};
	char **argv = arguments_for(p->argv, size);
	int rc = argv ? 0 : -ENOMEM;

	if (!rc && p->a->profile.cls == COT_CLASS_LATENCY)
		rc = cot_knowledge_add_input(p->k, size, &in);
	if (rc)
		cot_error_set(err, rc, "out of memory");
	rc = rc ? rc : cot_profile_start(&p->a->profile, argv, &run, err);
	rc = rc ? rc : walk(p, &run, in, err);
	cot_profile_stop(&run);
	free_arguments(argv);
	if (run.why_not[0])
		memcpy(p->why_not, run.why_not, sizeof(p->why_not));
	return rc;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int run_all(struct profiling *p, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	cot_progress_init(&p->progress, "measured");
	if (!p->a->n_sizes)
		rc = run_input(p, 0, err);
	for (i = 0; i < p->a->n_sizes && !rc; i++)
		rc = run_input(p, p->a->sizes[i], err);
	cot_progress_finish(&p->progress);
	if (rc)
		return rc;
	qsort(p->spreads, p->n_spreads, sizeof(*p->spreads), compare);
	if (p->n_spreads && p->spreads[(p->n_spreads - 1) / 2] > 1000)
		p->k->spread_milli = p->spreads[(p->n_spreads - 1) / 2];
	rc = cot_knowledge_complete(p->k);
	return rc ? cot_error_set(err, rc, "out of memory") : 0;
}

/* ---- what is known now ---- */

static int judge(const char *path, const char *json, struct cot_error *err)
{
	struct cot_knowledge *k = NULL;
	int rc = cot_knowledge_read(path, &k, err);

	if (!rc && json && k->n_inputs > 1)
		rc = cot_cli_write_json(cot_profile_json(k, path), json, err);
	else if (!rc && cot_profile_print_errors(k))
		rc = cot_error_set(err, -EINVAL,
				   "%s has %u sizes of input; expected two or more, to learn from "
				   "some and predict the others",
				   path, k->n_inputs);
	cot_knowledge_destroy(k);
	return rc ? rc : cot_cli_flush(err);
}

static int write_down(const struct profiling *p, struct cot_outfile *out, const char *path,
		      struct cot_error *err)
{
	const struct cot_knowledge *k = p->k;
	const char *json = p->a->json;
	int rc;

	cot_knowledge_write(k, cot_outfile_stream(out));
	rc = cot_outfile_commit(out, err);
	if (!rc && json)
		return cot_cli_write_json(cot_profile_json(k, path), json, err);
	if (rc || !strcmp(path, "-"))
		return rc;
	cot_profile_print_times(k);
	cot_profile_print_kernels(k);
	if (k->n_inputs > 1)
		(void)putchar('\n');
	(void)cot_profile_print_errors(k);
	(void)printf("\nWritten to %s. Instructions per cycle are not measured.\n", path);
	if (p->why_not[0])
		(void)printf("Nor is bandwidth: %s.\n", p->why_not);
	if (p->no_kernels)
		(void)printf("Nor are single kernels: %s.\n", p->no_kernels);
	return cot_cli_flush(err);
}

/* A name that a file may have: what is not printable is replaced. */
static void set_program(struct cot_knowledge *k, char *const argv[])
{
	size_t used = 0, i;

	for (; *argv && used + 1 < sizeof(k->program); argv++)
		used += (size_t)snprintf(k->program + used, sizeof(k->program) - used, "%s%s",
					 used ? " " : "", *argv);
	for (i = 0; k->program[i]; i++)
		if (k->program[i] < ' ' || k->program[i] > '~')
			k->program[i] = '?';
}

static int profile(const struct arguments *a, char *const argv[], const char *path,
		   struct cot_error *err)
{
	struct profiling p = {.a = a, .argv = argv, .k = cot_knowledge_create()};
	struct cot_outfile *out = NULL;
	int rc;

	if (!p.k)
		return cot_error_set(err, -ENOMEM, "out of memory");
	p.k->cls = a->profile.cls;
	set_program(p.k, argv);
	/* First, so that nothing is measured in vain. */
	rc = cot_outfile_open(path, &out, err);
	rc = rc ? rc : run_all(&p, err);
	rc = rc ? rc : write_down(&p, out, path, err);
	cot_outfile_destroy(out);
	cot_knowledge_destroy(p.k);
	return rc;
}

static int check(const struct arguments *a, char *const argv[], struct cot_error *err)
{
	bool place = false;

	for (argv++; *argv; argv++)
		place = place || strstr(*argv, PLACE);
	if (place && !a->n_sizes)
		return cot_error_set(err, -EINVAL,
				     "'" PLACE "' in an argument stands for the size "
				     "of an input; expected --sizes");
	if (!place && a->n_sizes)
		return cot_error_set(err, -EINVAL,
				     "--sizes, but no argument has '" PLACE "' in it; as in: "
				     "cotenant profile --sizes 1,8 -- ./serve --batch=" PLACE);
	if (a->n_sizes && a->profile.cls == COT_CLASS_BATCH)
		return cot_error_set(err, -EINVAL,
				     "--sizes are for latency programs; a batch "
				     "program repeats the same");
	return 0;
}

int cot_cmd_profile(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[--] PROGRAM [ARGUMENT...]",
		.doc = "Measure how long a program's requests, or kernels, take on parts of the GPU."
		       "\vThe file is what the policy laius predicts from. See "
		       "cotenant-profile(1).",
		.children = cot_cli_long_argp_children,
	};
	struct arguments a = {.profile = {.cls = COT_CLASS_LATENCY,
					  .n_requests = REQUESTS,
					  .kernels_s = KERNELS_S,
					  .patience_s = PATIENCE_S}};
	struct cot_error err = {{0}};
	char path[4096];
	int rc;

	if (cot_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &a))
		return COT_EXIT_USAGE;
	if (a.json && a.output && cot_cli_same_file(a.json, a.output)) {
		cot_cli_complain("the figures and --json are both to go to %s", a.output);
		return COT_EXIT_USAGE;
	}
	if (a.judge)
		return cot_cli_end(judge(a.judge, a.json, &err), &err);
	rc = check(&a, argv + a.first, &err);
	if (!rc && a.emulate.device)
		rc = cot_emulate_set_up(&a.emulate, true, &err);
	if (rc) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	(void)snprintf(path, sizeof(path), "%s.knowledge", argv[a.first]);
	rc = profile(&a, argv + a.first, a.output ? a.output : path, &err);
	return cot_cli_end(rc, &err);
}
