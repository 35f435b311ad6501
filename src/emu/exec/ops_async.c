/* cp.async: the copy is made at once, which is a legal time for it. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

#define MAX_COPY 16u

/* From a (insn: imm, space) to what the next instruction, a twin, names; n bytes, d of them real.
 */
HANDLER(copy)
{
	const struct cot_exec_insn *to = in + 1;
	const row_u32 *sizes = in->d == NOWHERE ? NULL : ROW(u32, in->d);
	uint32_t ignore = in->b == NOWHERE ? 0 : cot_exec_pred(w, in->b) ^ (in->c ? ALL_LANES : 0);
	uint8_t *from_p[LANES], *to_p[LANES], bytes[MAX_COPY];
	uint32_t some = m & ~ignore, rest;

	for (rest = some; sizes && rest; rest &= rest - 1)
		if (!sizes[__builtin_ctz(rest)])
			some &= ~(1u << __builtin_ctz(rest));
	if (some && cot_exec_access(w, in, some, in->n, from_p))
		return FLOW_FAULT;
	if (cot_exec_access(w, to, m, in->n, to_p))
		return FLOW_FAULT;
	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);
		uint32_t n = !(some >> i & 1) ? 0 : sizes && sizes[i] < in->n ? sizes[i] : in->n, k;

		memset(bytes, 0, sizeof(bytes));
		for (k = 0; k < n; k++)
			bytes[k] = __atomic_load_n(from_p[i] + k, __ATOMIC_RELAXED);
		memcpy(to_p[i], bytes, in->n);
	}
	return FLOW_NEXT;
}

HANDLER(twin)
{
	(void)w;
	(void)in;
	(void)m;
	return FLOW_NEXT;
}

bool cot_exec_lower_async(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	struct cot_exec_insn from = {.b = NOWHERE, .d = NOWHERE};
	struct cot_exec_insn to = {.flags = INSN_WRITES | INSN_NOT_COUNTED};
	const struct cot_ptx_operand *extra;
	bool negated = false;
	int64_t n;

	if (x->op != COT_PTX_OP_CP_ASYNC)
		return false;
	n = cot_exec_number(l, &x->operands[2]);
	if (n != 4 && n != 8 && n != 16)
		return cot_exec_refuse(l, "cp.async of %lld bytes; expected 4, 8 or 16",
				       (long long)n);
	from.n = to.n = (uint8_t)n;
	if (x->n_operands > 3) {
		extra = &x->operands[3];
		if (cot_exec_is_reg(extra) && cot_exec_reg_bits(l, extra) == 1) {
			from.b = cot_exec_source_pred(l, extra, &negated);
			from.c = negated;
		} else if (!cot_ptx_has_mod(x, COT_PTX_MOD_L2_CACHE_HINT)) {
			from.d = cot_exec_source(l, extra, 32);
		}
	}
	if (!cot_exec_address(l, &from, &x->operands[1], COT_PTX_SPACE_GLOBAL) ||
	    !cot_exec_address(l, &to, &x->operands[0], COT_PTX_SPACE_SHARED))
		return true;
	cot_exec_emit_memory(l, copy, &from);
	cot_exec_emit_memory(l, twin, &to);
	return true;
}
