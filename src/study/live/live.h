/*
 * The simulator beside a GPU for whole mixes: scenarios made from what each program of bench/live
 * does alone, what the simulator says of them, and what was measured. Nothing here knows what came
 * of a mix before it is compared; docs/models.md says which measurements stand for what.
 */
#ifndef COT_STUDY_LIVE_LIVE_H
#define COT_STUDY_LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/waves.h"
#include "report/origin.h"
#include "trace/live.h"

#define COT_LIVE_APPS_MAX  12u
#define COT_LIVE_CASES_MAX 256u

/* ---- ways of sharing ---- */

enum cot_live_policy {
	COT_LIVE_TIMESLICE,
	COT_LIVE_POOLS,
	COT_LIVE_ROTATE,
	COT_LIVE_PARTS,
	COT_LIVE_N_POLICIES,
};

struct cot_live_way {
	const char *window; /* of bench/live */
	enum cot_live_policy policy;
	uint32_t batch_sms;   /* of all batch programs together; 0: it is for no parts */
	uint32_t latency_sms; /* of all latency programs together; 0: one has all, several the rest
			       */
};
extern const struct cot_live_way cot_live_ways[];
extern const uint32_t cot_live_n_ways;
extern const char *const cot_live_policies[COT_LIVE_N_POLICIES];

/* ---- programs ---- */

enum cot_live_shape {
	COT_LIVE_REQUEST,  /* a kernel of a few blocks */
	COT_LIVE_NETWORK,  /* a graph of kernels; on parts as long as it was alone on such */
	COT_LIVE_PRODUCT,  /* kernels that fill the GPU, one after the other */
	COT_LIVE_COPY,	   /* the same, bound by memory */
	COT_LIVE_ENGINE,   /* copies that need no SM */
	COT_LIVE_TRAINING, /* an iteration of many kernels */
	COT_LIVE_HOST,	   /* kernels with gaps, as the CPU goes: not predicted */
};

struct cot_live_program {
	const char *name; /* as bench/live calls it */
	const char *base; /* without its load; NULL: the same */
	enum cot_live_shape shape;
	double gap_us; /* of a latency program, in the mean: from an answer to the next arrival */
	bool open;     /* from one arrival to the next instead */
	bool hot;      /* brings the whole GPU to its power limit */
	uint32_t n;    /* blocks of a kernel; of a training: its kernels */
};
/* NULL: not known. */
const struct cot_live_program *cot_live_program_find(const char *name);

/* ---- the GPU, from measurements of other mixes than those that are compared ---- */

struct cot_live_gpu {
	double host_us;	  /* of a request, outside of its kernels */
	double switch_us; /* until a request runs that interrupts a batch program */
	double resume_us; /* until that one is back */
	/* How much slower the GPU is while a hot program has all of it; and the power of its share
	 * that its speed goes with. */
	double hot_factor, hot_power;
};

/* -EINVAL with a sentence: measurements are missing. */
int cot_live_gpu_find(const struct cot_live *l, const char *name, struct cot_live_gpu *ret,
		      struct cot_error *err);

/* How much faster a hot program is that has this share of the GPU, than all of it; and how much
 * slower others are than alone. */
double cot_live_hot_gain(const struct cot_live_gpu *g, double share);
double cot_live_hot_loss(const struct cot_live_gpu *g, double share);

/* ---- mixes ---- */

struct cot_live_figures {
	double p50_us, p99_us; /* of a latency program */
	double part;	       /* of a batch program: of its rate alone */
};

struct cot_live_app {
	const struct cot_live_program *program;
	bool latency;
	double alone_us, alone_p99_us; /* a request; an iteration in the mean */
	double pool_factor; /* how much longer a request takes in a pool that nobody else uses */
	struct cot_waves waves; /* of a network: n 0: it was not measured on parts */
	struct cot_live_figures measured, predicted;
};

struct cot_live_case {
	uint32_t run; /* whose measurements it has */
	const char *group;
	const struct cot_live_way *way;
	uint32_t n_apps;
	struct cot_live_app apps[COT_LIVE_APPS_MAX]; /* latency programs first */
	const char *why;			     /* it is not predicted; NULL: it is */
};

/* The sum of the batch programs' parts. */
double cot_live_sum(const struct cot_live_case *c, bool predicted);

struct cot_live_check {
	const struct cot_live *file;
	struct cot_live_gpu gpu;
	uint32_t n_cases;
	struct cot_live_case cases[COT_LIVE_CASES_MAX];
};

/* Finds the GPU and the cases; predicts nothing. -EINVAL with a sentence, -ENOMEM. */
int cot_live_find(const struct cot_live *l, const char *name, struct cot_live_check *ret,
		  struct cot_error *err);

/* Plays all of them on all cores. -ENOMEM, or -EINVAL with a sentence (a mistake of ours). */
int cot_live_predict(struct cot_live_check *c, struct cot_error *err);

/* All of the above, of the origin's bytes. With `scenario` (MIX/WAY) only that scenario is written.
 */
int cot_live_show(const struct cot_origin *origin, const char *scenario, bool json, FILE *out,
		  struct cot_error *err);

/* ---- for the files of this unit ---- */

/* Which rows; NULL: whatever it is. */
struct cot_live_match {
	uint32_t run; /* UINT32_MAX: whichever */
	const char *group, *window, *app, *program;
};
#define COT_LIVE_ANY_RUN UINT32_MAX

enum cot_live_figure {
	COT_LIVE_P50,
	COT_LIVE_P99,
	COT_LIVE_RATE,
	COT_LIVE_ON_GPU,
	COT_LIVE_OFF_GPU
};

/* Of those that have it; 0: none has. */
double cot_live_median(const struct cot_live *l, const struct cot_live_match *m,
		       enum cot_live_figure figure);
double cot_live_middle(double *values, uint32_t n); /* sorts them */

/* A program alone, in windows of its own; in this mix and run if it was measured there. */
double cot_live_alone(const struct cot_live *l, uint32_t run, const char *group,
		      const char *program, enum cot_live_figure figure);

/* What the clock does in a pass: how much longer kernels take. */
struct cot_live_pace {
	double hot, others;
};

#define COT_LIVE_SCENARIO_MAX 16384u
#define COT_LIVE_SECONDS      5u
/* The scenario as a file; `copy_insts`: of a warp of copying kernels. -ENOSPC. */
int cot_live_scenario(const struct cot_live_case *c, const struct cot_live_gpu *g,
		      const struct cot_live_pace *pace, double copy_insts,
		      char ret_text[COT_LIVE_SCENARIO_MAX]);
#define COT_LIVE_COPY_INSTS 1e5 /* to begin with */

/* The pace that it ends with, and the scenario that had it. */
int cot_live_play(struct cot_live_case *c, const struct cot_live_gpu *g,
		  char ret_text[COT_LIVE_SCENARIO_MAX], struct cot_error *err);

/* How far off predictions are, over what was measured. */
enum cot_live_kind { COT_LIVE_KIND_P50, COT_LIVE_KIND_P99, COT_LIVE_KIND_RATE, COT_LIVE_N_KINDS };
struct cot_live_errors {
	uint32_t n, n_near, n_goal; /* values; within 5 %, within 15 % */
	double median, worst;	    /* the worst has its sign */
	uint32_t worst_case;
};
/* `policy` COT_LIVE_N_POLICIES and `kind` COT_LIVE_N_KINDS: all. -ENOMEM. */
int cot_live_errors(const struct cot_live_check *c, enum cot_live_policy policy,
		    enum cot_live_kind kind, struct cot_live_errors *ret);
#define COT_LIVE_NEAR 0.05
#define COT_LIVE_GOAL 0.15

int cot_live_write_text(const struct cot_live_check *c, FILE *out);
int cot_live_write_json(const struct cot_live_check *c, const struct cot_origin *origin, FILE *out);

#endif
