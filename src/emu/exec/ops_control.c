/* Branches, calls, returns and ends; fences; and what does nothing here. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

static uint32_t place(const struct cot_exec_warp *w, const struct cot_exec_insn *in)
{
	return (uint32_t)(in - w->block->run->module->code);
}

/* imm: where to; e: where both ways meet again */
HANDLER(bra)
{
	if (COT_LIKELY(m == w->group->mask)) {
		w->group->pc = (uint32_t)in->imm;
		return FLOW_JUMP;
	}
	return cot_exec_split(w, m, (uint32_t)in->imm, place(w, in) + 1, in->e);
}

/* Lanes of m whose value is that of the first. */
static uint32_t same_value(const row_u32 *row, uint32_t m, uint32_t value)
{
	uint32_t same = 0;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		same |= (uint32_t)(row[i] == value) << i;
	}
	return same;
}

/* imm: index of the table; n, d: its length */
HANDLER(brx)
{
	const uint32_t *table = w->block->run->module->tables + in->imm;
	const row_u32 *index = ROW(u32, in->a);
	unsigned first = (unsigned)__builtin_ctz(m);
	uint32_t here = place(w, in), same;

	if (m != w->group->mask)
		return cot_exec_split(w, m, here, here + 1, in->e);
	if (index[first] >= in->d)
		return cot_exec_fault(w, in, first, COT_EXEC_FAULT_INSTRUCTION, 0,
				      "a jump to entry %u of a table of %u labels", index[first],
				      in->d);
	same = same_value(index, m, index[first]);
	return cot_exec_split(w, same, table[index[first]], here, in->e);
}

HANDLER(join)
{
	w->worker->n_warp_insns--;
	w->worker->n_thread_insns -= (unsigned)__builtin_popcount(m);
	return cot_exec_join(w, in);
}

cot_exec_fn cot_exec_join_handler(void)
{
	return join;
}

HANDLER(ret)
{
	return cot_exec_return(w, in, m);
}

HANDLER(end)
{
	return cot_exec_exit(w, in, m);
}

HANDLER(trap)
{
	return cot_exec_fault(w, in, (unsigned)__builtin_ctz(m), COT_EXEC_FAULT_TRAP, 0, "a trap");
}

HANDLER(fence)
{
	(void)w;
	(void)in;
	(void)m;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return FLOW_NEXT;
}

/* The CPU thread has better things to do than to wait. */
HANDLER(doze)
{
	(void)m;
	w->group->pc = place(w, in) + 1;
	w->block->yielded = true;
	return m == w->group->mask ? FLOW_YIELD : FLOW_NEXT;
}

/* ---- calls ---- */

/* imm: index of the call; a: the address, if it is indirect */
HANDLER(call)
{
	const struct cot_exec_module *module = w->block->run->module;
	const struct cot_exec_call *c = &module->calls[in->imm];
	uint32_t here = place(w, in), function = c->function;
	const struct cot_exec_function *f;

	if (m != w->group->mask)
		return cot_exec_split(w, m, here, here + 1, NOWHERE);
	if (function == NOWHERE) {
		const row_u64 *a = ROW(u64, in->a);
		unsigned first = (unsigned)__builtin_ctz(m);
		uint32_t same = 0, rest;
		uint64_t index = (a[first] - WINDOW_FUNCTION) / FUNCTION_STEP;

		for (rest = m; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctz(rest);

			same |= (uint32_t)(a[i] == a[first]) << i;
		}
		if (same != m)
			return cot_exec_split(w, same, here, here, NOWHERE);
		if (a[first] < WINDOW_FUNCTION || index >= module->n_functions ||
		    a[first] % FUNCTION_STEP || module->functions[index].entry ||
		    module->functions[index].n_params != c->n_args ||
		    module->functions[index].n_rets != c->n_rets)
			return cot_exec_fault(w, in, first, COT_EXEC_FAULT_INSTRUCTION, a[first],
					      "a call of address 0x%llx, where no such function is",
					      (unsigned long long)a[first]);
		function = (uint32_t)index;
	}
	f = &module->functions[function];
	if (f->builtin)
		return cot_exec_builtin(w, in, m, f, c);
	if (f->pc == NOWHERE)
		return cot_exec_fault(w, in, (unsigned)__builtin_ctz(m), COT_EXEC_FAULT_INSTRUCTION,
				      0, "a call of %s, which is not defined", f->info.name);
	return cot_exec_enter(w, in, function, c, here + 1);
}

/* ---- lowering ---- */

static bool lower_bra(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	struct cot_exec_insn *in = cot_exec_emit(l, bra);

	if (in) {
		in->e = NOWHERE;
		cot_exec_fix_label(l, x->operands[0].label, false, 0);
	}
	return true;
}

static bool lower_brx(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_label *label = x->operands[1].label;
	const struct cot_ptx_targets *targets;
	cot_exec_ref a = cot_exec_source(l, &x->operands[0], 32);
	struct cot_exec_insn *in;
	uint32_t first = (uint32_t)l->tables.n, i;

	if (!label->stmt || label->stmt->kind != COT_PTX_STMT_TARGETS)
		return cot_exec_refuse(l, "brx.idx without a table of labels");
	targets = label->stmt->targets;
	if (!cot_exec_list_add(&l->tables, targets->n)) {
		l->error = -1;
		return true;
	}
	for (i = 0; i < targets->n; i++)
		cot_exec_fix_label(l, targets->items[i].label, true, first + i);
	in = cot_exec_emit(l, brx);
	if (in) {
		in->a = a;
		in->imm = first;
		in->d = targets->n;
		in->e = NOWHERE;
	}
	return true;
}

static cot_exec_fn plain_handler(uint16_t op)
{
	switch (op) {
	case COT_PTX_OP_RET:
		return ret;
	case COT_PTX_OP_EXIT:
		return end;
	case COT_PTX_OP_TRAP:
	case COT_PTX_OP_BRKPT:
		return trap;
	case COT_PTX_OP_NANOSLEEP:
		return doze;
	case COT_PTX_OP_MEMBAR:
	case COT_PTX_OP_FENCE:
	case COT_PTX_OP_FENCE_PROXY:
	case COT_PTX_OP_MEMBAR_PROXY:
		return fence;
	default:
		return NULL;
	}
}

/* Hints, and what is over at once here. */
static bool does_nothing(uint16_t op)
{
	switch (op) {
	case COT_PTX_OP_PREFETCH:
	case COT_PTX_OP_PREFETCHU:
	case COT_PTX_OP_APPLYPRIORITY:
	case COT_PTX_OP_DISCARD:
	case COT_PTX_OP_PMEVENT:
	case COT_PTX_OP_GRIDDEPCONTROL_WAIT:
	case COT_PTX_OP_GRIDDEPCONTROL_LAUNCH:
	case COT_PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case COT_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case COT_PTX_OP_CP_ASYNC_WAIT_ALL:
		return true;
	default:
		return false;
	}
}

bool cot_exec_lower_control(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	cot_exec_fn fn = plain_handler(x->op);

	if (x->op == COT_PTX_OP_BRA)
		return lower_bra(l, x);
	if (x->op == COT_PTX_OP_BRX_IDX)
		return lower_brx(l, x);
	if (x->op == COT_PTX_OP_CALL)
		return cot_exec_lower_call(l, x, call);
	if (does_nothing(x->op))
		return true;
	if (!fn)
		return false;
	cot_exec_emit(l, fn);
	return true;
}
