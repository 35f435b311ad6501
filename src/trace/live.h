/*
 * What bench/live measured on a GPU: the files that its runner writes (result.json), one after the
 * other. Of each window of a cell, what each program in it had. Every mistake is one sentence. No
 * state.
 */
#ifndef COT_TRACE_LIVE_H
#define COT_TRACE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_LIVE_ROWS_MAX 16384u
#define COT_LIVE_RUNS_MAX 16u /* files */
#define COT_LIVE_TEXT_MAX 64u

/* A program in a window. What was not measured is 0. */
struct cot_live_row {
	uint32_t run; /* index */
	bool latency;
	char group[COT_LIVE_TEXT_MAX];	 /* the mix: "b1-high" */
	char start[COT_LIVE_TEXT_MAX];	 /* how its programs were started: "plain", "pools" */
	char window[COT_LIVE_TEXT_MAX];	 /* "pools", "alone:L1" */
	char app[COT_LIVE_TEXT_MAX];	 /* "L1", "B2" */
	char program[COT_LIVE_TEXT_MAX]; /* "resnet-graph@high" */
	double p50_us, p99_us, per_s;
	/* Of programs that note when their kernels run: medians of the time on the GPU, and of the
	 * rest. */
	double on_gpu_us, off_gpu_us;
};

struct cot_live_run {
	char gpu[COT_LIVE_TEXT_MAX], date[COT_LIVE_TEXT_MAX];
};

struct cot_live {
	uint32_t n_runs, n_rows;
	struct cot_live_run runs[COT_LIVE_RUNS_MAX];
	struct cot_live_row *rows;
};

/* `name` is for messages. -EINVAL, -ENOMEM. Release with cot_live_finish(). */
int cot_live_parse(const char *name, const char *bytes, size_t size, struct cot_live *ret,
		   struct cot_error *err);
void cot_live_finish(struct cot_live *l);

#endif
