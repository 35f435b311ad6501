/*
 * What only the passes share.
 */
#ifndef COT_PTX_PASS_INSIDE_H
#define COT_PTX_PASS_INSIDE_H

#include "ptx/pass/pass.h"

/* ---- text with names of its own ----
 *
 * A pass writes PTX with names such as "%left" or "tail"; here stands what they mean in the
 * function. After the first failure nothing more happens; rc has it. */
#define COT_EMIT_BINDS_MAX 48

struct cot_emit {
	struct cot_ptx_func *func;
	struct cot_error *err;
	struct cot_ptx_bind binds[COT_EMIT_BINDS_MAX];
	size_t n_binds;
	int rc;
};

void cot_emit_init(struct cot_emit *e, struct cot_ptx_func *func, struct cot_error *err);
void cot_emit_bind(struct cot_emit *e, const char *name, struct cot_ptx_operand operand);
/* A new register of the type, bound to the name. */
uint32_t cot_emit_reg(struct cot_emit *e, enum cot_ptx_type type, const char *name);
/* A new label, still to be placed by a text with "name:"; for use in several texts. */
struct cot_ptx_label *cot_emit_label(struct cot_emit *e, const char *name);
/* The appended parameter: `bytes` long, aligned to 8. */
void cot_emit_param(struct cot_emit *e, const char *name, uint32_t bytes);
/* Inserts the text before the statement; NULL: at the end. */
void cot_emit_text(struct cot_emit *e, struct cot_ptx_stmt *before, const char *text);
/* The same for a text that is put together; at most COT_EMIT_LINE bytes. */
#define COT_EMIT_LINE 1024
void cot_emit_format(struct cot_emit *e, struct cot_ptx_stmt *before, const char *fmt, ...)
	COT_PRINTF(3, 4);

/* ---- editing ---- */

/* Every ret and exit of the function becomes a branch to the label, with the same guard. */
void cot_pass_redirect_ends(struct cot_emit *e, const char *label);

/* a, b and c (may be NULL) as one text; free() it. NULL when out of memory. */
char *cot_pass_join(const char *a, const char *b, const char *c);

/*
 * The registers that take the places of %ctaid.x to .z and %nctaid.x to .z; COT_PTX_NO_REG where
 * none is read (struct cot_facts).
 */
struct cot_block_index {
	uint32_t ctaid[3], nctaid[3];
};

/* Registers for what the kernel and its callees read, bound as %bx %by %bz and %gx %gy %gz. */
void cot_block_index_make(struct cot_emit *e, const struct cot_facts *facts,
			  struct cot_block_index *ret_index);

/*
 * Replaces the block index in the kernel; called functions that read it, or call such, are copied
 * (NAME$cot_index) with parameters for it.
 */
void cot_block_index_replace(struct cot_emit *e, const struct cot_block_index *index);

/* Where the extents of a grid or block, and the dividers by them, are in the parameter "args". */
struct cot_decode {
	uint32_t extents, by_row, by_column;
};

/*
 * Text that makes x, y and z (those whose bits are set in mask, in the registers `names`) from the
 * number in the register `number`.
 */
void cot_pass_decode(struct cot_emit *e, struct cot_ptx_stmt *before, const char *number,
		     const char *const names[3], uint32_t mask, const struct cot_decode *at);

/* The same for the block index, from %id to %bx, %by and %bz. */
void cot_block_index_decode(struct cot_emit *e, struct cot_ptx_stmt *before,
			    const struct cot_facts *facts, const struct cot_decode *at);

/* Text that loads %gx, %gy and %gz, those of facts->nctaid, from there. */
void cot_block_index_load_grid(struct cot_emit *e, struct cot_ptx_stmt *before,
			       const struct cot_facts *facts, uint32_t offset);

/*
 * Text that sets %row to the address of the block's row, `bytes` long, in the table to which the
 * parameter "args" points.
 */
void cot_pass_row(struct cot_emit *e, struct cot_ptx_stmt *before, size_t bytes);

/* Raises the module's .version: instructions that the pass adds came with it. */
void cot_pass_need_version(struct cot_ptx_module *module, uint32_t major, uint32_t minor);

/* Moves a function behind everything else of the module, so that it sees what it calls. */
void cot_pass_move_last(struct cot_ptx_func *func);

#define COT_PASS_CALLEES_MAX 4096u

/*
 * The functions that can be reached by direct calls, `func` first. free() the list. -ENOMEM; -E2BIG
 * for more than COT_PASS_CALLEES_MAX.
 */
int cot_pass_closure(const struct cot_ptx_func *func, const struct cot_ptx_func ***ret_funcs,
		     uint32_t *ret_n);
/* The definition that a call leads to; NULL when it is indirect. May be without body. */
struct cot_ptx_func *cot_pass_callee(const struct cot_ptx_insn *call);

/* Whether two kernels that `fuse` takes also go together. -ENOTSUP: no, see *ret_refusal. */
int cot_pass_check_pair(const struct cot_ptx_func *first, const struct cot_ptx_func *second,
			struct cot_refusal *ret_refusal);

/* ---- the passes: change a copy of the kernel ---- */

int cot_pass_workers(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err);
int cot_pass_retreat(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err);
int cot_pass_slice(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err);
int cot_pass_count(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err);
int cot_pass_record(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		    struct cot_error *err);
int cot_pass_batch(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err);

/* Where the function's parameters end if they follow `bytes` of others. */
uint64_t cot_pass_params_end(const struct cot_ptx_func *func, uint64_t bytes);

#endif
