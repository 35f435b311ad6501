/*
 * The parser's parts, from the outside in: items (parse.c), functions, statements, declarations,
 * instructions, operands. Each uses only those after it, parser.h and build.h.
 */
#ifndef COT_PTX_PARSE_H
#define COT_PTX_PARSE_H

#include "ptx/build.h"
#include "ptx/parser.h"

/* ---- parse.c, module.c ---- */

/* Items up to the end of the text, put before `before` (NULL: at the end). */
int cot_ptx_parse_items(struct cot_ptx_parser *p, struct cot_ptx_item *before,
			struct cot_ptx_item **ret_first);

/* Calls go to the definition where there is one, not to the declaration that they named. */
void cot_ptx_settle_calls(struct cot_ptx_module *module);

/* ---- parse_decl.c ---- */

/* .global .align 4 .u32 x[3] = {...}, from the space on; the current token is behind it then. */
int cot_ptx_parse_var(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage,
		      struct cot_ptx_var **ret_var);
/* (.param .b32 a, ...) */
int cot_ptx_parse_params(struct cot_ptx_parser *p, bool named, struct cot_ptx_var ***ret_params,
			 uint32_t *ret_n);
int cot_ptx_parse_reg(struct cot_ptx_parser *p); /* .reg ...; as statements */
enum cot_ptx_space cot_ptx_space_of(const struct cot_ptx_token *t);

/* ---- parse_func.c ---- */

int cot_ptx_parse_func(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage, const char *start,
		       struct cot_ptx_func **ret_func);

/* ---- parse_stmt.c ---- */

/* Statements up to the closing brace, or to the end of an inserted text. */
int cot_ptx_parse_stmts(struct cot_ptx_parser *p);
int cot_ptx_resolve_fixups(struct cot_ptx_parser *p);

/* ---- parse_insn.c, parse_operand.c ---- */

int cot_ptx_parse_insn(struct cot_ptx_parser *p);
int cot_ptx_parse_operands(struct cot_ptx_parser *p, struct cot_ptx_insn *insn);
int cot_ptx_parse_name(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand);
int cot_ptx_parse_label_operand(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand);

#endif
