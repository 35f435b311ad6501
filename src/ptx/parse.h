/*
 * The parser's parts: one struct for the text that is being read, used by the files parse*.c and by
 * what inserts text into a function (text.c).
 *
 * All functions return 0 or -errno, with the sentence in p->err. -EINVAL means that the text is not
 * understood: the function around it becomes opaque. `fatal` says that it is worse than that.
 */
#ifndef COT_PTX_PARSE_H
#define COT_PTX_PARSE_H

#include "ptx/lex.h"
#include "ptx/names.h"

/* A name of an operand that is a label, perhaps of one further down. */
struct cot_ptx_fixup {
	struct cot_ptx_operand *operand;
	struct cot_ptx_str name;
	struct cot_ptx_scope *scope;
	uint32_t line, column;
};

struct cot_ptx_parser {
	struct cot_ptx_module *module;
	struct cot_ptx_lexer lx;
	struct cot_ptx_token tok;
	const char *last_end; /* where the token before `tok` ended */
	struct cot_error *err;
	bool fatal;  /* no PTX at all, or out of memory */
	bool strict; /* nothing becomes opaque */

	/* The function that is being read; its statements go to the list. */
	struct cot_ptx_func *func;
	struct cot_ptx_stmt *first, *last;
	struct cot_ptx_scope *scope; /* where names are looked up */
	struct cot_ptx_scope
		*place; /* the block of new statements; the same unless text is inserted */
	unsigned depth;
	struct cot_ptx_fixup *fixups;
	size_t n_fixups, cap_fixups;

	/* Text that is inserted: what it calls by a name, and that its names are made new. */
	bool inserting;
	const struct cot_ptx_bind *binds;
	size_t n_binds;
};

/* ---- parse.c ---- */

int cot_ptx_parser_init(struct cot_ptx_parser *p, struct cot_ptx_module *module, const char *text,
			size_t size, const char *name, struct cot_error *err);
struct cot_ptx_module *cot_ptx_module_create(void);

/* Items up to the end of the text, put before `before` (NULL: at the end). */
int cot_ptx_parse_items(struct cot_ptx_parser *p, struct cot_ptx_item *before,
			struct cot_ptx_item **ret_first);

/* Calls go to the definition where there is one, not to the declaration that they named. */
void cot_ptx_settle_calls(struct cot_ptx_module *module);
void cot_ptx_link_item(struct cot_ptx_module *module, struct cot_ptx_item *item,
		       struct cot_ptx_item *before);

int cot_ptx_next(struct cot_ptx_parser *p);
bool cot_ptx_is(const struct cot_ptx_parser *p, char punct);
bool cot_ptx_is_dot(const struct cot_ptx_parser *p, const char *word);
bool cot_ptx_is_name(const struct cot_ptx_parser *p, const char *word);
int cot_ptx_expect(struct cot_ptx_parser *p, char punct);
int cot_ptx_accept(struct cot_ptx_parser *p, char punct, bool *ret_was);

/* -EINVAL with "NAME:LINE:COLUMN: expected WHAT, found TOKEN". */
int cot_ptx_wrong(struct cot_ptx_parser *p, const char *expected);

/* -EINVAL with "NAME:LINE:COLUMN: WHAT 'TEXT'BEHIND"; the text is cut when long. */
int cot_ptx_complain(struct cot_ptx_parser *p, uint32_t line, uint32_t column, const char *what,
		     struct cot_ptx_str text, const char *behind);
int cot_ptx_too_many(struct cot_ptx_parser *p, const char *what, unsigned long max);
int cot_ptx_no_memory(struct cot_ptx_parser *p);

/* A name that must be new in the block, from the current token (which stays). */
int cot_ptx_check_new(struct cot_ptx_parser *p, bool range);

/* The name of the token, or a new one like it when text is inserted; NULL: out of memory. */
const char *cot_ptx_declared_name(struct cot_ptx_parser *p, struct cot_ptx_str text);

/* Enters it under its spelling, and under its new name when text is inserted. */
int cot_ptx_declare(struct cot_ptx_parser *p, struct cot_ptx_str text, const char *name, bool range,
		    enum cot_ptx_name_kind kind, void *what);

/* ---- parse_decl.c ---- */

/* .global .align 4 .u32 x[3] = {...}, from the space on; the current token is behind it then. */
int cot_ptx_parse_var(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage,
		      struct cot_ptx_var **ret_var);
/* (.param .b32 a, ...) */
int cot_ptx_parse_params(struct cot_ptx_parser *p, bool named, struct cot_ptx_var ***ret_params,
			 uint32_t *ret_n);
int cot_ptx_parse_reg(struct cot_ptx_parser *p); /* .reg ...; as statements */
enum cot_ptx_type cot_ptx_type_of(const struct cot_ptx_token *t);
enum cot_ptx_space cot_ptx_space_of(const struct cot_ptx_token *t);

/* ---- parse_func.c ---- */

int cot_ptx_parse_func(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage, const char *start,
		       struct cot_ptx_func **ret_func);
struct cot_ptx_scope *cot_ptx_new_scope(struct cot_ptx_module *module,
					struct cot_ptx_scope *parent);

/* ---- parse_stmt.c ---- */

/* Statements up to the closing brace, or to the end of an inserted text. */
int cot_ptx_parse_stmts(struct cot_ptx_parser *p);
int cot_ptx_resolve_fixups(struct cot_ptx_parser *p);
struct cot_ptx_stmt *cot_ptx_add_stmt(struct cot_ptx_parser *p, enum cot_ptx_stmt_kind kind,
				      uint32_t line);
int cot_ptx_grow_regs(struct cot_ptx_func *func, uint32_t count);
int cot_ptx_add_label(struct cot_ptx_func *func, struct cot_ptx_label *label);

/* ---- parse_insn.c, parse_operand.c ---- */

int cot_ptx_parse_insn(struct cot_ptx_parser *p);
int cot_ptx_parse_operands(struct cot_ptx_parser *p, struct cot_ptx_insn *insn);
int cot_ptx_parse_name(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand);
int cot_ptx_parse_label_operand(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand);

/* ---- edit.c ---- */

/* Replaces a list of operands by a copy, with everything in it. -ENOMEM. */
int cot_ptx_copy_operands(struct cot_ptx_module *module, struct cot_ptx_operand **list, uint32_t n);

/* A function that is no longer there: its declarations stand for the name again. (clone.c) */
void cot_ptx_forget_func(struct cot_ptx_module *module, struct cot_ptx_func *func);

/* A name with a new number in it: %flag becomes %cot7_flag. NULL: out of memory. */
const char *cot_ptx_fresh_name(struct cot_ptx_module *module, struct cot_ptx_str text);

#endif
