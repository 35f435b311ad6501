/*
 * A set of benchmarks' instances that are run apart, at the same time and merged. Every instance
 * has inputs, buffers and a stream of its own. One thread.
 */
#ifndef COT_BENCH_CONSOLIDATE_SET_H
#define COT_BENCH_CONSOLIDATE_SET_H

#include <stdbool.h>

#include "kernels/launch/cuda_machine.h"
#include "kernels/launch/launch.h"

#define COT_SET_PARTS	  COT_FUSE_MAX
#define COT_SET_INSTANCES 16u

struct cot_set_part {
	const struct cot_bench *bench;
	uint32_t n_blocks; /* 0: that of the size */
	uint32_t n;
};

struct cot_set {
	struct cot_set_part parts[COT_SET_PARTS];
	uint32_t n_parts, n_instances;
};

/* "nn/33*3+md5hash": three instances of 33 blocks and one of the size's. -EINVAL and a sentence. */
int cot_set_parse(const char *text, struct cot_set *ret_set, struct cot_error *err);

struct cot_set_instance {
	uint32_t part;
	struct cot_bench_instance in;
	struct cot_cuda cuda; /* the GPU, with the stream that the instance is on now */
	CUstream own;
	struct cot_cuda_machine machine; /* of the part's module */
	struct cot_session session;
	void *plain[COT_BENCH_MAX_BUFFERS]; /* results of the plain run */
	struct cot_bench_verdict verdict;
	double check_s; /* of the CPU, for the results that it checked */
};

struct cot_set_run {
	const struct cot_set *set;
	struct cot_cuda *cuda;
	struct cot_cuda_machine modules[COT_SET_PARTS]; /* one for each part */
	struct cot_rewritten rewritten;			/* what the merged launches are of */
	struct cot_cuda_machine fused;			/* of different kernels: their module */
	struct cot_set_instance instances[COT_SET_INSTANCES];
	struct cot_session *sessions[COT_SET_INSTANCES];
	struct cot_batch_run batch;
	bool needs_reset; /* a run works on what the last one left */
	double issued_s;  /* what the launches of the last round took of the thread */
};

enum cot_set_way { COT_SET_APART, COT_SET_STREAMS, COT_SET_MERGED, COT_SET_RESET, COT_SET_WAYS };
extern const char *const cot_set_way_names[COT_SET_WAYS];

/* Makes all instances, runs them apart and checks their results. cot_set_run_finish() in any case.
 */
int cot_set_run_init(struct cot_set_run *r, const struct cot_set *set, enum cot_bench_size size,
		     uint64_t seed, struct cot_cuda *cuda, struct cot_error *err);
void cot_set_run_finish(struct cot_set_run *r);

/* Everything once, and waits for it. `replay`: without asking whether there is another step. */
int cot_set_round(struct cot_set_run *r, enum cot_set_way way, bool replay, struct cot_error *err);
/* Whether a way gives the results of the plain run, bit for bit. Of each way before its rounds. */
int cot_set_try(struct cot_set_run *r, enum cot_set_way way, bool *ret_same, struct cot_error *err);
/* "batch", "fuse", or NULL: nothing can be merged. */
const char *cot_set_merged_by(const struct cot_set *set);

#endif
