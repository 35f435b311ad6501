/*
 * Many simulations of one scenario side by side: rows that differ in what they are labelled with,
 * each played with one or more seeds; and the four forms of the outcome: a table for a terminal,
 * CSV, JSON, an HTML page. Pure but for the streams.
 */
#ifndef COT_REPORT_GRID_H
#define COT_REPORT_GRID_H

#include <stdio.h>

#include "base/error.h"
#include "report/figures.h"
#include "report/origin.h"

#define COT_GRID_LABEL_MAX 64u /* bytes of one, with its end */
#define COT_GRID_MAX_KEYS  8u

struct cot_grid_key {
	const char *head, *name; /* for people; for programs */
};

struct cot_grid_row {
	const struct cot_scenario *sc; /* not owned */
	char labels[COT_GRID_MAX_KEYS][COT_GRID_LABEL_MAX];
	/* Rows with the same number have the same programs on the same GPU. */
	unsigned programs;
};

struct cot_grid {
	const char *schema;	       /* of the JSON */
	bool named;		       /* a row is called "KEY=LABEL", else "LABEL" */
	const struct cot_scenario *sc; /* names the apps */
	const struct cot_origin *origin;
	unsigned n_keys, n_rows, n_seeds;
	struct cot_grid_key keys[COT_GRID_MAX_KEYS];
	struct cot_grid_row *rows;
	uint64_t first_seed; /* the others follow */
	/* What the runs said, row by row and seed by seed: */
	double *values; /* cot_figures_count() of each */
	char **json;	/* of each the object of `cotenant sim`; NULL: not wanted */
};

/* Room for the outcomes of all rows and seeds. -ENOMEM. */
int cot_grid_open(struct cot_grid *g, bool json);
/* Frees that, and the rows. */
void cot_grid_finish(struct cot_grid *g);

unsigned cot_grid_n_figures(const struct cot_grid *g);
double *cot_grid_values(const struct cot_grid *g, unsigned row, unsigned seed);
struct cot_interval cot_grid_interval(const struct cot_grid *g, unsigned row, unsigned figure);
/* Whether any run says it. */
bool cot_grid_says(const struct cot_grid *g, unsigned figure);

/* The table for people, of text and HTML: the figures that the scenario is about, of the first
 * COT_GRID_APPS apps. NULL when out of memory. */
#define COT_GRID_APPS 6u /* more would not fit a terminal */
bool cot_grid_is_column(const struct cot_grid *g, unsigned figure);
struct cot_grid_heads {
	char texts[COT_FIGURE_APP_KINDS * COT_GRID_APPS + COT_FIGURE_KINDS][COT_FIGURE_NAME_MAX];
};
struct cot_table *cot_grid_table(const struct cot_grid *g, struct cot_grid_heads *ret_heads);
/* What its columns and intervals are. */
void cot_grid_explain(const struct cot_grid *g, void (*paragraph)(FILE *out, const char *text),
		      FILE *out);

/* -ENOMEM; write errors are the stream's affair. */
int cot_grid_print_text(const struct cot_grid *g, FILE *out);
/* A line for each run, with all figures of all apps that any run says. */
int cot_grid_print_csv(const struct cot_grid *g, FILE *out);
int cot_grid_print_json(const struct cot_grid *g, FILE *out);
int cot_grid_print_html(const struct cot_grid *g, FILE *out);

#endif
