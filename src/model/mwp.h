/*
 * How long warps take on one SM: memory warp parallelism (MWP) and computation warp parallelism
 * (CWP), equations (4) to (6), and the time of a kernel that is alone on the GPU.
 *
 * The patent prints equation (6) under the condition of (5); this is Hong and Kim's form, in which
 * (6) is what remains. Pure; see model.h.
 */
#ifndef COT_MODEL_MWP_H
#define COT_MODEL_MWP_H

#include "model/model.h"

/* One warp of a kernel, or the mean warp of a mixture. Cycles. */
struct cot_model_warp {
	double n_mem;	    /* #Mem_insts */
	double comp_cycles; /* Comp_cycles */
	double mem_cycles;  /* Mem_cycles */
	double mem_latency; /* Mem_L; 0 without accesses */
	double departure;   /* Departure_delay: between two accesses of the SM */
	double bw_gbps;	    /* BW_per_warp, equation (9) */
	double syncs;
};

void cot_model_warp_of(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
		       struct cot_model_warp *ret_warp);

uint32_t cot_model_warps_per_block(const struct cot_model_kernel *k);

/* Blocks of the kernel that one SM can hold; 0 when not even one fits. */
uint32_t cot_model_occupancy(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k);

/*
 * The "big block" of what is resident on one SM: the mean over its warps. Latency and departure
 * delay are means over accesses, so that N * #Mem_insts * delay stays the sum over the warps.
 */
struct cot_model_mix {
	double n_warps, n_blocks;
	struct cot_model_warp mean;
};

/* `n_blocks[i]` blocks of `warps_per_block[i]` warps like `warps[i]`, for n kernels; some block
 * must be there. */
void cot_model_mix_of(const struct cot_model_warp *warps, const uint32_t *warps_per_block,
		      const double *n_blocks, uint32_t n, struct cot_model_mix *ret_mix);

/* No limit by bandwidth. */
#define COT_MODEL_NO_PEAK 1e300

/* MWP_peak_BW, equation (8): `sum_gbps` is the sum of BW_per_warp over all busy SMs. */
double cot_model_mwp_peak(const struct cot_model_gpu *gpu, double sum_gbps);

struct cot_model_sm_time {
	double mwp, cwp;
	int equation;	    /* 4, 5 or 6; 0: no accesses, so issue alone counts */
	double cycles;	    /* of the mixture once (#Rep = 1), without barriers */
	double sync_cycles; /* what barriers add (Hong and Kim; the patent leaves it out) */
};

void cot_model_sm_time(const struct cot_model_mix *mix, double mwp_peak,
		       struct cot_model_sm_time *ret_time);

struct cot_model_time {
	struct cot_model_sm_time sm;
	uint32_t blocks_per_sm, active_sms;
	double n_warps; /* N: active warps per SM */
	double n_rep;	/* #Rep, a whole number */
	double mwp_peak;
	double cycles;	   /* with barriers and #Rep */
	double seconds;	   /* on the GPU */
	double transfer_s; /* over PCIe */
};

/* The kernel alone on the GPU. -EINVAL when a block does not fit on an SM. */
int cot_model_time_alone(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
			 struct cot_model_time *ret_time);

/*
 * First category: kernels side by side, none of which shares an SM with another (equations (7) to
 * (9)). Each keeps its own Mem_L and CWP; the bandwidth is shared. The sum of the SMs that they use
 * must not exceed those of the GPU: -ENOSPC. The GPU is busy for the longest of ret_times.
 */
int cot_model_time_beside(const struct cot_model_gpu *gpu, const struct cot_model_kernel *kernels,
			  uint32_t n, struct cot_model_time *ret_times);

double cot_model_transfer_s(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k);

#endif
