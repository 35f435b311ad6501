/*
 * cotenant model: what the analytical models say of kernels: time, power, and whether they should
 * run together; and trains the power model.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/origin.h"
#include "report/model.h"
#include "study/contention/check.h"
#include "study/contention/power_table.h"
#include "study/live/live.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/text.h"

enum {
	KEY_JSON = 256,
	KEY_YAML,
	KEY_CONCURRENT,
	KEY_PIECEWISE,
	KEY_GAIN,
	KEY_FREE,
	KEY_WHOLE,
	KEY_SEED,
	KEY_TRAIN,
	KEY_POINTS,
	KEY_LIVE,
	KEY_SCENARIO,
	KEY_TRAIN_WITH
};

static const struct argp_option options[] = {
	COT_CLI_JSON(KEY_JSON, 0),
	{"yaml", KEY_YAML, "FILE", 0,
	 "train: write the coefficients as KERNELS takes them; - is standard output", 0},
	{"concurrent", KEY_CONCURRENT, NULL, 0,
	 "The kernels are launched one by one, not merged into one: each block takes what its own "
	 "kernel needs",
	 0},
	{"piecewise", KEY_PIECEWISE, NULL, 0,
	 "Share the bandwidth again whenever a block ends, not only once at the start", 0},
	{"min-gain", KEY_GAIN, "PCT", 0,
	 "consolidate: together must save more than PCT per cent of the energy (default 0)", 0},
	{"free-memory", KEY_FREE, "SIZE", 0,
	 "consolidate: so much of the GPU's memory is free now, as in 20GB (default: all of it)",
	 0},
	{"whole", KEY_WHOLE, NULL, 0,
	 "consolidate: judge all instances together as one set, however many there are, and nothing else",
	 0},
	{"train", KEY_TRAIN, "PCT", 0,
	 "train: per cent of the workloads to train with (default 60)", 0},
	{"seed", KEY_SEED, "N", 0, "train: draw other workloads (default 1)", 0},
	{"train-with", KEY_TRAIN_WITH, "NAMES", 0,
	 "powers: the workloads of the set 'train', separated by commas; the others are 'test'", 0},
	{"points", KEY_POINTS, NULL, 0, "check: show every mix, not only the errors", 0},
	{"live", KEY_LIVE, NULL, 0,
	 "check: whole programs: MEASUREMENTS are results of bench/live, and what the simulator says of their mixes "
	 "follows from what each program does alone",
	 0},
	{"scenario", KEY_SCENARIO, "MIX/WAY", 0,
	 "check --live: write the scenario of that mix and way instead, such as b1/pools", 0},
	{0},
};

struct arguments {
	const char *what, *path, *json, *yaml;
	struct cot_model_options options;
	double min_gain_pct;
	uint64_t free_bytes; /* 0: all of the memory */
	bool whole;
	struct cot_model_train_options train;
	bool points, live;
	const char *scenario;
	const char *train_with;
};

static const char *const parts[] = {"time", "power", "consolidate", "train",
				    "heat", "check", "powers"};

static bool is_part(const char *word)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(parts); i++)
		if (!strcmp(parts[i], word))
			return true;
	return false;
}

static bool takes_table(const char *part)
{
	return !strcmp(part, "train") || !strcmp(part, "heat");
}

static const char *input_of(const char *part)
{
	if (!strcmp(part, "check") || !strcmp(part, "powers"))
		return "what bench_contention measured (JSON lines)";
	return takes_table(part) ? "a table of measurements (CSV)"
				 : "kernels such as scenarios/models/kernels.yaml";
}

static uint64_t parse_whole(struct argp_state *state, const char *name, const char *text,
			    uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!cot_number_u64(text, &value) || value < min || value > max)
		argp_error(state, "%s is '%.40s'; expected a whole number from %llu to %llu", name,
			   text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

static void parse_word(struct argp_state *state, struct arguments *a, const char *word)
{
	char hint[COT_NEAREST_HINT_MAX];

	if (!a->what) {
		if (!is_part(word))
			argp_error(state,
				   "unknown part '%.40s'%s; expected time, power, consolidate, "
				   "train, heat, check or powers",
				   word, cot_nearest_of(word, parts, COT_ARRAY_LEN(parts), hint));
		a->what = word;
	} else if (!a->path) {
		a->path = word;
	} else {
		argp_error(state, "one file at a time; '%.40s' is one too many", word);
	}
}

static void check(struct argp_state *state, const struct arguments *a)
{
	if (!a->what)
		argp_error(state,
			   "no part given; expected time, power, consolidate, train, heat, check "
			   "or powers");
	if (!a->path)
		argp_error(state, "no file given; expected %s", input_of(a->what));
	if (a->json && !strcmp(a->what, "powers"))
		argp_error(state, "'powers' writes a table; expected no --json");
	if ((a->whole || a->free_bytes) && strcmp(a->what, "consolidate") != 0)
		argp_error(state, "%s is for 'consolidate'",
			   a->whole ? "--whole" : "--free-memory");
	if (a->live && (strcmp(a->what, "check") != 0 || a->points))
		argp_error(state, "--live is for 'check', without --points");
	if (a->scenario && (!a->live || a->json))
		argp_error(state, "--scenario is for 'check --live', without --json");
	if (a->yaml && (a->json || strcmp(a->what, "train") != 0))
		argp_error(state, "--yaml is for 'train', without --json");
	if (a->yaml && strcmp(a->yaml, "-") != 0 && cot_cli_same_file(a->yaml, a->path))
		argp_error(state, "the output '%s' is the input itself", a->yaml);
	if (a->json && strcmp(a->json, "-") != 0 && cot_cli_same_file(a->json, a->path))
		argp_error(state, "the output '%s' is the input itself", a->json);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_YAML:
		a->yaml = arg;
		return 0;
	case KEY_JSON:
		a->json = cot_cli_json(arg, state);
		return 0;
	case KEY_CONCURRENT:
		a->options.concurrent = true;
		return 0;
	case KEY_PIECEWISE:
		a->options.piecewise = true;
		return 0;
	case KEY_GAIN:
		if (!cot_number_double(arg, &a->min_gain_pct) || a->min_gain_pct < 0 ||
		    a->min_gain_pct > 100)
			argp_error(state, "--min-gain is '%.40s'; expected a number from 0 to 100",
				   arg);
		return 0;
	case KEY_FREE:
		if (!cot_quantity_whole(arg, COT_UNIT_B, 1, UINT64_MAX, &a->free_bytes))
			argp_error(
				state,
				"--free-memory is '%.40s'; expected a size such as 20GB or 512MiB",
				arg);
		return 0;
	case KEY_WHOLE:
		a->whole = true;
		return 0;
	case KEY_TRAIN:
		a->train.train_pct = (uint32_t)parse_whole(state, "--train", arg, 1, 99);
		return 0;
	case KEY_SEED:
		a->train.seed = parse_whole(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case KEY_POINTS:
		a->points = true;
		return 0;
	case KEY_LIVE:
		a->live = true;
		return 0;
	case KEY_SCENARIO:
		a->scenario = arg;
		return 0;
	case KEY_TRAIN_WITH:
		a->train_with = arg;
		return 0;
	case ARGP_KEY_ARG:
		parse_word(state, a, arg);
		return 0;
	case ARGP_KEY_END:
		check(state, a);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int show_kernels(const struct arguments *a, const struct cot_origin *origin, FILE *out,
			struct cot_error *err)
{
	struct cot_model_input in = {0};
	bool power = strcmp(a->what, "time") != 0;
	int rc;

	rc = cot_kernels_parse(cot_origin_name(origin), origin->bytes, origin->size, &in.file, err);
	if (rc)
		return rc;
	if (power && !in.file.has_power)
		return cot_error_set(
			err, -EINVAL,
			"%s:1:1: the key 'power' is missing; '%s' needs it to know what the "
			"power goes into",
			a->path, a->what);
	cot_model_input_init(&in);
	in.origin = *origin;
	in.origin.gpu = in.file.gpu_name;
	in.machine.options = a->options;
	in.machine.min_gain = a->min_gain_pct / 100;
	if (a->free_bytes)
		in.machine.gpu.memory_bytes = (double)a->free_bytes;
	in.whole = a->whole;
	if (!power)
		return cot_model_show_time(&in, a->json, out, err);
	return !strcmp(a->what, "power") ? cot_model_show_power(&in, a->json, out, err)
					 : cot_model_show_plan(&in, a->json, out, err);
}

static int show(const struct arguments *a, const struct cot_origin *origin, FILE *out,
		struct cot_error *err)
{
	enum cot_model_form form = a->yaml   ? COT_MODEL_YAML
				   : a->json ? COT_MODEL_JSON
					     : COT_MODEL_TEXT;

	if (!strcmp(a->what, "train"))
		return cot_model_show_training(origin, &a->train, form, out, err);
	if (!strcmp(a->what, "heat"))
		return cot_model_show_heat(origin, a->json, out, err);
	if (!strcmp(a->what, "check"))
		return a->live ? cot_live_show(origin, a->scenario, a->json, out, err)
			       : cot_check_show(origin, a->points, a->json, out, err);
	if (!strcmp(a->what, "powers"))
		return cot_power_table_write(origin, a->train_with, out, err);
	return show_kernels(a, origin, out, err);
}

/* Reads the file, whose bytes are the caller's to free. */
static int find_origin(const struct arguments *a, int argc, char **argv, char **ret_bytes,
		       struct cot_origin *ret, struct cot_error *err)
{
	const char *const outputs[] = {a->json, a->yaml};
	int rc = cot_text_read(a->path, ret_bytes, &ret->size, err);
	size_t size = ret->size;

	if (rc)
		return rc;
	if (cot_cli_origin(argc, argv, a->path, outputs, COT_ARRAY_LEN(outputs), ret))
		return cot_error_set(err, -ENOMEM, "out of memory");
	ret->kind = COT_ORIGIN_DATA;
	ret->bytes = *ret_bytes;
	ret->size = size;
	ret->has_seed = !strcmp(a->what, "train");
	ret->seed = a->train.seed;
	(void)cot_sha256(ret->bytes, size, ret->sha256);
	return 0;
}

/* An exit status. What fails between the opening and the closing of the output is the input's
 * fault, unless memory or a disk is. */
static int run(const struct arguments *a, int argc, char **argv, struct cot_error *err)
{
	struct cot_outfile *file = NULL;
	struct cot_origin origin = {0};
	bool mistake = false;
	char *bytes = NULL;
	int rc;

	rc = cot_outfile_open(a->json ? a->json : a->yaml ? a->yaml : "-", &file, err);
	if (!rc) {
		rc = find_origin(a, argc, argv, &bytes, &origin, err);
		rc = rc ? rc : show(a, &origin, cot_outfile_stream(file), err);
		mistake = rc && rc != -ENOMEM && rc != -EIO;
	}
	if (!rc)
		rc = cot_outfile_commit(file, err);
	cot_outfile_destroy(file);
	cot_origin_finish(&origin);
	free(bytes);
	if (!rc)
		return COT_EXIT_OK;
	cot_cli_complain("%s", err->text);
	return mistake ? COT_EXIT_USAGE : COT_EXIT_FAILURE;
}

int cot_cmd_model(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc =
			"time KERNELS\npower KERNELS\nconsolidate KERNELS\ntrain MEASUREMENTS\nheat MEASUREMENTS\ncheck MEASUREMENTS\npowers MEASUREMENTS",
		.doc = "Predicts how long kernels take on a GPU, alone and together, how much "
		       "power they draw, and whether they should run together; trains the models and "
		       "checks them against measurements. KERNELS is a YAML file, MEASUREMENTS "
		       "a table (CSV) or, for check and powers, lines of JSON; - is standard input.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {.train = {.seed = 1, .train_pct = 60}};
	struct cot_error err = {"out of memory"};

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_FAILURE;
	return run(&a, argc, argv, &err);
}
