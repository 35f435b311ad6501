/* What was measured, one line of JSON for each thing. One thread. */
#ifndef COT_BENCH_CONTENTION_LINES_H
#define COT_BENCH_CONTENTION_LINES_H

#include <stdio.h>

#include "bench/contention/bench_power.h"
#include "bench/contention/points.h"

struct cot_lines_machine {
	const struct cot_cuda *cuda;
	const struct cot_meter *meter;
	const struct cot_partitions *partitions;
	const struct cot_mix_runner *runner;
	const char *command;
	const struct cot_mix_times *times;
};

void cot_lines_machine(FILE *out, const struct cot_lines_machine *m);

/* What a warp does in a chunk of each kernel. */
void cot_lines_families(FILE *out);

void cot_lines_rate(FILE *out, const struct cot_point *point, uint32_t repeat,
		    const struct cot_mix_result *results);

/* `results` NULL: nothing ran. */
void cot_lines_power(FILE *out, const struct cot_point *point, const struct cot_mix_result *results,
		     const struct cot_meter_window *window, const struct cot_meter_state *state);

void cot_lines_benchmark(FILE *out, const struct cot_point *point,
			 const struct cot_bench_power *power);

/* A point that could not be measured, and why. */
void cot_lines_failure(FILE *out, const struct cot_point *point, const char *why);

void cot_lines_end(FILE *out, const char *why, double seconds, uint32_t n_measured,
		   uint32_t n_points);

#endif
