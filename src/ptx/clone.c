/* Changes of whole functions and items: copies, other names, removal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/edit.h"

/* ---- from originals to their copies ---- */

struct map {
	const void **from;
	void **to;
	size_t n_slots, n_used;
};

static size_t slot_of(const struct map *m, const void *from)
{
	size_t i =
		(size_t)(((uintptr_t)from >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (m->n_slots - 1);

	while (m->from[i] && m->from[i] != from)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

static int map_grow(struct map *m)
{
	struct map bigger = {.n_slots = m->n_slots ? m->n_slots * 2 : 64, .n_used = m->n_used};
	size_t i;

	bigger.from = calloc(bigger.n_slots, sizeof(void *));
	bigger.to = calloc(bigger.n_slots, sizeof(void *));
	if (!bigger.from || !bigger.to) {
		free(bigger.from);
		free(bigger.to);
		return -ENOMEM;
	}
	for (i = 0; i < m->n_slots; i++) {
		size_t k = m->from[i] ? slot_of(&bigger, m->from[i]) : 0;

		if (!m->from[i])
			continue;
		bigger.from[k] = m->from[i];
		bigger.to[k] = m->to[i];
	}
	free(m->from);
	free(m->to);
	*m = bigger;
	return 0;
}

static int map_set(struct map *m, const void *from, void *to)
{
	size_t i;

	if (m->n_used >= m->n_slots / 2 && map_grow(m))
		return -ENOMEM;
	i = slot_of(m, from);
	m->n_used += !m->from[i];
	m->from[i] = from;
	m->to[i] = to;
	return 0;
}

/* Things of the module, which are not copied, stand for themselves. */
static void *map_get(const struct map *m, void *from)
{
	size_t i = slot_of(m, from);

	return m->from[i] ? m->to[i] : from;
}

/* ---- copies ---- */

struct copy {
	struct cot_ptx_func *from, *to;
	struct map map;
	struct cot_ptx_scope *scope; /* of the copy, where the walk is */
};

static void *copy_of(struct copy *c, const void *what, size_t size)
{
	void *p = cot_arena_grow(c->to->module->arena, what, 1, 1, size);

	return p && !map_set(&c->map, what, p) ? p : NULL;
}

static int enter(struct copy *c, enum cot_ptx_name_kind kind, bool range, const char *name,
		 void *what)
{
	return cot_ptx_names_set(c->to->module->names, c->scope, range, cot_ptx_str(name),
				 (struct cot_ptx_name){kind, what});
}

static struct cot_ptx_var *copy_var(struct copy *c, const struct cot_ptx_var *old)
{
	struct cot_ptx_var *var = copy_of(c, old, sizeof(*old));

	if (!var)
		return NULL;
	var->func = c->to;
	var->scope = c->scope;
	if (strcmp(var->name, "_") && enter(c, COT_PTX_NAME_VAR, false, var->name, var))
		return NULL;
	return var;
}

static int copy_vars(struct copy *c, struct cot_ptx_var ***list, uint32_t n)
{
	uint32_t i;

	*list = cot_arena_grow(c->to->module->arena, *list, n, n, sizeof(struct cot_ptx_var *));
	if (!*list)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		(*list)[i] = copy_var(c, (*list)[i]);
		if (!(*list)[i])
			return -ENOMEM;
	}
	return 0;
}

static int copy_reg(struct copy *c, struct cot_ptx_stmt *s)
{
	struct cot_ptx_reg_decl *decl = copy_of(c, s->reg, sizeof(*decl));
	uint32_t i;

	if (!decl)
		return -ENOMEM;
	s->reg = decl;
	decl->scope = c->scope;
	for (i = 0; i < decl->count; i++)
		c->to->regs[decl->first + i].decl = decl;
	return enter(c, COT_PTX_NAME_REG, decl->range, decl->name, decl);
}

static int copy_label(struct copy *c, struct cot_ptx_stmt *s, struct cot_ptx_label **label)
{
	struct cot_ptx_label *copy = map_get(&c->map, *label);

	copy->stmt = s;
	copy->scope = c->scope;
	*label = copy;
	return enter(c, COT_PTX_NAME_LABEL, false, copy->name, copy);
}

static int copy_proto(struct copy *c, struct cot_ptx_stmt *s)
{
	struct cot_ptx_scope *scope = c->scope;
	struct cot_ptx_proto *proto = copy_of(c, s->proto, sizeof(*proto));
	int r;

	if (!proto)
		return -ENOMEM;
	s->proto = proto;
	r = copy_label(c, s, &proto->label);
	c->scope = cot_ptx_new_scope(c->to->module, NULL);
	if (!r && !c->scope)
		r = -ENOMEM;
	if (!r)
		r = copy_vars(c, &proto->rets, proto->n_rets);
	if (!r)
		r = copy_vars(c, &proto->params, proto->n_params);
	c->scope = scope;
	return r;
}

static int copy_targets(struct copy *c, struct cot_ptx_stmt *s)
{
	struct cot_ptx_targets *t = copy_of(c, s->targets, sizeof(*t));

	if (!t)
		return -ENOMEM;
	s->targets = t;
	t->items = cot_arena_grow(c->to->module->arena, t->items, t->n, t->n, sizeof(t->items[0]));
	return t->items ? copy_label(c, s, &t->label) : -ENOMEM;
}

/* One statement with what it declares; its operands still point to the old ones. */
static int copy_stmt(struct copy *c, const struct cot_ptx_stmt *old)
{
	struct cot_ptx_stmt *s = cot_arena_grow(c->to->module->arena, old, 1, 1, sizeof(*old));

	if (!s)
		return -ENOMEM;
	s->prev = c->to->last;
	s->next = NULL;
	if (s->prev)
		s->prev->next = s;
	else
		c->to->first = s;
	c->to->last = s;
	s->scope = c->scope;
	switch ((enum cot_ptx_stmt_kind)s->kind) {
	case COT_PTX_STMT_OPEN:
		c->scope = cot_ptx_new_scope(c->to->module, c->scope);
		return c->scope ? 0 : -ENOMEM;
	case COT_PTX_STMT_CLOSE:
		c->scope = c->scope->parent;
		return 0;
	case COT_PTX_STMT_REG:
		return copy_reg(c, s);
	case COT_PTX_STMT_VAR:
		s->var = copy_var(c, s->var);
		return s->var ? 0 : -ENOMEM;
	case COT_PTX_STMT_LABEL:
		return copy_label(c, s, &s->label);
	case COT_PTX_STMT_PROTO:
		return copy_proto(c, s);
	case COT_PTX_STMT_TARGETS:
	case COT_PTX_STMT_CALLTARGETS:
		return copy_targets(c, s);
	default:
		return 0;
	}
}

static void point_to_copy(void *arg, struct cot_ptx_operand *o)
{
	struct copy *c = arg;

	if (o->kind == COT_PTX_OPND_VAR)
		o->var = map_get(&c->map, o->var);
	else if (o->kind == COT_PTX_OPND_LABEL)
		o->label = map_get(&c->map, o->label);
}

static int finish_stmts(struct copy *c)
{
	struct cot_ptx_stmt *s;
	uint32_t i;
	int r = 0;

	for (s = c->to->first; !r && s; s = s->next) {
		if (s->kind == COT_PTX_STMT_INSN) {
			r = cot_ptx_copy_operands(c->to->module, &s->insn.operands,
						  s->insn.n_operands);
			if (!r)
				cot_ptx_for_each_operand(&s->insn, point_to_copy, c);
		} else if (s->kind == COT_PTX_STMT_TARGETS) {
			for (i = 0; i < s->targets->n; i++)
				point_to_copy(c, &s->targets->items[i]);
		}
	}
	return r;
}

/* The tables; labels that are not placed are copied, too. */
static int copy_tables(struct copy *c)
{
	struct cot_ptx_func *f = c->to;
	struct cot_arena *arena = f->module->arena;
	uint32_t i;

	if (f->n_regs > COT_PTX_REGS_MAX * 16 - f->module->n_regs)
		return -E2BIG;
	f->module->n_regs += f->n_regs;
	f->cap_regs = f->n_regs;
	f->cap_labels = f->n_labels;
	f->regs = cot_arena_grow(arena, f->regs, f->n_regs, f->n_regs, sizeof(f->regs[0]));
	f->labels = cot_arena_grow(arena, f->labels, f->n_labels, f->n_labels,
				   sizeof(struct cot_ptx_label *));
	if (!f->regs || !f->labels)
		return -ENOMEM;
	for (i = 0; i < f->n_labels; i++) {
		f->labels[i] = copy_of(c, f->labels[i], sizeof(struct cot_ptx_label));
		if (!f->labels[i])
			return -ENOMEM;
		f->labels[i]->stmt = NULL;
		f->labels[i]->scope = f->scope;
	}
	return 0;
}

static int copy_body(struct copy *c)
{
	const struct cot_ptx_stmt *s;
	int r = copy_tables(c);

	if (!r)
		r = copy_vars(c, &c->to->params, c->to->n_params);
	if (!r)
		r = copy_vars(c, &c->to->rets, c->to->n_rets);
	c->to->first = c->to->last = NULL;
	for (s = c->from->first; !r && s; s = s->next)
		r = copy_stmt(c, s);
	return r ? r : finish_stmts(c);
}

static int check_free(const struct cot_ptx_module *module, const char *name, struct cot_error *err)
{
	if (cot_ptx_names_get(module->names, NULL, false, cot_ptx_str(name)).kind)
		return cot_error_set(err, -EEXIST, "the module has something with the name %s",
				     name);
	return 0;
}

int cot_ptx_clone_func(struct cot_ptx_func *func, const char *name, struct cot_ptx_func **ret_func,
		       struct cot_error *err)
{
	struct cot_ptx_module *module = func->module;
	struct copy c = {.from = func};
	struct cot_ptx_item *item, *old = cot_ptx_item_of_func(func);
	int r = check_free(module, name, err);

	if (r)
		return r;
	if (func->opaque || !func->has_body || !old)
		return cot_error_set(err, -EINVAL, "%s: cannot be copied", func->name);
	item = cot_arena_grow(module->arena, old, 1, 1, sizeof(*old));
	c.to = cot_arena_grow(module->arena, func, 1, 1, sizeof(*func));
	if (!item || !c.to || map_grow(&c.map))
		return cot_error_set(err, -ENOMEM, "%s: out of memory", func->name);
	c.to->name = cot_ptx_strdup(module, name);
	c.to->scope = c.scope = cot_ptx_new_scope(module, NULL);
	r = c.to->name && c.scope ? copy_body(&c) : -ENOMEM;
	free(c.map.from);
	free(c.map.to);
	if (!r)
		r = cot_ptx_names_set(module->names, NULL, false, cot_ptx_str(c.to->name),
				      (struct cot_ptx_name){COT_PTX_NAME_FUNC, c.to});
	if (r)
		return cot_error_set(err, r, "%s: too large to be copied", func->name);
	item->func = c.to;
	cot_ptx_link_item(module, item, old->next);
	*ret_func = c.to;
	return 0;
}

/* ---- names and items ---- */

static void forget(struct cot_ptx_module *module, const char *name, const void *what)
{
	struct cot_ptx_name entry =
		cot_ptx_names_get(module->names, NULL, false, cot_ptx_str(name));

	if (entry.what != what)
		return;
	entry.what = NULL;
	/* The name is in the table: replacing it takes no memory. */
	(void)cot_ptx_names_set(module->names, NULL, false, cot_ptx_str(name), entry);
}

void cot_ptx_remove_item(struct cot_ptx_module *module, struct cot_ptx_item *item)
{
	if (item->prev)
		item->prev->next = item->next;
	else
		module->first = item->next;
	if (item->next)
		item->next->prev = item->prev;
	else
		module->last = item->prev;
	item->prev = item->next = NULL;
	if (item->kind == COT_PTX_ITEM_FUNC)
		cot_ptx_forget_func(module, item->func);
	else if (item->kind == COT_PTX_ITEM_VAR)
		forget(module, item->var->name, item->var);
	if (item->kind == COT_PTX_ITEM_OPAQUE ||
	    (item->kind == COT_PTX_ITEM_FUNC && item->func->opaque))
		module->n_opaque--;
}
