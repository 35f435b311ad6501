/*
 * How fast kernels run beside each other: a fluid model of issue slots and memory bandwidth. It
 * knows instructions per cycle, not single instructions, and costs the same however many warps
 * there are. Pure: the same input gives the same bits on every machine (+ - * / only).
 *
 * A warp issues an instruction, then waits `cpi` cycles, and with probability `mem_fraction` for
 * memory, whose latency rises with its load. So n warps alone issue n / (cpi + mem_fraction *
 * latency / mlp) instructions per cycle, unless the issue slots of the SM, its units, its port to
 * memory or the memory itself have less to give:
 *
 *   issue slots   all warps on the SM wait equally long for one (a queue)
 *   units         of a kernel that needs some of which there are few (ipc_max)
 *   its own       of a kernel that all SMs together do not make faster (gpu_ipc_max): each SM has
 *                 the part of the kernel's warps that it has
 *   SM's port     the kernels on the SM share it max-min fairly
 *   memory        latency rises until all together want what there is; so the kernels' shares are
 *                 as the accesses that they have under way. If latency has risen to its most
 *                 (load_max) and they still want more, they and transfers share it max-min fairly
 */
#ifndef COT_SIM_FLUID_H
#define COT_SIM_FLUID_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/scenario.h"

/* A kernel on an SM. */
struct cot_fluid_lane {
	const struct cot_kernel_work *work;
	double warps;	/* that may run */
	double own_max; /* the solver's own: its part of gpu_ipc_max */
	double stall;	/* part of its rate that it can have for other reasons, 0 to 1 */
	bool halted;	/* may issue nothing now */
	bool capped;	/* the solver's own */
	double penalty; /* its traffic grows by this factor, >= 1 */
	/* set by cot_fluid_solve() */
	double rate;	   /* warp instructions per cycle */
	double inst_bytes; /* to or from memory, per instruction */
	double idle_warps; /* that could issue but get no slot, on average */
};

/* So many SMs with the same on them. */
struct cot_fluid_group {
	uint32_t n_sms, n_lanes;
	struct cot_fluid_lane *lanes;
};

/* Something else that uses memory: a transfer, a context being saved. Bytes per cycle. */
struct cot_fluid_flow {
	double demand;
	double rate; /* set by cot_fluid_solve() */
};

struct cot_fluid {
	double issue_width, sm_bytes_per_cycle, dram_bytes_per_cycle, queueing;
	double load_max; /* latency rises until this load; 0: COT_GPU_LOAD_MAX */
	struct cot_fluid_group *groups;
	uint32_t n_groups;
	struct cot_fluid_flow *flows;
	uint32_t n_flows;
	/* set by cot_fluid_solve() */
	double latency_factor; /* 1: memory is idle */
	double demand;	  /* of all at that latency, bytes per cycle: may exceed what there is */
	double dram_rate; /* bytes per cycle moved */
};

/* The constants of a GPU; groups and flows are empty. */
void cot_fluid_init(struct cot_fluid *f, const struct cot_gpu *gpu);

void cot_fluid_solve(struct cot_fluid *f);

#endif
