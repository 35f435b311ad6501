/*
 * What bench_contention measured on a GPU: how fast kernels of known work ran alone, side by side
 * and on the same SMs, and the power meanwhile. Lines of JSON, schema "cotenant.contention/1" in
 * the first. Every mistake is one sentence "FILE:LINE: what is wrong; what was expected". No state.
 */
#ifndef COT_TRACE_CONTENTION_H
#define COT_TRACE_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/scenario.h"

#define COT_CONTENTION_KERNELS_MAX 64u
#define COT_CONTENTION_RUNS_MAX	   16384u
#define COT_CONTENTION_PARTS_MAX   2u
#define COT_CONTENTION_TEXT_MAX	   256u
#define COT_CONTENTION_WARPS_MAX   64u /* of an SM */

/* What a warp does in one chunk. */
struct cot_contention_kernel {
	char name[COT_NAME_MAX];
	uint32_t loads_ahead; /* of a warp, before it waits for the first; 0: it has none */
	double insts;	      /* all together, of them: */
	double fma, dfma, whole, special, shared, loads, stores;
	double read_bytes, written_bytes;
};

enum cot_contention_memory {
	COT_CONTENTION_NONE,
	COT_CONTENTION_DRAM,
	COT_CONTENTION_L2,
	COT_CONTENTION_N_MEMORIES,
};

/* A kernel, on SMs of its own if the run is not shared. */
struct cot_contention_part {
	uint32_t kernel; /* index */
	enum cot_contention_memory memory;
	uint32_t warps; /* of an SM */
	uint32_t sms;
	double chunks_per_s, mhz; /* of all warps; the clock meanwhile; 0, 0: all are starved */
	uint32_t n_starved;	  /* warps that did not even end a chunk */
};

struct cot_contention_run {
	bool is_power;
	uint32_t line;
	uint32_t n;   /* parts; 0: nothing ran, or a benchmark */
	bool on_rest; /* one part, on the SMs that the second of two has */
	bool shared;  /* two parts, both on the same SMs */
	struct cot_contention_part parts[COT_CONTENTION_PARTS_MAX];
	/* Of power only. */
	double watts, seconds;
	char benchmark[COT_NAME_MAX]; /* a benchmark ran; empty: the parts did */
	double runs_per_s, sm_mhz;    /* of the benchmark */
};

struct cot_contention {
	char gpu[COT_CONTENTION_TEXT_MAX], driver[COT_CONTENTION_TEXT_MAX];
	char date[COT_CONTENTION_TEXT_MAX], command[COT_CONTENTION_TEXT_MAX];
	uint32_t sms;
	uint32_t n_kernels;
	struct cot_contention_kernel kernels[COT_CONTENTION_KERNELS_MAX];
	uint32_t n_runs;
	struct cot_contention_run *runs;
	uint32_t n_failures; /* what could not be measured */
};

/* `name` is for messages. -EINVAL, -ENOMEM. Release with cot_contention_finish(). */
int cot_contention_parse(const char *name, const void *bytes, size_t size,
			 struct cot_contention *ret, struct cot_error *err);
void cot_contention_finish(struct cot_contention *c);

#endif
