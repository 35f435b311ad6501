/*
 * What one simulation says, as a row of numbers: the columns of the tables, charts and files that
 * put many simulations side by side. Pure.
 */
#ifndef COT_REPORT_FIGURES_H
#define COT_REPORT_FIGURES_H

#include "report/format.h"
#include "report/interval.h"
#include "report/sim_summary.h"

enum cot_figure_kind {
	/* Of each app: */
	COT_FIGURE_SLOWDOWN,
	COT_FIGURE_P50, /* of responses */
	COT_FIGURE_P99,
	COT_FIGURE_MISSED, /* the part of the responses that took longer than the target */
	COT_FIGURE_RATE,   /* in parts of that alone */
	COT_FIGURE_GOAL,   /* instructions per cycle in parts of the goal */
	COT_FIGURE_IPC,
	/* Of all: */
	COT_FIGURE_BATCH_SUM,
	COT_FIGURE_TARGETS, /* 1: all kept */
	COT_FIGURE_GOALS,   /* 1: all reached */
	COT_FIGURE_ANTT,
	COT_FIGURE_STP,
	COT_FIGURE_FAIRNESS,
	COT_FIGURE_WATTS,
	COT_FIGURE_PREEMPTION, /* p99 of its latency */
	COT_FIGURE_KINDS
};

#define COT_FIGURE_APP_KINDS (COT_FIGURE_IPC + 1u)

struct cot_figure {
	enum cot_figure_kind kind;
	uint32_t app;
};

/* Of a scenario with so many apps: how many there are, and which. Those of one kind are together.
 */
unsigned cot_figures_count(uint32_t n_apps);
struct cot_figure cot_figure_at(uint32_t n_apps, unsigned i);

/* All of them, in this order; NAN for what is not known, or not of such an app. */
void cot_figures_take(const struct cot_sim_summary *s, double *ret_values);

/* What stands above a column: for people "requests p99", for programs "requests.p99_us". */
#define COT_FIGURE_NAME_MAX (COT_NAME_MAX + 32)
const char *cot_figure_head(struct cot_figure f, const struct cot_scenario *sc,
			    char buf[COT_FIGURE_NAME_MAX]);
const char *cot_figure_name(struct cot_figure f, const struct cot_scenario *sc,
			    char buf[COT_FIGURE_NAME_MAX]);

/* The mean, and behind it the interval if there is one: "1.33 ms", "1.33 ±0.04 ms", "kept". "" when
 * it is not known. */
const char *cot_figure_text(enum cot_figure_kind kind, struct cot_interval v,
			    struct cot_text *ret_text);

#endif
