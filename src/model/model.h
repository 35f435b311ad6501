/*
 * The input of the analytical models: a GPU, and kernels as counts per warp. Plain numbers; the
 * caller has checked them (src/trace/kernels.h reads and bounds them). Everything in src/model is
 * pure, allocates nothing and may be called from any thread.
 *
 * Equations (4) to (12) are those of US patent 8,643,656 (energy-aware task consolidation on GPUs);
 * its time model extends Hong and Kim, "An analytical model for a GPU architecture" (ISCA 2009).
 *
 * Units: cycles are SM clock cycles, bandwidths GB/s (1e9 B/s), sizes bytes. GHz times cycles per
 * byte is then GB/s without a factor.
 */
#ifndef COT_MODEL_MODEL_H
#define COT_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define COT_MODEL_WARP	      32u
#define COT_MODEL_SET_MAX     10u   /* kernels that run together */
#define COT_MODEL_SLOTS_MAX   32u   /* thread blocks that an SM can hold */
#define COT_MODEL_EXTRA_MAX   8u    /* kinds of events that power goes into, beside two */
#define COT_MODEL_TRANSACTION 128.0 /* bytes that one coalesced transaction carries */

/* What launches cost beside what kernels take; all 0: nothing. Seconds. launch.h has the formulas.
 */
struct cot_model_launch {
	double call_s; /* of the launching thread, a launch of a kernel that does not say it */
	double end_s;  /* from the end of a stream's last kernel until the program has seen it */
	double end_beside_s; /* the same, of kernels that run at the same time in streams */
	double end_stream_s; /* and for each of these streams but the first, which is waited for */
	double instance_s;   /* of the launching thread, for each kernel of a merged launch */
	double gap_s;	     /* from the end of a kernel until the next one of its stream begins */
	/* Of a merged launch: each block looks for whose it is. The time only among copies, where
	 * it searches, and never more than blocks_most_s (0: without a bound), as far as what
	 * other blocks wait for does not hide it; joules, in all. */
	double block_s, blocks_most_s, block_j;
};

struct cot_model_gpu {
	uint32_t n_sms;
	uint32_t threads_per_sm, blocks_per_sm; /* blocks_per_sm: 1 to COT_MODEL_SLOTS_MAX */
	uint32_t regs_per_sm;			/* 32-bit registers */
	uint32_t shmem_per_sm;			/* bytes */
	double clock_ghz;
	double dram_gbps;
	double mem_latency;  /* Mem_LD: round trip of one access, unloaded; cycles */
	double uncoal_delay; /* Departure_del_uncoal: between transactions of one access; cycles */
	double coal_delay;   /* Departure_del_coal: between coalesced accesses of an SM; cycles */
	double issue;	     /* Issue_cycles: to issue one warp instruction */
	double pcie_gbps;    /* host to device and back */
	double memory_bytes; /* of the device */
	struct cot_model_launch launch;
};

struct cot_model_kernel {
	uint32_t n_blocks;	    /* of the grid, at least 1 */
	uint32_t threads_per_block; /* at least 1 */
	uint32_t regs_per_block;    /* 32-bit registers */
	uint32_t shmem_per_block;   /* bytes */
	/* Executed by one warp; each is 0 or at least 1e-6, and not all of the first three are 0.
	 */
	double comp;	       /* instructions that do not access global memory */
	double uncoal, coal;   /* uncoalesced, coalesced accesses */
	double syncs;	       /* barriers */
	double transactions;   /* of one uncoalesced access, at least 1 */
	double load_bytes;     /* that one access of a warp moves, on average; > 0 */
	double transfer_bytes; /* over PCIe, both directions */
	double memory_bytes;   /* of device memory */
	/* Other events of one warp; the power model says which and what one costs. */
	double extra[COT_MODEL_EXTRA_MAX];
	double cpu_s, cpu_w; /* on the host instead: time and whole-system power; 0: cannot */
	double call_s; /* of the launching thread, a launch of it; 0: as cot_model_launch says */
	uint32_t launches; /* that do the work, one after the other; 0: one */
	double alone_s; /* measured alone, from the first launch until its end was seen; 0: not */
	double alone_j; /* what the GPU took meanwhile, idle power included; 0: not measured */
	/* By cot_model_calibrate(): what was measured, in times what the equations say; 0: one.
	 * Where it is more, the cycles of a block that they do not know of, and that other blocks
	 * can use. */
	double factor, hidden;
};

#endif
