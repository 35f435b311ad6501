/*
 * The printer's parts: print.c prints modules and declarations, print_stmt.c the contents of
 * bodies.
 */
#ifndef COT_PTX_PRINT_H
#define COT_PTX_PRINT_H

#include "ptx/buf.h"
#include "ptx/ptx.h"

/* Everything but the semicolon and the line's end. */
void cot_ptx_print_var(struct cot_ptx_buf *b, const struct cot_ptx_var *var);
void cot_ptx_print_params(struct cot_ptx_buf *b, struct cot_ptx_var *const *params, uint32_t n,
			  const char *separator);
void cot_ptx_print_int(struct cot_ptx_buf *b, int64_t value, unsigned flags);
void cot_ptx_print_bits(struct cot_ptx_buf *b, bool is_double, int64_t bits);
void cot_ptx_print_operand(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
			   const struct cot_ptx_operand *operand);
void cot_ptx_print_one(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
		       const struct cot_ptx_stmt *stmt);

/* A module, and all of it but its header. */
void cot_ptx_print_module(struct cot_ptx_buf *b, const struct cot_ptx_module *module);
void cot_ptx_print_items(struct cot_ptx_buf *b, const struct cot_ptx_module *module);

#endif
