#include "ptx/match.h"

#include <string.h>

/* ---- patterns ---- */

bool cot_ptx_part_next(const char **pattern, struct cot_ptx_part *ret_part)
{
	const char *at = *pattern;

	if (!*at || *at == ' ')
		return false;
	ret_part->role = *at++;
	ret_part->type = '*';
	if (strchr("dDsSMmeV", ret_part->role))
		ret_part->type = *at++;
	ret_part->optional = *at == '?';
	*pattern = at + ret_part->optional;
	return true;
}

const char *cot_ptx_pattern_next(const char *pattern)
{
	const char *space = strchr(pattern, ' ');

	return space ? space + 1 : NULL;
}

/* ---- types ---- */

static bool is_integer(enum cot_ptx_type_class class_)
{
	return class_ == COT_PTX_BITS_TYPE || class_ == COT_PTX_UNSIGNED_TYPE ||
	       class_ == COT_PTX_SIGNED_TYPE;
}

/*
 * "Operand Size Exceeding Instruction-Type Size" of the PTX ISA: ld, st and cvt take registers that
 * are wider, integers any integer, floats only plain bits.
 */
bool cot_ptx_reg_fits(enum cot_ptx_type reg, enum cot_ptx_type type, bool wider)
{
	enum cot_ptx_type_class r = cot_ptx_type_class(reg), t = cot_ptx_type_class(type);
	unsigned r_bits = cot_ptx_type_bits(reg), t_bits = cot_ptx_type_bits(type);

	if (r == COT_PTX_PRED_TYPE || t == COT_PTX_PRED_TYPE)
		return r == t;
	if (t == COT_PTX_HANDLE_TYPE)
		return r_bits == 64;
	if (r_bits < t_bits || (r_bits > t_bits && !wider))
		return false;
	if (r_bits > t_bits)
		return is_integer(t) ? is_integer(r) : r == COT_PTX_BITS_TYPE || is_integer(r);
	if (reg == type || r == COT_PTX_BITS_TYPE || t == COT_PTX_BITS_TYPE)
		return true;
	/* Halves, pairs and short floats live in plain 16-bit and 32-bit registers. */
	if (t == COT_PTX_PACKED_TYPE || t == COT_PTX_ALTERNATE_TYPE || type == COT_PTX_F16)
		return is_integer(r) || r == COT_PTX_PACKED_TYPE;
	return is_integer(r) && is_integer(t);
}

/* The type that a part of a pattern asks for; COT_PTX_NO_TYPE: any. -1: the instruction has none.
 */
static int type_of(const struct cot_ptx_insn *insn, char letter)
{
	enum cot_ptx_type type = (enum cot_ptx_type)insn->types[0];
	unsigned i = (unsigned)(letter - '0');

	switch (letter) {
	case '*':
		return COT_PTX_NO_TYPE;
	case 'c':
		return COT_PTX_B32;
	case 'h':
		return COT_PTX_B16;
	case 'l':
		return COT_PTX_B64;
	case 'w':
		i = 0;
		break;
	default:
		break;
	}
	if (i >= insn->n_types)
		return -1;
	if (letter != 'w' || !cot_ptx_has_mod(insn, COT_PTX_MOD_WIDE))
		return insn->types[i];
	switch (cot_ptx_type_bits(type)) {
	case 16:
		return COT_PTX_B32;
	case 32:
		return COT_PTX_B64;
	default:
		return -1;
	}
}

struct context {
	const struct cot_ptx_func *func; /* NULL: kinds only */
	const struct cot_ptx_insn *insn;
};

/* Types of registers count only when they are known. */
static bool reg_is(const struct context *c, const struct cot_ptx_operand *o, enum cot_ptx_type type,
		   bool wider)
{
	if (o->kind != COT_PTX_OPND_REG)
		return false;
	if (!c->func)
		return true;
	if (o->reg >= c->func->n_regs)
		return false;
	return !type ||
	       cot_ptx_reg_fits((enum cot_ptx_type)c->func->regs[o->reg].type, type, wider);
}

static bool number_fits(const struct cot_ptx_operand *o, enum cot_ptx_type type)
{
	enum cot_ptx_type_class class_ = cot_ptx_type_class(type);

	if (!type)
		return true;
	switch (o->kind) {
	case COT_PTX_OPND_INT:
		return type != COT_PTX_F32 && type != COT_PTX_F64;
	case COT_PTX_OPND_F32:
		return type == COT_PTX_F32 || type == COT_PTX_B32;
	default:
		return class_ == COT_PTX_FLOAT_TYPE || type == COT_PTX_B64;
	}
}

static bool is_number(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_INT || o->kind == COT_PTX_OPND_F32 ||
	       o->kind == COT_PTX_OPND_F64;
}

/* Addresses are 64 or 32 bits wide and no floats. */
static bool is_address_type(enum cot_ptx_type type)
{
	return !type || (is_integer(cot_ptx_type_class(type)) && cot_ptx_type_bits(type) >= 32);
}

/* Special registers can be moved and converted; mov.u16 takes the low half. */
static bool sreg_fits(const struct context *c, const struct cot_ptx_operand *o,
		      enum cot_ptx_type type)
{
	enum cot_ptx_sreg sreg = (enum cot_ptx_sreg)o->sreg;
	unsigned bits = cot_ptx_type_bits(cot_ptx_sreg_type(sreg)), asked = cot_ptx_type_bits(type);

	if (sreg == COT_PTX_SREG_WARP_SZ)
		return true;
	if (cot_ptx_sreg_has_parts(sreg) && o->part == COT_PTX_WHOLE && c->insn->vec != 4)
		return false; /* %tid is all four */
	if (c->insn->op == COT_PTX_OP_CVT)
		return true;
	if (c->insn->op != COT_PTX_OP_MOV)
		return false;
	return asked == bits || (asked == 16 && bits == 32) || sreg == COT_PTX_SREG_GRIDID ||
	       c->insn->vec > 1;
}

/* A register, number or special register as a source. */
static const char *match_source(const struct context *c, const struct cot_ptx_operand *o,
				enum cot_ptx_type type, bool wider)
{
	if (o->flags & COT_PTX_NEGATED)
		return "no '!'";
	if (is_number(o))
		return number_fits(o, type) ? NULL : "a number that fits the type";
	if (o->kind == COT_PTX_OPND_SREG)
		return sreg_fits(c, o, type) ? NULL : "no special register of this kind";
	if (o->kind != COT_PTX_OPND_REG)
		return "a register or a number";
	return reg_is(c, o, type, wider) ? NULL : "a register of the instruction's type";
}

/* Where a result may be thrown away: _ */
#define DISCARDING (COT_PTX_F_ATOMIC | COT_PTX_F_MBARRIER | COT_PTX_F_WARP | COT_PTX_F_READ)

static const char *match_dest(const struct context *c, const struct cot_ptx_operand *o,
			      enum cot_ptx_type type, bool wider)
{
	if (o->kind == COT_PTX_OPND_SINK &&
	    cot_ptx_op_info((enum cot_ptx_op)c->insn->op)->flags & DISCARDING)
		return NULL;
	if (o->kind != COT_PTX_OPND_REG || o->flags & COT_PTX_NEGATED)
		return "a register";
	return reg_is(c, o, type, wider) ? NULL : "a register of the instruction's type";
}

/* {a, b, c, d} of ld.v4 and the like: as many as the modifier says. */
static const char *match_vector(const struct context *c, const struct cot_ptx_operand *o,
				enum cot_ptx_type type, bool dest)
{
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)c->insn->op)->flags;
	bool braces = o->kind == COT_PTX_OPND_VECTOR && flags & COT_PTX_F_TEXTURE;
	uint32_t i;

	/* Surfaces have single values in braces, too. */
	if (c->insn->vec == 1 && !braces)
		return dest ? match_dest(c, o, type, true) : match_source(c, o, type, true);
	if (o->kind != COT_PTX_OPND_VECTOR || o->n != c->insn->vec)
		return "as many registers in braces as .v2, .v4 or .v8 says";
	for (i = 0; i < o->n; i++) {
		const char *bad = dest ? match_dest(c, &o->items[i], type, true)
				       : match_source(c, &o->items[i], type, true);

		if (bad)
			return bad;
	}
	return NULL;
}

/* mov.b64 {lo, hi}, d: the parts together are as wide as the type. */
static const char *match_parts(const struct context *c, const struct cot_ptx_operand *o,
			       enum cot_ptx_type type, bool dest)
{
	unsigned bits = cot_ptx_type_bits(type);
	uint32_t i;

	if (c->insn->vec > 1)
		return match_vector(c, o, type, dest);
	if (o->n != 2 && o->n != 4 && o->n != 8)
		return "2, 4 or 8 things in braces";
	for (i = 0; i < o->n; i++) {
		const struct cot_ptx_operand *item = &o->items[i];

		if (dest && item->kind == COT_PTX_OPND_SINK)
			continue;
		if (!dest && item->kind == COT_PTX_OPND_INT)
			continue;
		if (item->kind != COT_PTX_OPND_REG)
			return "registers in the braces";
		if (!c->func)
			continue;
		if (item->reg >= c->func->n_regs ||
		    cot_ptx_type_bits((enum cot_ptx_type)c->func->regs[item->reg].type) * o->n !=
			    bits)
			return "registers that are together as wide as the type";
	}
	return NULL;
}

/* ---- roles ---- */

static const char *match_move(const struct context *c, const struct cot_ptx_operand *o,
			      enum cot_ptx_type type, bool dest)
{
	if (o->kind == COT_PTX_OPND_VECTOR)
		return match_parts(c, o, type, dest);
	if (dest)
		return match_dest(c, o, type, false);
	if (o->kind == COT_PTX_OPND_VAR || o->kind == COT_PTX_OPND_FUNC)
		return is_address_type(type) ? NULL : "no address";
	return match_source(c, o, type, false);
}

static const char *match_pred(const struct context *c, const struct cot_ptx_operand *o, bool dest)
{
	if (!dest && o->kind == COT_PTX_OPND_INT)
		return NULL;
	if (dest && o->kind == COT_PTX_OPND_SINK)
		return NULL;
	if ((dest && o->flags & COT_PTX_NEGATED) || !reg_is(c, o, COT_PTX_PRED, false))
		return "a predicate";
	return NULL;
}

/* p|q of setp, d|p of shfl and others. */
static const char *match_pair(const struct context *c, const struct cot_ptx_operand *o,
			      enum cot_ptx_type type)
{
	const char *bad;

	if (o->kind != COT_PTX_OPND_PAIR)
		return match_dest(c, o, type, false);
	bad = o->items[0].kind == COT_PTX_OPND_SINK ? NULL
						    : match_dest(c, &o->items[0], type, false);
	return bad ? bad : match_pred(c, &o->items[1], true);
}

/* Registers in braces, as fragments of matrices and coordinates are. */
static const char *match_braces(const struct context *c, const struct cot_ptx_operand *o,
				enum cot_ptx_type type)
{
	uint32_t i;

	if (o->kind == COT_PTX_OPND_PAIR) /* tex with a predicate for residency */
		o = &o->items[0];
	if (o->kind == COT_PTX_OPND_REG)
		return reg_is(c, o, COT_PTX_NO_TYPE, true) ? NULL : "a register";
	if (o->kind != COT_PTX_OPND_VECTOR || !o->n)
		return "registers in braces";
	for (i = 0; i < o->n; i++) {
		const struct cot_ptx_operand *item = &o->items[i];

		if (is_number(item) || item->kind == COT_PTX_OPND_SINK)
			continue;
		if (!reg_is(c, item, type == COT_PTX_B32 ? type : COT_PTX_NO_TYPE, true))
			return "registers in the braces";
	}
	return NULL;
}

static const char *match_base(const struct context *c, const struct cot_ptx_operand *base)
{
	enum cot_ptx_space space = (enum cot_ptx_space)c->insn->space;

	if (base->kind == COT_PTX_OPND_REG)
		return reg_is(c, base, COT_PTX_U64, false) || reg_is(c, base, COT_PTX_U32, false)
			       ? NULL
			       : "an address in a register of 32 or 64 bits";
	if (base->kind == COT_PTX_OPND_INT)
		return NULL;
	if (base->kind != COT_PTX_OPND_VAR)
		return "an address";
	/* Copies name two spaces, so only what reads or writes one place is checked. */
	if ((c->insn->op == COT_PTX_OP_LD || c->insn->op == COT_PTX_OP_ST ||
	     c->insn->op == COT_PTX_OP_ATOM || c->insn->op == COT_PTX_OP_RED) &&
	    space && space != COT_PTX_SPACE_SHARED_CLUSTER && base->var->space != space)
		return "a variable of the space that the instruction names";
	return NULL;
}

static const char *match_address(const struct context *c, const struct cot_ptx_operand *o,
				 bool tensor)
{
	uint32_t i;

	if (o->kind == COT_PTX_OPND_ADDR)
		return match_base(c, &o->items[0]);
	if (!tensor || o->kind != COT_PTX_OPND_TENSOR)
		return "an address in brackets";
	for (i = 0; i < o->n; i++) {
		const struct cot_ptx_operand *item = &o->items[i];
		const char *bad = item->kind == COT_PTX_OPND_VECTOR
					  ? match_braces(c, item, COT_PTX_NO_TYPE)
					  : match_source(c, item, COT_PTX_NO_TYPE, true);

		/* Handles may be variables: .texref, or a tensor map that is a parameter. */
		if (bad && item->kind != COT_PTX_OPND_VAR)
			return bad;
	}
	return NULL;
}

static const char *match_call(const struct cot_ptx_operand *o)
{
	return o[0].kind == COT_PTX_OPND_LIST && o[2].kind == COT_PTX_OPND_LIST ? NULL : "a call";
}

static const char *match_part(const struct context *c, const struct cot_ptx_part *part,
			      const struct cot_ptx_operand *o)
{
	int type = type_of(c->insn, part->type);

	if (type < 0)
		return "an opcode with its types";
	switch (part->role) {
	case 'd':
		return match_dest(c, o, (enum cot_ptx_type)type, false);
	case 'D':
		return match_vector(c, o, (enum cot_ptx_type)type, true);
	case 's':
		return match_source(c, o, (enum cot_ptx_type)type, false);
	case 'S':
		return match_vector(c, o, (enum cot_ptx_type)type, false);
	case 'M':
		return match_move(c, o, (enum cot_ptx_type)type, true);
	case 'm':
		return match_move(c, o, (enum cot_ptx_type)type, false);
	case 'p':
		return match_pred(c, o, false);
	case 'q':
		return match_pred(c, o, true);
	case 'Q':
		return match_pair(c, o, COT_PTX_PRED);
	case 'e':
		return match_pair(c, o, (enum cot_ptx_type)type);
	case 'V':
		return match_braces(c, o, (enum cot_ptx_type)type);
	case '[':
		return match_address(c, o, false);
	case 'T':
		return match_address(c, o, true);
	case 'L':
		return o->kind == COT_PTX_OPND_LABEL ? NULL : "a label";
	case 'N':
		return o->kind == COT_PTX_OPND_INT ? NULL : "an integer";
	case '(':
		return match_call(c->insn->operands);
	default:
		return "nothing here";
	}
}

const char *cot_ptx_match(const struct cot_ptx_func *func, const struct cot_ptx_insn *insn,
			  const char *pattern, unsigned *ret_operand)
{
	struct context c = {func, insn};
	struct cot_ptx_part part;
	unsigned n = 0;

	while (cot_ptx_part_next(&pattern, &part)) {
		const char *bad;

		*ret_operand = n;
		if (n == insn->n_operands)
			return part.optional ? NULL : "more operands";
		bad = match_part(&c, &part, &insn->operands[n]);
		if (bad)
			return bad;
		n = part.role == '(' ? insn->n_operands : n + 1;
	}
	*ret_operand = n;
	return n == insn->n_operands ? NULL : "fewer operands";
}

const char *cot_ptx_pattern_of(const struct cot_ptx_insn *insn)
{
	const char *pattern = cot_ptx_op_info((enum cot_ptx_op)insn->op)->operands;
	unsigned at;

	for (; pattern; pattern = cot_ptx_pattern_next(pattern))
		if (!cot_ptx_match(NULL, insn, pattern, &at))
			break;
	return pattern;
}
