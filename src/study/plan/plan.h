/*
 * Plans which programs share which GPU (`cotenant plan`, docs/plan.md): a mix of programs fits a
 * GPU when its memory is enough and a simulation of all of them together, under the policy `slo`,
 * keeps the target of each. The most demanding jobs come first; then a local search.
 */
#ifndef COT_STUDY_PLAN_PLAN_H
#define COT_STUDY_PLAN_PLAN_H

#include "knowledge/knowledge.h"
#include "study/study.h"
#include "trace/workload.h"

#define COT_PLAN_GPUS_MAX	 64u
#define COT_PLAN_SECONDS_MAX	 600.0
#define COT_PLAN_SECONDS_DEFAULT 4.0
#define COT_PLAN_MARGIN_DEFAULT	 0.1
#define COT_PLAN_MARGIN_MAX	 0.9

/* How many programs of each job are on a GPU. */
struct cot_plan_mix {
	uint8_t n[COT_WORKLOAD_JOBS_MAX];
};

struct cot_plan_program {
	uint32_t job, number; /* from 1; of those of its job on this GPU */
	uint64_t n_responses;
	double p50_us, p99_us; /* of responses; 0: none */
	double target;	       /* us of p99, or part of its rate alone; 0: none */
	double part;	       /* of its rate alone */
	double runs_per_s;
	double margin; /* of the target: how far below it the p99 is; of a rate how far above */
	bool kept;
};

struct cot_plan_outcome {
	bool kept;	/* all targets, with the margin that is wanted */
	double seconds; /* that count */
	double watts;	/* of the GPU */
	bool watts_all; /* false: it draws more, as of a program nothing is known */
	uint32_t n_programs;
	struct cot_plan_program programs[COT_MAX_APPS]; /* in the order of the jobs */
};

/* What each job is alone on a GPU. */
struct cot_plan_alone {
	double runs_per_s, p50_us, p99_us;
	double watts;	   /* as the model has it */
	double more_watts; /* that a job with `watts` draws beyond */
	bool watts_known;
	double demand; /* for the order */
	double load; /* part of the GPU's time that it needs at least, for its target or requests */
};

enum cot_plan_reason {
	COT_PLAN_PLACED,
	COT_PLAN_NOT_ALONE, /* its target is missed even alone */
	COT_PLAN_MEMORY,    /* more than a GPU has */
	COT_PLAN_GPUS,	    /* none of the GPUs has room for it */
};

struct cot_fleet {
	/* What is wanted. */
	const struct cot_workload *workload; /* with all programs there: cot_plan_learn() */
	uint32_t max_gpus, per_gpu;
	double margin, seconds;
	/* What came of it. */
	struct cot_plan_alone alone[COT_WORKLOAD_JOBS_MAX];
	uint32_t n_gpus, n_placed;
	struct cot_plan_mix gpus[COT_PLAN_GPUS_MAX];
	struct cot_plan_outcome outcomes[COT_PLAN_GPUS_MAX];
	uint32_t missing[COT_WORKLOAD_JOBS_MAX]; /* programs that are on no GPU */
	enum cot_plan_reason reasons[COT_WORKLOAD_JOBS_MAX];
};

/* Its data is a struct cot_plan. */
extern const struct cot_study cot_plan_study;

/*
 * Gives the jobs with a knowledge file, which stands beside the file `name`, their programs.
 * -EINVAL with a sentence, -ENOMEM.
 */
int cot_plan_learn(struct cot_workload *w, const char *name, struct cot_error *err);
/* The same of one job and its knowledge. -EINVAL with a sentence, -ENOMEM. */
int cot_plan_program_of(struct cot_job *job, const struct cot_gpu *gpu,
			const struct cot_knowledge *k, struct cot_error *err);

/* Programs on one GPU and their memory. */
uint32_t cot_plan_count(const struct cot_fleet *p, const struct cot_plan_mix *m);
uint64_t cot_plan_memory(const struct cot_fleet *p, const struct cot_plan_mix *m);

/* Plays a mix. Any thread. -EINTR, -ENOMEM, -EDEADLK. */
int cot_plan_play(const struct cot_fleet *p, const struct cot_plan_mix *m,
		  const struct cot_study_options *options, struct cot_plan_outcome *ret);

/* Fills in what came of it. As cot_study.run(). */
int cot_plan_run(void *data, const struct cot_study_options *options, struct cot_error *err);

int cot_plan_write_text(FILE *out, const void *data);
int cot_plan_write_csv(FILE *out, const void *data, const struct cot_origin *origin);
int cot_plan_write_json(FILE *out, const void *data, const struct cot_origin *origin);

/* "chat", or "chat.2". */
const char *cot_plan_name(const struct cot_fleet *p, uint32_t job, uint32_t number,
			  char ret_name[COT_NAME_MAX]);

#endif
