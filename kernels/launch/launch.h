/*
 * How the steps of a session are launched by means of each pass: what include/cotenant/passes.h
 * asks of a host. Each kind has a state that is made for one session, and functions of the type
 * cot_session_launch that take it. One thread.
 */
#ifndef COT_KERNELS_LAUNCH_LAUNCH_H
#define COT_KERNELS_LAUNCH_LAUNCH_H

#include "cotenant/passes.h"
#include "kernels/launch/rewrite.h"
#include "kernels/launch/session.h"

/* ---- workers ---- */

/*
 * Told after each launch of workers, while they run or when the machine has run them already:
 * `control` is the device address of their control block. May raise control->evict.
 */
typedef int (*cot_workers_during)(void *arg, uint64_t control, const struct cot_workers_args *args,
				  struct cot_error *err);

struct cot_workers_run {
	struct cot_session *s;
	uint32_t quota;		   /* SMs' worth of workers, at least 1 */
	uint32_t chunk;		   /* tasks of a claim; 0: by task_ns */
	uint64_t task_ns;	   /* 0: not known */
	bool gather;		   /* on whole SMs */
	cot_workers_during before; /* may be NULL: the same before each launch */
	cot_workers_during during; /* may be NULL */
	void *arg;
	/* Evicted workers' tasks are launched again with this many units; 0: quota. */
	uint32_t resume_quota;

	uint64_t controls, pristine;   /* on the machine: a control block for each step */
	struct cot_workers_args *args; /* of each step: the first launch */
	uint32_t n_armed;

	uint32_t n_launches;	       /* launches of cot_workers_step() so far, */
	uint32_t n_resumed;	       /* and how many of them were for what had been left */
	uint64_t n_tasks, n_left_over; /* tasks, and those that were left to a launch more */
};

int cot_workers_run_init(struct cot_workers_run *r, struct cot_session *s, uint32_t quota,
			 uint32_t chunk, uint64_t task_ns, struct cot_error *err);
void cot_workers_run_finish(struct cot_workers_run *r);

/* A step until all of its tasks are done, with as many launches as it takes; -EIO: no progress. */
int cot_workers_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);

/*
 * The same without waiting, for measuring: arm() makes the control blocks of all steps ready,
 * replay() launches a step once, confirm() waits and sees whether all tasks were done.
 */
int cot_workers_arm(struct cot_workers_run *r, struct cot_error *err);
int cot_workers_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);
int cot_workers_confirm(struct cot_workers_run *r, struct cot_error *err);

/* ---- filling and retreating ---- */

struct cot_retreat_run {
	struct cot_session *s;
	uint32_t quota;	 /* SMs that are allowed: those with the lowest numbers, at least 1 */
	uint32_t n_rows; /* the machine's SMs */
	uint64_t rows, pristine;
	struct cot_retreat_row *host;  /* n_rows of them for each step */
	struct cot_retreat_args *args; /* of each step */
	uint32_t n_armed;
	uint64_t patience_ns; /* without a task that gets done; 0: 10 s */

	uint32_t n_launches, n_resumed; /* as those of workers */
	uint64_t n_left_over;
};

int cot_retreat_run_init(struct cot_retreat_run *r, struct cot_session *s, uint32_t quota,
			 struct cot_error *err);
void cot_retreat_run_finish(struct cot_retreat_run *r);

/* A step until all of its tasks are done, with as many launches as it takes; -EIO: no progress. */
int cot_retreat_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);

/* For measuring, as with workers. -EAGAIN from confirm(): an SM got too few workers. */
int cot_retreat_arm(struct cot_retreat_run *r, struct cot_error *err);
int cot_retreat_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);
int cot_retreat_confirm(struct cot_retreat_run *r, struct cot_error *err);

/* ---- slices ---- */

struct cot_slice_run {
	uint32_t n_blocks; /* in a slice, at least 1 */
	uint64_t seed;	   /* 0: in order; otherwise in an order that it decides */
	uint64_t n_launches;
};

int cot_slice_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);

/* ---- different kernels in one grid ---- */

/*
 * Runs sessions of different benchmarks, 2 to COT_FUSE_MAX of them: step by step together as long
 * as two or more have one. `machine` has the kernels, fused and as they are, and the sessions'
 * memory. replay: as many steps as each took the last time, without asking.
 */
int cot_fuse_run(struct cot_machine *machine, struct cot_session *const *sessions, uint32_t n,
		 bool replay, struct cot_error *err);

/* ---- several instances of a benchmark in one grid ---- */

struct cot_batch_run {
	const struct cot_rewritten *rewritten; /* not owned */
	struct cot_session **sessions;	       /* of one benchmark, on one machine; not owned */
	uint32_t n;			       /* at most COT_BATCH_MAX */
	uint32_t n_launches;		       /* of the last run */
};

/*
 * Runs all sessions, step by step together as long as each has one. replay: as many steps as each
 * took the last time, without asking.
 */
int cot_batch_run(struct cot_batch_run *r, bool replay, struct cot_error *err);

/* ---- rows for each block: count and record ---- */

struct cot_rows_run {
	struct cot_session *s;
	const char *suffix; /* "$cot_count" */
	uint32_t row_bytes;
	uint64_t rows; /* on the machine */
	size_t capacity_bytes;
	/* Told after each step; `rows` are n_rows rows, one per block. */
	int (*take)(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
		    struct cot_error *err);
	void *arg;
};

int cot_rows_run_init(struct cot_rows_run *r, struct cot_session *s, const char *suffix,
		      uint32_t row_bytes, struct cot_error *err);
void cot_rows_run_finish(struct cot_rows_run *r);
int cot_rows_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);
/* Launches only: does not clear or read the rows. */
int cot_rows_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err);

/* ---- for those above ---- */

/* Tasks of a step's grid. */
uint32_t cot_step_tasks(const struct cot_bench_step *step);

#endif
