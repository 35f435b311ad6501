/* What the reader and the editor build modules from. */
#include "ptx/build.h"

#include <errno.h>
#include <string.h>

/* ---- blocks, items, tables ---- */

struct cot_ptx_scope *cot_ptx_new_scope(struct cot_ptx_module *module, struct cot_ptx_scope *parent)
{
	struct cot_ptx_scope *scope = cot_arena_alloc(module->arena, sizeof(*scope));

	if (!scope)
		return NULL;
	scope->parent = parent;
	scope->id = module->next_scope++;
	scope->depth = parent ? parent->depth + 1 : 0;
	return scope;
}

void cot_ptx_link_item(struct cot_ptx_module *module, struct cot_ptx_item *item,
		       struct cot_ptx_item *before)
{
	item->next = before;
	item->prev = before ? before->prev : module->last;
	if (item->prev)
		item->prev->next = item;
	else
		module->first = item;
	if (before)
		before->prev = item;
	else
		module->last = item;
}

uint32_t cot_ptx_room_for(uint32_t n, uint32_t cap)
{
	while (cap < n)
		cap = cap ? cap * 2 : 16;
	return cap;
}

int cot_ptx_grow_regs(struct cot_ptx_func *func, uint32_t count)
{
	struct cot_ptx_module *module = func->module;
	uint32_t cap;

	if (count > COT_PTX_REGS_MAX - func->n_regs ||
	    count > COT_PTX_REGS_MAX * 16 - module->n_regs)
		return -E2BIG;
	cap = cot_ptx_room_for(func->n_regs + count, func->cap_regs);
	if (cap != func->cap_regs) {
		struct cot_ptx_reg *regs =
			cot_arena_grow(module->arena, func->regs, func->n_regs, cap, sizeof(*regs));

		if (!regs)
			return -ENOMEM;
		func->regs = regs;
		func->cap_regs = cap;
	}
	func->n_regs += count;
	module->n_regs += count;
	return 0;
}

int cot_ptx_add_label(struct cot_ptx_func *func, struct cot_ptx_label *label)
{
	uint32_t cap = cot_ptx_room_for(func->n_labels + 1, func->cap_labels);

	if (cap != func->cap_labels) {
		struct cot_ptx_label **labels =
			cot_arena_grow(func->module->arena, func->labels, func->n_labels, cap,
				       sizeof(struct cot_ptx_label *));

		if (!labels)
			return -ENOMEM;
		func->labels = labels;
		func->cap_labels = cap;
	}
	label->index = func->n_labels;
	func->labels[func->n_labels++] = label;
	return 0;
}

/* ---- names ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Behind the "cot7_" of a name that was new once. */
static struct cot_ptx_str without_number(struct cot_ptx_str text)
{
	size_t i = 3;

	if (text.length < 4 || memcmp(text.at, "cot", 3))
		return text;
	while (i < text.length && text.at[i] >= '0' && text.at[i] <= '9')
		i++;
	if (i == 3 || i == text.length || text.at[i] != '_')
		return text;
	return (struct cot_ptx_str){text.at + i + 1, text.length - i - 1};
}

const char *cot_ptx_fresh_name(struct cot_ptx_module *module, struct cot_ptx_str text)
{
	char name[COT_PTX_HINT_MAX + 20], digits[12];
	uint32_t number = module->next_fresh++;
	size_t n = 0, d = sizeof(digits), i;

	if (text.length && (text.at[0] == '%' || text.at[0] == '$')) {
		name[n++] = text.at[0];
		text.at++;
		text.length--;
	}
	text = without_number(text);
	memcpy(name + n, "cot", 3);
	n += 3;
	do
		digits[--d] = (char)('0' + number % 10);
	while (number /= 10);
	memcpy(name + n, digits + d, sizeof(digits) - d);
	n += sizeof(digits) - d;
	name[n++] = '_';
	for (i = 0; i < text.length && i < COT_PTX_HINT_MAX; i++)
		if (is_word(text.at[i]))
			name[n++] = text.at[i];
	return cot_arena_strndup(module->arena, name, n);
}

void cot_ptx_forget_func(struct cot_ptx_module *module, struct cot_ptx_func *func)
{
	struct cot_ptx_func *first = NULL;
	struct cot_ptx_item *item;

	if (!func->name || cot_ptx_find_func(module, func->name) != func)
		return;
	for (item = module->first; item; item = item->next) {
		struct cot_ptx_func *other = item->kind == COT_PTX_ITEM_FUNC ? item->func : NULL;

		if (!other || other == func || strcmp(other->name, func->name) != 0)
			continue;
		other->decl_of = NULL;
		first = first ? first : other;
	}
	/* The name is in the table: replacing what it stands for takes no memory. */
	(void)cot_ptx_names_set(module->names, NULL, false, cot_ptx_str(func->name),
				(struct cot_ptx_name){COT_PTX_NAME_FUNC, first});
}

/* ---- operands and modifiers ---- */

struct cot_ptx_operand cot_ptx_reg_operand(uint32_t reg)
{
	return (struct cot_ptx_operand){.kind = COT_PTX_OPND_REG, .reg = reg};
}

struct cot_ptx_operand cot_ptx_var_operand(struct cot_ptx_var *var)
{
	return (struct cot_ptx_operand){.kind = COT_PTX_OPND_VAR, .var = var};
}

struct cot_ptx_operand cot_ptx_func_operand(struct cot_ptx_func *func)
{
	return (struct cot_ptx_operand){.kind = COT_PTX_OPND_FUNC, .func = func};
}

struct cot_ptx_operand cot_ptx_label_operand(struct cot_ptx_label *label)
{
	return (struct cot_ptx_operand){.kind = COT_PTX_OPND_LABEL, .label = label};
}

static enum cot_ptx_space space_of_mod(enum cot_ptx_mod mod)
{
	switch (mod) {
	case COT_PTX_MOD_GLOBAL:
		return COT_PTX_SPACE_GLOBAL;
	case COT_PTX_MOD_CONST:
		return COT_PTX_SPACE_CONST;
	case COT_PTX_MOD_SHARED:
	case COT_PTX_MOD_SHARED_CTA:
		return COT_PTX_SPACE_SHARED;
	case COT_PTX_MOD_SHARED_CLUSTER:
		return COT_PTX_SPACE_SHARED_CLUSTER;
	case COT_PTX_MOD_LOCAL:
		return COT_PTX_SPACE_LOCAL;
	case COT_PTX_MOD_PARAM:
	case COT_PTX_MOD_PARAM_ENTRY:
	case COT_PTX_MOD_PARAM_FUNC:
		return COT_PTX_SPACE_PARAM;
	default:
		return COT_PTX_SPACE_NONE;
	}
}

void cot_ptx_decode_mods(struct cot_ptx_insn *insn)
{
	bool has_space = false;
	unsigned i;

	insn->n_types = 0;
	insn->space = COT_PTX_SPACE_NONE;
	insn->vec = 1;
	memset(insn->types, COT_PTX_NO_TYPE, sizeof(insn->types));
	for (i = 0; i < insn->n_mods; i++) {
		enum cot_ptx_mod mod = (enum cot_ptx_mod)insn->mods[i];

		if (mod > COT_PTX_MOD_TYPE && insn->n_types < sizeof(insn->types))
			insn->types[insn->n_types++] = (uint8_t)(mod - COT_PTX_MOD_TYPE);
		if (cot_ptx_mod_class(mod) == COT_PTX_CLASS_SPACE && !has_space) {
			insn->space = (uint8_t)space_of_mod(mod);
			has_space = true;
		}
		if (mod == COT_PTX_MOD_V2)
			insn->vec = 2;
		else if (mod == COT_PTX_MOD_V4)
			insn->vec = 4;
		else if (mod == COT_PTX_MOD_V8)
			insn->vec = 8;
	}
}
