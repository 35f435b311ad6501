/*
 * How to launch kernels that `cotenant ptx --pass` rewrote: the parameter that each pass appends to
 * the kernel's own parameters, and the memory that this parameter points to. For host programs in C
 * and C++, and for tests.
 *
 *   pass      new kernel            appended parameter          grid of the launch
 *   workers   NAME$cot_workers      struct cot_workers_args     args.n_workers, 1, 1
 *   retreat   NAME$cot_retreat      struct cot_retreat_args     blocks per SM * SMs, 1, 1
 *   slice     NAME$cot_slice        struct cot_slice_args       what cot_slice_next() says
 *   fuse      A$cot_fuse$B          struct cot_fuse_args        what cot_fuse_plan() says
 *   count     NAME$cot_count        uint64_t: device address of struct cot_count_row per block
 *   record    NAME$cot_record       uint64_t: device address of struct cot_record_row per block
 *   batch     NAME$cot_batch        instead of its own: see there
 *
 * The parameter follows the kernel's own parameters, by value, aligned to 8 bytes. Block size and
 * dynamic shared memory are those of the original launch (except for fuse, see there). If several
 * passes are applied, their parameters follow in the same order.
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
 * For every 32-bit n, n / d is (n * multiplier + addend) >> 32 >> shift, computed in 64 bits. On a
 * GPU this takes two instructions; a division takes thirty.
 * */
struct cot_divider {
	uint64_t addend;
	uint32_t multiplier, shift;
};

/* d is at least 1. */
struct cot_divider cot_divider_make(uint32_t d);

/* ---- workers ----
 *
 * n_workers blocks do all tasks. Worker w begins with the `chunk` tasks from first + w * chunk on;
 * these it need not claim. After them it claims c tasks at a time by an atomic add, control->next
 * += c: the old value is the first of the c tasks. If that is n_tasks or more, no task is left and
 * the worker ends. c is `chunk`, but smaller towards the end, so that all workers end together: at
 * most (n_tasks - the first task of the current chunk) >> tail_shift, and at least `least`.
 *
 * Before each claim a worker reads control->evict, the number of capacity units that should leave.
 * A unit is `per_sm` workers, as many as fit one SM. evict * per_sm workers end instead of
 * claiming. Each of them first adds itself to control->leaving, so that not more of them end. The
 * other workers claim the remaining tasks; if all workers leave, the tasks [next, n_tasks) are left
 * for another launch. A worker always does the tasks that it has claimed: nothing is saved and
 * nothing is lost.
 *
 * If the host sets args.n_sms to the number of SMs, only workers on the SMs with the lowest %smid
 * leave, so that other kernels find whole SMs. The number of these SMs is the one that holds evict
 * * per_sm workers if all SMs hold equally many. If these SMs hold fewer (other kernels were there
 * first), the host adds COT_WORKERS_EVICT_ANYWHERE to what it writes, and the rest leaves from any
 * SM. cot_workers_plan() sets n_sms to 0: workers leave from any SM.
 *
 * The hardware spreads a launch of fewer workers than the GPU holds over all SMs. If they are to be
 * together on whole SMs instead, cot_workers_gather() turns the plan into one of as many workers as
 * the GPU holds, of which the surplus leaves at once, from the SMs with the lowest %smid. No worker
 * has a first chunk then: `first` is n_tasks.
 *
 *     cot_workers_plan()                  fills args and a control block; copy that to the device
 *     launch, n_workers blocks            NAME$cot_workers
 *        (write control->evict while it runs: it may only grow)
 *     kernel has ended: copy the control block back
 *     cot_workers_resume()                0: nothing left. else launch again with what it filled in
 * */

/* In device memory; one per launch that may run at a time. */
struct cot_workers_control {
	uint32_t next; /* first task that no worker has claimed; may exceed n_tasks */
	uint32_t pad0[31];
	uint32_t evict;	  /* capacity units that should leave; written by the host */
	uint32_t leaving; /* workers that leave; for a moment more than should */
	uint32_t pad1[30];
	uint32_t done;	/* tasks done by workers that ended, summed over all launches */
	uint32_t ended; /* workers that ended, summed; counted after their tasks */
	uint32_t come;	/* workers that have begun and had no first chunk */
	uint32_t pad2[29];
};

/* Where in the control block the host writes to make workers leave, in bytes. */
#define COT_WORKERS_EVICT_OFFSET   128
#define COT_WORKERS_EVICT_ANYWHERE 0x80000000u

/* The appended parameter. */
struct cot_workers_args {
	uint64_t control; /* device address, a multiple of 128 */
	uint32_t grid[3]; /* of the original launch */
	uint32_t n_tasks; /* grid[0] * grid[1] * grid[2] */
	uint32_t first;	  /* the first task that is left; n_tasks: all tasks are claimed */
	uint32_t chunk;	  /* tasks per claim, at least 1 */
	uint32_t per_sm;  /* workers in a capacity unit, at least 1 */
	uint32_t n_workers;
	uint32_t begun;	     /* where the first chunks end: control->next at the beginning */
	uint32_t tail_shift; /* at most 31 */
	uint32_t least;	     /* at least 1, at most chunk */
	uint32_t n_sms;	     /* of the GPU; 0: workers leave from any SM */
	struct cot_divider by_row, by_column; /* by grid[0] and by grid[1] */
};

/*
 * Plans a launch of the whole grid. `per_sm` is the result of
 * cuOccupancyMaxActiveBlocksPerMultiprocessor for NAME$cot_workers; `quota` is the number of
 * capacity units wanted; there are never more workers than claims. `chunk` 0: as
 * cot_workers_chunk() says for an unknown duration. `control` is a device address. Returns -EINVAL
 * for a zero or an unaligned control block, -ERANGE if 32 bits cannot count the tasks.
 */
int cot_workers_plan(const uint32_t grid[3], uint32_t per_sm, uint32_t quota, uint32_t chunk,
		     uint64_t control, struct cot_workers_args *ret_args,
		     struct cot_workers_control *ret_control);

/*
 * Changes a plan, of cot_workers_plan() or _resume() (or of those in workers.h), so that its
 * workers are together on whole SMs of a GPU that has n_sms. Returns by how many units there are
 * more than planned: control->evict, which may only grow. 0: there are no fewer workers than the
 * GPU holds, or 32 bits cannot count the tasks; nothing was changed.
 */
static inline uint32_t cot_workers_gather(uint32_t n_sms, struct cot_workers_args *args,
					  struct cot_workers_control *control)
{
	uint32_t units = (args->n_workers + args->per_sm - 1) / args->per_sm;
	uint64_t all = (uint64_t)n_sms * args->per_sm;

	/* Each worker's last claim adds to `next` beyond n_tasks. */
	if (units >= n_sms || args->n_tasks + (all + 1) * args->chunk > UINT32_MAX)
		return 0;
	args->begun = args->first;
	args->first = args->n_tasks;
	args->n_workers = (uint32_t)all;
	args->n_sms = n_sms;
	control->next = args->begun;
	control->evict = n_sms - units;
	control->leaving = control->ended = control->come = 0;
	return n_sms - units;
}

/*
 * How many tasks to claim at a time if one takes task_ns (0: not known): about 24 us of work, but
 * at most a quarter of a worker's share; the whole share if it takes no longer than two such
 * claims.
 */
uint32_t cot_workers_chunk(uint32_t n_tasks, uint32_t n_workers, uint64_t task_ns);

/*
 * After a launch has ended, with the control block copied back from the device: sets *ret_left to
 * the number of tasks left. If it is not 0, args and control are ready to launch the rest with
 * `quota` units (copy control to the device again). Returns -EIO if workers that ended did not do
 * what they had claimed: the launch failed.
 */
int cot_workers_resume(struct cot_workers_args *args, struct cot_workers_control *control,
		       uint32_t quota, uint32_t *ret_left);

/* ---- retreat ----
 *
 * "Filling and retreating" (Wu et al., ICS 2015), for comparison. A launch fills all SMs with
 * blocks. A block ends at once if the kernel may not use its SM, or if `workers` blocks came to
 * this SM before it. The other blocks are workers. The tasks are divided into n_allowed * workers
 * shares: first one for each SM, then a second one, and so on. Its SM, and how many blocks came
 * there before it, determine a worker's share. Workers neither claim tasks nor leave: a task
 * belongs to an SM. If fewer workers came to an SM than planned, because other kernels were there
 * or because %smid is not the SM that the host means (as under MPS), their shares are left, and the
 * host launches them again.
 *
 *     cot_retreat_plan()                  fills args and rows; copy the rows to the device
 *     launch, blocks per SM * SMs blocks  NAME$cot_retreat
 *     kernel has ended: copy the rows back
 *     cot_retreat_left()                  0: nothing left. else plan again for what it names
 *
 * Two things differ from the paper's listing. Shares differ by one task where the listing rounds
 * down and drops the rest. The tasks of a share are consecutive, so that no list of them needs
 * padding.
 * */

/* One SM, in device memory; the index is %smid. */
struct cot_retreat_row {
	uint32_t rank;	    /* among the allowed SMs; COT_RETREAT_AWAY: not one of them */
	uint32_t n_arrived; /* blocks that came here so far, with those that retreated */
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
 * Plans a launch of n_tasks tasks from `first` on (both 0: the whole grid) on the SMs whose byte in
 * `allowed` is not zero (NULL: all). Fills in n_rows rows; `rows` is their device address. Returns
 * -EINVAL for a zero, if no SM is allowed, for tasks beyond the grid or an unaligned address;
 * -ERANGE if 32 bits cannot count the tasks or shares.
 */
int cot_retreat_plan(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
		     const uint8_t *allowed, uint32_t n_rows, uint32_t workers, uint64_t rows,
		     struct cot_retreat_args *ret_args, struct cot_retreat_row *ret_rows);

/*
 * After a launch, with the rows copied back from the device: the first range of undone tasks that
 * begins at `from` or later; *ret_n is 0 if there is none. Returns -EIO if workers that came did
 * not do their shares: the launch failed.
 */
int cot_retreat_left(const struct cot_retreat_args *args, const struct cot_retreat_row *rows,
		     uint32_t from, uint32_t *ret_first, uint32_t *ret_n);

/* ---- slice ----
 *
 * A launch does a box of the original grid: the block with the index (x, y, z) is the original's
 * block (x + first[0], y + first[1], z + first[2]). So no division is needed, and a box that is the
 * whole grid costs one addition for each index that the kernel reads. Boxes may be launched in any
 * order if the kernel's blocks are independent.
 * */
struct cot_slice_args {
	uint32_t grid[3]; /* of the original launch */
	uint32_t first[3];
};

/*
 * The next launch for a range of tasks: the largest box of at most n_tasks tasks that begins with
 * task `first`. Writes its arguments and its grid; returns its number of tasks, or 0 if there is
 * nothing to launch (n_tasks is 0, or `first` is not in the grid). In a grid of one dimension any
 * range is one box; in two dimensions a range is up to three boxes, in three up to five. In two
 * dimensions a range of whole rows is one box, in three a range of whole planes.
 */
uint32_t cot_slice_next(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
			struct cot_slice_args *ret_args, uint32_t ret_launch[3]);

/* ---- fuse ----
 *
 * Parameters: those of the first kernel, those of the second, then this one. Blocks with a number
 * below first_blocks belong to the first kernel. The launch has one-dimensional blocks: the larger
 * of the two block sizes, rounded up to whole warps. Threads that a kernel does not need end at
 * once. Dynamic shared memory is the larger of the two sizes.
 * */
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
 * Fills in the arguments and the size of the launch. Returns -EINVAL for a zero, -ERANGE if 32 bits
 * cannot count the blocks, or if a block has more than 1024 threads.
 */
int cot_fuse_plan(const uint32_t first_grid[3], const uint32_t first_block[3],
		  const uint32_t second_grid[3], const uint32_t second_block[3],
		  struct cot_fuse_args *ret_args, uint32_t *ret_n_blocks, uint32_t *ret_n_threads);

/* ---- batch ----
 *
 * Several launches of one kernel, the *instances*, in one grid: each with parameters and a grid of
 * its own, all with the same block size and dynamic shared memory. The new kernel has one
 * parameter, shape.bytes long and aligned to shape.align: a struct cot_batch_head, then the
 * instances, shape.stride bytes apart. An instance is a struct cot_batch_instance and, shape.params
 * bytes behind its beginning, the kernel's own parameters as they lie in a launch. What a kernel
 * takes depends on its parameters only, so one rewritten kernel serves any number of instances up
 * to shape.n_max, and any grids. A block finds its instance by a binary search.
 *
 *     cot_batch_shape_make()     once for a kernel
 *     cot_batch_begin()          an empty batch in `args`, shape.bytes long
 *     cot_batch_add()            for each launch
 *     launch, *n_blocks blocks   NAME$cot_batch, `args` by value
 * */
#define COT_BATCH_MAX 64u /* instances, at most */

struct cot_batch_head {
	uint32_t n;    /* instances */
	uint32_t step; /* of the search: the largest power of two below n, or 0 */
	uint32_t n_blocks;
	uint32_t pad;
};

struct cot_batch_instance {
	uint32_t first; /* the number of its first block in the grid */
	uint32_t grid[3];
	struct cot_divider by_row, by_column; /* by grid[0] and by grid[1] */
};

struct cot_batch_shape {
	uint32_t align;	 /* of the parameter: 16, or what the kernel's own parameters need */
	uint32_t at;	 /* where the first instance is */
	uint32_t params; /* where the kernel's parameters are in an instance */
	uint32_t params_bytes;
	uint32_t stride; /* from one instance to the next */
	uint32_t n_max;	 /* instances that fit, at least 2 */
	uint32_t bytes;	 /* of the new kernel's parameter */
};

/*
 * For a kernel whose parameters end after params_bytes and need the alignment (a power of two).
 * Returns -EINVAL for another alignment, -E2BIG if two instances do not fit a kernel's 4096 bytes
 * of parameters.
 */
int cot_batch_shape_make(uint32_t params_bytes, uint32_t align, struct cot_batch_shape *ret_shape);

void cot_batch_begin(const struct cot_batch_shape *shape, void *args);

/*
 * Adds a launch; `params` are params_bytes long. *ret_n_blocks is the size of the grid now. Returns
 * -EINVAL for a grid with a zero, -ENOSPC when n_max are in it, -ERANGE if 32 bits cannot count the
 * blocks; nothing was added then.
 */
int cot_batch_add(const struct cot_batch_shape *shape, void *args, const uint32_t grid[3],
		  const void *params, uint32_t *ret_n_blocks);

/* ---- count ----
 *
 * One row per block, indexed by its number; zero them before the launch (rows only grow). The rows
 * count what the original kernel executes, not what the pass adds.
 * */
enum cot_count_space {
	COT_COUNT_GLOBAL, /* also .const and generic addresses, most of which are global */
	COT_COUNT_SHARED,
	COT_COUNT_LOCAL,
	COT_COUNT_N_SPACES,
};

struct cot_count_row {
	uint64_t thread_insns; /* instructions, once for each thread that executes them */
	uint64_t warp_insns;   /* instructions, once for each group of a warp's threads that execute
				  together */
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
