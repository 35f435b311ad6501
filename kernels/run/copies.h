/*
 * Several instances of a benchmark on one GPU, each with inputs of its own, to be launched together
 * (the pass `batch`) or one after the other. One thread.
 */
#ifndef COT_KERNELS_RUN_COPIES_H
#define COT_KERNELS_RUN_COPIES_H

#include "kernels/launch/launch.h"
#include "kernels/run/options.h"

struct cot_copy {
	struct cot_bench_instance in;
	struct cot_session session;
	uint64_t plain[COT_BENCH_MAX_BUFFERS]; /* results of the plain run, on the GPU */
};

struct cot_copies {
	struct cot_copy *all; /* owned */
	struct cot_session *sessions[COT_BATCH_MAX];
	uint32_t n;
	struct cot_batch_run run;
	uint32_t n_apart;		  /* launches of the plain run */
	struct cot_bench_verdict verdict; /* of the plain run: of all of them */
};

/*
 * Makes the options' number of copies, runs them plain, and checks them against the CPU's results
 * unless the options say otherwise. On failure there are none.
 */
int cot_copies_init(struct cot_copies *c, const struct cot_options *options,
		    const struct cot_bench *bench, const struct cot_rewritten *rewritten,
		    struct cot_machine *machine, struct cot_error *err);
void cot_copies_finish(struct cot_copies *c);

int cot_copies_reset(struct cot_copies *c, struct cot_error *err);
/* The plain kernels again, one copy after the other. */
int cot_copies_replay_apart(struct cot_copies *c, struct cot_error *err);

#endif
