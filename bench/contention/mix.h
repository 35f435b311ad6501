/*
 * Kernels beside each other, on partitions of the GPU or on the same SMs, and how fast each of them
 * works in a window in which all of them do. All warps wait for one moment, so no launch is in the
 * window. One thread.
 */
#ifndef COT_BENCH_CONTENTION_MIX_H
#define COT_BENCH_CONTENTION_MIX_H

#include "bench/contention/family.h"
#include "bench/contention/partition.h"

#define COT_MIX_PARTS 2u

/* Where the bytes are. */
enum cot_mix_memory { COT_MIX_NONE, COT_MIX_DRAM, COT_MIX_L2 };

/* A kernel on an SM count; the partition follows from its place in the mix. */
struct cot_mix_part {
	const struct cot_family *family;
	enum cot_mix_memory memory;
	uint32_t warps; /* of an SM */
	uint32_t sms;
};

/*
 * One part: the first partition of a split at its SMs, or what is left of a split (on_rest), or the
 * whole GPU. Two: the first has its SMs, the second the rest; or (shared) both have the same SMs,
 * and each SM has blocks of both.
 */
struct cot_mix {
	struct cot_mix_part parts[COT_MIX_PARTS];
	uint32_t n;
	bool on_rest, shared;
};

struct cot_mix_times {
	uint64_t lead_ns;   /* for the launches, from the moment of asking the time */
	uint64_t settle_ns; /* from the start until the window */
	uint64_t window_ns;
};

struct cot_mix_result {
	double chunks_per_s;	 /* of all warps, by the GPU's timer */
	double chunks_per_cycle; /* by the clocks of their SMs */
	double mhz;		 /* the SM clock in the window, by the warps' cycles */
	/*
	 * Late: they came when the window was open. Starved: they were in one chunk from before it
	 * opened until it was closed, as an SM may favour its oldest warps; what they did counts
	 * as nothing.
	 */
	uint32_t n_warps, n_late, n_starved;
	uint32_t n_sms;			  /* that the warps were on */
	uint32_t warps_least, warps_most; /* of these SMs, starved ones as well */
	double sm_least, sm_most;	  /* chunks per second of these SMs */
};

struct cot_mix_runner {
	struct cot_partitions *partitions;
	bool anywhere; /* a single kernel has its blocks on any SMs: to try it out */
	CUmodule module;
	CUfunction functions[64]; /* of cot_families */
	CUfunction what_time;
	CUdeviceptr data[COT_MIX_PARTS];
	uint64_t data_bytes, l2_bytes;
	CUdeviceptr records[COT_MIX_PARTS], time;
	void *host; /* records */
	size_t records_bytes;
	uint64_t timer_step_ns;
	double timer_cycles; /* what a look at the timer costs */
};

/* `data_bytes` (a power of two) for each of the parts. */
int cot_mix_runner_init(struct cot_mix_runner *r, struct cot_partitions *partitions,
			const char *ptx, uint64_t data_bytes, uint64_t l2_bytes,
			struct cot_error *err);
void cot_mix_runner_finish(struct cot_mix_runner *r);

/*
 * Told once the kernels are launched and before they are waited for: when the window opens and
 * closes by cot_meter_now_s().
 */
typedef void (*cot_mix_during)(void *arg, double open_s, double close_s);

/*
 * -ENOTSUP: partitions are not available here. `during` may be NULL. A result with n_late is of
 * warps that came when the window was open; it says nothing.
 */
int cot_mix_run(struct cot_mix_runner *r, const struct cot_mix *mix,
		const struct cot_mix_times *times, cot_mix_during during, void *arg,
		struct cot_mix_result *ret_results, struct cot_error *err);

#endif
