/*
 * A GPU in which every warp, every instruction and every request to memory is one thing: slow, and
 * written without a look at the fluid model, to hold that against. Time goes cycle by cycle.
 *
 * A warp issues when a slot of its SM is free, the one that waits longest first. Its next
 * instruction may issue `cpi` cycles later. An instruction goes to memory with the probability
 * mem_fraction; when a warp has `mlp` requests on their way, it waits until all are back. A request
 * passes the SM's port and the memory, which serve kernels in turn and so many bytes in a cycle,
 * and comes back `latency` cycles after that.
 */
#ifndef COT_TESTS_WARP_MODEL_H
#define COT_TESTS_WARP_MODEL_H

#include <stdint.h>

#include "trace/scenario.h"

#define WARPS_MAX_LANES 64
#define WARPS_CHANNELS	8 /* of memory; a request goes to any of them */

struct warps_lane {
	struct cot_kernel_work work; /* cpi and mlp are whole numbers */
	uint32_t sm, n_warps;
};

struct warps_gpu {
	uint32_t n_sms, issue_width;
	double sm_bytes_per_cycle, dram_bytes_per_cycle;
	double transfer_bytes_per_cycle; /* wanted by a transfer; 0: none */
	uint32_t n_lanes;
	struct warps_lane lanes[WARPS_MAX_LANES];
};

/* Runs `cycles`, of which the first quarter does not count. Warp instructions per cycle of each
 * lane; bytes per cycle of the transfer. */
void warps_run(const struct warps_gpu *gpu, uint64_t cycles, uint64_t seed, double *ret_ipc,
	       double *ret_transfer);

#endif
