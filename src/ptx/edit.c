/* Changes of functions, statement by statement. */
#include <errno.h>
#include <string.h>

#include "ptx/edit.h"

const char *cot_ptx_strdup(struct cot_ptx_module *module, const char *text)
{
	return cot_arena_strndup(module->arena, text, strlen(text));
}

/* ---- new names ---- */

static const char *fresh_with(struct cot_ptx_module *module, char first, const char *hint)
{
	char text[COT_PTX_HINT_MAX + 1];
	size_t n = strlen(hint);

	if (n > COT_PTX_HINT_MAX)
		n = COT_PTX_HINT_MAX;
	text[0] = first;
	memcpy(text + 1, hint, n);
	return cot_ptx_fresh_name(module, (struct cot_ptx_str){text, n + 1});
}

static bool can_edit(const struct cot_ptx_func *func)
{
	return func->has_body && !func->opaque;
}

/* ---- statements ---- */

static struct cot_ptx_stmt *new_stmt(struct cot_ptx_func *func, enum cot_ptx_stmt_kind kind)
{
	struct cot_ptx_stmt *s = cot_arena_alloc(func->module->arena, sizeof(*s));

	if (s)
		s->kind = (uint8_t)kind;
	return s;
}

void cot_ptx_link(struct cot_ptx_func *func, struct cot_ptx_stmt *stmt, struct cot_ptx_stmt *before)
{
	stmt->scope = before ? before->scope : func->scope;
	stmt->next = before;
	stmt->prev = before ? before->prev : func->last;
	if (stmt->prev)
		stmt->prev->next = stmt;
	else
		func->first = stmt;
	if (before)
		before->prev = stmt;
	else
		func->last = stmt;
	if (stmt->kind == COT_PTX_STMT_LABEL) {
		stmt->label->stmt = stmt;
		stmt->label->scope = stmt->scope;
	}
}

void cot_ptx_unlink(struct cot_ptx_func *func, struct cot_ptx_stmt *stmt)
{
	if (stmt->prev)
		stmt->prev->next = stmt->next;
	else
		func->first = stmt->next;
	if (stmt->next)
		stmt->next->prev = stmt->prev;
	else
		func->last = stmt->prev;
	stmt->prev = stmt->next = NULL;
	if (stmt->kind == COT_PTX_STMT_LABEL)
		stmt->label->stmt = NULL;
}

struct cot_ptx_stmt *cot_ptx_body_start(const struct cot_ptx_func *func)
{
	struct cot_ptx_stmt *s = func->first;

	while (s && (s->kind == COT_PTX_STMT_REG || s->kind == COT_PTX_STMT_VAR ||
		     s->kind == COT_PTX_STMT_PRAGMA))
		s = s->next;
	return s;
}

int cot_ptx_copy_operands(struct cot_ptx_module *module, struct cot_ptx_operand **list, uint32_t n)
{
	uint32_t i;
	int r = 0;

	*list = cot_arena_grow(module->arena, *list, n, n, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (i = 0; !r && i < n; i++) {
		struct cot_ptx_operand *o = &(*list)[i];

		if (o->kind == COT_PTX_OPND_VECTOR || o->kind == COT_PTX_OPND_PAIR ||
		    o->kind == COT_PTX_OPND_ADDR || o->kind == COT_PTX_OPND_TENSOR ||
		    o->kind == COT_PTX_OPND_LIST)
			r = cot_ptx_copy_operands(module, &o->items, o->n);
	}
	return r;
}

/* ---- registers, labels, parameters ---- */

int cot_ptx_new_reg(struct cot_ptx_func *func, enum cot_ptx_type type, const char *hint,
		    uint32_t *ret_reg)
{
	struct cot_ptx_module *module = func->module;
	struct cot_ptx_reg_decl *decl = cot_arena_alloc(module->arena, sizeof(*decl));
	struct cot_ptx_stmt *s = new_stmt(func, COT_PTX_STMT_REG);
	struct cot_ptx_name entry = {COT_PTX_NAME_REG, decl};
	int r;

	if (!can_edit(func))
		return -EINVAL;
	if (!decl || !s)
		return -ENOMEM;
	decl->name = fresh_with(module, '%', hint);
	decl->type = (uint8_t)type;
	decl->count = 1;
	decl->first = func->n_regs;
	decl->scope = func->scope;
	s->reg = decl;
	r = decl->name ? cot_ptx_grow_regs(func, 1) : -ENOMEM;
	if (!r)
		r = cot_ptx_names_set(module->names, func->scope, false, cot_ptx_str(decl->name),
				      entry);
	if (r)
		return r;
	func->regs[decl->first] = (struct cot_ptx_reg){decl, decl->type};
	cot_ptx_link(func, s, func->first);
	s->scope = func->scope;
	*ret_reg = decl->first;
	return 0;
}

int cot_ptx_new_label(struct cot_ptx_func *func, const char *hint, struct cot_ptx_label **ret_label)
{
	struct cot_ptx_module *module = func->module;
	struct cot_ptx_label *label = cot_arena_alloc(module->arena, sizeof(*label));
	struct cot_ptx_name entry = {COT_PTX_NAME_LABEL, label};
	int r;

	if (!can_edit(func))
		return -EINVAL;
	if (!label)
		return -ENOMEM;
	label->name = fresh_with(module, '$', hint);
	label->scope = func->scope;
	r = label->name ? cot_ptx_add_label(func, label) : -ENOMEM;
	if (!r)
		r = cot_ptx_names_set(module->names, func->scope, false, cot_ptx_str(label->name),
				      entry);
	if (!r)
		*ret_label = label;
	return r;
}

/* One more parameter in this declaration or definition. */
static int add_one_param(struct cot_ptx_func *func, enum cot_ptx_type type, const char *name,
			 struct cot_ptx_var **ret_var)
{
	struct cot_arena *arena = func->module->arena;
	struct cot_ptx_var *var = cot_arena_alloc(arena, sizeof(*var));
	struct cot_ptx_var **params;
	int r;

	if (func->n_params >= COT_PTX_LIST_MAX)
		return -E2BIG;
	params = cot_arena_grow(arena, func->params, func->n_params, (size_t)func->n_params + 1,
				sizeof(struct cot_ptx_var *));
	if (!params || !var)
		return -ENOMEM;
	*var = (struct cot_ptx_var){.name = name,
				    .space = COT_PTX_SPACE_PARAM,
				    .type = (uint8_t)type,
				    .vec = 1,
				    .func = func,
				    .scope = func->scope};
	r = cot_ptx_names_set(func->module->names, func->scope, false, cot_ptx_str(name),
			      (struct cot_ptx_name){COT_PTX_NAME_VAR, var});
	if (r)
		return r;
	params[func->n_params++] = var;
	func->params = params;
	*ret_var = var;
	return 0;
}

int cot_ptx_add_param(struct cot_ptx_func *func, enum cot_ptx_type type, const char *name,
		      struct cot_ptx_var **ret_var)
{
	struct cot_ptx_str text = cot_ptx_str(name);
	struct cot_ptx_item *item;
	struct cot_ptx_var *var;
	int r;

	if (func->opaque)
		return -EINVAL;
	name = cot_ptx_names_find(func->module->names, func->scope, text).kind
		       ? cot_ptx_fresh_name(func->module, text)
		       : cot_ptx_strdup(func->module, name);
	if (!name)
		return -ENOMEM;
	r = add_one_param(func, type, name, ret_var);
	for (item = func->module->first; !r && item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->decl_of == func &&
		    !item->func->opaque)
			r = add_one_param(item->func, type, name, &var);
	return r;
}
