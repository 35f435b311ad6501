/*
 * Scenarios written down in C, and the record of how they were played: for tests whose expected
 * numbers were worked out by hand. The GPU has round numbers, so that the arithmetic is short:
 *
 *   an SM moves 1000 bytes of context per microsecond
 *   a transfer takes 1 us + 1 us per started 4096 bytes
 *   no trap, no set-up time
 *
 * One test owns a build and a play; nothing here is shared between threads.
 */
#ifndef COT_TESTS_SIM_BUILD_H
#define COT_TESTS_SIM_BUILD_H

#include "sim/sim.h"

#define BUILD_MAX_STEPS	  48
#define BUILD_MAX_KERNELS 24

struct sim_build {
	struct cot_scenario sc; /* points into this struct: do not copy */
	struct cot_step steps[COT_MAX_APPS][BUILD_MAX_STEPS];
	struct cot_kernel kernels[COT_MAX_APPS][BUILD_MAX_KERNELS];
};

/* Preemption by context switch, transfers in order of arrival, a quantum of 10 us; stops at 1000
 * us. */
void build_init(struct sim_build *b, const char *scheduler, uint32_t n_sms);

/* One more app: own context, priority 0, equal tokens, start at 0. The rest appends to its program.
 * The result may be changed. */
struct cot_app *build_app(struct sim_build *b, const char *name);

void build_cpu(struct sim_build *b, double us);
void build_h2d(struct sim_build *b, uint64_t bytes);
void build_d2h(struct sim_build *b, uint64_t bytes);
void build_sync(struct sim_build *b);
/* Launches a kernel; block_kb is a block's context in units of 1000 bytes, that is of 1 us. */
struct cot_step *build_kernel(struct sim_build *b, uint32_t n_blocks, double block_us,
			      uint32_t blocks_per_sm, uint32_t block_kb);
/* An app that launches one kernel at a given time, and computes for ever after. */
struct cot_app *build_one(struct sim_build *b, const char *name, double start_us, uint32_t n_blocks,
			  double block_us, uint32_t blocks_per_sm, uint32_t block_kb);
void build_stop_at(struct sim_build *b, double us);
void build_stop_runs(struct sim_build *b, uint32_t runs);

#define PLAY_SMS  16
#define PLAY_APPS 8
#define PLAY_TEXT 2048

/* A list "T what, T what, ..." of changes, T in microseconds; of several at one time the last. */
struct play_track {
	char text[PLAY_TEXT];
	size_t n, last;
	uint64_t last_ps;
};

struct play {
	const struct cot_scenario *sc;
	struct cot_sim *sim;
	enum cot_sim_status status;
	struct cot_sim_result result;
	struct play_track sm[PLAY_SMS];	  /* "0 a run, 5 a save, 7 b run, 9 idle" */
	struct play_track app[PLAY_APPS]; /* "0 cpu, 3 h2d, 5 wait" */
	struct play_track kernels;	  /* "a 0-5, b 5-9": while active, in order of ending */
	struct play_track runs;		  /* the same of completed runs */
};

/* Plays to the end; fails the test unless the stop rule is met without a refused action.
 * play_end() releases the simulation, which may be looked at until then. */
void play(struct play *p, const struct sim_build *b);
void play_end(struct play *p);

/* Fails the test unless the two say the same. */
void play_same_result(const struct cot_sim_result *a, const struct cot_sim_result *b);

/* Plays and compares the record of the kernels, all in one. */
void play_expect_kernels(const struct sim_build *b, const char *kernels);

/* The active kernel of an app; NULL when it has none. */
const struct hw_kernel *play_kernel_of(struct cot_sim *sim, uint32_t app);

#endif
