/*
 * From the statements of a function to instructions that are ready to run. One file per family of
 * instructions has both: what lowers them, and the handlers. Private to src/emu/exec.
 */
#ifndef COT_EMU_EXEC_LOWER_H
#define COT_EMU_EXEC_LOWER_H

#include "emu/exec/inside.h"
#include "ptx/ptx.h"

/* A growing array of anything. */
struct cot_exec_list {
	void *items;
	size_t n, room, size;
};

/* Room for n more; NULL when out of memory. The new items are zero. */
void *cot_exec_list_add(struct cot_exec_list *list, size_t n);

struct cot_exec_place; /* of a variable, see places.c */

struct cot_exec_lower {
	struct cot_ptx_module *ptx;
	struct cot_exec_module *module;
	struct cot_exec_list code, lines, consts, calls, actuals, tables, lists;
	struct cot_exec_list const_keys; /* hash table of constant rows */
	struct cot_exec_list fixes;	 /* places that name labels */
	struct cot_exec_list functions;	 /* struct cot_exec_function */
	struct cot_exec_list places;	 /* of variables */
	struct cot_ptx_func **sources;	 /* of functions */

	/* The function that is worked on. */
	const struct cot_ptx_func *func;
	uint32_t function; /* its index */
	const struct cot_ptx_stmt *stmt;
	const struct cot_ptx_insn *insn;
	cot_exec_ref *regs;
	uint32_t *label_pcs;
	uint32_t reg_bytes, local_bytes, pred_at;
	bool uses_clusters;
	size_t n_consts, n_places;
	int error;     /* -ENOMEM */
	char *refusal; /* of this function: one sentence; the first counts */
	uint32_t n_refused;
};

/* An instruction with the guard of the statement; NULL when out of memory. */
struct cot_exec_insn *cot_exec_emit(struct cot_exec_lower *l, cot_exec_fn fn);

/* Remembers why this function cannot run, with the line; returns false. */
bool cot_exec_refuse(struct cot_exec_lower *l, const char *fmt, ...) COT_PRINTF(2, 3);

/* ---- operands; on failure they refuse, and the result is not used ---- */

/* The row of a value of `bits` bits (16, 32, 64). Immediates get rows of their own. */
cot_exec_ref cot_exec_source(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			     unsigned bits);
/* As it is: a register's own width, at least `bits` for an immediate. */
cot_exec_ref cot_exec_source_any(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
				 unsigned bits, unsigned *ret_bits);
cot_exec_ref cot_exec_dest(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			   unsigned bits);
cot_exec_ref cot_exec_dest_any(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			       unsigned bits, unsigned *ret_bits);
/* A predicate that is written; NOWHERE for the sink. */
cot_exec_ref cot_exec_dest_pred(struct cot_exec_lower *l, const struct cot_ptx_operand *o);
/* A predicate that is read, and whether it is negated. */
cot_exec_ref cot_exec_source_pred(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
				  bool *ret_not);
/* A constant integer, or refusal. */
int64_t cot_exec_number(struct cot_exec_lower *l, const struct cot_ptx_operand *o);
bool cot_exec_is_reg(const struct cot_ptx_operand *o);
unsigned cot_exec_reg_bits(const struct cot_exec_lower *l, const struct cot_ptx_operand *o);

/* A row of constants: the value's low bits in every lane. */
cot_exec_ref cot_exec_const_row(struct cot_exec_lower *l, uint64_t value, unsigned bits);
/* A row of the frame that nothing else uses. */
cot_exec_ref cot_exec_scratch(struct cot_exec_lower *l, unsigned bits);
/* Room in insn lists; the index of the first. */
uint32_t cot_exec_add_list(struct cot_exec_lower *l, const cot_exec_ref *refs, uint32_t n);

/* Fills in a, imm, space and flags of a memory instruction from [address]. */
bool cot_exec_address(struct cot_exec_lower *l, struct cot_exec_insn *in,
		      const struct cot_ptx_operand *o, enum cot_ptx_space space);

/* Emits a memory instruction: *in with the guard of the statement. */
void cot_exec_emit_memory(struct cot_exec_lower *l, cot_exec_fn fn, const struct cot_exec_insn *in);
/* Bytes of the parameters of the kernel that is worked on; 0 in other functions. */
uint32_t cot_exec_args_size(const struct cot_exec_lower *l);

/* Where a variable is: its space, and the offset or address there. */
struct cot_exec_address {
	enum cot_exec_space space;
	bool frame; /* local memory of the function */
	uint64_t at;
};
bool cot_exec_place_of(struct cot_exec_lower *l, const struct cot_ptx_var *var,
		       struct cot_exec_address *ret_address);

/* A label that an instruction, or a table, names. */
struct cot_exec_fix {
	const struct cot_ptx_label *label;
	bool table;
	uint32_t index;
};

/* Will be the place of the label in imm (field 0), or in the module's tables (the index). */
void cot_exec_fix_label(struct cot_exec_lower *l, const struct cot_ptx_label *label, bool table,
			uint32_t index);
/* All labels of the function have their places now. */
void cot_exec_fix_labels(struct cot_exec_lower *l);

/* ---- families: true if the statement's instruction was lowered; false: it is not theirs ---- */

typedef bool (*cot_exec_lower_fn)(struct cot_exec_lower *l, const struct cot_ptx_insn *x);

bool cot_exec_lower_arith(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_carry(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_bits(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_float(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_soft(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_approx(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_compare(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_logic(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_mov(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_cvt(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_memory(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_atomic(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_async(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_barrier(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_warp(struct cot_exec_lower *l, const struct cot_ptx_insn *x);
bool cot_exec_lower_control(struct cot_exec_lower *l, const struct cot_ptx_insn *x);

bool cot_exec_lower_mma(struct cot_exec_lower *l, const struct cot_ptx_insn *x);

/* What reads a clock into a row of 32 or 64 bits (clock.c); n says which part of it. */
enum cot_exec_clock { COT_EXEC_CLOCK_LOW, COT_EXEC_CLOCK_HIGH };
cot_exec_fn cot_exec_clock_handler(unsigned bits);

/* Which of the module's functions it is. */
uint32_t cot_exec_function_index(struct cot_exec_lower *l, const struct cot_ptx_func *func);
bool cot_exec_lower_call(struct cot_exec_lower *l, const struct cot_ptx_insn *x, cot_exec_fn fn);
/* The instruction at the place where groups meet again. */
cot_exec_fn cot_exec_join_handler(void);

/* How many 32-bit registers of the function are in use at the same time, at most. */
uint32_t cot_exec_live_registers(const struct cot_exec_lower *l);

/* ---- flow.c ---- */

/*
 * The immediate post-dominator of every place that splits groups: join_pcs[i] for block i; NOWHERE
 * when only the function's end is common.
 */
bool cot_exec_lower_body(struct cot_exec_lower *l);

#endif
