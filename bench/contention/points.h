/*
 * What is measured, in the order in which it is: what tells most comes first, so that a run that
 * ends early has it. Constant for a number of SMs.
 */
#ifndef COT_BENCH_CONTENTION_POINTS_H
#define COT_BENCH_CONTENTION_POINTS_H

#include "bench/contention/mix.h"
#include "kernels/host/bench.h"

enum cot_point_kind {
	COT_POINT_RATE,
	COT_POINT_IDLE,	     /* power with nothing running */
	COT_POINT_POWER,     /* of a mix */
	COT_POINT_BENCHMARK, /* power of one of the benchmarks in kernels/ */
};

/* Parts of a run that can be asked for. */
enum cot_stage {
	COT_STAGE_ALONE,
	COT_STAGE_PAIRS,
	COT_STAGE_LATENCY,
	COT_STAGE_SHARED,
	COT_STAGE_POWER,
	COT_STAGE_BENCHMARKS,
	COT_STAGE_MORE,
	COT_N_STAGES,
};

struct cot_point {
	enum cot_point_kind kind;
	enum cot_stage stage;
	struct cot_mix mix;
	const struct cot_bench *benchmark;
};

#define COT_POINTS_MAX 1024u

struct cot_points {
	struct cot_point points[COT_POINTS_MAX];
	uint32_t n;
};

extern const char *const cot_stage_names[COT_N_STAGES];

void cot_points_make(struct cot_points *p, uint32_t n_sms);

/* The same for a GPU without partitions, or an emulated one: few points, few warps. */
void cot_points_make_smoke(struct cot_points *p, uint32_t n_sms);

#endif
