/*
 * cotenant top: what runs, again and again; or once, for a pipe.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show.h"
#include "cli/top.h"
#include "text/number.h"

enum { KEY_ONCE = 256, KEY_INTERVAL, KEY_SORT, KEY_REVERSE, KEY_FILTER, KEY_JSON };

#define INTERVAL_MS_MIN 100u
#define INTERVAL_MS_MAX 3600000u

static const struct argp_option options[] = {
	{"once", KEY_ONCE, NULL, 0, "Print one picture and end; also where there is no terminal",
	 0},
	{"interval", KEY_INTERVAL, "TIME", 0,
	 "Time between two looks, as in 500ms or 2s (a number alone: s); default 1s", 0},
	{"sort", KEY_SORT, "KEY", 0,
	 "id (default), name, class, p99, requests, launches, sms, freezes, memory, power or "
	 "gpu",
	 0},
	{"reverse", KEY_REVERSE, NULL, 0, "The other way round", 0},
	{"filter", KEY_FILTER, "TEXT", 0, "Only programs with this in their name, class or pool",
	 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

struct arguments {
	struct cot_top_wish wish;
	const char *json; /* NULL: not wanted */
	bool once;
};

static void parse_interval(struct cot_top_wish *w, const char *text, struct argp_state *state)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, COT_UNIT_S, &q) || q.number * 1000 < INTERVAL_MS_MIN ||
	    q.number * 1000 > INTERVAL_MS_MAX)
		argp_error(state, "--interval is '%s'; expected a time from 100ms to 1h", text);
	w->interval_ms = (unsigned)(q.number * 1000);
}

static void parse_sort(struct cot_top_view *v, const char *text, struct argp_state *state)
{
	unsigned sort;

	if (!cot_word_read(text, cot_top_sort_words, COT_TOP_N_SORTS, &sort))
		argp_error(state,
			   "--sort is '%s'; expected id, name, class, p99, requests, launches, "
			   "sms, freezes, memory, power or gpu",
			   text);
	v->sort = (enum cot_top_sort)sort;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_ONCE:
		a->once = true;
		return 0;
	case KEY_INTERVAL:
		parse_interval(&a->wish, arg, state);
		return 0;
	case KEY_SORT:
		parse_sort(&a->wish.view, arg, state);
		return 0;
	case KEY_REVERSE:
		a->wish.view.reverse = true;
		return 0;
	case KEY_FILTER:
		(void)snprintf(a->wish.view.filter, sizeof(a->wish.view.filter), "%s", arg);
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Of the terminal, else $COLUMNS, else 80. */
static unsigned width_now(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return text && cot_number_u64(text, &columns) && columns && columns <= COT_TOP_WIDTH_MAX
		       ? (unsigned)columns
		       : 80;
}

static int print_picture(const json_t *stats, const struct cot_top_rows *rows,
			 const struct cot_top_view *view)
{
	struct cot_top_picture picture;
	size_t i;
	int rc = cot_top_picture_create(stats, rows, view, width_now(), &picture);

	if (rc < 0)
		return rc;
	for (i = 0; i + 1 < picture.n; i++) /* without the keys */
		(void)printf("%s\n", picture.line[i].text);
	cot_top_picture_destroy(&picture);
	return 0;
}

static int print_once(const struct arguments *a)
{
	struct cot_error err = {{0}};
	struct cot_top_rows rows;
	json_t *stats;
	int rc = cot_show_query(COT_QUERY_STATS, &stats, &err);

	if (rc < 0)
		return cot_show_end(rc, NULL, NULL, &err);
	rc = cot_top_rows_create(stats, &a->wish.view, &rows);
	if (rc < 0) {
		(void)cot_error_set(&err, rc, "out of memory");
	} else {
		if (a->json)
			rc = cot_cli_write_json(cot_top_json(&rows), a->json, &err);
		else if ((rc = print_picture(stats, &rows, &a->wish.view)) < 0)
			(void)cot_error_set(&err, rc, "out of memory");
		cot_top_rows_destroy(&rows);
	}
	json_decref(stats);
	return cot_cli_end(rc, &err);
}

int cot_cmd_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Show pools and programs as they run; freeze, thaw and change them by key.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {.wish = {.interval_ms = 1000}};

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (a.once || a.json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return print_once(&a);
	return cot_top_interact(&a.wish);
}
