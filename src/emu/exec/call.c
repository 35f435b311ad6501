/* Calls: how arguments and results are handed over, and the functions that every program has. */
#include <stdio.h>
#include <string.h>

#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

#define MAX_TEXT 4096u /* of one printf */

/* ---- values ---- */

static uint8_t *frame_row(struct cot_exec_warp *w, const struct cot_exec_frame *f, cot_exec_ref ref)
{
	uint8_t *base = (ref & 3) == BASE_FRAME ? w->regs + f->regs : w->base[ref & 3];

	return base + (ref & ~3u);
}

/* Where a value of the frame is for one lane. */
static uint8_t *place_of(struct cot_exec_warp *w, const struct cot_exec_frame *f,
			 const struct cot_exec_formal *v, unsigned lane)
{
	if (v->row != NOWHERE)
		return frame_row(w, f, v->row) + (size_t)lane * v->bytes;
	return w->local + (size_t)lane * w->local_bytes + f->local + v->offset;
}

static void hand_over(struct cot_exec_warp *w, const struct cot_exec_frame *from,
		      const struct cot_exec_formal *source, const struct cot_exec_frame *to,
		      const struct cot_exec_formal *target, uint32_t m)
{
	uint32_t bytes = source->bytes < target->bytes ? source->bytes : target->bytes;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		memcpy(place_of(w, to, target, i), place_of(w, from, source, i), bytes);
	}
}

void cot_exec_copy_args(struct cot_exec_warp *w, const struct cot_exec_frame *from,
			const struct cot_exec_frame *to, uint32_t m)
{
	const struct cot_exec_module *module = w->block->run->module;
	const struct cot_exec_function *f = &module->functions[to->function];
	uint32_t k;

	for (k = 0; k < to->call->n_args && k < f->n_params; k++)
		hand_over(w, from, &module->actuals[to->call->first_arg + k], to, &f->params[k], m);
}

void cot_exec_copy_rets(struct cot_exec_warp *w, const struct cot_exec_frame *from,
			const struct cot_exec_frame *to, uint32_t m)
{
	const struct cot_exec_module *module = w->block->run->module;
	const struct cot_exec_function *f = &module->functions[from->function];
	uint32_t k;

	for (k = 0; k < from->call->n_rets && k < f->n_rets; k++)
		hand_over(w, from, &f->rets[k], to, &module->actuals[from->call->first_ret + k], m);
}

/* ---- built-in functions ---- */

static uint64_t argument(struct cot_exec_warp *w, const struct cot_exec_call *call, uint32_t k,
			 unsigned lane)
{
	const struct cot_exec_module *module = w->block->run->module;
	const struct cot_exec_formal *v = &module->actuals[call->first_arg + k];
	uint64_t value = 0;

	if (k < call->n_args)
		memcpy(&value, place_of(w, &w->frames[w->group->frame], v, lane),
		       v->bytes < sizeof(value) ? v->bytes : sizeof(value));
	return value;
}

static void set_result(struct cot_exec_warp *w, const struct cot_exec_call *call, unsigned lane,
		       uint64_t value)
{
	const struct cot_exec_formal *v = &w->block->run->module->actuals[call->first_ret];

	if (call->n_rets)
		memcpy(place_of(w, &w->frames[w->group->frame], v, lane), &value,
		       v->bytes < sizeof(value) ? v->bytes : sizeof(value));
}

static void print(struct cot_exec_run *run, const char *text, size_t n)
{
	if (!run->launch.print)
		return;
	pthread_mutex_lock(&run->print_lock);
	run->launch.print(run->launch.arg, text, n);
	pthread_mutex_unlock(&run->print_lock);
}

/* __assertfail(message, file, line, function, size of a character) */
static enum cot_exec_flow assertion(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				    const struct cot_exec_call *call, unsigned lane)
{
	char message[128] = "?", file[128] = "?", function[96] = "?", text[COT_ERROR_MAX];
	const uint32_t *id = w->block->id,
		       *tid = (const uint32_t *)(const void *)w->base[BASE_WARP];
	int n;

	cot_exec_read_text(w, lane, argument(w, call, 0, lane), message, sizeof(message));
	cot_exec_read_text(w, lane, argument(w, call, 1, lane), file, sizeof(file));
	cot_exec_read_text(w, lane, argument(w, call, 3, lane), function, sizeof(function));
	n = snprintf(text, sizeof(text),
		     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		     file, (unsigned)argument(w, call, 2, lane), function, id[0], id[1], id[2],
		     tid[lane], tid[LANES + lane], tid[2 * LANES + lane], message);
	if (n > 0)
		print(w->block->run, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return cot_exec_fault(w, in, lane, COT_EXEC_FAULT_ASSERT, 0,
			      "the assertion \"%.100s\" of %.100s:%u failed", message, file,
			      (unsigned)argument(w, call, 2, lane));
}

static void do_printf(struct cot_exec_warp *w, const struct cot_exec_call *call, unsigned lane)
{
	char text[MAX_TEXT];
	size_t n = cot_exec_format(w, lane, argument(w, call, 0, lane), argument(w, call, 1, lane),
				   text, sizeof(text));

	print(w->block->run, text, n);
	set_result(w, call, lane, n);
}

enum cot_exec_flow cot_exec_builtin(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				    uint32_t m, const struct cot_exec_function *f,
				    const struct cot_exec_call *call)
{
	const struct cot_exec_launch *launch = &w->block->run->launch;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		switch (f->builtin) {
		case BUILTIN_VPRINTF:
			do_printf(w, call, i);
			break;
		case BUILTIN_MALLOC:
			set_result(w, call, i,
				   launch->malloc
					   ? launch->malloc(launch->arg, argument(w, call, 0, i))
					   : 0);
			break;
		case BUILTIN_FREE:
			if (launch->free)
				launch->free(launch->arg, argument(w, call, 0, i));
			break;
		default:
			return assertion(w, in, call, i);
		}
	}
	return FLOW_NEXT;
}

/* ---- lowering ---- */

/* What is handed over: a register, a constant, or a variable in .param. */
static bool lower_actual(struct cot_exec_lower *l, const struct cot_ptx_operand *o, unsigned bits,
			 bool result, struct cot_exec_formal *v)
{
	struct cot_exec_address at;
	unsigned width;

	v->row = NOWHERE;
	if (o->kind == COT_PTX_OPND_VAR) {
		if (!cot_exec_place_of(l, o->var, &at))
			return false;
		v->offset = (uint32_t)(at.at + (uint64_t)o->imm);
		v->bytes = (uint32_t)cot_ptx_var_bytes(o->var);
		if (!at.frame)
			return cot_exec_refuse(l, "the address of %s as an argument", o->var->name);
		return true;
	}
	v->row = result ? cot_exec_dest_any(l, o, bits, &width)
			: cot_exec_source_any(l, o, bits, &width);
	v->bytes = width / 8;
	return true;
}

/* Parameters and results as the function or the prototype declares them. */
struct signature {
	struct cot_ptx_var **params, **rets;
	uint32_t n_params, n_rets;
};

static struct signature signature_of(const struct cot_ptx_insn *x)
{
	const struct cot_ptx_operand *target = &x->operands[1], *table = &x->operands[3];
	const struct cot_ptx_func *f = NULL;

	if (target->kind == COT_PTX_OPND_FUNC) {
		f = target->func;
	} else if (table->kind == COT_PTX_OPND_LABEL && table->label->stmt) {
		const struct cot_ptx_stmt *s = table->label->stmt;

		if (s->kind == COT_PTX_STMT_PROTO)
			return (struct signature){s->proto->params, s->proto->rets,
						  s->proto->n_params, s->proto->n_rets};
		if (s->kind == COT_PTX_STMT_CALLTARGETS && s->targets->n)
			f = s->targets->items[0].func;
	}
	if (!f)
		return (struct signature){0};
	return (struct signature){f->params, f->rets, f->n_params, f->n_rets};
}

static unsigned bits_of(struct cot_ptx_var *const *vars, uint32_t n, uint32_t k)
{
	unsigned bits = k < n ? cot_ptx_type_bits(vars[k]->type) : 32;

	return bits < 16 ? 16 : bits;
}

static bool lower_list(struct cot_exec_lower *l, const struct cot_ptx_operand *list,
		       struct cot_ptx_var *const *vars, uint32_t n_vars, bool results)
{
	struct cot_exec_formal v, *slot;
	uint32_t k;

	if (list->kind == COT_PTX_OPND_NONE)
		return true;
	for (k = 0; k < list->n; k++) {
		if (!lower_actual(l, &list->items[k], bits_of(vars, n_vars, k), results, &v))
			return false;
		slot = cot_exec_list_add(&l->actuals, 1);
		if (!slot) {
			l->error = -1;
			return false;
		}
		*slot = v;
	}
	return true;
}

bool cot_exec_lower_call(struct cot_exec_lower *l, const struct cot_ptx_insn *x, cot_exec_fn fn)
{
	const struct cot_ptx_operand *target = &x->operands[1];
	struct signature s = signature_of(x);
	struct cot_exec_call call = {.function = NOWHERE}, *slot;
	struct cot_exec_insn *in;
	cot_exec_ref a = 0;

	call.first_ret = (uint32_t)l->actuals.n;
	if (!lower_list(l, &x->operands[0], s.rets, s.n_rets, true))
		return true;
	call.n_rets = (uint32_t)l->actuals.n - call.first_ret;
	call.first_arg = (uint32_t)l->actuals.n;
	if (!lower_list(l, &x->operands[2], s.params, s.n_params, false))
		return true;
	call.n_args = (uint32_t)l->actuals.n - call.first_arg;
	if (target->kind == COT_PTX_OPND_FUNC) {
		if (target->func->entry)
			return cot_exec_refuse(l, "a call of the kernel %s", target->func->name);
		call.function = cot_exec_function_index(l, target->func);
	} else {
		a = cot_exec_source(l, target, 64);
	}
	slot = cot_exec_list_add(&l->calls, 1);
	in = slot ? cot_exec_emit(l, fn) : NULL;
	if (!in) {
		l->error = -1;
		return true;
	}
	*slot = call;
	in->a = a;
	in->imm = (int64_t)l->calls.n - 1;
	return true;
}
