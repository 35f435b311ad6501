/* Functions: the part before the body, and what to do with one that is not understood. */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

/* ---- directives ---- */

static int parse_numbers(struct cot_ptx_parser *p, struct cot_ptx_directive *d)
{
	unsigned min = cot_ptx_directive(d->kind)->min, max = cot_ptx_directive(d->kind)->max;
	bool more = p->tok.kind == COT_PTX_TOK_INT || min;
	int r = 0;

	while (!r && more && max) {
		if (p->tok.kind != COT_PTX_TOK_INT || p->tok.value > UINT32_MAX)
			return cot_ptx_wrong(p, "a number");
		if (d->n == max)
			return cot_ptx_too_many(p, "numbers behind a directive", max);
		d->values[d->n++] = (uint32_t)p->tok.value;
		r = cot_ptx_next(p);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	return r;
}

/* .pragma "..."; or "..." , "..."; each becomes one directive without its semicolon. */
static int parse_pragma(struct cot_ptx_parser *p, struct cot_ptx_directive *d)
{
	if (p->tok.kind != COT_PTX_TOK_STRING)
		return cot_ptx_wrong(p, "a string");
	d->text = cot_arena_strndup(p->module->arena, p->tok.text.at, p->tok.text.length);
	if (!d->text)
		return cot_ptx_no_memory(p);
	if (cot_ptx_next(p))
		return -EINVAL;
	return cot_ptx_expect(p, ';');
}

static int parse_directive(struct cot_ptx_parser *p, struct cot_ptx_directive *d)
{
	unsigned i;
	int r;

	for (i = 0; i < COT_PTX_N_DIRECTIVES; i++)
		if (cot_ptx_is_dot(p, cot_ptx_directive(i)->name))
			break;
	if (i == COT_PTX_N_DIRECTIVES)
		return cot_ptx_wrong(p, "'{', ';' or a directive such as .maxntid");
	d->kind = (uint8_t)i;
	r = cot_ptx_next(p);
	if (r)
		return r;
	return i == COT_PTX_DIR_PRAGMA ? parse_pragma(p, d) : parse_numbers(p, d);
}

#define DIRECTIVES_MAX 64u

static int parse_directives(struct cot_ptx_parser *p, struct cot_ptx_func *func)
{
	struct cot_ptx_directive list[DIRECTIVES_MAX] = {{0}};
	uint32_t n = 0;
	int r = 0;

	while (!r && p->tok.kind == COT_PTX_TOK_DOT) {
		if (n == DIRECTIVES_MAX)
			return cot_ptx_too_many(p, "directives", DIRECTIVES_MAX);
		r = parse_directive(p, &list[n++]);
	}
	if (r || !n)
		return r;
	func->directives = cot_arena_grow(p->module->arena, list, n, n, sizeof(list[0]));
	func->n_directives = n;
	return func->directives ? 0 : cot_ptx_no_memory(p);
}

/* ---- names of functions ---- */

/*
 * The first declaration is in the table until the definition comes; the definition is what is found
 * then, and the declarations point to it.
 */
static int declare_func(struct cot_ptx_parser *p, struct cot_ptx_func *func)
{
	struct cot_ptx_str text = cot_ptx_str(func->name);
	struct cot_ptx_name old = cot_ptx_names_get(p->module->names, NULL, false, text);
	struct cot_ptx_item *item;
	struct cot_ptx_func *other = old.what;

	if (old.kind && old.kind != COT_PTX_NAME_FUNC)
		return cot_ptx_complain(p, func->line, 1, "", text, " is a variable already");
	if (other && other->has_body && func->has_body)
		return cot_ptx_complain(p, func->line, 1, "", text, " has two bodies");
	if (other && !func->has_body) {
		func->decl_of = other->has_body ? other : NULL;
		return 0;
	}
	for (item = other ? p->module->first : NULL; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && !item->func->has_body &&
		    !strcmp(item->func->name, func->name))
			item->func->decl_of = func;
	if (cot_ptx_names_set(p->module->names, NULL, false, text,
			      (struct cot_ptx_name){COT_PTX_NAME_FUNC, func}))
		return cot_ptx_no_memory(p);
	return 0;
}

/* ---- the parts of a function ---- */

static int parse_header(struct cot_ptx_parser *p, struct cot_ptx_func *func)
{
	int r;

	func->entry = cot_ptx_is_dot(p, "entry");
	r = cot_ptx_next(p);
	if (!r && !func->entry && cot_ptx_is(p, '('))
		r = cot_ptx_parse_params(p, true, &func->rets, &func->n_rets);
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "the name of a function");
	func->line = p->tok.line;
	func->name = cot_arena_strndup(p->module->arena, p->tok.text.at, p->tok.text.length);
	if (!func->name)
		return cot_ptx_no_memory(p);
	r = cot_ptx_next(p);
	if (!r && cot_ptx_is(p, '('))
		r = cot_ptx_parse_params(p, true, &func->params, &func->n_params);
	return r ? r : parse_directives(p, func);
}

static int parse_body(struct cot_ptx_parser *p, struct cot_ptx_func *func)
{
	int r;

	p->first = p->last = NULL;
	p->n_fixups = 0;
	p->depth = 1;
	r = cot_ptx_expect(p, '{');
	if (!r)
		r = cot_ptx_parse_stmts(p);
	if (!r)
		r = cot_ptx_resolve_fixups(p);
	if (r)
		return r;
	func->first = p->first;
	func->last = p->last;
	r = cot_ptx_verify_func(func, p->err);
	return r ? r : cot_ptx_expect(p, '}');
}

static int parse_whole(struct cot_ptx_parser *p, struct cot_ptx_func *func)
{
	int r;

	p->func = func;
	func->scope = p->scope = p->place = cot_ptx_new_scope(p->module, NULL);
	if (!func->scope)
		return cot_ptx_no_memory(p);
	r = parse_header(p, func);
	if (r)
		return r;
	func->has_body = !cot_ptx_is(p, ';');
	r = declare_func(p, func);
	if (r)
		return r;
	return func->has_body ? parse_body(p, func) : cot_ptx_next(p);
}

/* To the end of a function, from its .entry or .func on. */
static int skip_func(struct cot_ptx_parser *p)
{
	uint32_t line = p->tok.line;
	bool pragma = false; /* it has a semicolon of its own */
	unsigned depth = 0;
	int r;

	for (;;) {
		char c = p->tok.punct;

		if (p->tok.kind == COT_PTX_TOK_END) {
			p->fatal = true;
			return cot_error_set(p->err, -EINVAL,
					     "%s:%u: the function that begins here has no end",
					     p->lx.name, line);
		}
		pragma |= cot_ptx_is_dot(p, "pragma");
		r = cot_ptx_next(p);
		if (r)
			return r;
		if (c == '{')
			depth++;
		if (c == '}' && depth && !--depth)
			return 0;
		if (c == ';' && !depth && !pragma)
			return 0;
		pragma &= c != ';';
	}
}

static int make_opaque(struct cot_ptx_parser *p, struct cot_ptx_func *func, const char *start)
{
	struct cot_arena *arena = p->module->arena;
	int r;

	func->reason = cot_arena_strndup(arena, p->err->text, strlen(p->err->text));
	r = skip_func(p);
	if (r)
		return r;
	func->opaque = true;
	func->text = cot_arena_strndup(arena, start, (size_t)(p->last_end - start));
	func->first = func->last = NULL;
	if (!func->name)
		func->name = "";
	p->module->n_opaque++;
	return func->reason && func->text ? 0 : cot_ptx_no_memory(p);
}

int cot_ptx_parse_func(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage, const char *start,
		       struct cot_ptx_func **ret_func)
{
	struct cot_ptx_func *func = cot_arena_alloc(p->module->arena, sizeof(*func));
	struct cot_ptx_token tok = p->tok;
	struct cot_ptx_lexer lx = p->lx;
	int r;

	if (!func)
		return cot_ptx_no_memory(p);
	func->module = p->module;
	func->linkage = (uint8_t)linkage;
	func->line = tok.line;
	r = parse_whole(p, func);
	if (r && !p->fatal && !p->strict) {
		p->tok = tok;
		p->lx = lx;
		r = make_opaque(p, func, start);
	}
	if (r)
		cot_ptx_forget_func(p->module, func);
	else
		*ret_func = func;
	return r;
}
