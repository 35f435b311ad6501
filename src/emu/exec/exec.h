/*
 * Executes PTX kernels on the CPU: the part of the emulated GPU that computes. It knows modules,
 * functions, memory and grids; it knows nothing of contexts, streams or time, which are the
 * driver's. docs/emulated-gpu-ptx.md says what is covered and how exact it is.
 *
 *   memory   which addresses a kernel may touch; a device address is a host address
 *   module   PTX text made ready to run: functions, and the variables of the module
 *   run      one launch of a function: its grid, arguments, progress and fault
 *
 * Threads: any number of threads may work on one run at once, and on several runs; that is how
 * blocks run in parallel. Memory is locked inside. A module is read-only after loading and has to
 * outlive its runs. There is no global state.
 */
#ifndef COT_EMU_EXEC_EXEC_H
#define COT_EMU_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_EXEC_WARP		32u
#define COT_EXEC_MAX_THREADS	1024u	      /* in a block */
#define COT_EXEC_MAX_SHARED	(227u * 1024) /* static and dynamic, per block */
#define COT_EXEC_MAX_ARGS	32764u
#define COT_EXEC_MAX_WORKERS	256u /* CPU threads in one run */
#define COT_EXEC_MAX_SMS	1024u
#define COT_EXEC_NAME_MAX	256u
#define COT_EXEC_SLICE		4096u /* warp instructions between two looks at the gate */
#define COT_EXEC_DEFAULT_TARGET 90u

/* ---- memory ---- */

struct cot_exec_ranges;

struct cot_exec_ranges *cot_exec_ranges_create(void); /* NULL when out of memory */
void cot_exec_ranges_destroy(struct cot_exec_ranges *m);

/*
 * Kernels may read and write (or only read) [address, address + bytes) from now on. The bytes must
 * be mapped in this process. -EEXIST if it overlaps another range, -EINVAL for an empty or wrapping
 * one, -ENOMEM.
 */
int cot_exec_ranges_add(struct cot_exec_ranges *m, uint64_t address, uint64_t bytes, bool writable);

/*
 * Takes a range away that was added with this address; -ENOENT otherwise. Running kernels see it
 * at their next access but one slice; the caller may unmap the bytes when none is running.
 */
int cot_exec_ranges_remove(struct cot_exec_ranges *m, uint64_t address);

/* May all of these bytes be accessed? */
bool cot_exec_ranges_valid(struct cot_exec_ranges *m, uint64_t address, uint64_t bytes, bool write);

/* ---- modules ---- */

struct cot_exec_module;
struct cot_exec_function;

struct cot_exec_param {
	uint32_t offset, size, align; /* in the buffer of arguments */
};

struct cot_exec_function_info {
	const char *name;
	const struct cot_exec_param *params;
	uint32_t n_params, args_size;
	uint32_t n_registers;	    /* 32-bit registers that a thread would need: an estimate */
	uint32_t shared_bytes;	    /* static */
	uint32_t local_bytes;	    /* per thread, without called functions */
	uint32_t max_threads;	    /* per block: .maxntid, .reqntid or COT_EXEC_MAX_THREADS */
	uint32_t required_block[3]; /* .reqntid, or zeros */
	uint32_t min_blocks_per_sm; /* .minnctapersm, or 0 */
	uint32_t n_instructions;
	bool uses_clusters; /* asks for its place in a cluster, or for memory of one */
};

struct cot_exec_variable {
	const char *name;
	uint64_t address, bytes;
	bool constant;
};

/*
 * `text` need not end with a zero. `name` is the file's name in messages (NULL: "PTX"). `target` is
 * the GPU's compute capability, such as 90; 0 means the default. The variables' memory is owned by
 * the module and is added to `m`. On failure one sentence is in *err: -EINVAL for a mistake,
 * -ENOTSUP for what is refused by name, -ENOMEM.
 */
int cot_exec_module_load(struct cot_exec_ranges *m, const char *text, size_t length,
			 const char *name, uint32_t target, struct cot_exec_module **ret_module,
			 struct cot_error *err);
void cot_exec_module_unload(struct cot_exec_module *module);

/* Kernels, in the order of the text. */
uint32_t cot_exec_module_n_functions(const struct cot_exec_module *module);
const struct cot_exec_function *cot_exec_module_function(const struct cot_exec_module *module,
							 uint32_t index);
/* NULL when there is none of that name. */
const struct cot_exec_function *cot_exec_module_find(const struct cot_exec_module *module,
						     const char *name);
/* Valid as long as the module. */
const struct cot_exec_function_info *cot_exec_function_info(const struct cot_exec_function *f);

/* Variables in .global and .const; 0 or -ENOENT. */
uint32_t cot_exec_module_n_variables(const struct cot_exec_module *module);
int cot_exec_module_variable(const struct cot_exec_module *module, uint32_t index,
			     struct cot_exec_variable *ret_variable);
int cot_exec_module_find_variable(const struct cot_exec_module *module, const char *name,
				  struct cot_exec_variable *ret_variable);

/* ---- occupancy ---- */

struct cot_exec_sm_limits {
	uint32_t max_blocks, max_warps, max_threads;
	uint32_t registers, register_unit; /* unit: granted per warp, in 32-bit registers */
	uint32_t shared_bytes, shared_unit, shared_reserved; /* reserved: per block */
};

/* Those of the compute capability (such as 90), or of the nearest one below. */
struct cot_exec_sm_limits cot_exec_sm_limits(uint32_t target);

/* How many blocks an SM holds at a time; 0 if it cannot hold one. */
uint32_t cot_exec_occupancy(const struct cot_exec_sm_limits *limits, uint32_t n_registers,
			    uint32_t shared_bytes, uint32_t n_threads);

/* ---- faults ---- */

enum cot_exec_fault_kind {
	COT_EXEC_FAULT_NONE,
	COT_EXEC_FAULT_ADDRESS,	   /* an address outside of all memory, or read-only and written */
	COT_EXEC_FAULT_MISALIGNED, /* not a multiple of the access's size */
	COT_EXEC_FAULT_SPACE,	   /* beyond shared, local or parameter memory */
	COT_EXEC_FAULT_BARRIER,	   /* threads wait for threads that can never come */
	COT_EXEC_FAULT_ASSERT,
	COT_EXEC_FAULT_TRAP,
	COT_EXEC_FAULT_STACK,	    /* calls nested too deeply, or no memory for them */
	COT_EXEC_FAULT_INSTRUCTION, /* a jump or call to no such place */
	COT_EXEC_FAULT_RACE,	    /* only with COT_EXEC_CHECK_RACES */
	COT_EXEC_FAULT_MEMORY,	    /* this machine has no memory left for the block */
	COT_EXEC_FAULT_STOPPED,	    /* the gate or cot_exec_stop() ended the run */
};

struct cot_exec_fault {
	enum cot_exec_fault_kind kind;
	char kernel[COT_EXEC_NAME_MAX];
	uint32_t block[3], thread[3];
	uint32_t line, column;	  /* in the PTX text; 0 where it makes no sense */
	uint64_t address;	  /* of memory faults */
	char text[COT_ERROR_MAX]; /* one sentence with all of this */
};

const char *cot_exec_fault_name(enum cot_exec_fault_kind kind);

/* ---- runs ---- */

struct cot_exec_run;

/* Where a worker is when it asks the gate. */
enum cot_exec_at {
	COT_EXEC_AT_BLOCK, /* about to begin a block */
	COT_EXEC_AT_SLICE, /* inside a block, about every COT_EXEC_SLICE warp instructions */
	COT_EXEC_AT_ENTER, /* a CPU thread joins the run, or comes back to it */
	COT_EXEC_AT_LEAVE, /* it leaves, or has nothing to do now; the answer is ignored */
};

/*
 * Called by every CPU thread of a run, without locks held. It may wait as long as it likes: the
 * thread does nothing meanwhile. 0 goes on; anything else ends the run (COT_EXEC_FAULT_STOPPED).
 *
 * AT_BLOCK is another kind of question: it must not wait or lock, and anything but 0 means "not
 * now". The worker then goes on with blocks that have begun; when there are none for it, it leaves
 * and enters again. So a worker that has left holds no block. When only workers that wait AT_SLICE
 * are between enter and leave, only they hold blocks that have begun.
 */
typedef int (*cot_exec_gate)(void *arg, enum cot_exec_at at);

/* Text of printf and failed assertions, whole calls at a time; one call at a time per run. */
typedef void (*cot_exec_print)(void *arg, const char *text, size_t length);

/* Memory for malloc() and free() in kernels: 0 when there is none. From any worker. */
typedef uint64_t (*cot_exec_malloc)(void *arg, uint64_t bytes);
typedef void (*cot_exec_free)(void *arg, uint64_t address);

/* What is counted, for all blocks together; complete once the run has ended. */
struct cot_exec_stats {
	uint64_t n_blocks;	 /* ended */
	uint64_t n_warp_insns;	 /* instructions executed by warps or parts of them */
	uint64_t n_thread_insns; /* the same times the threads that were there, also where a guard
				  * let them do nothing */
};

#define COT_EXEC_CHECK_RACES 0x1u /* shared and global accesses without order between them */
/*
 * Barriers that PTX leaves undefined and that a GPU may hang on: bar.sync, bar.red and other
 * aligned ones by a part of a warp, and a barrier used with and without reduction at once.
 */
#define COT_EXEC_CHECK_ALIGNED 0x2u

struct cot_exec_launch {
	const struct cot_exec_function *function;
	struct cot_exec_ranges *memory;
	uint32_t grid[3], block[3];
	uint32_t cluster[3];   /* zeros: none; more than 1 x 1 x 1 only without uses_clusters */
	uint32_t shared_bytes; /* dynamic */
	const void *args;      /* copied by cot_exec_start() */
	size_t args_size;
	uint64_t grid_id;

	/*
	 * The SMs that blocks are put on, and what %smid says: `sms` lists n_sms of them (NULL: 0,
	 * 1, ...). n_sms 0: as many as an H200 has. n_sms_gpu is %nsmid (0: n_sms). At most
	 * blocks_per_sm blocks are begun and not ended on each of them (0: what the occupancy
	 * calculator says), and all that are begun make progress in turns. A block is begun only
	 * when a CPU thread would else be idle, or the blocks begun so far have used a slice each,
	 * so memory stays small.
	 */
	const uint32_t *sms;
	uint32_t n_sms, n_sms_gpu, blocks_per_sm;
	bool cooperative;		/* -EINVAL unless all blocks fit at once */
	uint64_t cooperative_workspace; /* what %envreg1 and %envreg2 hold, high and low word */

	uint32_t checks; /* COT_EXEC_CHECK_... */

	cot_exec_gate gate; /* may be NULL, as all callbacks */
	cot_exec_print print;
	cot_exec_malloc malloc;
	cot_exec_free free;
	uint64_t (*clock_ns)(void *arg); /* %globaltimer and %clock; NULL: counts instructions */
	void *arg;			 /* of all callbacks */
};

/* Checks the launch and makes it ready; nothing runs yet. -EINVAL and one sentence, or -ENOMEM. */
int cot_exec_start(const struct cot_exec_launch *launch, struct cot_exec_run **ret_run,
		   struct cot_error *err);

enum cot_exec_state {
	COT_EXEC_MORE,	 /* the calling thread stopped because its budget is used up */
	COT_EXEC_IDLE,	 /* nothing left for this thread; others still work */
	COT_EXEC_DONE,	 /* all blocks have ended */
	COT_EXEC_FAILED, /* there is a fault */
};

/*
 * The calling thread works on the run for about `budget` warp instructions (0: until there is
 * nothing left for it). For drivers that share their own threads between runs.
 */
enum cot_exec_state cot_exec_work(struct cot_exec_run *run, uint64_t budget);

/* Works on the run with n_threads threads (the caller's and new ones) until it has ended. */
enum cot_exec_state cot_exec_run(struct cot_exec_run *run, uint32_t n_threads);

/* Ends a run from any thread; those that work on it return soon. */
void cot_exec_stop(struct cot_exec_run *run);

/*
 * The seeded schedule: the calling thread alone, in an order of blocks and warps, and with switches
 * after a number of instructions, that only the seed decides. `hook` is called between two steps,
 * may be NULL, and ends the run by returning non-zero. All blocks that fit on the SMs (at most
 * max_blocks, 0: 64) are mixed. The gate is not asked.
 */
typedef int (*cot_exec_hook)(void *arg, uint64_t step);
enum cot_exec_state cot_exec_run_seeded(struct cot_exec_run *run, uint64_t seed,
					uint32_t max_blocks, cot_exec_hook hook, void *arg);

/* Valid once work() or run() has said DONE or FAILED. NULL: no fault. */
const struct cot_exec_fault *cot_exec_run_fault(const struct cot_exec_run *run);
struct cot_exec_stats cot_exec_run_stats(struct cot_exec_run *run);

/* No thread may be working on it. Takes NULL. */
void cot_exec_destroy(struct cot_exec_run *run);

#endif
