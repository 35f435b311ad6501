/* Questions about modules, functions and instructions. */
#include <string.h>

#include "ptx/match.h"
#include "ptx/names.h"

struct cot_ptx_func *cot_ptx_find_func(const struct cot_ptx_module *module, const char *name)
{
	struct cot_ptx_name found =
		cot_ptx_names_get(module->names, NULL, false, cot_ptx_str(name));

	return found.kind == COT_PTX_NAME_FUNC ? found.what : NULL;
}

struct cot_ptx_var *cot_ptx_find_var(const struct cot_ptx_module *module, const char *name)
{
	struct cot_ptx_name found =
		cot_ptx_names_get(module->names, NULL, false, cot_ptx_str(name));

	return found.kind == COT_PTX_NAME_VAR ? found.what : NULL;
}

uint32_t cot_ptx_find_reg(const struct cot_ptx_func *func, const char *name)
{
	return cot_ptx_names_find_reg(func->module->names, func->scope, cot_ptx_str(name));
}

struct cot_ptx_item *cot_ptx_item_of_func(const struct cot_ptx_func *func)
{
	struct cot_ptx_item *item;

	for (item = func->module->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && item->func == func)
			return item;
	return NULL;
}

/* ---- variables ---- */

uint64_t cot_ptx_var_bytes(const struct cot_ptx_var *var)
{
	uint64_t element = (uint64_t)cot_ptx_type_bytes((enum cot_ptx_type)var->type) * var->vec;
	uint64_t inner = 1, bytes;
	uint32_t i;

	for (i = var->unsized; i < var->n_dims; i++)
		inner *= var->dims[i];
	bytes = element * inner;
	if (!var->unsized)
		return bytes;
	/* [] is as long as its initial values need. */
	return inner ? (var->n_inits + inner * var->vec - 1) / (inner * var->vec) * bytes : 0;
}

uint32_t cot_ptx_var_align(const struct cot_ptx_var *var)
{
	uint32_t natural = cot_ptx_type_bytes((enum cot_ptx_type)var->type) * var->vec;

	if (var->align)
		return var->align;
	return natural ? natural : 1;
}

/* ---- instructions ---- */

bool cot_ptx_has_mod(const struct cot_ptx_insn *insn, enum cot_ptx_mod mod)
{
	unsigned i;

	for (i = 0; i < insn->n_mods; i++)
		if (insn->mods[i] == mod)
			return true;
	return false;
}

enum cot_ptx_mod cot_ptx_mod_of(const struct cot_ptx_insn *insn, enum cot_ptx_class class_)
{
	unsigned i;

	for (i = 0; i < insn->n_mods; i++)
		if (cot_ptx_mod_class((enum cot_ptx_mod)insn->mods[i]) == class_)
			return (enum cot_ptx_mod)insn->mods[i];
	return COT_PTX_NO_MOD;
}

static bool has_items(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_VECTOR || o->kind == COT_PTX_OPND_PAIR ||
	       o->kind == COT_PTX_OPND_ADDR || o->kind == COT_PTX_OPND_TENSOR ||
	       o->kind == COT_PTX_OPND_LIST;
}

static void walk_operands(struct cot_ptx_operand *list, uint32_t n, cot_ptx_operand_fn fn,
			  void *arg)
{
	uint32_t i;

	/* Vectors in the brackets of a tensor are the deepest there are. */
	for (i = 0; i < n; i++) {
		fn(arg, &list[i]);
		if (has_items(&list[i]))
			walk_operands(list[i].items, list[i].n, fn, arg);
	}
}

void cot_ptx_for_each_operand(struct cot_ptx_insn *insn, cot_ptx_operand_fn fn, void *arg)
{
	walk_operands(insn->operands, insn->n_operands, fn, arg);
}

struct reg_walk {
	cot_ptx_reg_fn fn;
	void *arg;
};

static void walk_regs(const struct cot_ptx_operand *o, const struct reg_walk *w, bool written)
{
	uint32_t i;

	if (o->kind == COT_PTX_OPND_REG)
		w->fn(w->arg, o->reg, written);
	for (i = 0; has_items(o) && i < o->n; i++)
		walk_regs(&o->items[i], w,
			  written && o->kind != COT_PTX_OPND_ADDR &&
				  o->kind != COT_PTX_OPND_TENSOR);
}

void cot_ptx_for_each_reg(const struct cot_ptx_insn *insn, cot_ptx_reg_fn fn, void *arg)
{
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)insn->op)->flags;
	const char *pattern = cot_ptx_pattern_of(insn);
	struct reg_walk w = {fn, arg};
	struct cot_ptx_part part;
	unsigned i;

	if (insn->guard != COT_PTX_NO_REG)
		fn(arg, insn->guard, false);
	if (flags & COT_PTX_F_CALL) {
		for (i = 0; i < insn->n_operands; i++)
			walk_regs(&insn->operands[i], &w, i == 0);
		return;
	}
	for (i = 0; i < insn->n_operands; i++) {
		bool known = pattern && cot_ptx_part_next(&pattern, &part);
		bool written = known && (strchr("dDMeqQ", part.role) || (part.role == 'V' && !i));

		/* The accumulators of wgmma are both. */
		if (written && flags & COT_PTX_F_WGMMA)
			walk_regs(&insn->operands[i], &w, false);
		walk_regs(&insn->operands[i], &w, written);
	}
}
