/*
 * One of the benchmarks in kernels/, again and again, and the power meanwhile. It runs in the
 * context that cot_cuda_open() made. One thread.
 */
#ifndef COT_BENCH_CONTENTION_BENCH_POWER_H
#define COT_BENCH_CONTENTION_BENCH_POWER_H

#include "bench/contention/meter.h"
#include "kernels/host/bench.h"
#include "kernels/launch/cuda.h"

struct cot_bench_power {
	struct cot_meter_window window;
	struct cot_meter_state state; /* in the middle */
	double runs_per_s;
	uint32_t n_runs;
	double make_s; /* inputs, and the first run */
};

/* For `seconds`, after `settle_s`. Its context has to be current. */
int cot_bench_power_run(struct cot_cuda *cuda, const struct cot_meter *meter,
			const struct cot_bench *bench, enum cot_bench_size size, double settle_s,
			double seconds, struct cot_bench_power *ret, struct cot_error *err);

#endif
