/*
 * One benchmark on a GPU: the plain kernels, and each of their rewritten forms, which has to give
 * the same results. What was found is in `variants`; kernels/run/report.c prints it. One thread.
 */
#ifndef COT_KERNELS_RUN_EXPERIMENT_H
#define COT_KERNELS_RUN_EXPERIMENT_H

#include "kernels/launch/cuda_machine.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/rewrite.h"
#include "kernels/run/copies.h"
#include "kernels/run/options.h"

/* The passes, and: */
#define COT_PLAIN	COT_N_PASSES	   /* the kernels as they are */
#define COT_VIRTUAL	(COT_N_PASSES + 1) /* COT_PASS_SLICE, all blocks in one slice */
#define COT_N_VARIANTS	(COT_N_PASSES + 2)
#define COT_MAX_REPEATS 1000u
#define COT_NOW		32u

/* Times of something that was repeated. */
struct cot_times {
	double us[COT_MAX_REPEATS];
	uint32_t n;
};

struct cot_variant {
	const char *name;
	bool wanted, same;		   /* same: bit for bit what the plain kernels compute */
	const struct cot_refusal *refusal; /* NULL: it could be made */
	bool failed;			   /* it could not be run: */
	struct cot_error error;
	uint64_t n_different; /* words */
	int registers, local_bytes, shared_bytes, per_sm;
	struct cot_times times, host; /* host: until all was launched */

	cot_session_launch step, replay;
	void *state; /* of step and replay */
	struct cot_workers_run workers;
	struct cot_retreat_run retreat;
	struct cot_slice_run slice;
	struct cot_rows_run rows;
};

struct cot_evictions {
	struct cot_times latency; /* of those that came before the kernel had ended */
	uint32_t n_runs, n_in_time;
	uint32_t n_resumed;
	uint64_t n_left_over;
	bool same;
};

/* Counts of all blocks, from the pass `count`. */
struct cot_counts {
	uint64_t thread_insns, warp_insns, read_bytes, written_bytes;
};

struct cot_experiment {
	const struct cot_options *options;
	struct cot_cuda *cuda;
	const struct cot_bench *bench, *partner;
	struct cot_rewritten rewritten;
	struct cot_cuda_machine machine, tools;
	struct cot_bench_instance in, partner_in;
	struct cot_session session, partner_session;
	uint64_t plain[COT_BENCH_MAX_BUFFERS]; /* results of the plain run, on the GPU */
	uint64_t partner_plain[COT_BENCH_MAX_BUFFERS];
	uint64_t n_different; /* on the GPU */
	uint64_t scratch;     /* on the GPU: copied to empty the caches; 0: none */
	CUevent begin, end, raised;

	struct cot_bench_verdict verdict; /* of the plain run */
	bool right;
	double plain_us; /* one run */
	uint32_t quota;	 /* SMs */
	struct cot_variant variants[COT_N_VARIANTS];
	char *now; /* COT_NOW bytes for the name of what is being run; NULL: not wanted */
	struct cot_times partner_times;	    /* its plain kernels, where something is fused */
	struct cot_copies copies;	    /* of COT_PASS_BATCH */
	struct cot_times apart, apart_host; /* plain kernels of all copies, one after the other */
	struct cot_evictions evictions;
	struct cot_counts counts;
	uint64_t n_rows_bad; /* blocks that the pass `record` has not seen end */
};

/*
 * All of it; `now` is as in the structure. A variant that failed or is wrong is no error; without
 * the plain kernels there is nothing. cot_experiment_finish() in any case.
 */
int cot_experiment_run(struct cot_experiment *e, const struct cot_options *options,
		       struct cot_cuda *cuda, const struct cot_bench *bench, char *now,
		       struct cot_error *err);
void cot_experiment_finish(struct cot_experiment *e);

/* Was everything right, and did everything run? */
bool cot_experiment_passed(const struct cot_experiment *e);
bool cot_experiment_complete(const struct cot_experiment *e);

/* Is it to be run, and did nothing stand against it so far? */
bool cot_variant_runs(const struct cot_variant *v);

/* ---- parts, in files of their own ---- */

/* Words that differ between a session's outputs and the plain ones. */
int cot_experiment_compare(struct cot_experiment *e, struct cot_session *s, const uint64_t *plain,
			   uint64_t *ret_n_different, struct cot_error *err);

/* Repeats of all variants, one after the other in each round. */
int cot_experiment_measure(struct cot_experiment *e, struct cot_error *err);
/* One run of a variant between two events. */
int cot_experiment_time(struct cot_experiment *e, struct cot_variant *v, double *ret_us,
			struct cot_error *err);

/* Runs workers and has them leave. */
int cot_experiment_evict(struct cot_experiment *e, struct cot_error *err);

double cot_times_quantile(const struct cot_times *times, double q);

#endif
