/*
 * How to launch what `cotenant ptx --pass` makes: the parameter that each pass appends to a
 * kernel's own ones, and the memory that it points to. For host programs in C and C++, and for
 * tests.
 *
 *   pass      new kernel            appended parameter          grid of the launch
 *   workers   NAME$cot_workers      struct cot_workers_args     args.n_workers, 1, 1
 *   retreat   NAME$cot_retreat      struct cot_retreat_args     blocks per SM * SMs, 1, 1
 *   slice     NAME$cot_slice        struct cot_slice_args       what cot_slice_next() says
 *   fuse      A$cot_fuse$B          struct cot_fuse_args        what cot_fuse_plan() says
 *   count     NAME$cot_count        uint64_t: device address of struct cot_count_row per block
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

/* ---- division ----
 *
 * n / d for every n of 32 bits is (n * multiplier + addend) >> 32 >> shift, computed in 64 bits: on
 * a GPU two instructions, where a division takes thirty.
 */
struct cot_divider {
	uint64_t addend;
	uint32_t multiplier, shift;
};

/* d is at least 1. */
struct cot_divider cot_divider_make(uint32_t d);

/* ---- workers ----
 *
 * n_workers blocks do all tasks. Worker w begins with the `chunk` tasks from first + w * chunk on,
 * without asking anybody. Then it claims: control->next += c, and the old value is the first of its
 * next c tasks; from n_tasks on there are none left, and it ends. c is `chunk`, but less towards
 * the end, so that all end together: at most (n_tasks - the first task of the chunk at hand) >>
 * tail_shift, and at least `least`. Before each claim it
 * looks at control->evict, the number of capacity units (`per_sm` workers: as many as fit one SM)
 * that should leave: evict * per_sm workers end instead of claiming. Each counts itself in
 * control->leaving first, so that no more of them do. What they would have done, the others claim;
 * if all leave, [next, n_tasks) is left for another launch. A task is done by whom it was claimed,
 * always: nothing is saved and nothing is lost.
 *
 * If the host says in args.n_sms how many SMs there are, only those on the SMs with the lowest
 * %smid leave, on as many SMs as hold so many workers if all hold equally many: others find whole
 * SMs. If they hold fewer (other kernels were there before), the host adds
 * COT_WORKERS_EVICT_ANYWHERE to what it writes, and the rest leaves from any SM.
 * cot_workers_plan() sets 0: from any SM.
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
	uint32_t evict;	  /* capacity units that should leave; written by the host */
	uint32_t leaving; /* workers that do; for a moment more than should */
	uint32_t pad1[30];
	uint32_t done;	/* tasks done by workers that ended, added up over all launches */
	uint32_t ended; /* workers that did tasks and ended, added up; counted after their tasks */
	uint32_t pad2[30];
};

/* Where the host writes to have workers leave. */
#define COT_WORKERS_EVICT_OFFSET   128
#define COT_WORKERS_EVICT_ANYWHERE 0x80000000u

/* The appended parameter. */
struct cot_workers_args {
	uint64_t control; /* device address, a multiple of 128 */
	uint32_t grid[3]; /* of the original launch */
	uint32_t n_tasks; /* grid[0] * grid[1] * grid[2] */
	uint32_t first;	  /* the first task that is left */
	uint32_t chunk;	  /* tasks of a claim, at least 1 */
	uint32_t per_sm;  /* workers in a capacity unit, at least 1 */
	uint32_t n_workers;
	uint32_t begun;	     /* where the first chunks end: control->next at the beginning */
	uint32_t tail_shift; /* at most 31 */
	uint32_t least;	     /* at least 1, at most chunk */
	uint32_t n_sms;	     /* of the GPU; 0: not known. See above */
	struct cot_divider by_row, by_column; /* by grid[0] and by grid[1] */
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
 * How many tasks to claim at a time when one takes task_ns (0: not known): some 24 us of work, but
 * at most a quarter of a worker's share; all of the share if that takes no longer than two claims'
 * work.
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

/* ---- retreat ----
 *
 * "Filling and retreating" (Wu et al., ICS 2015), to compare with: a launch fills all SMs with
 * blocks, and those on an SM that the kernel may not use, or that are more than `workers` on one,
 * end at once. The others are workers whose tasks follow from the SM and from how many came to it
 * before: the tasks are dealt out in n_allowed * workers shares, first one for each SM, then a
 * second one, and so on. Nobody claims, and nobody leaves: a task belongs to an SM. If fewer
 * workers came to an SM than planned, because other kernels were there or because %smid is not the
 * SM that the host means (as under MPS), their shares are left, and the host launches them again.
 *
 *     cot_retreat_plan()                  fills args and rows; copy the rows to the device
 *     launch, blocks per SM * SMs blocks  NAME$cot_retreat
 *     kernel has ended: copy the rows back
 *     cot_retreat_left()                  0: nothing left. else plan again for what it names
 *
 * Two things are done otherwise than in the paper's listing: shares differ by one task where the
 * listing rounds down and drops the rest, and the tasks of a share follow each other, so that no
 * list of them has to be padded.
 */

/* One SM, in device memory; the index is %smid. */
struct cot_retreat_row {
	uint32_t rank;	    /* among the SMs that are allowed; COT_RETREAT_AWAY: not one of them */
	uint32_t n_arrived; /* blocks that came here so far, also those that retreated */
	uint32_t n_done;    /* tasks done by workers here that ended */
	uint32_t pad;
};

#define COT_RETREAT_AWAY UINT32_MAX

struct cot_retreat_args {
	uint64_t rows;	  /* device address of n_rows rows, a multiple of 16 */
	uint32_t grid[3]; /* of the original launch */
	uint32_t n_rows;  /* blocks on an SM with a higher number retreat */
	uint32_t first, n_tasks;
	uint32_t n_allowed;    /* SMs */
	uint32_t workers;      /* on each of them, at least 1 */
	uint32_t share, extra; /* tasks of a worker; the first `extra` shares have one more */
	struct cot_divider by_row, by_column; /* by grid[0] and by grid[1] */
};

/*
 * A launch of n_tasks tasks from `first` on (0 for both: all of the grid) on the SMs whose byte in
 * `allowed` is not zero (NULL: on all). n_rows rows are filled in; `rows` is their device address.
 * -EINVAL: a zero, no SM is allowed, tasks beyond the grid, or an address that is not aligned;
 * -ERANGE: too many tasks or shares to count them in 32 bits.
 */
int cot_retreat_plan(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
		     const uint8_t *allowed, uint32_t n_rows, uint32_t workers, uint64_t rows,
		     struct cot_retreat_args *ret_args, struct cot_retreat_row *ret_rows);

/*
 * After a launch, from the rows that were copied back: the first range of tasks at or behind `from`
 * that nobody has done; *ret_n 0: there is none. -EIO: workers that came did not do their shares;
 * the launch failed.
 */
int cot_retreat_left(const struct cot_retreat_args *args, const struct cot_retreat_row *rows,
		     uint32_t from, uint32_t *ret_first, uint32_t *ret_n);

/* ---- slice ----
 *
 * A launch does a box of the original grid: the block with the index (x, y, z) is the original's
 * (x + first[0], y + first[1], z + first[2]). So nothing has to be divided, and a box that is the
 * whole grid costs one addition for each index that is read. Boxes may be launched in any order if
 * the kernel's blocks are independent.
 */
struct cot_slice_args {
	uint32_t grid[3]; /* of the original launch */
	uint32_t first[3];
};

/*
 * The next launch of a slice that is a range of tasks: a box of at most n_tasks tasks that begins
 * with task `first`, as large as it can be. Its arguments and its grid; returns its number of
 * tasks, 0 when there is nothing to launch (n_tasks is 0, or first is not in the grid). Any range
 * of a grid of one row is one box, of two dimensions up to three, of three up to five; one that
 * begins and ends with a row, or a plane, is one.
 */
uint32_t cot_slice_next(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
			struct cot_slice_args *ret_args, uint32_t ret_launch[3]);

/* ---- fuse ----
 *
 * Parameters: those of the first kernel, those of the second, then this. Blocks below first_blocks
 * are the first kernel's. The launch has one-dimensional blocks, of the larger of the two sizes
 * rounded up to whole warps; threads that a kernel has no use for end at once. Dynamic shared
 * memory is the larger of the two.
 */
struct cot_fuse_side {
	uint32_t grid[3], block[3];
	struct cot_divider by_row, by_column;		  /* of the grid */
	struct cot_divider by_block_row, by_block_column; /* of the block */
};

struct cot_fuse_args {
	uint32_t first_blocks; /* of the first kernel's grid */
	uint32_t pad;
	struct cot_fuse_side first, second;
};

/*
 * Fills in the arguments and says what to launch. -EINVAL for a zero, -ERANGE when there are too
 * many blocks to count them in 32 bits, or more than 1024 threads in one.
 */
int cot_fuse_plan(const uint32_t first_grid[3], const uint32_t first_block[3],
		  const uint32_t second_grid[3], const uint32_t second_block[3],
		  struct cot_fuse_args *ret_args, uint32_t *ret_n_blocks, uint32_t *ret_n_threads);

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
