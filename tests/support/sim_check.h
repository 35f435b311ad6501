/*
 * Watches a simulation from instant to instant and knows what must be true of it.
 *
 *   blocks   every thread block of an active kernel is in one place, runs at most once, advances
 *            only on a running SM and at its rate, and ends exactly when its work is done
 *   tables   the counters of hw.h equal what can be counted; an SM works for one active kernel;
 *            bytes saved and not yet restored belong to blocks that wait in a PTBQ
 *   policy   no SM is idle while work waits that the scheduler allows to run on it
 *
 * It keeps books of its own and reads the engine's through sim/inside.h. One simulation, one
 * thread.
 */
#ifndef COT_TESTS_SIM_CHECK_H
#define COT_TESTS_SIM_CHECK_H

#include "sim/inside.h"

enum check_place {
	CHECK_FRESH,
	CHECK_QUEUED,  /* in the PTBQ */
	CHECK_WAITING, /* on an SM, for its context or for the set-up */
	CHECK_RUNNING,
	CHECK_SAVING,
	CHECK_DONE,
};

struct check_block {
	int64_t left_ps;    /* work left; off by at most slack_ps where rates are not full */
	uint64_t part;	    /* 2^-32 ps of work done beyond that */
	uint64_t ready_ps;  /* while waiting */
	uint32_t sm, moves; /* where it is; how often it was put there */
	enum check_place place;
	bool seen;
};

struct check_kernel {
	bool live;
	uint64_t seq;
	uint32_t n_blocks, cap;
	int64_t endowment; /* DSS: tokens that it came with */
	struct check_block *blocks;
};

struct sim_check {
	struct cot_sim *sim;
	uint64_t now_ps, completed;
	bool exact;				   /* all rates have always been full */
	struct check_kernel kernels[COT_MAX_APPS]; /* one launch per app at a time */
	uint64_t rates[COT_MAX_SMS];
	uint64_t restore_free_ps[COT_MAX_SMS]; /* end of the last restore on it */
	char text[256];			       /* what is wrong */
};

void sim_check_init(struct sim_check *c, struct cot_sim *sim);
void sim_check_finish(struct sim_check *c);

/* To be called after every cot_sim_run(sim, 1). False: c->text says what is wrong. */
bool sim_check_blocks(struct sim_check *c);
bool sim_check_tables(struct sim_check *c);
/* By the scheduler's own rule where the name is known, else by the one that holds for all. */
bool sim_check_policy(struct sim_check *c);
/* The three together. */
bool sim_check_instant(struct sim_check *c);

/* cot_sim_set_rate() with the knowledge of the checker. */
void sim_check_set_rate(struct sim_check *c, uint32_t sm, uint64_t rate_q32);

/* Writes c->text and returns false. */
bool sim_check_fail(struct sim_check *c, const char *fmt, ...) COT_PRINTF(2, 3);

#endif
