/*
 * The text that is being read: one struct for its tokens, its place and what it makes, used by the
 * files parse*.c and by what inserts text into a function (text.c).
 *
 * All functions return 0 or -errno, with the sentence in p->err. -EINVAL means that the text is not
 * understood: the function around it becomes opaque. `fatal` says that it is worse than that.
 */
#ifndef COT_PTX_PARSER_H
#define COT_PTX_PARSER_H

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

int cot_ptx_parser_init(struct cot_ptx_parser *p, struct cot_ptx_module *module, const char *text,
			size_t size, const char *name, struct cot_error *err);

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

/* A new statement at the end of the list; NULL: out of memory. */
struct cot_ptx_stmt *cot_ptx_add_stmt(struct cot_ptx_parser *p, enum cot_ptx_stmt_kind kind,
				      uint32_t line);

#endif
