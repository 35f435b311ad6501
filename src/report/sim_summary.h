/*
 * The outcome of one simulation as people and programs see it: means, slowdowns, metrics; and its
 * three forms: text for a terminal, JSON, an HTML page. Pure but for the streams.
 */
#ifndef COT_REPORT_SIM_SUMMARY_H
#define COT_REPORT_SIM_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "report/allocation.h"
#include "report/epochs.h"
#include "report/origin.h"
#include "report/parts.h"
#include "report/sampler.h"
#include "report/table.h"
#include "sim/host.h"
#include "sim/host_measure.h"
#include "sim/metrics.h"
#include "sim/sim.h"

struct cot_app_summary {
	bool finished_runs; /* turnaround_us is known */
	bool has_isolated;
	bool has_ntt;
	double turnaround_us, isolated_us, ntt;
	/* Of its rate alone, over the whole time, part of a run included. */
	bool has_rate;
	double rate;
};

/* Of one app; sim/host_measure.h says what a response is. */
struct cot_response_summary {
	uint64_t n, n_missed;
	bool has_limit; /* a target in time */
	double limit_us;
	double p50_us, p95_us, p99_us, max_us; /* 0 without responses */
	double service_p99_us;
	double levels_us[COT_SIM_LEVELS]; /* see cot_sim_level() */
};

struct cot_sim_summary {
	const struct cot_scenario *sc;
	const struct cot_origin *origin; /* NULL: not told. Not owned. */
	struct cot_sim_result result;
	struct cot_app_summary apps[COT_MAX_APPS];
	bool has_metrics; /* every app has an NTT */
	struct cot_multi_metrics metrics;
	/* Of scenarios with kernels that say what they do; else NULL. Not owned. */
	const struct cot_epochs *epochs;
	/* Where a policy placed apps; else NULL. Not owned. */
	const struct cot_parts *parts;
	bool has_responses; /* they were measured */
	bool has_arrivals;  /* of an app: services are something else then */
	struct cot_response_summary responses[COT_MAX_APPS];
	bool has_targets; /* an app has a target in time */
	double batch_sum; /* of the rates of batch apps */
	bool has_works;	  /* with rewritten kernels */
	struct cot_sim_host_works works[COT_MAX_APPS];
};

/* isolated_us: per app, NAN when it is not known. `sc` must outlive the summary. */
void cot_sim_summarize(const struct cot_scenario *sc, const struct cot_sim_result *result,
		       const double *isolated_us, struct cot_sim_summary *ret_summary);

/* Whether the app keeps its target. -1: it has none that could be checked. */
int cot_sim_keeps_target(const struct cot_sim_summary *s, uint32_t app);

/* Means over the whole run: warp instructions per cycle, watts, bytes per second of memory. */
double cot_sim_ipc(const struct cot_sim_summary *s, uint32_t app);
double cot_sim_mean_watts(const struct cot_sim_summary *s);
double cot_sim_dram_bps(const struct cot_sim_summary *s);

/* Adds what the host of the scenario's policy has seen: response times, works. */
void cot_sim_summarize_responses(struct cot_sim_summary *s, const struct cot_sim_host *host);
/* Adds response times of a simulation without a policy. */
void cot_sim_summarize_measures(struct cot_sim_summary *s, const struct host_measures *m);
/* How many took how long, a curve for each app, as HTML (sim_spread.c). Nothing without responses.
 */
void cot_sim_spread_html(const struct cot_sim_summary *s, FILE *out);
/* They as a table, for text and HTML. NULL when out of memory. */
struct cot_table *cot_sim_responses_table(const struct cot_sim_summary *s);
/* Instructions per cycle, goals, bandwidth; only of scenarios with kernels that say what they do.
 */
struct cot_table *cot_sim_counted_table(const struct cot_sim_summary *s);
/* Who had which SMs; only with `parts`. */
struct cot_table *cot_sim_parts_table(const struct cot_sim_summary *s);
/* What became of rewritten kernels; only if has_works. */
struct cot_table *cot_sim_works_table(const struct cot_sim_summary *s);

/* Readable tables. -ENOMEM. */
int cot_sim_print_text(const struct cot_sim_summary *s, FILE *out);

/* "cotenant.sim/1"; with an `allocation` list when `a` is given. */
int cot_sim_print_json(const struct cot_sim_summary *s, struct cot_allocation *a, FILE *out,
		       struct cot_error *err);

/* A self-contained page; `sampler` watched the run. -ENOMEM. */
int cot_sim_print_html(const struct cot_sim_summary *s, const struct cot_sampler *sampler,
		       FILE *out);

/* "dss by context switch on k20c (13 SMs), seed 1". */
#define COT_SIM_DESCRIPTION_MAX 256
void cot_sim_describe(const struct cot_scenario *sc, char *text, size_t size);

/* "switch" or "drain". */
const char *cot_preempt_name(enum cot_preempt preempt);

#endif
