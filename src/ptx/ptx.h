/*
 * PTX, the text form of GPU code that nvcc, clang and NVRTC write: a module in memory (this file),
 * and its reader, printer, verifier and editing helpers. Source: NVIDIA's "PTX ISA", versions 5.0
 * to 9.0, targets sm_50 to sm_90.
 *
 * A module is a list of items (functions, variables, ...); a function is a list of statements, with
 * tables of its registers and labels. All names are resolved: an operand points to the register,
 * variable, function or label that it means. What the opcodes are and what they take stands in
 * ops.def, and everything here follows that table.
 *
 * A function or item that holds something unknown is *opaque*: its text is kept and printed as it
 * was, `reason` says what and where, and nothing in it can be edited. The rest of the module is not
 * touched by that.
 *
 * What is not kept from the text: comments, blank space and the spelling of numbers (1U and 01 are
 * 1, [a-4] is [a+-4]; hexadecimal stays hexadecimal). Everything else is printed as it was read, in
 * the same order: .loc, .file and .section too.
 *
 * Memory: everything belongs to the module's arena and lives until cot_ptx_destroy(). What is
 * unlinked is not freed before that. No global state; a module belongs to one thread at a time.
 */
#ifndef COT_PTX_PTX_H
#define COT_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ptx/table.h"

/* Bounds on what is read; beyond them: -E2BIG and one sentence. */
#define COT_PTX_SOURCE_MAX   (256u << 20) /* bytes of text */
#define COT_PTX_REWRITE_MAX  (8u << 20)	  /* of a text that is rewritten while its program waits */
#define COT_PTX_MEMORY_MAX   (2ull << 30) /* bytes of one module's arena */
#define COT_PTX_NEST_MAX     64		  /* depth of { } */
#define COT_PTX_NAME_MAX     16384	  /* bytes of a name */
#define COT_PTX_REGS_MAX     (1u << 18)	  /* of one function; a module has 16 times as many */
#define COT_PTX_OPERANDS_MAX 16		  /* of one instruction */
#define COT_PTX_LIST_MAX     4096	  /* of a vector, of arguments, of parameters */
#define COT_PTX_MODS_MAX     16		  /* of one instruction */
#define COT_PTX_INIT_MAX     (64u << 20)  /* initial values of one variable */
#define COT_PTX_DIMS_MAX     8		  /* of an array */

/* Where variables are. Instructions name a space by a modifier (insn.space). */
enum cot_ptx_space {
	COT_PTX_SPACE_NONE, /* not said: generic */
	COT_PTX_SPACE_GLOBAL,
	COT_PTX_SPACE_CONST,
	COT_PTX_SPACE_SHARED, /* .shared and .shared::cta */
	COT_PTX_SPACE_SHARED_CLUSTER,
	COT_PTX_SPACE_LOCAL,
	COT_PTX_SPACE_PARAM,
	COT_PTX_SPACE_TEX, /* .tex variables, obsolete */
};

enum cot_ptx_linkage {
	COT_PTX_LINK_NONE,
	COT_PTX_LINK_EXTERN,
	COT_PTX_LINK_VISIBLE,
	COT_PTX_LINK_WEAK,
	COT_PTX_LINK_COMMON,
};

/* ---- operands ---- */

struct cot_ptx_func;
struct cot_ptx_label;
struct cot_ptx_module;
struct cot_ptx_stmt;
struct cot_ptx_var;
struct cot_ptx_scope; /* a { } block of a function; private */

enum cot_ptx_operand_kind {
	COT_PTX_OPND_NONE,   /* absent: a call without a table */
	COT_PTX_OPND_REG,    /* reg */
	COT_PTX_OPND_SREG,   /* sreg, part */
	COT_PTX_OPND_INT,    /* imm */
	COT_PTX_OPND_F32,    /* imm: the 32 bits of 0f... */
	COT_PTX_OPND_F64,    /* imm: the 64 bits of 0d..., or of 1.5 */
	COT_PTX_OPND_VAR,    /* address of var, plus imm */
	COT_PTX_OPND_FUNC,   /* func: a call's target, or mov's source */
	COT_PTX_OPND_LABEL,  /* label: a place, a table of labels or a prototype */
	COT_PTX_OPND_VECTOR, /* {a, b}: items[0..n) */
	COT_PTX_OPND_PAIR,   /* p|q: items[0..2) */
	COT_PTX_OPND_ADDR,   /* [base+imm]: items[0] is the base (REG, VAR, INT) */
	COT_PTX_OPND_TENSOR, /* [handle, {c0, c1}]: items[0] the handle, items[1] the coordinates */
	COT_PTX_OPND_LIST,   /* (a, b) of a call: items[0..n) */
	COT_PTX_OPND_SINK,   /* _ */
};

enum cot_ptx_operand_flag {
	COT_PTX_NEGATED = 1 << 0,  /* !p; -%r: only where PTX allows it */
	COT_PTX_HEX = 1 << 1,	   /* INT: written as 0x... */
	COT_PTX_UNSIGNED = 1 << 2, /* INT: imm is above the largest int64_t */
	COT_PTX_OFFSET = 1 << 3,   /* ADDR, VAR: print +imm although it is 0 */
	COT_PTX_EMPTY = 1 << 4,	   /* LIST: print () although there is nothing in it */
};

#define COT_PTX_WHOLE 255 /* `part` of a special register without .x */

struct cot_ptx_operand {
	uint8_t kind;  /* enum cot_ptx_operand_kind */
	uint8_t flags; /* enum cot_ptx_operand_flag */
	uint8_t sreg;  /* enum cot_ptx_sreg */
	uint8_t part;  /* 0 to 3 for .x to .w; a number for %envreg<n>; else COT_PTX_WHOLE */
	union {
		uint32_t reg; /* index into the function's regs */
		uint32_t n;   /* VECTOR, PAIR, LIST, ADDR, TENSOR: how many items */
	};
	int64_t imm;
	union {
		struct cot_ptx_var *var;
		struct cot_ptx_func *func;
		struct cot_ptx_label *label;
		struct cot_ptx_operand *items;
	};
};

/* ---- statements ---- */

#define COT_PTX_NO_REG UINT32_MAX

/*
 * An instruction. The operands of a call are always four: results (LIST), target (FUNC, or REG when
 * indirect), arguments (LIST), and the prototype or table of targets (LABEL or NONE).
 */
struct cot_ptx_insn {
	uint16_t op; /* enum cot_ptx_op */
	uint8_t n_mods;
	uint8_t n_operands;
	uint32_t guard;	    /* register of @p, or COT_PTX_NO_REG */
	bool guard_negated; /* @!p */

	/* What the modifiers say, kept by cot_ptx_decode_mods(). */
	uint8_t n_types;
	uint8_t space;	   /* enum cot_ptx_space: the first named */
	uint8_t vec;	   /* 1, 2, 4 or 8 */
	uint8_t types[5];  /* enum cot_ptx_type, in order; COT_PTX_NO_TYPE beyond n_types */
	uint16_t shape[3]; /* m, n, k */

	uint16_t mods[COT_PTX_MODS_MAX]; /* enum cot_ptx_mod, in the order of the text */
	struct cot_ptx_operand *operands;
};

enum cot_ptx_stmt_kind {
	COT_PTX_STMT_INSN,
	COT_PTX_STMT_LABEL,	  /* label: */
	COT_PTX_STMT_OPEN,	  /* { */
	COT_PTX_STMT_CLOSE,	  /* } */
	COT_PTX_STMT_REG,	  /* .reg .b32 %r<10>; */
	COT_PTX_STMT_VAR,	  /* .shared, .local, .param (of calls), .global, .const */
	COT_PTX_STMT_PROTO,	  /* label: .callprototype ... */
	COT_PTX_STMT_TARGETS,	  /* label: .branchtargets a, b; */
	COT_PTX_STMT_CALLTARGETS, /* label: .calltargets f, g; */
	COT_PTX_STMT_LOC,	  /* .loc and what follows it, as text */
	COT_PTX_STMT_PRAGMA,	  /* .pragma "..."; as text */
};

/* A declaration of registers: `name`, or name0 to name<count-1>. */
struct cot_ptx_reg_decl {
	const char *name;
	uint8_t type; /* enum cot_ptx_type */
	bool range;   /* %r<count> */
	uint32_t count;
	uint32_t first; /* their indices in regs are first to first + count - 1 */
	struct cot_ptx_scope *scope;
};

/* The parameters of a .callprototype; their names are "_" or ignored. */
struct cot_ptx_proto {
	struct cot_ptx_label *label;
	struct cot_ptx_var **rets, **params;
	uint32_t n_rets, n_params;
	bool noreturn;
};

struct cot_ptx_targets {
	struct cot_ptx_label *label;
	struct cot_ptx_operand *items; /* LABEL, or FUNC for .calltargets */
	uint32_t n;
};

struct cot_ptx_stmt {
	struct cot_ptx_stmt *prev, *next;
	struct cot_ptx_scope *scope; /* the block that it is in */
	uint32_t line;		     /* of the source; 0 when a pass made it */
	uint8_t kind;		     /* enum cot_ptx_stmt_kind */
	union {
		struct cot_ptx_insn insn;
		struct cot_ptx_label *label;
		struct cot_ptx_reg_decl *reg;
		struct cot_ptx_var *var;
		struct cot_ptx_proto *proto;
		struct cot_ptx_targets *targets;
		const char *text; /* LOC: after ".loc "; PRAGMA: the string with its quotes */
	};
};

struct cot_ptx_label {
	const char *name;
	struct cot_ptx_stmt *stmt; /* the LABEL, PROTO, TARGETS or CALLTARGETS that defines it */
	struct cot_ptx_scope *scope;
	uint32_t index; /* in the function's labels */
	uint32_t line;	/* where it was first named */
};

struct cot_ptx_reg {
	const struct cot_ptx_reg_decl *decl;
	uint8_t type; /* enum cot_ptx_type */
};

/* ---- variables ---- */

enum cot_ptx_init_kind { COT_PTX_INIT_INT, COT_PTX_INIT_F32, COT_PTX_INIT_F64, COT_PTX_INIT_ADDR };

/* One initial value; they are in order from the first element on, the rest is zero. */
struct cot_ptx_init {
	uint8_t kind;
	uint8_t flags;		 /* COT_PTX_HEX, COT_PTX_UNSIGNED */
	bool generic;		 /* ADDR: generic(name) */
	uint8_t mask_shift;	 /* ADDR: 0xFF00(name) takes 8 bits from bit 8 on; 255: no mask */
	int64_t imm;		 /* number, bits, or what is added to the address */
	struct cot_ptx_var *var; /* ADDR: one of the two */
	struct cot_ptx_func *func;
};

struct cot_ptx_var {
	const char *name;
	uint8_t space;	 /* enum cot_ptx_space */
	uint8_t type;	 /* enum cot_ptx_type, of an element */
	uint8_t vec;	 /* .v2, .v4: 2 and 4; else 1 */
	uint8_t linkage; /* enum cot_ptx_linkage */
	bool managed;	 /* .attribute(.managed) */
	bool is_ptr;	 /* parameter with .ptr, ptr_space and ptr_align */
	bool unsized;	 /* the first dimension is [] and nothing tells its size: size is outside */
	bool has_init;
	uint8_t ptr_space;
	uint32_t ptr_align; /* 0: not said */
	uint32_t align;	    /* as written; 0: not said, see cot_ptx_var_align() */
	uint32_t n_dims;
	uint64_t dims[COT_PTX_DIMS_MAX]; /* [] is 0 */
	uint32_t line;
	uint32_t n_inits;
	struct cot_ptx_init *inits;
	struct cot_ptx_func *func; /* whose parameter or local variable it is; NULL: the module's */
	const char *attribute;	   /* other .attribute(...), as text, or NULL */
	uint32_t order;		   /* private, as that of functions */
	struct cot_ptx_scope *scope;
};

uint64_t cot_ptx_var_bytes(const struct cot_ptx_var *var); /* 0 for an unsized one */
uint32_t cot_ptx_var_align(const struct cot_ptx_var *var); /* at least 1 */

/* ---- functions and modules ---- */

struct cot_ptx_directive {
	uint8_t kind;
	uint8_t n; /* numbers written */
	uint32_t values[3];
	const char *text; /* PRAGMA: the string with its quotes */
};

struct cot_ptx_func {
	struct cot_ptx_module *module;
	const char *name; /* "" when an opaque function's name could not be read */
	uint32_t line;
	uint8_t linkage; /* enum cot_ptx_linkage */
	bool entry;
	bool has_body;
	bool opaque;	    /* `text` is all there is; the fields below may be incomplete */
	const char *reason; /* opaque: one sentence with the line */
	const char *text;   /* opaque: from its linkage to its last brace */

	struct cot_ptx_var **params, **rets; /* .func: of the space .param, too */
	uint32_t n_params, n_rets;
	struct cot_ptx_directive *directives;
	uint32_t n_directives;

	struct cot_ptx_stmt *first, *last; /* the body */
	struct cot_ptx_reg *regs;
	uint32_t n_regs;
	struct cot_ptx_label **labels;
	uint32_t n_labels;

	struct cot_ptx_func *decl_of;  /* a declaration: the definition with its name, if any */
	struct cot_ptx_scope *scope;   /* the parameters and the whole body */
	uint32_t cap_regs, cap_labels; /* private, as is the next */
	uint32_t order;		       /* while the module is verified: the first item with it */
};

enum cot_ptx_item_kind {
	COT_PTX_ITEM_FUNC,
	COT_PTX_ITEM_VAR,
	COT_PTX_ITEM_ALIAS,   /* .alias name, aliasee; */
	COT_PTX_ITEM_FILE,    /* .file and what follows it, as text */
	COT_PTX_ITEM_SECTION, /* .section with its braces, as text */
	COT_PTX_ITEM_PRAGMA,  /* .pragma, as text */
	COT_PTX_ITEM_OPAQUE,  /* anything else up to its ; or }, as text */
};

struct cot_ptx_item {
	struct cot_ptx_item *prev, *next;
	uint32_t line;
	uint8_t kind;
	union {
		struct cot_ptx_func *func;
		struct cot_ptx_var *var;
		struct cot_ptx_func *alias[2]; /* name, aliasee */
		const char *text;
	};
	const char *reason; /* OPAQUE: why */
};

struct cot_ptx_module {
	uint32_t version_major, version_minor;
	const char *target; /* "sm_90" or "sm_90, debug": all words of .target */
	unsigned sm;	    /* 90; 0 when .target does not say */
	unsigned address_size;
	struct cot_ptx_item *first, *last;
	uint32_t n_opaque;	 /* functions and items */
	struct cot_arena *arena; /* private, as are those below */
	struct cot_ptx_names *names;
	struct cot_ptx_words *words;
	uint32_t next_fresh, next_scope;
	uint32_t n_regs; /* of all functions */
};

/* ---- reading and printing ---- */

/*
 * Reads a whole module. `text` need not end with a NUL; NULs at the end are ignored. `name` stands
 * for the text in messages ("NAME:LINE:COLUMN: ..."). -EINVAL when it is not PTX, -E2BIG beyond a
 * bound, -ENOMEM.
 */
int cot_ptx_parse(const char *text, size_t size, const char *name,
		  struct cot_ptx_module **ret_module, struct cot_error *err);
void cot_ptx_destroy(struct cot_ptx_module *module);

/* The module as text, with a NUL that the size does not count; free() it. -ENOMEM. */
int cot_ptx_print(const struct cot_ptx_module *module, char **ret_text, size_t *ret_size);

/* One function, as in the module. */
int cot_ptx_print_func(const struct cot_ptx_func *func, char **ret_text, size_t *ret_size);

/* One statement on one line without its end, cut to fit; for messages and traces. */
void cot_ptx_print_stmt(const struct cot_ptx_func *func, const struct cot_ptx_stmt *stmt, char *buf,
			size_t size);

/*
 * Checks every function that is not opaque against the rules of PTX: operands, types, scopes,
 * labels, parameters of calls; and that what is named is in the module, and declared before. To be
 * called after each pass; what the reader took is in order. -EINVAL and one sentence
 * ("FUNCTION: line LINE: ...") for the first thing wrong. Which types an opcode has is not checked.
 */
int cot_ptx_verify(const struct cot_ptx_module *module, struct cot_error *err);

/* The same for one function, without what concerns the rest of the module. */
int cot_ptx_verify_func(const struct cot_ptx_func *func, struct cot_error *err);

/* Of a name that became another one. */
typedef void (*cot_ptx_renamed_fn)(void *arg, const char *old, const char *renamed);

/*
 * Two modules as one, of programs that know nothing of each other: a name of the second module that
 * the first has as well becomes a new one (NAME$cot_2), kernels included. What both declare alike
 * and neither defines (vprintf, dynamic shared memory) is one thing. The places in source files of
 * the second get lost. Version and target become the later ones. Both modules are changed, and only
 * to be destroyed then. -EINVAL for targets or address sizes that do not go together, -ENOTSUP when
 * one of the two has anything opaque.
 */
int cot_ptx_join(struct cot_ptx_module *first, struct cot_ptx_module *second,
		 cot_ptx_renamed_fn renamed, void *arg, struct cot_ptx_module **ret_module,
		 struct cot_error *err);

/* ---- looking ---- */

/* The definition, else the declaration; NULL. An opaque function is found as well. */
struct cot_ptx_func *cot_ptx_find_func(const struct cot_ptx_module *module, const char *name);
struct cot_ptx_var *cot_ptx_find_var(const struct cot_ptx_module *module, const char *name);

/* A register by name in the outermost block; COT_PTX_NO_REG. */
uint32_t cot_ptx_find_reg(const struct cot_ptx_func *func, const char *name);

/* Its name: written to buf (cut to fit) when it is one of a range, and returned. */
const char *cot_ptx_reg_name(const struct cot_ptx_func *func, uint32_t reg, char *buf, size_t size);

bool cot_ptx_has_mod(const struct cot_ptx_insn *insn, enum cot_ptx_mod mod);

/* The first modifier of the class, or COT_PTX_NO_MOD. */
enum cot_ptx_mod cot_ptx_mod_of(const struct cot_ptx_insn *insn, enum cot_ptx_class class_);

/*
 * Which registers an instruction reads and writes, guard included, each call of `fn` being one
 * register. A register that is read and written (as wgmma's accumulators) is reported twice.
 */
typedef void (*cot_ptx_reg_fn)(void *arg, uint32_t reg, bool written);
void cot_ptx_for_each_reg(const struct cot_ptx_insn *insn, cot_ptx_reg_fn fn, void *arg);

/*
 * Every operand of the instruction, those inside vectors, addresses and lists included; they may be
 * changed in place.
 */
typedef void (*cot_ptx_operand_fn)(void *arg, struct cot_ptx_operand *operand);
void cot_ptx_for_each_operand(struct cot_ptx_insn *insn, cot_ptx_operand_fn fn, void *arg);

/* ---- editing ----
 *
 * What a pass adds must outlive nothing: names and texts are copied into the module. All functions
 * that can fail return 0, -ENOMEM, -E2BIG or -EINVAL.
 */

/*
 * Declares a register for the whole function, at the start of its body. Its name is new in the
 * module and ends with `hint`: %cot7_flag.
 */
int cot_ptx_new_reg(struct cot_ptx_func *func, enum cot_ptx_type type, const char *hint,
		    uint32_t *ret_reg);

/*
 * A label with a name that is new in the module and ends with `hint`. It is placed by
 * inserting a text in which a bound name is a label ("name:").
 */
int cot_ptx_new_label(struct cot_ptx_func *func, const char *hint,
		      struct cot_ptx_label **ret_label);

/* What a name in an inserted text means: a REG, INT, VAR, LABEL or FUNC. */
struct cot_ptx_bind {
	const char *name; /* as it is spelled in the text: "%flag", "page", "done" */
	struct cot_ptx_operand operand;
};

struct cot_ptx_operand cot_ptx_reg_operand(uint32_t reg);
struct cot_ptx_operand cot_ptx_var_operand(struct cot_ptx_var *var);
struct cot_ptx_operand cot_ptx_func_operand(struct cot_ptx_func *func);
struct cot_ptx_operand cot_ptx_label_operand(struct cot_ptx_label *label);

/*
 * Inserts statements, given as PTX, before `before` (NULL: at the end of the body). A name in the
 * text means, in this order: what binds say; a register, variable or label that the text itself
 * declares; what it means at that place of the function; something of the module. Registers and
 * labels that the text declares get new names, so the same text can be inserted many times:
 *
 *	".reg .pred %p; setp.ne.u32 %p, %flag, 0; @%p bra out;"
 *
 * `ret_first` and `ret_last` (each may be NULL) are the first and last statement that came from it;
 * both NULL for an empty text. On failure nothing was inserted.
 */
int cot_ptx_insert_text(struct cot_ptx_func *func, struct cot_ptx_stmt *before, const char *text,
			const struct cot_ptx_bind *binds, size_t n_binds,
			struct cot_ptx_stmt **ret_first, struct cot_ptx_stmt **ret_last,
			struct cot_error *err);

/*
 * The place where instructions of the whole function may begin: after the declarations at the start
 * of the body. NULL when nothing follows them.
 */
struct cot_ptx_stmt *cot_ptx_body_start(const struct cot_ptx_func *func);

/* Takes a statement out of the list. Its registers and labels stay declared in the tables. */
void cot_ptx_unlink(struct cot_ptx_func *func, struct cot_ptx_stmt *stmt);

/* Puts a statement that was unlinked before another (NULL: at the end). */
void cot_ptx_link(struct cot_ptx_func *func, struct cot_ptx_stmt *stmt,
		  struct cot_ptx_stmt *before);

/* After insn->mods changed: brings types, space and vec up to date. */
void cot_ptx_decode_mods(struct cot_ptx_insn *insn);

/* Adds a parameter after the last one; `name` is made new if it is taken. */
int cot_ptx_add_param(struct cot_ptx_func *func, enum cot_ptx_type type, const char *name,
		      struct cot_ptx_var **ret_var);

/*
 * Reads module-level text (variables, functions) and puts it before `before` (NULL: at the end).
 * It sees everything declared in the module before. Unlike cot_ptx_parse() it takes nothing opaque.
 */
int cot_ptx_add_text(struct cot_ptx_module *module, struct cot_ptx_item *before, const char *text,
		     struct cot_ptx_item **ret_first, struct cot_error *err);

/*
 * A copy of a function with its body, under another name, put right after the original. Where it
 * calls itself, the copy calls the original. -EEXIST when the name is taken, -EINVAL for an opaque
 * function.
 */
int cot_ptx_clone_func(struct cot_ptx_func *func, const char *name, struct cot_ptx_func **ret_func,
		       struct cot_error *err);

/* Takes an item out of the module. Nothing may refer to it: cot_ptx_verify() would say so. */
void cot_ptx_remove_item(struct cot_ptx_module *module, struct cot_ptx_item *item);

/* The item of a function of the module; NULL. */
struct cot_ptx_item *cot_ptx_item_of_func(const struct cot_ptx_func *func);

/* A copy of a text that lives as long as the module; NULL when out of memory. */
const char *cot_ptx_strdup(struct cot_ptx_module *module, const char *text);

#endif
