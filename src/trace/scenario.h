/*
 * A scenario: one GPU, one scheduler, the applications that share it and what each of them does.
 * This is the resolved form that the simulator reads; it is immutable once built and may be shared
 * by any number of simulations in any threads. scenario_read.h makes one from YAML.
 *
 * Times are picoseconds (`_ps`), bandwidths bytes per second, sizes bytes (KB = 1024 B, GB/s = 1e9
 * B/s as in the paper's Table 1: Tanasic et al., "Enabling Preemptive Multiprogramming on GPUs").
 */
#ifndef COT_TRACE_SCENARIO_H
#define COT_TRACE_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/words.h"

#define COT_MAX_APPS		32 /* one hardware command queue each (Hyper-Q has 32) */
#define COT_MAX_SMS		1024
#define COT_MAX_BLOCKS_PER_SM	64
#define COT_MAX_SHMEM_CONFIGS	16
#define COT_MAX_STEPS		65536 /* of one program, loops unrolled */
#define COT_MAX_KERNELS		1024  /* of one program */
#define COT_MAX_BLOCKS		(1u << 31)
#define COT_MAX_LAUNCHES	1000000u
#define COT_NAME_MAX		64
#define COT_KERNEL_BLOCK_US_MAX 1e9

/* What a GPU draws, for studies of power gating; all of it at the scenario's clock. */
struct cot_gpu_power {
	double base_w;		/* whatever the SMs do */
	double gated_w, idle_w; /* of one SM without power, and of one without blocks */
	double active_w;	/* of one SM with resident blocks, stalled or not */
	double inst_nj;		/* of one warp instruction */
	double dram_pj_per_bit; /* moved to or from memory */
	uint32_t wake_cycles;	/* until a gated SM works; it costs as many cycles of idle_w more */
};

struct cot_gpu {
	char name[COT_NAME_MAX];
	uint32_t n_sms;
	uint32_t clock_mhz;
	uint64_t dram_bytes_per_s;
	uint32_t regs_per_sm; /* 32-bit registers */
	uint32_t n_shmem_configs;
	uint32_t shmem_config_bytes[COT_MAX_SHMEM_CONFIGS]; /* ascending; the last is the most */
	uint32_t blocks_per_sm;				    /* thread-block slots */
	uint32_t threads_per_sm;
	uint64_t pcie_bytes_per_s; /* each direction */
	uint64_t pcie_latency_ps;
	uint64_t trap_ps;  /* pipeline drain before a context is saved */
	uint64_t setup_ps; /* to make an SM ready for another kernel */
	/* Least time that a switch between contexts takes when it interrupts one; the scheduler
	 * `timeslice` pays it. 0 = only what moving the contexts of blocks takes. */
	uint64_t switch_ps;
	uint64_t resume_ps; /* the same for one that finds no other at work, but was not the last */
	/* For kernels that say what they do (struct cot_kernel_work); see sim/fluid.h. */
	double issue_width;	   /* warp instructions per cycle of one SM */
	double sm_bytes_per_cycle; /* between one SM and memory */
	double dram_efficiency;	   /* what programs can have of dram_bytes_per_s, 0 to 1 */
	double queueing;	   /* how fast latency rises with the load of memory */
	double load_max;	   /* until this load; 0: COT_GPU_LOAD_MAX */
	double share_penalty;	   /* what traffic grows by where others use an SM's cache */
	double share_stall; /* part of its rate that a kernel loses where others use an SM, 0 to 1
			     */
	struct cot_gpu_power power;
};

/*
 * What the thread blocks of a kernel do, so that the simulator can say how fast they go beside
 * others. insts 0: unknown, the kernel is known by its time alone and nothing slows it down.
 */
struct cot_kernel_work {
	uint64_t insts;	     /* warp instructions of one block */
	uint32_t warps;	     /* of one block */
	double cpi;	     /* cycles from one instruction of a warp to its next; >= 1 */
	double mem_fraction; /* of the instructions that go to memory, 0 to 1 */
	double dram_bytes;   /* moved by each of these, behind the caches */
	double latency;	     /* cycles of one of these when memory is idle */
	double mlp;	     /* how many of these a warp has in flight; >= 1 */
	double ipc_max;	     /* what the units that it needs do on an SM; 0: whatever is issued */
	double gpu_ipc_max;  /* what all its blocks do together at most; 0: as many as they can */
};

struct cot_kernel {
	char name[COT_NAME_MAX];
	uint32_t n_blocks;
	uint32_t blocks_per_sm; /* resident at most, on the scenario's GPU */
	uint64_t block_ps; /* one block's time, mean; with `work`, at one instruction per cycle */
	uint32_t regs_per_block;      /* 32-bit registers */
	uint32_t shmem_per_block;     /* bytes */
	uint32_t ctx_bytes_per_block; /* 4 * regs + shared memory: what a context switch saves */
	struct cot_kernel_work work;
	bool machine_code; /* as in libraries: it is not rewritten with its program's others */
};

enum cot_step_kind {
	COT_STEP_CPU,	 /* the CPU computes for cpu_ps */
	COT_STEP_H2D,	 /* copy `bytes` to the GPU, in queue order; the program waits */
	COT_STEP_D2H,	 /* copy `bytes` from the GPU, in queue order; the program waits */
	COT_STEP_KERNEL, /* enqueue `launches` launches of kernel `kernel`; does not wait */
	COT_STEP_SYNC,	 /* wait until everything enqueued is done */
};

struct cot_step {
	enum cot_step_kind kind;
	uint32_t kernel;   /* index into the program's kernels */
	uint32_t launches; /* >= 1 */
	uint64_t cpu_ps;
	uint64_t bytes;
};

/* A program does at least one thing that takes time. Its end is an implicit sync. */
struct cot_program {
	const struct cot_step *steps;
	uint32_t n_steps;
	const struct cot_kernel *kernels;
	uint32_t n_kernels;
};

#define COT_TOKENS_EQUAL (-1)

/* A promise to an application (cudaSetQoS of SMQoS); both 0: none. */
struct cot_qos {
	char kernel[COT_NAME_MAX]; /* whose instructions count; empty: all kernels of the app */
	double ipc;		   /* warp instructions per cycle of the whole GPU, on average */
	double percent; /* of what it reaches alone; the front end turns that into `ipc` */
};

#define COT_CURVE_MAX 48

enum cot_gaps {
	COT_GAPS_RANDOM, /* exponentially distributed: a Poisson process */
	COT_GAPS_EVEN,
	COT_GAPS_AFTER, /* random ones, each from the answer before: a closed loop */
};

/*
 * Requests that come whether the application is ready or not; each is one run of its program, one
 * at a time, in order of arrival. per_s 0: none, a run begins when the one before has ended.
 */
struct cot_arrivals {
	double per_s; /* mean rate; the curve multiplies it */
	enum cot_gaps gaps;
	uint64_t on_ps, off_ps; /* mean lengths of bursts and of the pauses between; both 0: none */
	uint32_t n_curve;	/* 0: the rate is always the same */
	double curve[COT_CURVE_MAX]; /* one after the other, curve_step_ps each, and again */
	uint64_t curve_step_ps;
	double size_cv; /* of the requests: of how much longer their thread blocks take; mean 1 */
};

#define COT_SIZES_MAX 32
#define COT_SIZE_MAX  1000000u

#define COT_POOL_COST_MAX 1000u

struct cot_app {
	char name[COT_NAME_MAX];
	int32_t priority; /* larger is more important */
	int32_t tokens;	  /* DSS budget in SMs, or COT_TOKENS_EQUAL */
	uint32_t context; /* apps with equal numbers share one GPU context; < n_apps */
	uint64_t start_ps;
	enum cot_class cls;
	uint32_t weight;	/* 1 to COT_WEIGHT_MAX; 0 means COT_WEIGHT_DEFAULT */
	bool solo;		/* keeps a context of its own where a policy makes pools */
	uint32_t pool_cost_pct; /* so much longer its kernels with a known time take in a pool */
	bool pooled;		/* it is in one: a host of a policy says so */
	struct cot_qos qos;
	/* Longest thread block, for the policy; 0 = not known, as for most real programs. */
	uint32_t block_hint_us;
	/* Its kernels are rewritten, so that a policy can say how many SMs they get: with `rewrite`
	 * or one of these. */
	struct cot_share quota, reserve;
	bool rewrite;
	struct cot_share sms;	  /* of the GPU, for all its kernels; for the policy */
	struct cot_target target; /* for the policy */
	struct cot_arrivals arrivals;
	/* How large the inputs of its runs are: each draws one of these. The program is that of an
	 * input of full_size; of a smaller one kernels have as many thread blocks less, and copies
	 * as many bytes. n_sizes 0: all runs are equal. */
	uint32_t n_sizes;
	uint32_t sizes[COT_SIZES_MAX];
	uint32_t full_size; /* not less than any of them */
	struct cot_program program;
};

/* As many of `n` things (2^40 at most) as an input of `size` needs. */
static inline uint64_t cot_size_scaled(uint64_t n, uint32_t size, uint32_t full_size)
{
	if (COT_LIKELY(size == full_size))
		return n;
	return (n * size + full_size - 1) / full_size;
}

/* All runs have this input from now on; without sizes nothing changes. */
static inline void cot_app_set_size(struct cot_app *app, uint32_t size)
{
	if (!app->n_sizes)
		return;
	app->n_sizes = 1;
	app->sizes[0] = size;
}

/* What rewritten kernels cost. */
struct cot_workers {
	uint64_t grant_ps; /* until a kernel that may begin does */
	uint64_t evict_ps; /* until workers that should leave know it */
	double overhead;   /* of their thread blocks' time, as a part of it */
};

#define COT_WORKERS_GRANT_US 20
#define COT_WORKERS_EVICT_US 20

#define COT_EPOCH_CYCLES_DEFAULT 10000u

enum cot_preempt { COT_PREEMPT_SWITCH, COT_PREEMPT_DRAIN };
enum cot_transfer_order { COT_TRANSFERS_FCFS, COT_TRANSFERS_PRIORITY };
enum cot_dispatch { COT_DISPATCH_DEPTH, COT_DISPATCH_BREADTH };

struct cot_scenario {
	struct cot_gpu gpu;
	char scheduler[COT_NAME_MAX]; /* a name known to hw_sched_find() */
	enum cot_preempt preempt;
	enum cot_transfer_order transfers;
	enum cot_dispatch dispatch;
	uint64_t seed;
	double block_jitter_cv; /* coefficient of variation of block times; 0 = all equal */
	uint64_t quantum_ps;	/* time slicing */
	/* Kernels that say what they do: how often rates are measured and decided upon, and by how
	 * much the rate of an application varies from epoch to epoch. */
	uint32_t epoch_cycles; /* 0 means COT_EPOCH_CYCLES_DEFAULT */
	double rate_noise;
	uint32_t qos_batch_sms; /* that a task with a goal leaves to a batch task */
	double qos_threshold;	/* of SMQoS; 0 means COT_SMQOS_THRESHOLD */
	uint32_t stop_runs;	/* every app completes this many runs; 0 = no such rule */
	uint64_t stop_ps;	/* stop at this time; 0 = no such rule. One of the two is set */
	/* A software policy over `timeslice`, known to cot_policy_find(); empty = none. */
	char policy[COT_NAME_MAX];
	uint32_t batch_sms; /* that `parts` leaves to batch programs; 0 = as the policy has it */
	struct cot_workers workers;
	uint32_t n_apps;
	struct cot_app apps[COT_MAX_APPS];
};

#endif
