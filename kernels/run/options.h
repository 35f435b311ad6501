/* What kernels-run does, from its command line. */
#ifndef COT_KERNELS_RUN_OPTIONS_H
#define COT_KERNELS_RUN_OPTIONS_H

#include <stdbool.h>

#include "kernels/host/bench.h"
#include "ptx/pass/pass.h"

#define COT_OPTIONS_MAX_BENCHES	  32u
#define COT_OPTIONS_MAX_EVICTIONS 16u
#define COT_OPTIONS_ALL_UNITS	  UINT32_MAX

struct cot_options {
	const struct cot_bench *benches[COT_OPTIONS_MAX_BENCHES];
	uint32_t n_benches;
	const struct cot_bench *partner; /* of COT_PASS_FUSE; NULL: the next of the list */
	uint32_t passes;		 /* bits COT_PASS_...; the plain run is always there */
	enum cot_bench_size size;
	uint32_t n_copies;    /* of a benchmark that are launched together, for COT_PASS_BATCH */
	uint32_t n_blocks;    /* 0: that of the size */
	uint32_t quota_pct;   /* of the SMs, for workers */
	uint32_t chunk;	      /* 0: chosen from how long a task takes */
	uint32_t slice;	      /* blocks of a slice; 0: four slices */
	uint32_t n_repeats;   /* 0: nothing is measured */
	uint32_t n_evictions; /* at moments spread over the run, of all workers; each is a run */
	struct {
		uint32_t units;
		double at_ms;
	} evictions[COT_OPTIONS_MAX_EVICTIONS]; /* all in one run, in the order of time */
	uint32_t n_moments;
	uint64_t seed;
	uint32_t limit_ms; /* of each benchmark, in a process of its own; 0: none */
	int gpu;
	bool no_reference, list, print_ptx;
	const char *output; /* NULL: standard output */
};

/* Prints help on request, or a sentence about a mistake, and exits. */
void cot_options_parse(int argc, char **argv, struct cot_options *ret_options);

#endif
