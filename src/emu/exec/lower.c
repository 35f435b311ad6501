/* What all families of instructions need to be lowered: operands, rows, constants. */
#include "emu/exec/lower.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define MAX_FRAME_BYTES MAX_REG_BYTES

struct cot_exec_insn *cot_exec_emit(struct cot_exec_lower *l, cot_exec_fn fn)
{
	struct cot_exec_insn *in = cot_exec_list_add(&l->code, 1);
	uint32_t *line = cot_exec_list_add(&l->lines, 1);

	if (!in || !line) {
		l->error = -1;
		return NULL;
	}
	*line = l->stmt ? l->stmt->line : 0;
	in->fn = fn;
	in->guard = NOWHERE;
	if (l->insn && l->insn->guard != COT_PTX_NO_REG) {
		struct cot_ptx_operand o = {.kind = COT_PTX_OPND_REG, .reg = l->insn->guard};
		bool negated;

		in->guard = cot_exec_source_pred(l, &o, &negated);
		in->guard_not = l->insn->guard_negated;
	}
	return in;
}

void cot_exec_emit_memory(struct cot_exec_lower *l, cot_exec_fn fn, const struct cot_exec_insn *in)
{
	struct cot_exec_insn *out = cot_exec_emit(l, fn);
	cot_exec_ref guard;
	uint8_t guard_not;

	if (!out)
		return;
	guard = out->guard;
	guard_not = out->guard_not;
	*out = *in;
	out->fn = fn;
	out->guard = guard;
	out->guard_not = guard_not;
}

/* ---- rows ---- */

static unsigned row_bytes(unsigned bits)
{
	return bits == 1 ? 4 : bits <= 16 ? LANES * 2 : bits == 32 ? LANES * 4 : LANES * 8;
}

cot_exec_ref cot_exec_scratch(struct cot_exec_lower *l, unsigned bits)
{
	unsigned bytes = row_bytes(bits);
	uint32_t at;

	if (bits == 1) {
		/* Sixteen predicates share what one row is aligned to. */
		if (!(l->pred_at % 64)) {
			l->pred_at = l->reg_bytes;
			l->reg_bytes += 64;
		}
		at = l->pred_at;
		l->pred_at += 4;
		return at | BASE_FRAME;
	}
	at = l->reg_bytes;
	if (at > MAX_FRAME_BYTES - bytes) {
		cot_exec_refuse(l, "more registers than can be kept");
		return 0;
	}
	l->reg_bytes += bytes;
	return at | BASE_FRAME;
}

/* A constant: its row. */
struct key {
	uint64_t value;
	uint32_t bits; /* 0: free */
	cot_exec_ref ref;
};

static struct key *find_key(struct key *table, size_t n, uint64_t value, uint32_t bits)
{
	size_t k = (size_t)cot_hash64(value, bits) & (n - 1);

	while (table[k].bits && (table[k].value != value || table[k].bits != bits))
		k = (k + 1) & (n - 1);
	return &table[k];
}

static bool grow_keys(struct cot_exec_lower *l)
{
	struct cot_exec_list grown = {.size = sizeof(struct key)};
	struct key *old = l->const_keys.items, *new;
	size_t n = l->const_keys.n ? l->const_keys.n * 2 : 256, i;

	new = cot_exec_list_add(&grown, n);
	if (!new)
		return false;
	for (i = 0; i < l->const_keys.n; i++)
		if (old[i].bits)
			*find_key(new, n, old[i].value, old[i].bits) = old[i];
	free(old);
	l->const_keys = grown;
	return true;
}

cot_exec_ref cot_exec_const_row(struct cot_exec_lower *l, uint64_t value, unsigned bits)
{
	unsigned bytes, i;
	struct key *key;
	uint8_t *row;

	bits = bits < 16 ? 16 : bits;
	bytes = row_bytes(bits);
	if (bits < 64)
		value &= (1ull << bits) - 1;
	if (l->n_consts * 2 >= l->const_keys.n && !grow_keys(l)) {
		l->error = -1;
		return 0;
	}
	key = find_key(l->const_keys.items, l->const_keys.n, value, bits);
	if (key->bits)
		return key->ref;
	*key = (struct key){value, bits, (cot_exec_ref)l->consts.n | BASE_CONST};
	l->n_consts++;
	row = cot_exec_list_add(&l->consts, bytes);
	if (!row) {
		l->error = -1;
		return 0;
	}
	for (i = 0; i < LANES; i++)
		memcpy(row + i * (bits / 8), &value, bits / 8);
	return key->ref;
}

/* ---- operands ---- */

bool cot_exec_is_reg(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_REG;
}

unsigned cot_exec_reg_bits(const struct cot_exec_lower *l, const struct cot_ptx_operand *o)
{
	unsigned bits = cot_ptx_type_bits(l->func->regs[o->reg].type);

	return bits > 1 && bits < 16 ? 16 : bits;
}

static cot_exec_ref register_row(struct cot_exec_lower *l, const struct cot_ptx_operand *o)
{
	unsigned bits = cot_exec_reg_bits(l, o);

	if (bits > 64) {
		cot_exec_refuse(l, "a register of %u bits is not executed", bits);
		return 0;
	}
	if (l->regs[o->reg] == NOWHERE)
		l->regs[o->reg] = cot_exec_scratch(l, bits);
	return l->regs[o->reg];
}

/* Rows of the special registers that do not change. */
static cot_exec_ref special_row(const struct cot_ptx_operand *o)
{
	static const struct {
		uint8_t sreg, base, row;
	} table[] = {
		{COT_PTX_SREG_TID, BASE_WARP, WARP_TID},
		{COT_PTX_SREG_CTAID, BASE_WARP, WARP_CTAID},
		{COT_PTX_SREG_CLUSTERID, BASE_WARP, WARP_CTAID},
		{COT_PTX_SREG_WARPID, BASE_WARP, WARP_WARPID},
		{COT_PTX_SREG_SMID, BASE_WARP, WARP_SMID},
		{COT_PTX_SREG_NTID, BASE_RUN, RUN_NTID},
		{COT_PTX_SREG_NCTAID, BASE_RUN, RUN_NCTAID},
		{COT_PTX_SREG_NCLUSTERID, BASE_RUN, RUN_NCTAID},
		{COT_PTX_SREG_LANEID, BASE_RUN, RUN_LANEID},
		{COT_PTX_SREG_NWARPID, BASE_RUN, RUN_NWARPID},
		{COT_PTX_SREG_NSMID, BASE_RUN, RUN_NSMID},
		{COT_PTX_SREG_GRIDID, BASE_RUN, RUN_GRIDID},
		{COT_PTX_SREG_LANEMASK_EQ, BASE_RUN, RUN_MASK_EQ},
		{COT_PTX_SREG_LANEMASK_LE, BASE_RUN, RUN_MASK_LE},
		{COT_PTX_SREG_LANEMASK_LT, BASE_RUN, RUN_MASK_LT},
		{COT_PTX_SREG_LANEMASK_GE, BASE_RUN, RUN_MASK_GE},
		{COT_PTX_SREG_LANEMASK_GT, BASE_RUN, RUN_MASK_GT},
		{COT_PTX_SREG_TOTAL_SMEM_SIZE, BASE_RUN, RUN_TOTAL_SMEM},
		{COT_PTX_SREG_AGGR_SMEM_SIZE, BASE_RUN, RUN_TOTAL_SMEM},
		{COT_PTX_SREG_DYNAMIC_SMEM_SIZE, BASE_RUN, RUN_DYNAMIC_SMEM},
		{COT_PTX_SREG_CLUSTER_NCTAID, BASE_RUN, RUN_ONE},
		{COT_PTX_SREG_CLUSTER_NCTARANK, BASE_RUN, RUN_ONE},
	};
	unsigned part = o->part == COT_PTX_WHOLE ? 0 : o->part;
	size_t i;

	if (o->sreg == COT_PTX_SREG_ENVREG)
		return ROW_REF(BASE_RUN, o->part == 1	? RUN_ENVREG1
					 : o->part == 2 ? RUN_ENVREG2
							: RUN_ZERO);
	for (i = 0; i < COT_ARRAY_LEN(table); i++) {
		if (table[i].sreg != o->sreg)
			continue;
		/* The fourth part is 0, or 1 where it counts. */
		if (part > 2)
			return ROW_REF(BASE_RUN,
				       table[i].row == RUN_NTID || table[i].row == RUN_NCTAID
					       ? RUN_ONE
					       : RUN_ZERO);
		if (table[i].row == RUN_ONE)
			part = 0;
		return ROW_REF(table[i].base, (unsigned)table[i].row + part);
	}
	return ROW_REF(BASE_RUN, RUN_ZERO);
}

static bool is_of_cluster(uint8_t sreg)
{
	return sreg == COT_PTX_SREG_CLUSTERID || sreg == COT_PTX_SREG_NCLUSTERID ||
	       sreg == COT_PTX_SREG_CLUSTER_CTAID || sreg == COT_PTX_SREG_CLUSTER_NCTAID ||
	       sreg == COT_PTX_SREG_CLUSTER_CTARANK || sreg == COT_PTX_SREG_CLUSTER_NCTARANK ||
	       sreg == COT_PTX_SREG_IS_EXPLICIT_CLUSTER;
}

static bool is_clock(uint8_t sreg)
{
	return sreg == COT_PTX_SREG_CLOCK || sreg == COT_PTX_SREG_CLOCK_HI ||
	       sreg == COT_PTX_SREG_CLOCK64 || sreg == COT_PTX_SREG_GLOBALTIMER ||
	       sreg == COT_PTX_SREG_GLOBALTIMER_LO || sreg == COT_PTX_SREG_GLOBALTIMER_HI;
}

/* A clock is read where it is named, into a row of its own. */
static cot_exec_ref clock_row(struct cot_exec_lower *l, uint8_t sreg, unsigned bits)
{
	bool high = sreg == COT_PTX_SREG_CLOCK_HI || sreg == COT_PTX_SREG_GLOBALTIMER_HI;
	cot_exec_ref dst = cot_exec_scratch(l, bits);
	struct cot_exec_insn *in = cot_exec_emit(l, cot_exec_clock_handler(bits));

	if (in) {
		in->dst = dst;
		in->n = high ? COT_EXEC_CLOCK_HIGH : COT_EXEC_CLOCK_LOW;
	}
	return dst;
}

static cot_exec_ref special(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			    unsigned *ret_bits)
{
	unsigned bits = cot_ptx_type_bits(cot_ptx_sreg_type(o->sreg));

	*ret_bits = bits;
	l->uses_clusters |= is_of_cluster(o->sreg);
	if (is_clock(o->sreg))
		return clock_row(l, o->sreg, bits);
	if (bits == 64 && o->sreg != COT_PTX_SREG_GRIDID)
		return cot_exec_const_row(l, 0, 64);
	return special_row(o);
}

/* The bits of an immediate as a value of `bits` bits. */
static uint64_t immediate(const struct cot_ptx_operand *o, unsigned bits)
{
	uint64_t value = (uint64_t)o->imm;

	if (o->kind == COT_PTX_OPND_F64 && bits == 32) {
		double d;
		float f;
		uint32_t u;

		memcpy(&d, &value, sizeof(d));
		f = (float)d;
		memcpy(&u, &f, sizeof(u));
		return u;
	}
	if (o->kind == COT_PTX_OPND_INT && o->flags & COT_PTX_NEGATED)
		return 0 - value;
	return value;
}

static cot_exec_ref address_row(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
				unsigned bits)
{
	struct cot_exec_address at;

	if (o->kind == COT_PTX_OPND_FUNC)
		return cot_exec_const_row(l,
					  WINDOW_FUNCTION +
						  (uint64_t)FUNCTION_STEP *
							  cot_exec_function_index(l, o->func),
					  bits);
	if (!cot_exec_place_of(l, o->var, &at))
		return 0;
	if (at.frame) {
		cot_exec_refuse(l, "the address of %s outside of mov and cvta", o->var->name);
		return 0;
	}
	return cot_exec_const_row(l, at.at + (uint64_t)o->imm, bits);
}

cot_exec_ref cot_exec_source_any(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
				 unsigned bits, unsigned *ret_bits)
{
	*ret_bits = bits < 16 ? 16 : bits;
	switch (o->kind) {
	case COT_PTX_OPND_REG:
		*ret_bits = cot_exec_reg_bits(l, o);
		if (*ret_bits < bits) {
			cot_exec_refuse(l, "a register of %u bits; expected %u", *ret_bits, bits);
			*ret_bits = 64;
		}
		return register_row(l, o);
	case COT_PTX_OPND_SREG:
		return special(l, o, ret_bits);
	case COT_PTX_OPND_INT:
	case COT_PTX_OPND_F32:
	case COT_PTX_OPND_F64:
		return cot_exec_const_row(l, immediate(o, bits), bits);
	case COT_PTX_OPND_VAR:
	case COT_PTX_OPND_FUNC:
		return address_row(l, o, bits);
	default:
		cot_exec_refuse(l, "an operand that is not executed here");
		return 0;
	}
}

cot_exec_ref cot_exec_source(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			     unsigned bits)
{
	unsigned width;
	cot_exec_ref ref = cot_exec_source_any(l, o, bits, &width);

	if (width != (bits < 16 ? 16 : bits))
		cot_exec_refuse(l, "a value of %u bits; expected %u", width, bits);
	return ref;
}

cot_exec_ref cot_exec_dest_any(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
			       unsigned bits, unsigned *ret_bits)
{
	*ret_bits = bits < 16 ? 16 : bits;
	if (o->kind == COT_PTX_OPND_SINK)
		return cot_exec_scratch(l, *ret_bits);
	if (o->kind != COT_PTX_OPND_REG) {
		cot_exec_refuse(l, "a destination that is no register");
		return 0;
	}
	*ret_bits = cot_exec_reg_bits(l, o);
	if (*ret_bits < bits || *ret_bits == 1) {
		cot_exec_refuse(l, "a register of %u bits; expected %u", *ret_bits, bits);
		*ret_bits = 64;
	}
	return register_row(l, o);
}

cot_exec_ref cot_exec_dest(struct cot_exec_lower *l, const struct cot_ptx_operand *o, unsigned bits)
{
	unsigned width;
	cot_exec_ref ref = cot_exec_dest_any(l, o, bits, &width);

	if (width != (bits < 16 ? 16 : bits))
		cot_exec_refuse(l, "a register of %u bits; expected %u", width, bits);
	return ref;
}

cot_exec_ref cot_exec_dest_pred(struct cot_exec_lower *l, const struct cot_ptx_operand *o)
{
	if (o->kind == COT_PTX_OPND_SINK)
		return NOWHERE;
	if (o->kind != COT_PTX_OPND_REG || cot_exec_reg_bits(l, o) != 1) {
		cot_exec_refuse(l, "a destination that is no predicate");
		return NOWHERE;
	}
	return register_row(l, o);
}

cot_exec_ref cot_exec_source_pred(struct cot_exec_lower *l, const struct cot_ptx_operand *o,
				  bool *ret_not)
{
	*ret_not = o->flags & COT_PTX_NEGATED;
	if (o->kind == COT_PTX_OPND_REG && cot_exec_reg_bits(l, o) == 1)
		return register_row(l, o);
	if (o->kind == COT_PTX_OPND_INT)
		return cot_exec_const_row(l, o->imm ? UINT32_MAX : 0, 32);
	if (o->kind == COT_PTX_OPND_SREG)
		return ROW_REF(BASE_RUN, RUN_ZERO);
	cot_exec_refuse(l, "an operand that is no predicate");
	return 0;
}

int64_t cot_exec_number(struct cot_exec_lower *l, const struct cot_ptx_operand *o)
{
	if (o->kind == COT_PTX_OPND_INT)
		return (int64_t)immediate(o, 64);
	cot_exec_refuse(l, "an operand that is no constant");
	return 0;
}

/* ---- addresses ---- */

static int space_of(const struct cot_exec_lower *l, enum cot_ptx_space space)
{
	switch (space) {
	case COT_PTX_SPACE_NONE:
		return MEM_GENERIC;
	case COT_PTX_SPACE_GLOBAL:
	case COT_PTX_SPACE_CONST:
		return MEM_GLOBAL;
	case COT_PTX_SPACE_SHARED:
	case COT_PTX_SPACE_SHARED_CLUSTER:
		return MEM_SHARED;
	case COT_PTX_SPACE_LOCAL:
		return MEM_LOCAL;
	case COT_PTX_SPACE_PARAM:
		return l->func->entry ? MEM_ARGS : MEM_LOCAL;
	default:
		return -1;
	}
}

bool cot_exec_address(struct cot_exec_lower *l, struct cot_exec_insn *in,
		      const struct cot_ptx_operand *o, enum cot_ptx_space space)
{
	const struct cot_ptx_operand *base;
	struct cot_exec_address at;
	int kind = space_of(l, space);
	unsigned bits;

	if (o->kind != COT_PTX_OPND_ADDR || kind < 0)
		return cot_exec_refuse(l, "an address that is not executed");
	base = &o->items[0];
	in->space = (uint8_t)kind;
	in->imm = o->imm;
	if (base->kind == COT_PTX_OPND_REG) {
		in->a = cot_exec_source_any(l, base, 32, &bits);
		in->flags |= bits == 64 ? INSN_ADDRESS64 : 0;
		if (bits != 64 && kind <= MEM_GENERIC)
			return cot_exec_refuse(l, "an address of %u bits; expected 64", bits);
		return true;
	}
	in->a = ROW_REF(BASE_RUN, RUN_ZERO);
	if (base->kind == COT_PTX_OPND_VAR) {
		if (!cot_exec_place_of(l, base->var, &at))
			return false;
		in->space = (uint8_t)at.space;
		in->imm += (int64_t)(at.at + (uint64_t)base->imm);
		in->flags |= at.frame ? INSN_FRAME : 0;
	} else {
		in->imm += (int64_t)immediate(base, 64);
	}
	if (in->space <= MEM_GENERIC) {
		in->a = cot_exec_const_row(l, 0, 64);
		in->flags |= INSN_ADDRESS64;
	}
	return true;
}
