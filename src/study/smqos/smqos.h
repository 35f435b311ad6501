/*
 * The evaluation of Sun et al., "SMQoS: Improving Utilization and Energy Efficiency with QoS
 * Awareness on GPUs", section IV: what is simulated, means of it, what the paper prints and how the
 * two agree. Main thread only.
 */
#ifndef COT_STUDY_SMQOS_SMQOS_H
#define COT_STUDY_SMQOS_SMQOS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "report/epochs.h"
#include "study/study.h"

#define COT_SMQ_BENCHMARKS 12u
#define COT_SMQ_TARGETS	   4u
#define COT_SMQ_MIXES	   (COT_SMQ_BENCHMARKS * (COT_SMQ_BENCHMARKS - 1))
#define COT_SMQ_CASES	   (COT_SMQ_MIXES * COT_SMQ_TARGETS)
#define COT_SMQ_MAX_SMS	   128u
#define COT_SMQ_MAX_SENSES 48u
#define COT_SMQ_SEEDS	   3u /* the least that says how far noise goes */
#define COT_SMQ_PRINTED	   32u

enum cot_smq_system { COT_SMQ_SMQOS, COT_SMQ_SPART, COT_SMQ_ROLLOVER, COT_SMQ_SYSTEMS };

extern const char *const cot_smq_system_names[COT_SMQ_SYSTEMS]; /* as schedulers are called */
extern const char *const cot_smq_benchmarks[COT_SMQ_BENCHMARKS];
extern const unsigned cot_smq_targets[COT_SMQ_TARGETS]; /* per cent of the IPC alone */

/* Pairs of classes: the task with a goal, then the batch task. */
enum cot_smq_pair { COT_SMQ_CI_CI, COT_SMQ_CI_MI, COT_SMQ_MI_CI, COT_SMQ_MI_MI, COT_SMQ_PAIRS };
extern const char *const cot_smq_pair_names[COT_SMQ_PAIRS];

/* One mix under one target and system. */
struct cot_smq_outcome {
	bool run;
	double of_goal;	   /* mean IPC over the promised one */
	double throughput; /* IPC of the batch task over its IPC alone */
	double watts;
	double moves; /* SMs that began to change hands, per epoch */
	double gated; /* SMs without power, on average */
};

struct cot_smq_settings {
	const char *traces;   /* folder of the benchmarks */
	uint32_t seed_offset; /* to the seed */
	bool depth;	      /* blocks fill one SM after the other, not all in turn */
	uint32_t n_sms, epoch_cycles;
	uint32_t batch_sms; /* that a batch task keeps in any case */
	double threshold, noise;
	double share_penalty; /* of the GPU: see struct cot_gpu */
	/* What the paper leaves open, or what differs from it: see docs/simulator.md. */
	double share_stall;   /* of the GPU as well */
	double context_scale; /* contexts of blocks are so many times as large */
	double small_scale;   /* blocks of small grids do so many times as much */
	uint32_t block_parts; /* every block is cut into so many */
	uint32_t sm_scale;    /* an SM is so many times as large */
	bool drain;	      /* SMs change hands when their blocks have ended */
	bool hasty;	      /* SMQoS decides while SMs change hands */
	bool search_printed;  /* and looks for the best number of SMs as printed */
	bool spart_catchup;   /* Spart makes up for epochs that missed the goal */
	bool idle_draws;      /* an SM without blocks draws what one with blocks does */
	/* Unless 0: kernels bound by memory have a limit of their own from this part of the SMs on,
	 * and memory is enough for so many such kernels. */
	double knee, memory_for;
};

/* Outcomes of many mixes under one set of settings; the index is cot_smq_case(). */
struct cot_smq_run {
	struct cot_smq_settings settings;
	double isolated_ipc[COT_SMQ_BENCHMARKS], isolated_watts[COT_SMQ_BENCHMARKS];
	struct cot_smq_outcome outcomes[COT_SMQ_SYSTEMS][COT_SMQ_CASES];
};

/* Means over the mixes of a pair (COT_SMQ_PAIRS: all) and a target (COT_SMQ_TARGETS: all). */
struct cot_smq_mean {
	unsigned n;
	double reach_pct, throughput, watts;
	double near_pct; /* cases that miss their promise by 1 % at most, or keep it */
	double moves, gated;
};

struct cot_smq_printed {
	char id[16], figure[8], metric[16], against[16], group[16], source[64];
	uint32_t target;
	double value;
};

struct cot_smq_pair_of_values {
	const struct cot_smq_printed *printed;
	bool measured;
	/* Per cent or points, like the printed value: the mean over all seeds, and the ends. */
	double value, deviation, least, greatest;
	/* The sign of a difference is that of all seeds, if it is larger than they differ. */
	int sign;    /* 0: no difference */
	bool agrees; /* same sign; for Q1-like shares, within 5 points */
};

/* One mix seen epoch by epoch. */
struct cot_smq_timeline {
	unsigned ls, batch, target;
	struct cot_epochs *epochs[COT_SMQ_SYSTEMS]; /* owned */
	struct cot_scenario *scenarios[COT_SMQ_SYSTEMS];
};

struct cot_smq_sense {
	const char *what;
	bool ablation; /* else sensitivity */
	struct cot_smq_settings settings;
	struct cot_smq_run *run; /* owned */
};

/* The study. */
struct cot_smq_report {
	/* The user's choices, beside the mix of the timeline. */
	struct cot_smq_settings settings;
	bool sensitivity; /* other thresholds, epochs, noise and numbers of SMs as well */
	bool ablation;	  /* other assumptions, one by one */

	uint64_t seed;
	bool quick;
	uint64_t cycles;
	bool is_mi[COT_SMQ_BENCHMARKS];
	double curve[COT_SMQ_BENCHMARKS][COT_SMQ_MAX_SMS + 1]; /* IPC alone on n SMs */
	unsigned n_seeds;
	struct cot_smq_run *seeds[COT_SMQ_SEEDS]; /* owned; the same but for the noise */
	const struct cot_smq_run *main;		  /* the first of them */
	unsigned n_senses;
	struct cot_smq_sense senses[COT_SMQ_MAX_SENSES];
	unsigned n_printed;
	struct cot_smq_printed printed[COT_SMQ_PRINTED];
	struct cot_smq_pair_of_values pairs[COT_SMQ_PRINTED];
	bool has_timeline;
	struct cot_smq_timeline timeline;
};

unsigned cot_smq_case(unsigned mix, unsigned target);
void cot_smq_mix(unsigned mix, unsigned *ret_ls, unsigned *ret_batch);
enum cot_smq_pair cot_smq_pair_of(const struct cot_smq_report *r, unsigned mix);

struct cot_smq_mean cot_smq_mean_of(const struct cot_smq_report *r, const struct cot_smq_run *run,
				    enum cot_smq_system system, unsigned pair, unsigned target);

/* Lists in r->senses what the user asked for beside the settings as they are. */
void cot_smq_list_senses(struct cot_smq_report *r);

/* Reads what the paper prints. */
int cot_smq_printed_load(struct cot_smq_report *r, struct cot_error *err);

/* Fills r->pairs from all seeds. */
void cot_smq_compare(struct cot_smq_report *r);

void cot_smq_report_finish(struct cot_smq_report *r);

/* Simulates everything on all threads; `data` is a struct cot_smq_report. As in struct cot_study.
 */
int cot_smq_run(void *data, const struct cot_study_options *options, struct cot_error *err);

/* The three outputs, as in struct cot_study. */
int cot_smq_write_text(FILE *out, const void *data);
int cot_smq_write_json(FILE *out, const void *data, const struct cot_origin *origin);
int cot_smq_write_html(FILE *out, const void *data, const struct cot_origin *origin);

extern const struct cot_study cot_smq_study;

#endif
