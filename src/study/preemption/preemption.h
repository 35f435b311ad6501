/*
 * The evaluation of Tanasic et al. ("Enabling Preemptive Multiprogramming on GPUs", ISCA 2014),
 * section 4: what is simulated, the figures that follow from it, what the paper prints, and how the
 * two agree. Main thread only.
 *
 *     cases (times) --> points (one per bar of a figure) --> comparison with the printed values
 */
#ifndef COT_STUDY_PREEMPTION_PREEMPTION_H
#define COT_STUDY_PREEMPTION_PREEMPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "study/preemption/printed.h"
#include "study/preemption/workloads.h"
#include "study/study.h"
#include "trace/trace.h"

#define COT_PREEMPTION_MAX_SIZES 8

/* What a workload is run under, in the priority study and in the DSS study. */
enum cot_prio_policy {
	COT_PRIO_FCFS, /* no program is prioritised */
	COT_PRIO_NPQ,
	COT_PRIO_PPQ_SWITCH,
	COT_PRIO_PPQ_DRAIN,
	COT_PRIO_SHARED_SWITCH,
	COT_PRIO_SHARED_DRAIN,
	COT_PRIO_N,
};

/* The scheduler `dss-printed` is the one that is compared with the paper; `dss` lends more. */
enum cot_dss_policy {
	COT_DSS_FCFS,
	COT_DSS_SWITCH,
	COT_DSS_DRAIN,
	COT_DSS_LEND_SWITCH,
	COT_DSS_LEND_DRAIN,
	COT_DSS_N,
};

#define COT_PREEMPTION_MAX_POLICIES COT_PRIO_N

/* One workload and the mean turnaround of each of its processes under each policy. */
struct cot_preemption_case {
	struct cot_workload load;
	double multi_us[COT_PREEMPTION_MAX_POLICIES][COT_WORKLOAD_MAX];
};

/* A set of simulations that belong together: one reading of Time/TB, one block jitter, one choice
 * of phases. */
struct cot_preemption_sample {
	const char *name; /* "consistent", "printed", "0.1" */
	enum cot_block_time block_time;
	double jitter_cv;
	bool spread_cpu; /* most CPU time lies between launches; see variants.h */
	bool lends;	 /* under `dss`, too */
	double single_us[COT_PRINTED_MAX_BENCHMARKS]; /* each benchmark alone, under FCFS */
	unsigned n_sizes;
	unsigned sizes[COT_PREEMPTION_MAX_SIZES];  /* processes per workload, ascending */
	unsigned n_prio[COT_PREEMPTION_MAX_SIZES]; /* cases per size */
	unsigned n_dss;
	struct cot_preemption_case *prio[COT_PREEMPTION_MAX_SIZES]; /* owned */
	struct cot_preemption_case *dss[COT_PREEMPTION_MAX_SIZES];
};

/* Allocates the cases; false when out of memory. finish() takes half-made ones. */
bool cot_preemption_sample_alloc(struct cot_preemption_sample *s);
void cot_preemption_sample_finish(struct cot_preemption_sample *s);

/* A measured value. The strings are literals, except for `group`, which lives with the table. */
struct cot_preemption_point {
	const char *figure, *metric, *mechanism, *group;
	unsigned nproc;
	double value;
	double half_width; /* of the 95 % interval over the drawn workloads; 0 when unknown */
	double geomean;	   /* of the same ratios, against a long tail; 0: none */
	double of_means;   /* the ratio of the means instead of the mean of the ratios; 0: none */
};

struct cot_preemption_points {
	struct cot_preemption_point *items; /* owned */
	unsigned n;
	size_t cap;
};

/* All points of Figures 5 to 8. `printed` gives the benchmarks and their groups. 0 or -ENOMEM. */
int cot_preemption_points_make(const struct cot_preemption_sample *s,
			       const struct cot_printed *printed,
			       struct cot_preemption_points *ret);
void cot_preemption_points_finish(struct cot_preemption_points *p);

/* How the mechanisms of Figures 7 and 8 are called under `dss`: "dss switch". */
#define COT_LEND "dss "

/* NULL when it was not measured. */
const struct cot_preemption_point *cot_preemption_points_find(const struct cot_preemption_points *p,
							      const char *figure,
							      const char *mechanism,
							      const char *group, unsigned nproc);

/*
 * Where one curve passes below another: the split k of 0..n for which most ranks agree with
 * "a is lower before k, b is lower (or equal) from k on". Smallest k wins a tie.
 */
struct cot_crossing {
	unsigned rank;	  /* k */
	double agreement; /* share of the ranks on the right side; 1 = a clean crossing */
};

struct cot_crossing cot_preemption_crossing(const double *a, const double *b, unsigned n);

/*
 * The ANTT of the workloads of one size for Figure 8, in order of their ANTT under FCFS, the worst
 * first (the paper does not tell its order).
 */
enum { COT_ANTT_FCFS, COT_ANTT_SWITCH, COT_ANTT_DRAIN, COT_ANTT_N };

struct cot_antt_curves {
	unsigned n;
	double *antt[COT_ANTT_N];     /* owned, one block at antt[0] */
	double improved[COT_ANTT_N];  /* share of workloads that gain more than COT_ANTT_GAIN */
	double any[COT_ANTT_N];	      /* share that gain at all */
	double much[COT_ANTT_N];      /* share that gain more than COT_ANTT_MUCH */
	unsigned n_improved;	      /* workloads that gain with either mechanism */
	struct cot_crossing crossing; /* of switch and drain, among those that gain */
};

/* A workload counts as improved when its ANTT falls by more than this factor. */
#define COT_ANTT_GAIN 1.05
#define COT_ANTT_MUCH 1.3

/* `by_switch` is COT_DSS_SWITCH or COT_DSS_LEND_SWITCH; draining is the policy behind it. */
int cot_preemption_antt(const struct cot_preemption_sample *s, unsigned size_index,
			enum cot_dss_policy by_switch, struct cot_antt_curves *ret);
void cot_antt_curves_finish(struct cot_antt_curves *c);

/* One printed value beside ours. */
struct cot_preemption_pair {
	const struct cot_printed_entry *entry;
	unsigned nproc;
	double printed;
	bool has_measured; /* false when that size was not run */
	double measured, half_width, deviation_pct;
	double of_means; /* 0: none */
	double lent;	 /* under `dss`, of Figures 7 and 8; NAN: none */
	bool agrees;	 /* same direction: a gain is a gain, a loss is a loss */
};

struct cot_preemption_shape {
	char name[120];
	bool holds;
	bool applies; /* false when the sizes it needs were not run */
	char detail[120];
};

#define COT_PREEMPTION_MAX_PAIRS  (2 * COT_PRINTED_MAX_ENTRIES)
#define COT_PREEMPTION_MAX_SHAPES 32

struct cot_preemption_comparison {
	unsigned n_pairs;
	struct cot_preemption_pair pairs[COT_PREEMPTION_MAX_PAIRS];
	unsigned n_shapes;
	struct cot_preemption_shape shapes[COT_PREEMPTION_MAX_SHAPES];
	unsigned n_fit;
	double fit;	     /* mean |ln(measured / printed)| over Figures 5 to 8 */
	double fit_of_means; /* the same with ratios of means where there are */
};

void cot_preemption_compare(const struct cot_printed *printed,
			    const struct cot_preemption_points *points,
			    struct cot_preemption_comparison *ret);

/* Table 1, recomputed from the traces. */
struct cot_preemption_table1_row {
	const char *benchmark, *kernel;
	double save_us, resource_pct;
	double save_us_printed, resource_pct_printed;
	double block_us[2]; /* residency of a block: consistent, printed reading */
};

/* The study. Sample 0 is the consistent reading, 1 the printed one. */
#define COT_PREEMPTION_MAIN	   2
#define COT_PREEMPTION_MAX_SAMPLES 8

struct cot_preemption {
	/* The user's choices. */
	double jitter_cv; /* of block times, in the main samples */
	unsigned n_sizes;
	unsigned sizes[COT_PREEMPTION_MAX_SIZES]; /* 1..COT_WORKLOAD_MAX each, ascending */

	uint64_t seed;
	bool quick;
	struct cot_printed printed;
	unsigned n_samples;
	/* Behind the main samples: the same workloads with different spreads of block times, and
	 * with the CPU time in different places. */
	unsigned n_jitters, n_phases;
	struct cot_preemption_sample samples[COT_PREEMPTION_MAX_SAMPLES];
	struct cot_preemption_points points[COT_PREEMPTION_MAX_SAMPLES];
	struct cot_preemption_comparison comparison[COT_PREEMPTION_MAIN];
	struct cot_preemption_table1_row table1[COT_PRINTED_MAX_KERNELS];
	unsigned n_simulations;
	uint64_t block_completions;
};

void cot_preemption_finish(struct cot_preemption *r);

/* Simulates everything on all threads; `data` is a struct cot_preemption. As in struct cot_study.
 */
int cot_preemption_run(void *data, const struct cot_study_options *options, struct cot_error *err);

/* The three outputs, as in struct cot_study. */
int cot_preemption_write_text(FILE *out, const void *data);
int cot_preemption_write_json(FILE *out, const void *data, const struct cot_origin *origin);
int cot_preemption_write_html(FILE *out, const void *data, const struct cot_origin *origin);

extern const struct cot_study cot_preemption_study;

#endif
