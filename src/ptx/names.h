/*
 * Names: what is declared in which block of a module, and the words of the tables (opcodes,
 * modifiers) by text. One hash table of each kind per module, in the module's arena.
 */
#ifndef COT_PTX_NAMES_H
#define COT_PTX_NAMES_H

#include "base/arena.h"
#include "ptx/ptx.h"

struct cot_ptx_scope {
	struct cot_ptx_scope *parent; /* NULL: the module */
	uint32_t id;		      /* new for each block; 0 is the module */
	uint32_t depth;
};

enum cot_ptx_name_kind {
	COT_PTX_NAME_NONE,
	COT_PTX_NAME_REG, /* struct cot_ptx_reg_decl, of one register or a range */
	COT_PTX_NAME_VAR,
	COT_PTX_NAME_FUNC,
	COT_PTX_NAME_LABEL,
};

/* A slice of text; not ended by a NUL. */
struct cot_ptx_str {
	const char *at;
	size_t length;
};

struct cot_ptx_name {
	enum cot_ptx_name_kind kind;
	void *what; /* NULL: it was removed */
};

struct cot_ptx_names *cot_ptx_names_create(struct cot_arena *arena);

/*
 * Enters a name, or replaces its meaning. A range of registers is entered under its prefix, apart
 * from plain names. The text has to live as long as the table. -ENOMEM.
 */
int cot_ptx_names_set(struct cot_ptx_names *names, const struct cot_ptx_scope *scope, bool range,
		      struct cot_ptx_str text, struct cot_ptx_name name);

/* In this block only (scope NULL: the module); kind NONE when there is none. */
struct cot_ptx_name cot_ptx_names_get(const struct cot_ptx_names *names,
				      const struct cot_ptx_scope *scope, bool range,
				      struct cot_ptx_str text);

/* Visible from a block: innermost first, the module last. Looks for plain names only. */
struct cot_ptx_name cot_ptx_names_find(const struct cot_ptx_names *names,
				       const struct cot_ptx_scope *scope, struct cot_ptx_str text);

/* A register visible from a block: alone or in a range. COT_PTX_NO_REG. */
uint32_t cot_ptx_names_find_reg(const struct cot_ptx_names *names,
				const struct cot_ptx_scope *scope, struct cot_ptx_str text);

/* ---- words of the tables ---- */

struct cot_ptx_words;

struct cot_ptx_words *cot_ptx_words_create(struct cot_arena *arena); /* NULL: out of memory */

/* COT_PTX_N_OPS when there is none. */
enum cot_ptx_op cot_ptx_words_op(const struct cot_ptx_words *w, struct cot_ptx_str text);

/* A modifier of one of the classes; COT_PTX_NO_MOD. Not shapes. */
enum cot_ptx_mod cot_ptx_words_mod(const struct cot_ptx_words *w, struct cot_ptx_str text,
				   uint64_t classes);

/* With % and without .x; COT_PTX_N_SREGS. The number of %envreg3 goes to ret_part. */
enum cot_ptx_sreg cot_ptx_words_sreg(const struct cot_ptx_words *w, struct cot_ptx_str text,
				     uint8_t *ret_part);

static inline struct cot_ptx_str cot_ptx_str(const char *text)
{
	struct cot_ptx_str s = {text, __builtin_strlen(text)};

	return s;
}

static inline bool cot_ptx_str_is(struct cot_ptx_str s, const char *text)
{
	return s.length == __builtin_strlen(text) && !__builtin_memcmp(s.at, text, s.length);
}

#endif
