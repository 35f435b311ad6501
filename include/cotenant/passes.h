/*
 * How to launch what `cotenant ptx --pass` makes: the parameter that each pass appends to a
 * kernel's own ones, and the memory that it points to. For host programs in C and C++, and for
 * tests.
 *
 *   pass      new kernel            appended parameter          grid of the launch
 *   workers   NAME$cot_workers      struct cot_workers_args     args.n_workers, 1, 1
 *   slice     NAME$cot_slice        struct cot_slice_args       n_blocks of the slice, 1, 1
 *   fuse      A$cot_fuse$B          struct cot_fuse_args        args.first_blocks + the second's,
 * 1, 1 count     NAME$cot_count        uint64_t: device address of struct cot_count_row per block
 *   record    NAME$cot_record       uint64_t: device address of struct cot_record_row per block
 *
 * The parameter stands behind the kernel's own parameters, by value, aligned to 8 bytes. Block size
 * and dynamic shared memory are the original launch's (fuse: see there). When passes are applied
 * one after the other, their parameters are appended in that order.
 *
 * A task is a thread block of the original launch; its number is x + grid.x * (y + grid.y * z).
 */
#ifndef COTENANT_PASSES_H
#define COTENANT_PASSES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- workers ----
 *
 * n_workers blocks do all tasks. Worker w begins with the `chunk` tasks from first + w * chunk on,
 * without asking anybody. Then it claims: control->next += chunk, and the old value is the first of
 * its next `chunk` tasks; from n_tasks on there are none left, and it ends. Before each claim it
 * looks at control->evict, the number of capacity units (groups of `per_sm` workers: as many as fit
 * one SM) that should leave: workers w with w / per_sm < evict end instead of claiming. What they
 * would have done, the others claim; if all leave, [next, n_tasks) is left for another launch.
 * A task is done by whom it was claimed, always: nothing is saved and nothing is lost.
 *
 *     cot_workers_plan()                  fills args and a control block; copy that to the device
 *     launch, n_workers blocks            NAME$cot_workers
 *        (write control->evict while it runs: it may only grow)
 *     kernel has ended: copy the control block back
 *     cot_workers_resume()                0: nothing left. else launch again with what it filled in
 */

/* In device memory; one per launch that may run at a time. */
struct cot_workers_control {
	uint32_t next; /* first task that nobody has claimed; may pass n_tasks */
	uint32_t pad0[31];
	uint32_t evict; /* capacity units that should leave; written by the host */
	uint32_t pad1[31];
	uint32_t done;	/* tasks done by workers that ended, added up over all launches */
	uint32_t ended; /* workers that did tasks and ended, added up; counted after their tasks */
	uint32_t pad2[30];
};

/* Where the host writes to have workers leave. */
#define COT_WORKERS_EVICT_OFFSET 128

/* The appended parameter. */
struct cot_workers_args {
	uint64_t control; /* device address, a multiple of 128 */
	uint32_t grid[3]; /* of the original launch */
	uint32_t n_tasks; /* grid[0] * grid[1] * grid[2] */
	uint32_t first;	  /* the first task that is left */
	uint32_t chunk;	  /* tasks of a claim, at least 1 */
	uint32_t per_sm;  /* workers in a capacity unit, at least 1 */
	uint32_t n_workers;
	/*
	 * 1: look at evict before the last task but one of a chunk, and claim the next chunk before
	 * the last one, so that nobody waits for the answers. Workers then leave up to a chunk and
	 * a task later, and hold tasks that others could do: only for tasks of a few microseconds,
	 * and if each worker claims at least 16 times. cot_workers_plan() sets it then, if a chunk
	 * has several tasks. Kernels with nested loops have no use for it: there it is as if it
	 * were 0.
	 */
	uint32_t ahead;
	uint32_t pad;
};

/*
 * A launch from the beginning. `per_sm` is what cuOccupancyMaxActiveBlocksPerMultiprocessor says
 * for NAME$cot_workers, `quota` the number of SMs' worth of workers wanted; there are never more
 * workers than claims. chunk 0: cot_workers_chunk() without a duration. `control` is a device
 * address. -EINVAL for a zero or an unaligned control block, -ERANGE when there are too many tasks
 * to count them in 32 bits.
 */
int cot_workers_plan(const uint32_t grid[3], uint32_t per_sm, uint32_t quota, uint32_t chunk,
		     uint64_t control, struct cot_workers_args *ret_args,
		     struct cot_workers_control *ret_control);

/*
 * How many tasks to claim at a time when one takes task_ns (0: not known): some 16 us of work, but
 * at least 32 claims per worker, so that they end together.
 */
uint32_t cot_workers_chunk(uint32_t n_tasks, uint32_t n_workers, uint64_t task_ns);

/*
 * After a launch has ended: what is left, from the control block that was copied back. 0 and
 * *ret_left 0: everything is done. Otherwise args and control are made ready for a launch of the
 * rest with `quota` units (copy control to the device again). -EIO: workers that ended did not do
 * what was claimed; the launch failed.
 */
int cot_workers_resume(struct cot_workers_args *args, struct cot_workers_control *control,
		       uint32_t quota, uint32_t *ret_left);

/* ---- slice ----
 *
 * Block b of the launch is task first + b of the original grid. Slices may be launched in any order
 * if the kernel's blocks are independent.
 */
struct cot_slice_args {
	uint32_t grid[3]; /* of the original launch */
	uint32_t first;
};

/* ---- fuse ----
 *
 * Parameters: those of the first kernel, those of the second, then this. Blocks below first_blocks
 * are the first kernel's. The launch has one-dimensional blocks, of the larger of the two sizes
 * rounded up to whole warps; threads that a kernel has no use for end at once. Dynamic shared
 * memory is the larger of the two.
 */
struct cot_fuse_args {
	uint32_t first_blocks; /* first_grid[0] * first_grid[1] * first_grid[2] */
	uint32_t first_grid[3], first_block[3];
	uint32_t second_grid[3], second_block[3];
	uint32_t pad;
};

/* ---- count ----
 *
 * One row per block, by its number; zeros before the launch (rows only grow). Counted is what the
 * original kernel executes, not what the pass adds.
 */
enum cot_count_space {
	COT_COUNT_GLOBAL, /* and .const, and generic addresses: most are global */
	COT_COUNT_SHARED,
	COT_COUNT_LOCAL,
	COT_COUNT_N_SPACES,
};

struct cot_count_row {
	uint64_t thread_insns; /* instructions, once for each thread that got there */
	uint64_t warp_insns;   /* the same, once for each group of a warp's threads together */
	uint64_t read_bytes[COT_COUNT_N_SPACES];
	uint64_t written_bytes[COT_COUNT_N_SPACES]; /* an atomic reads and writes */
	uint64_t requests[COT_COUNT_N_SPACES];	    /* memory instructions, once per group */
};

/* ---- record ---- */
struct cot_record_row {
	uint64_t begin_ns, end_ns; /* %globaltimer; zeros before the launch */
	uint32_t sm;		   /* %smid at the beginning */
	uint32_t n_ends;	   /* groups of threads that have ended */
};

#ifdef __cplusplus
}
#endif

#endif
