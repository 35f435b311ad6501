/* Pieces of PTX text that are put into a module. */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

/* A label that was placed in a text that failed is not placed. */
static void take_back(const struct cot_ptx_parser *p)
{
	struct cot_ptx_stmt *s;

	for (s = p->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_LABEL && s->label)
			s->label->stmt = NULL;
}

static void splice(struct cot_ptx_func *func, struct cot_ptx_stmt *before,
		   struct cot_ptx_stmt *first, struct cot_ptx_stmt *last)
{
	if (!first)
		return;
	first->prev = before ? before->prev : func->last;
	last->next = before;
	if (first->prev)
		first->prev->next = first;
	else
		func->first = first;
	if (before)
		before->prev = last;
	else
		func->last = last;
}

static int parse_fragment(struct cot_ptx_parser *p)
{
	int r = cot_ptx_parse_stmts(p);

	if (!r && p->tok.kind != COT_PTX_TOK_END)
		r = cot_ptx_wrong(p, "a statement");
	return r ? r : cot_ptx_resolve_fixups(p);
}

int cot_ptx_insert_text(struct cot_ptx_func *func, struct cot_ptx_stmt *before, const char *text,
			const struct cot_ptx_bind *binds, size_t n_binds,
			struct cot_ptx_stmt **ret_first, struct cot_ptx_stmt **ret_last,
			struct cot_error *err)
{
	struct cot_ptx_parser p;
	struct cot_error own;
	int r;

	if (!func->has_body || func->opaque)
		return cot_error_set(err, -EINVAL, "%s: cannot be changed", func->name);
	r = cot_ptx_parser_init(&p, func->module, text, strlen(text), func->name, err ? err : &own);
	if (r)
		return r;
	p.strict = p.inserting = true;
	p.binds = binds;
	p.n_binds = n_binds;
	p.func = func;
	p.place = before ? before->scope : func->scope;
	p.depth = p.place->depth + 1;
	/* Its own names are seen by itself only. */
	p.scope = cot_ptx_new_scope(func->module, p.place);
	r = p.scope ? parse_fragment(&p) : cot_ptx_no_memory(&p);
	if (r) {
		take_back(&p);
		return r;
	}
	splice(func, before, p.first, p.last);
	if (ret_first)
		*ret_first = p.first;
	if (ret_last)
		*ret_last = p.last;
	return 0;
}

int cot_ptx_add_text(struct cot_ptx_module *module, struct cot_ptx_item *before, const char *text,
		     struct cot_ptx_item **ret_first, struct cot_error *err)
{
	struct cot_ptx_item *first = NULL, *item, *next;
	struct cot_ptx_parser p;
	struct cot_error own;
	int r = cot_ptx_parser_init(&p, module, text, strlen(text), "added text", err ? err : &own);

	if (r)
		return r;
	p.strict = true;
	r = cot_ptx_parse_items(&p, before, &first);
	if (r) {
		for (item = first; item && item != before; item = next) {
			next = item->next;
			cot_ptx_remove_item(module, item);
		}
		return r;
	}
	cot_ptx_settle_calls(module);
	if (ret_first)
		*ret_first = first;
	return 0;
}
