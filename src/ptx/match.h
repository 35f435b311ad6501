/*
 * Operands of an instruction against the patterns of ops.def.
 */
#ifndef COT_PTX_MATCH_H
#define COT_PTX_MATCH_H

#include "ptx/ptx.h"

/* One operand of a pattern. */
struct cot_ptx_part {
	char role, type; /* as in ops.def; type '*' for roles without one */
	bool optional;
};

/* The next part of a pattern; false at its end (a space or a NUL). */
bool cot_ptx_part_next(const char **pattern, struct cot_ptx_part *ret_part);

/* The pattern behind this one, or NULL. */
const char *cot_ptx_pattern_next(const char *pattern);

/*
 * NULL when the instruction's operands fit the pattern, else what is wrong ("a register"), with the
 * operand's number from 0; the number of operands itself is wrong when it is n_operands. func NULL:
 * only the kinds of operands count, not their types.
 */
const char *cot_ptx_match(const struct cot_ptx_func *func, const struct cot_ptx_insn *insn,
			  const char *pattern, unsigned *ret_operand);

/* The first pattern that fits by kinds, or NULL. */
const char *cot_ptx_pattern_of(const struct cot_ptx_insn *insn);

/* Whether a register of this type may be used where the instruction says `type`. */
bool cot_ptx_reg_fits(enum cot_ptx_type reg, enum cot_ptx_type type, bool wider);

#endif
