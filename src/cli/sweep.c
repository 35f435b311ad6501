/*
 * cotenant sweep: plays one scenario with several values of one or more of its keys, in every
 * combination, and puts the outcomes side by side.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/grid.h"
#include "cli/origin.h"
#include "cli/scenario.h"
#include "text/text.h"
#include "trace/scenario_read.h"

/* A key of the scenario and its values, as the user gave them; `text` is cut at them. */
struct axis {
	char *text;
	const char *path;
	const char **values;
	unsigned n;
};

struct arguments {
	const char *scenario;
	const char *sets[COT_GRID_MAX_KEYS];
	unsigned n_sets;
	struct cot_cli_grid_options grid;
};

struct sweep {
	struct axis axes[COT_GRID_MAX_KEYS];
	unsigned n_axes;
	struct cot_origin origin;
	char *bytes; /* of the scenario's file */
	size_t size;
	struct cot_scenario **scenarios; /* of the rows */
	struct cot_grid grid;
};

enum { KEY_SET = 256 };

static const struct argp_option options[] = {
	{"set", KEY_SET, "KEY=VALUE,...", 0,
	 "Play with each of these values of a key, such as apps.0.program.0.cpu_us; may be repeated, "
	 "then with every combination",
	 0},
	{0},
};

static void check(const struct arguments *a, struct argp_state *state)
{
	if (!a->scenario)
		argp_error(state, "no scenario given; expected a file such as scenarios/demo.yaml");
	if (!a->n_sets)
		argp_error(state,
			   "no --set given; expected one such as --set quantum_us=1000,2000");
	cot_cli_grid_check(&a->grid, a->scenario, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SET:
		if (a->n_sets == COT_GRID_MAX_KEYS)
			argp_error(state, "more than %u keys to --set", COT_GRID_MAX_KEYS);
		a->sets[a->n_sets++] = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->grid;
		return 0;
	case ARGP_KEY_ARG:
		if (a->scenario)
			argp_error(state, "one scenario at a time; '%s' is one too many", arg);
		a->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int no_memory(struct cot_error *err)
{
	return cot_error_set(err, -ENOMEM, "out of memory");
}

/* ---- the axes ---- */

static unsigned count(const char *text, char c)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static int check_value(const char *set, const char *value, struct cot_error *err)
{
	char quote[COT_QUOTE_MAX];

	if (*value && strlen(value) < COT_GRID_LABEL_MAX)
		return 0;
	return cot_error_set(err, -EINVAL,
			     "--set '%s' has a value that is %s; expected KEY=VALUE,VALUE,...",
			     cot_text_quote(set, quote), *value ? "too long" : "empty");
}

static int read_axis(struct axis *a, const char *set, struct cot_error *err)
{
	char quote[COT_QUOTE_MAX], *rest;
	int rc = 0;

	if (!strchr(set, '='))
		return cot_error_set(err, -EINVAL,
				     "--set '%s' has no value; expected "
				     "KEY=VALUE,VALUE,...",
				     cot_text_quote(set, quote));
	a->text = strdup(set);
	a->values = calloc(count(set, ',') + 1u, sizeof(*a->values));
	if (!a->text || !a->values)
		return no_memory(err);
	rest = a->text;
	a->path = strsep(&rest, "=");
	while (!rc && rest) {
		a->values[a->n] = strsep(&rest, ",");
		rc = check_value(set, a->values[a->n++], err);
	}
	return rc;
}

static int read_axes(struct sweep *s, const struct arguments *a, struct cot_error *err)
{
	uint64_t n_rows = 1;
	unsigned i;
	int rc = 0;

	for (i = 0; i < a->n_sets && !rc; i++) {
		rc = read_axis(&s->axes[s->n_axes++], a->sets[i], err);
		n_rows *= s->axes[i].n;
		if (!rc && n_rows > COT_GRID_MAX_RUNS)
			rc = cot_error_set(err, -EINVAL,
					   "more than %u combinations of values; expected fewer",
					   COT_GRID_MAX_RUNS);
	}
	s->grid.n_rows = rc ? 0 : (unsigned)n_rows;
	return rc;
}

/* ---- the rows ---- */

/* The last key is the one that changes from row to row. */
static void choose(const struct sweep *s, unsigned row, struct cot_yaml_setting *ret_settings)
{
	unsigned i = s->n_axes;

	while (i--) {
		const struct axis *a = &s->axes[i];

		ret_settings[i] = (struct cot_yaml_setting){a->path, a->values[row % a->n]};
		row /= a->n;
	}
}

/* Of a mistake in a setting the user wants to know which one. */
static int explain(const struct cot_yaml_setting *settings, unsigned n, int rc,
		   struct cot_error *err)
{
	const struct cot_error inner = *err;
	char all[COT_ERROR_MAX / 2] = "", quote[COT_QUOTE_MAX], word[2 * COT_QUOTE_MAX];
	unsigned i;

	for (i = 0; i < n; i++) {
		(void)snprintf(word, sizeof(word), "%s=%s", settings[i].path, settings[i].value);
		cot_text_add_word(all, sizeof(all), cot_text_quote(word, quote));
	}
	return cot_error_set(err, rc, "with %s: %s", all, inner.text);
}

static int add_row(struct sweep *s, const char *path, unsigned row, struct cot_error *err)
{
	struct cot_yaml_setting settings[COT_GRID_MAX_KEYS];
	const struct cot_cli_overrides o = {.settings = settings, .n_settings = s->n_axes};
	struct cot_grid_row *r = &s->grid.rows[row];
	unsigned i;
	int rc;

	choose(s, row, settings);
	rc = cot_cli_parse_scenario(path, s->bytes, s->size, &o, &s->scenarios[row], err);
	if (rc == -EINVAL)
		return explain(settings, s->n_axes, rc, err);
	if (rc)
		return rc;
	r->sc = s->scenarios[row];
	r->programs = row;
	for (i = 0; i < s->n_axes; i++)
		(void)snprintf(r->labels[i], COT_GRID_LABEL_MAX, "%s", settings[i].value);
	return 0;
}

static int add_rows(struct sweep *s, const char *path, struct cot_error *err)
{
	struct cot_scenario *plain = NULL;
	const struct cot_cli_overrides none = {0};
	unsigned i;
	int rc;

	s->scenarios = calloc(s->grid.n_rows, sizeof(struct cot_scenario *));
	s->grid.rows = calloc(s->grid.n_rows, sizeof(*s->grid.rows));
	if (!s->scenarios || !s->grid.rows)
		return no_memory(err);
	/* A mistake in the file itself is not one of a setting. */
	rc = cot_cli_parse_scenario(path, s->bytes, s->size, &none, &plain, err);
	cot_scenario_destroy(plain);
	for (i = 0; i < s->grid.n_rows && !rc; i++)
		rc = add_row(s, path, i, err);
	s->grid.sc = s->scenarios[0];
	return rc;
}

static int begin(struct sweep *s, const struct arguments *a, int argc, char **argv,
		 struct cot_error *err)
{
	const char *const outputs[] = {a->grid.json, a->grid.csv, a->grid.report};
	unsigned i;
	int rc;

	if (cot_cli_origin(argc, argv, a->scenario, outputs, COT_ARRAY_LEN(outputs), &s->origin))
		return no_memory(err);
	rc = read_axes(s, a, err);
	rc = rc ? rc : cot_text_read(a->scenario, &s->bytes, &s->size, err);
	if (rc)
		return rc;
	(void)cot_sha256(s->bytes, s->size, s->origin.sha256);
	s->grid.schema = "cotenant.sweep/1";
	s->grid.origin = &s->origin;
	s->grid.named = true;
	s->grid.n_keys = s->n_axes;
	for (i = 0; i < s->n_axes; i++)
		s->grid.keys[i] = (struct cot_grid_key){s->axes[i].path, s->axes[i].path};
	return add_rows(s, a->scenario, err);
}

static void finish(struct sweep *s)
{
	unsigned i;

	for (i = 0; s->scenarios && i < s->grid.n_rows; i++)
		cot_scenario_destroy(s->scenarios[i]);
	free(s->scenarios);
	cot_grid_finish(&s->grid);
	for (i = 0; i < s->n_axes; i++) {
		free(s->axes[i].text);
		free(s->axes[i].values);
	}
	free(s->bytes);
	cot_origin_finish(&s->origin);
}

int cot_cmd_sweep(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) with every combination of "
		       "the values that --set gives to its keys, and shows the outcomes side by side.",
		.children = cot_cli_grid_children,
	};
	struct arguments args = {0};
	struct sweep s = {0};
	struct cot_error err;
	int rc, status;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	rc = begin(&s, &args, argc, argv, &err);
	if (rc) {
		cot_cli_complain("%s", err.text);
		status = rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	} else {
		status = cot_cli_end(cot_cli_grid_run(&s.grid, &args.grid, &err), &err);
	}
	finish(&s);
	return status;
}
