/*
 * Persistent workers by hand: for authors of CUDA C++ kernels that share the GPU by themselves, so
 * that `cotenant ptx` or `cotenant run` need not rewrite them. The control block, the parameter and
 * the protocol are those of cotenant/passes.h ("workers"), so a host treats both kinds alike.
 * Header only: the same file serves the kernel (nvcc, or clang with or without the CUDA toolkit)
 * and the host program (C11 or C++).
 *
 * In the kernel, a loop over tasks replaces the grid, and task.x, y, z replace blockIdx:
 *
 *     extern "C" __global__ void scale(float *x, int n, struct cot_workers_args workers)
 *     {
 *         struct cot_workers_task task = cot_workers_begin(workers);
 *
 *         while (cot_workers_next(workers, task)) {
 *             int i = task.x * blockDim.x + threadIdx.x;
 *
 *             if (i < n)
 *                 x[i] *= 2.0f;
 *         }
 *     }
 *
 * All threads of the block go through the loop together: cot_workers_next() is a barrier. No thread
 * may return from within the loop. A thread with nothing to do in a task may `continue` only if the
 * other threads wait at no barrier in the rest of that task.
 *
 * On the host:
 *
 *     cot_workers_share(grid, per_sm, units, chunk, control, &args, &block);
 *     do {
 *         copy block to control; launch args.n_workers blocks, args as the last parameter
 *         (while it runs: cuStreamWriteValue32 on another stream to control +
 *          COT_WORKERS_EVICT_OFFSET, "so many units should leave"; it may only grow)
 *         wait; copy control to block
 *         cot_workers_rest(&args, &block, units, &left);
 *     } while (left);
 *
 * After either plan cot_workers_gather() of cotenant/passes.h may be called, so that the workers
 * are together on whole SMs and do not lie on all of them. Compile the kernel for PTX 6.3 or later
 * then (nvcc of CUDA 10 or later does; for clang say -Xclang -target-feature -Xclang +ptx63
 * -DCOT_WORKERS_PTX63): otherwise workers that leave hardly wait for the others to come, and some
 * of those stay on other SMs.
 *
 * In a program that was started with a share, cot_share_launch_workers() of cotenant/share.h does
 * that instead, as the daemon says.
 *
 * per_sm is the kernel's occupancy as the driver reports it. A unit is per_sm workers: as many as
 * fit one SM, wherever they run. For kernels that `cotenant ptx` rewrote use cot_workers_plan()
 * instead, which fills in more than such a loop needs.
 */
#ifndef COTENANT_WORKERS_H
#define COTENANT_WORKERS_H

#include <stdbool.h>

#include "cotenant/passes.h"

/* ---- in a kernel ---- */

#if defined(__CUDACC__) || defined(__CUDA__)

#if defined(__clang__)
#define COT_WORKERS_DEVICE static inline __attribute__((device, always_inline))
#define COT_WORKERS_SHARED __attribute__((shared))
#define COT_WORKERS_BLOCK  ((uint32_t)__nvvm_read_ptx_sreg_ctaid_x())
#define COT_WORKERS_LEADS                                                \
	(!(__nvvm_read_ptx_sreg_tid_x() | __nvvm_read_ptx_sreg_tid_y() | \
	   __nvvm_read_ptx_sreg_tid_z()))
#define COT_WORKERS_SM	       ((uint32_t)__nvvm_read_ptx_sreg_smid())
#define COT_WORKERS_ADD(at, n) ((uint32_t)__nvvm_atom_add_gen_i((int *)(at), (int)(n)))
#define COT_WORKERS_MEET()     __syncthreads()
#else
#define COT_WORKERS_DEVICE     static __device__ __forceinline__
#define COT_WORKERS_SHARED     __shared__
#define COT_WORKERS_BLOCK      blockIdx.x
#define COT_WORKERS_LEADS      (!(threadIdx.x | threadIdx.y | threadIdx.z))
#define COT_WORKERS_SM	       cot_workers_sm()
#define COT_WORKERS_ADD(at, n) atomicAdd((unsigned *)(at), (unsigned)(n))
#define COT_WORKERS_MEET()     __syncthreads()
#endif

#if defined(COT_WORKERS_PTX63) || defined(__CUDACC_VER_MAJOR__)
#define COT_WORKERS_PAUSE() asm volatile("nanosleep.u32 500;")
#else
#define COT_WORKERS_PAUSE() ((void)0)
#endif

/* The current task. It is the same in all threads of a block. */
struct cot_workers_task {
	uint32_t x, y, z; /* what blockIdx is in a grid of all tasks */
	uint32_t id;	  /* x + grid[0] * (y + grid[1] * z) */
	uint32_t left;	  /* tasks of the chunk that are left, with the next one */
	uint32_t n_done;  /* tasks done by this worker, with the current one */
};

COT_WORKERS_DEVICE void cot_workers_place(const struct cot_workers_args &args,
					  struct cot_workers_task &task)
{
	task.x = task.id;
	task.y = task.z = 0;
	if (args.grid[1] * args.grid[2] == 1)
		return;
	task.x = task.id % args.grid[0];
	task.y = task.id / args.grid[0];
	if (args.grid[2] == 1)
		return;
	task.z = task.y / args.grid[1];
	task.y = task.y % args.grid[1];
}

/* The worker's first chunk. Workers do not claim first chunks. */
COT_WORKERS_DEVICE struct cot_workers_task cot_workers_begin(const struct cot_workers_args &args)
{
	struct cot_workers_task task = {};

	task.id = args.first + COT_WORKERS_BLOCK * args.chunk;
	if (task.id < args.n_tasks)
		task.left =
			args.n_tasks - task.id < args.chunk ? args.n_tasks - task.id : args.chunk;
	task.id--;
	return task;
}

#if !defined(__clang__)
COT_WORKERS_DEVICE uint32_t cot_workers_sm(void)
{
	uint32_t sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
}
#endif

/* Whether this worker should leave. */
COT_WORKERS_DEVICE bool cot_workers_leaves(const struct cot_workers_args &args,
					   struct cot_workers_control *control)
{
	uint32_t evict = *(volatile uint32_t *)&control->evict;
	uint32_t n = evict & ~COT_WORKERS_EVICT_ANYWHERE;

	if (!evict)
		return false;
	n = n < args.n_workers ? n * args.per_sm : args.n_workers;
	n = n < args.n_workers ? n : args.n_workers;
	/* Only workers on the first SMs leave: as many SMs as hold n workers. */
	if (args.n_sms && !(evict & COT_WORKERS_EVICT_ANYWHERE) && n < args.n_workers &&
	    COT_WORKERS_SM > (n * args.n_sms - 1) / args.n_workers)
		return false;
	if (COT_WORKERS_ADD(&control->leaving, 1) < n)
		return true;
	COT_WORKERS_ADD(&control->leaving, -1);
	return false;
}

/*
 * Who leaves without having done a task waits a while until all have come: otherwise the next block
 * of this launch comes in its place, and not to the SMs that are to be filled.
 */
COT_WORKERS_DEVICE void cot_workers_linger(const struct cot_workers_args &args,
					   volatile struct cot_workers_control *control)
{
	uint32_t looks = 16;

	while (looks-- && control->come < args.n_workers && !control->ended)
		COT_WORKERS_PAUSE();
}

/*
 * Called by one thread of a worker that has done n_done tasks. Claims the next chunk; 0 if the
 * worker should leave or no task is left.
 */
COT_WORKERS_DEVICE uint32_t cot_workers_claim(const struct cot_workers_args &args, uint32_t n_done,
					      uint32_t *ret_id)
{
	struct cot_workers_control *control = (struct cot_workers_control *)args.control;

	if (!n_done)
		COT_WORKERS_ADD(&control->come, 1);
	if (cot_workers_leaves(args, control)) {
		if (!n_done)
			cot_workers_linger(args, control);
		return 0;
	}
	*ret_id = COT_WORKERS_ADD(&control->next, args.chunk);
	if (*ret_id >= args.n_tasks)
		return 0;
	return args.n_tasks - *ret_id < args.chunk ? args.n_tasks - *ret_id : args.chunk;
}

/*
 * Goes on to the next task; false if there is none, and the kernel ends. All threads of the block
 * must call it. A worker always does what it has claimed, so nothing is lost when workers leave.
 */
COT_WORKERS_DEVICE bool cot_workers_next(const struct cot_workers_args &args,
					 struct cot_workers_task &task)
{
	/* volatile: clang assumes otherwise that a barrier cannot change it. */
	static volatile COT_WORKERS_SHARED uint32_t chunk[2]; /* first task, number of tasks */
	struct cot_workers_control *control;
	uint32_t id = 0;

	COT_WORKERS_MEET(); /* all threads have done the last task and have read `chunk` */
	if (!task.left) {
		if (COT_WORKERS_LEADS) {
			chunk[1] = cot_workers_claim(args, task.n_done, &id);
			chunk[0] = id;
		}
		COT_WORKERS_MEET();
		task.id = chunk[0] - 1;
		task.left = chunk[1];
	}
	if (!task.left) {
		if (COT_WORKERS_LEADS) {
			control = (struct cot_workers_control *)args.control;
			COT_WORKERS_ADD(&control->done, task.n_done);
			COT_WORKERS_ADD(&control->ended, 1);
		}
		return false;
	}
	task.id++;
	task.left--;
	task.n_done++;
	cot_workers_place(args, task);
	return true;
}

#undef COT_WORKERS_DEVICE
#undef COT_WORKERS_SHARED
#undef COT_WORKERS_BLOCK
#undef COT_WORKERS_LEADS
#undef COT_WORKERS_SM
#undef COT_WORKERS_ADD
#undef COT_WORKERS_MEET
#undef COT_WORKERS_PAUSE

#endif

/* ---- on the host ---- */

#if !defined(__CUDA_ARCH__)

#include <string.h>

/* Sets n_workers: as many as `units` allow, but not more than chunks. false: 32 bits overflow. */
static inline bool cot_workers_choose(struct cot_workers_args *a, uint32_t units)
{
	uint32_t left = a->n_tasks - a->first, chunks = left / a->chunk + (left % a->chunk != 0);
	uint64_t workers = (uint64_t)units * a->per_sm;

	a->n_workers = workers < chunks ? (uint32_t)workers : chunks ? chunks : 1;
	/* Every worker's last claim adds to `next` beyond n_tasks: the sum must not wrap around. */
	return (uint64_t)a->n_tasks + ((uint64_t)a->n_workers + 1) * a->chunk <= UINT32_MAX;
}

/*
 * Plans a launch of the whole grid with at most `units` units of workers, which claim `chunk` tasks
 * at a time (some 10 to 20 us of work; 0: a 32nd of a worker's share, at most 4). `control` is the
 * device address, a multiple of 128, where the caller copies ret_control to. Returns false for a
 * zero or an unaligned address, and if 32 bits cannot count the tasks.
 */
static inline bool cot_workers_share(const uint32_t grid[3], uint32_t per_sm, uint32_t units,
				     uint32_t chunk, uint64_t control,
				     struct cot_workers_args *ret_args,
				     struct cot_workers_control *ret_control)
{
	uint64_t plane = (uint64_t)grid[0] * grid[1];
	struct cot_workers_args a;
	uint64_t share;

	if (!plane || !grid[2] || !per_sm || !units || control % 128 || plane > UINT32_MAX ||
	    plane * grid[2] > UINT32_MAX)
		return false;
	memset(&a, 0, sizeof(a));
	a.control = control;
	a.grid[0] = grid[0];
	a.grid[1] = grid[1];
	a.grid[2] = grid[2];
	a.per_sm = per_sm;
	a.n_tasks = (uint32_t)(plane * grid[2]);
	share = a.n_tasks / ((uint64_t)units * per_sm * 32);
	a.chunk = chunk ? chunk : share > 4 ? 4 : share ? (uint32_t)share : 1;
	if (!cot_workers_choose(&a, units))
		return false;
	*ret_args = a;
	memset(ret_control, 0, sizeof(*ret_control));
	ret_control->next = a.n_workers * a.chunk;
	return true;
}

/*
 * After a launch has ended, with the control block copied back from the device: sets *ret_left to
 * the number of tasks left. If it is not 0, args and control are ready for another launch of
 * `units`. Returns false if the workers did not do what they had claimed: the launch failed.
 */
static inline bool cot_workers_rest(struct cot_workers_args *args,
				    struct cot_workers_control *control, uint32_t units,
				    uint32_t *ret_left)
{
	uint32_t claimed = control->next < args->n_tasks ? control->next : args->n_tasks;

	if (!units || control->done != claimed)
		return false;
	*ret_left = args->n_tasks - claimed;
	if (!*ret_left)
		return true;
	args->first = claimed;
	if (!cot_workers_choose(args, units))
		return false;
	control->next = args->first + args->n_workers * args->chunk;
	control->evict = control->leaving = 0;
	return true;
}

#endif

#endif
