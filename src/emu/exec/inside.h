/*
 * Inside the interpreter: modules as instructions that are ready to run, and the state of blocks
 * and warps. Private to src/emu/exec.
 *
 * Registers lie in rows, one element per lane, so that one instruction is one loop over 32
 * elements. A row is named by a *reference*: a byte offset, whose two low bits say what it is
 * relative to. A predicate's row is one word with a bit per lane.
 *
 * A warp consists of *groups* of lanes that are at the same place. A branch that splits a group
 * makes a *join*: the place (the immediate post-dominator) where its parts wait for each other. A
 * call makes a join, too: the return. Parts that are ready run in turns, and those that have waited
 * long at a join go on without the others: every lane makes progress, so lanes may wait for each
 * other in loops.
 *
 *      group {0..31} --- @p bra ---+-- group {0..7}  --+-- arrive at the join -- group {0..31}
 *                                  +-- group {8..31} --+
 */
#ifndef COT_EMU_EXEC_INSIDE_H
#define COT_EMU_EXEC_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/rng.h"
#include "emu/exec/exec.h"
#include "emu/exec/ranges.h"

#define LANES	   COT_EXEC_WARP
#define ALL_LANES  0xffffffffu
#define N_BARRIERS 16u
#define NOWHERE	   UINT32_MAX /* of a place in the code */

/* Generic addresses beyond what a process can have: windows on the other spaces. */
#define WINDOW_SHARED	0x0001800000000000ull
#define WINDOW_LOCAL	0x0001900000000000ull
#define WINDOW_PARAM	0x0001a00000000000ull
#define WINDOW_FUNCTION 0x0001b00000000000ull
#define WINDOW_BYTES	0x0000100000000000ull
#define FUNCTION_STEP	16u /* between the addresses of two functions */

/* Bounds of what recursion may take. */
#define MAX_FRAMES	64u
#define MAX_REG_BYTES	(8u << 20)   /* per warp */
#define MAX_LOCAL_BYTES (512u << 10) /* per thread, as on the real GPU */
#define MAX_JOINS	4096u

/*
 * Instructions after which lanes at a join wait no longer for the others. Others that use atomics
 * or volatile accesses may well be waiting for them.
 */
#define PATIENCE       16384u
#define SHORT_PATIENCE 1024u

struct cot_exec_warp;
struct cot_exec_insn;

/* What an instruction did to the flow of its group. */
enum cot_exec_flow {
	FLOW_NEXT,   /* nothing */
	FLOW_JUMP,   /* the group goes on at group->pc, maybe with other lanes */
	FLOW_SWITCH, /* the group waits, or is gone */
	FLOW_YIELD,  /* the group goes on later: others may have something better to do */
	FLOW_FAULT,  /* the run is over */
};

/* `m` are the lanes that take part: never none. */
typedef enum cot_exec_flow (*cot_exec_fn)(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					  uint32_t m);

/* ---- references ---- */

typedef uint32_t cot_exec_ref;

enum { BASE_FRAME, BASE_CONST, BASE_WARP, BASE_RUN, N_BASES };

/* Rows that every warp has, at BASE_WARP. */
enum {
	WARP_TID, /* x, y, z */
	WARP_CTAID = WARP_TID + 3,
	WARP_WARPID = WARP_CTAID + 3,
	WARP_SMID,
	N_WARP_ROWS,
};

/* Rows that are the same for the whole run, at BASE_RUN. */
enum {
	RUN_NTID,
	RUN_NCTAID = RUN_NTID + 3,
	RUN_LANEID = RUN_NCTAID + 3,
	RUN_NWARPID,
	RUN_NSMID,
	RUN_MASK_EQ,
	RUN_MASK_LE,
	RUN_MASK_LT,
	RUN_MASK_GE,
	RUN_MASK_GT,
	RUN_TOTAL_SMEM,
	RUN_DYNAMIC_SMEM,
	RUN_ENVREG1,
	RUN_ENVREG2,
	RUN_ZERO,
	RUN_ONE,
	RUN_GRIDID, /* 64 bits: two rows */
	N_RUN_ROWS = RUN_GRIDID + 2,
};

#define ROW_BYTES	     (LANES * 4u)
#define ROW_REF(base, index) ((cot_exec_ref)((index)*ROW_BYTES | (base)))

/* ---- instructions ---- */

enum {			      /* insn.flags */
       INSN_ADDRESS64 = 1,    /* memory: the base is a 64-bit row */
       INSN_WRITES = 2,	      /* memory */
       INSN_FRAME = 4,	      /* memory: relative to the function's local memory */
       INSN_ACQUIRE = 8,      /* memory: a fence after it, ... */
       INSN_RELEASE = 16,     /* ... a fence before it */
       INSN_STRONG = 32,      /* memory: volatile, relaxed, atomic: no race */
       INSN_NOT_COUNTED = 64, /* made by us: no instruction of the program */
};

enum cot_exec_space { /* insn.space of memory instructions */
		      MEM_GLOBAL,
		      MEM_GENERIC,
		      MEM_SHARED,
		      MEM_LOCAL,
		      MEM_ARGS, /* the kernel's parameters */
};

struct cot_exec_insn {
	cot_exec_fn fn;
	cot_exec_ref dst, a, b, c;
	cot_exec_ref guard; /* predicate, or NOWHERE */
	uint8_t guard_not;  /* take part where it is false */
	uint8_t flags;
	uint8_t space;
	uint8_t n; /* elements, bytes, a variant: what the handler says */
	int64_t imm;
	cot_exec_ref d, e;
};

/* How a value is handed over at a call. */
struct cot_exec_formal {
	cot_exec_ref row; /* a register; NOWHERE: memory of the frame */
	uint32_t offset;  /* in the function's local memory */
	uint32_t bytes;
};

struct cot_exec_function {
	struct cot_exec_function_info info;
	struct cot_exec_module *module;
	bool entry;
	uint32_t pc;	    /* of the first instruction; NOWHERE: not defined here */
	uint32_t builtin;   /* enum cot_exec_builtin */
	uint32_t reg_bytes; /* frame: rows, local memory (parameters included) */
	uint32_t local_bytes;
	/* With everything it calls, if that is bounded; else a start that grows. */
	uint32_t deep_reg_bytes, deep_local_bytes;
	char *refused; /* why it cannot run, or NULL; what it calls counts */
	struct cot_exec_formal *params, *rets;
	uint32_t n_params, n_rets;
};

enum cot_exec_builtin {
	BUILTIN_NONE,
	BUILTIN_VPRINTF,
	BUILTIN_ASSERT,
	BUILTIN_MALLOC,
	BUILTIN_FREE,
};

/* A call: what is copied there and back. */
struct cot_exec_call {
	uint32_t function; /* index; NOWHERE: indirect, the address is in insn.a */
	uint32_t first_arg, n_args;
	uint32_t first_ret, n_rets;
};

struct cot_exec_module {
	struct cot_exec_insn *code;
	uint32_t *lines; /* of each instruction */
	uint32_t n_code;
	struct cot_exec_function *functions; /* all; kernels and others */
	uint32_t n_functions;
	uint32_t *kernels;
	uint32_t n_kernels;
	struct cot_exec_variable *variables;
	uint32_t n_variables;
	uint8_t *data, *data_memory;	  /* the variables, and what was allocated for them */
	uint64_t data_bytes, const_bytes; /* constant ones come first */
	uint8_t *consts;		  /* rows */
	struct cot_exec_call *calls;
	struct cot_exec_formal *actuals; /* of all calls */
	uint32_t *tables;		 /* of brx.idx: places */
	cot_exec_ref *lists;		 /* operands of instructions with many */
	struct cot_exec_ranges *memory;
	bool data_added;
	uint32_t target;
	char *strings; /* names */
};

/* ---- state of a warp ---- */

enum cot_exec_group_state {
	GROUP_FREE,
	GROUP_READY,
	GROUP_BARRIER, /* at wait */
	GROUP_WARP,    /* at wait: for the other lanes of an instruction of the warp */
};

struct cot_exec_group {
	uint32_t mask, pc;
	int32_t join;  /* index, or -1 */
	int32_t frame; /* index */
	uint8_t state;
	uint8_t barrier;
	uint32_t wanted; /* GROUP_WARP: the lanes that it waits for */
	const struct cot_exec_insn *wait;
	uint32_t turn; /* the ready group with the lowest runs first */
};

struct cot_exec_join {
	uint32_t pc; /* NOWHERE: the return from a call */
	uint32_t expected, arrived;
	int32_t parent; /* also the next free one */
	int32_t frame;
	uint64_t since; /* w->n_run when the first lanes arrived */
};

struct cot_exec_frame {
	uint32_t function;
	int32_t parent; /* -1: the kernel */
	uint32_t regs, regs_end;
	uint32_t local, local_end;
	uint32_t return_pc;
	const struct cot_exec_call *call;
	bool used;
};

struct cot_exec_warp {
	uint8_t *base[N_BASES];
	struct cot_exec_block *block;
	struct cot_exec_worker *worker; /* that runs it now */
	struct cot_exec_group *group;	/* that runs now */
	uint32_t local_base;		/* of its frame */
	uint32_t index;
	uint32_t started, live; /* lanes */
	uint32_t carry;		/* the carry flag of each lane */
	uint32_t turn;
	uint32_t n_ready;
	uint64_t n_run; /* instructions so far */
	bool talks;	/* atomics and the like in this turn */
	struct cot_exec_group groups[LANES];
	struct cot_exec_frame frames[MAX_FRAMES];
	struct cot_exec_join *joins;
	uint32_t n_joins, room_joins;
	int32_t free_join;
	uint8_t *regs;
	uint32_t reg_bytes;
	uint8_t *local; /* LANES times local_bytes */
	uint32_t local_bytes;
};

struct cot_exec_barrier {
	uint32_t arrived;  /* threads */
	uint32_t expected; /* 0: all that are alive */
	bool used;
	uint32_t line; /* where the first thread came */
	/* of bar.red */
	uint32_t n_true;
	bool reduces;
};

enum cot_exec_block_state { BLOCK_RUNS, BLOCK_ENDED, BLOCK_FAULTED };

struct cot_exec_block {
	struct cot_exec_run *run;
	struct cot_exec_block *next; /* in a list of the run */
	uint64_t number;
	uint32_t id[3], sm;
	uint32_t place;		  /* of its SM in the run's list */
	uint32_t n_warps, n_live; /* live: threads */
	uint32_t next_warp;
	bool yielded; /* its last slice ended with a wish to wait */
	struct cot_exec_barrier barriers[N_BARRIERS];
	uint8_t *shared;
	uint8_t *warp_rows;
	struct cot_exec_warp warps[];
};

/* What a CPU thread has while it works on a run. */
struct cot_exec_worker {
	struct cot_exec_run *run;
	struct cot_exec_range ranges[4]; /* found last */
	uint32_t generation;
	uint32_t next_range;
	uint64_t n_warp_insns, n_thread_insns;
	uint64_t n_looks;    /* at the clock */
	struct cot_rng *rng; /* seeded schedule; else NULL */
};

struct cot_exec_races;

struct cot_exec_run {
	struct cot_exec_launch launch;
	const struct cot_exec_module *module;
	const struct cot_exec_function *function;
	uint8_t *args;
	uint32_t *sms; /* the SM of each place: n_sms */
	uint8_t rows[N_RUN_ROWS * ROW_BYTES] __attribute__((aligned(64)));
	uint8_t *tid_rows; /* three rows per warp */
	uint32_t n_threads, n_warps, shared_bytes;
	uint64_t n_blocks;
	uint32_t max_resident;

	pthread_mutex_t lock; /* of what follows, up to `stopped` */
	pthread_cond_t changed;
	uint64_t next_block, n_ended;
	uint32_t n_resident; /* begun and not ended */
	uint32_t *sm_blocks; /* of each place: resident blocks */
	struct cot_exec_block *ready, *last_ready, *unused;
	uint32_t n_waiting; /* workers */
	struct cot_exec_stats stats;
	struct cot_exec_fault fault;
	bool prefer_new;

	_Atomic bool stopped; /* all workers leave soon */
	pthread_mutex_t print_lock;
	struct cot_exec_races *races; /* NULL: no checks */
};

/* ---- rows ---- */

static inline void *cot_exec_row(const struct cot_exec_warp *w, cot_exec_ref ref)
{
	return w->base[ref & 3] + (ref & ~3u);
}

/* Predicates are written by lanes. */
static inline void cot_exec_set_pred(struct cot_exec_warp *w, cot_exec_ref ref, uint32_t m,
				     uint32_t value)
{
	uint32_t *p = cot_exec_row(w, ref);

	*p = (*p & ~m) | (value & m);
}

static inline uint32_t cot_exec_pred(const struct cot_exec_warp *w, cot_exec_ref ref)
{
	return *(const uint32_t *)cot_exec_row(w, ref);
}

/* ---- prepare.c ---- */

/* -ENOTSUP and why, for a kernel that uses what is not executed. */
int cot_exec_function_refused(const struct cot_exec_function *f, struct cot_error *err);

/* ---- fault.c ---- */

/* Ends the run with this fault, unless there is one already; returns FLOW_FAULT. */
enum cot_exec_flow cot_exec_fault(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  unsigned lane, enum cot_exec_fault_kind kind, uint64_t address,
				  const char *fmt, ...) COT_PRINTF(6, 7);

/* The same for accesses that belong to no instruction. */
void cot_exec_run_fail(struct cot_exec_run *run, enum cot_exec_fault_kind kind, const char *why);

/* ---- access.c ---- */

/*
 * Where each lane of m finds the `bytes` bytes that the instruction accesses. FLOW_NEXT, or
 * FLOW_FAULT.
 */
enum cot_exec_flow cot_exec_access(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m, uint32_t bytes, uint8_t *ret_p[LANES]);

/* One lane's bytes at a generic address; NULL if it may not. */
uint8_t *cot_exec_generic(struct cot_exec_warp *w, unsigned lane, uint64_t address, uint64_t bytes,
			  bool write);

/* Text at a generic address, up to a zero or `size` - 1 bytes; false if it may not be read. */
bool cot_exec_read_text(struct cot_exec_warp *w, unsigned lane, uint64_t address, char *text,
			size_t size);

/* ---- group.c: the flow of control ---- */

/* A group goes to `pc` with lanes m, and on with the others. */
enum cot_exec_flow cot_exec_split(struct cot_exec_warp *w, uint32_t m, uint32_t pc,
				  uint32_t next_pc, uint32_t join_pc);
enum cot_exec_flow cot_exec_join(struct cot_exec_warp *w, const struct cot_exec_insn *in);
/* Lanes m return from their function, or end in the kernel. */
enum cot_exec_flow cot_exec_return(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m);
/* Lanes m end. */
enum cot_exec_flow cot_exec_exit(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				 uint32_t m);
/* The group calls; it goes on at return_pc when all its lanes have come back. */
enum cot_exec_flow cot_exec_enter(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  uint32_t function, const struct cot_exec_call *call,
				  uint32_t return_pc);
void cot_exec_use_group(struct cot_exec_warp *w, struct cot_exec_group *g);
void cot_exec_use_frame(struct cot_exec_warp *w, int32_t frame);
void cot_exec_ready(struct cot_exec_warp *w, struct cot_exec_group *g);
/*
 * A lane that has waited long at a join goes on: the others may be waiting for what it does next.
 */
void cot_exec_lose_patience(struct cot_exec_warp *w);
/* 0, or -1 when there is no memory. */
int cot_exec_warp_begin(struct cot_exec_warp *w);
/* Makes one group of those that are at the same place. */
void cot_exec_merge(struct cot_exec_warp *w);

/* ---- ops_warp.c ---- */

/* Lanes have ended: groups that waited for them only go on. */
void cot_exec_warp_recheck(struct cot_exec_warp *w);

/* ---- ops_barrier.c ---- */

/* Threads have ended: a barrier may be complete now. */
void cot_exec_barriers_recheck(struct cot_exec_block *b);

/* ---- block.c ---- */

/* Takes a block's memory from the run, or new; NULL when there is none. */
struct cot_exec_block *cot_exec_block_create(struct cot_exec_run *run);
void cot_exec_block_destroy(struct cot_exec_block *b);
int cot_exec_block_begin(struct cot_exec_block *b, uint64_t number, uint32_t sm);
/* Runs the block for about `budget` warp instructions. */
enum cot_exec_block_state cot_exec_block_run(struct cot_exec_block *b,
					     struct cot_exec_worker *worker, uint64_t budget);
/* One random warp for a random number of instructions. */
enum cot_exec_block_state cot_exec_block_step(struct cot_exec_block *b,
					      struct cot_exec_worker *worker);

/* ---- call.c ---- */

void cot_exec_copy_args(struct cot_exec_warp *w, const struct cot_exec_frame *from,
			const struct cot_exec_frame *to, uint32_t m);
void cot_exec_copy_rets(struct cot_exec_warp *w, const struct cot_exec_frame *from,
			const struct cot_exec_frame *to, uint32_t m);
enum cot_exec_flow cot_exec_builtin(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				    uint32_t m, const struct cot_exec_function *f,
				    const struct cot_exec_call *call);

/* ---- printf.c ---- */

/* Formats as the device's printf does; the number of bytes written, at most `size`. */
size_t cot_exec_format(struct cot_exec_warp *w, unsigned lane, uint64_t format, uint64_t args,
		       char *text, size_t size);

/* ---- race.c ---- */

/* -E2BIG: more warps than it takes; -ENOMEM. */
int cot_exec_races_create(struct cot_exec_run *run, struct cot_error *err);
void cot_exec_races_destroy(struct cot_exec_races *races);

#endif
