/* The items of a module: functions, variables and all else outside of bodies. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/parse.h"

static struct cot_ptx_item *new_item(struct cot_ptx_parser *p, enum cot_ptx_item_kind kind,
				     uint32_t line)
{
	struct cot_ptx_item *item = cot_arena_alloc(p->module->arena, sizeof(*item));

	if (!item)
		return NULL;
	item->kind = (uint8_t)kind;
	item->line = line;
	return item;
}

static enum cot_ptx_linkage linkage_of(const struct cot_ptx_parser *p)
{
	static const char *const names[] = {NULL, "extern", "visible", "weak", "common"};
	unsigned i;

	for (i = 1; i < COT_ARRAY_LEN(names); i++)
		if (cot_ptx_is_dot(p, names[i]))
			return (enum cot_ptx_linkage)i;
	return COT_PTX_LINK_NONE;
}

/*
 * Passes over an item that is not understood: to its semicolon, or to its closing brace unless that
 * is one of an initialiser.
 */
static int skip_item(struct cot_ptx_parser *p)
{
	uint32_t line = p->tok.line;
	bool assigned = false;
	unsigned depth = 0;
	int r;

	for (;;) {
		char c = p->tok.punct;

		if (p->tok.kind == COT_PTX_TOK_END) {
			p->fatal = true;
			return cot_error_set(p->err, -EINVAL,
					     "%s:%u: expected ';' or '}' before the end"
					     " of the text",
					     p->lx.name, line);
		}
		r = cot_ptx_next(p);
		if (r)
			return r;
		assigned |= c == '=';
		if (c == '{')
			depth++;
		if (c == '}' && depth)
			depth--;
		if (!depth && (c == ';' || (c == '}' && !assigned)))
			return 0;
	}
}

/* Everything from `start` to the last token that was read. */
static int opaque_item(struct cot_ptx_parser *p, const char *start, struct cot_ptx_item *item)
{
	struct cot_arena *arena = p->module->arena;
	const char *reason = cot_arena_strndup(arena, p->err->text, strlen(p->err->text));
	int r = skip_item(p);

	if (r)
		return r;
	item->kind = COT_PTX_ITEM_OPAQUE;
	item->text = cot_arena_strndup(arena, start, (size_t)(p->last_end - start));
	item->reason = reason;
	p->module->n_opaque++;
	return item->text && reason ? 0 : cot_ptx_no_memory(p);
}

static int parse_alias(struct cot_ptx_parser *p, struct cot_ptx_item *item)
{
	unsigned i;
	int r = cot_ptx_next(p);

	item->kind = COT_PTX_ITEM_ALIAS;
	for (i = 0; !r && i < 2; i++) {
		struct cot_ptx_name name;

		if (p->tok.kind != COT_PTX_TOK_NAME)
			return cot_ptx_wrong(p, "the name of a function");
		name = cot_ptx_names_get(p->module->names, NULL, false, p->tok.text);
		if (name.kind != COT_PTX_NAME_FUNC)
			return cot_ptx_complain(p, p->tok.line, p->tok.column, "", p->tok.text,
						" is no function declared before");
		item->alias[i] = name.what;
		r = cot_ptx_next(p);
		if (!r)
			r = cot_ptx_expect(p, i ? ';' : ',');
	}
	return r;
}

/* .file: the rest of its line. */
static int parse_line_item(struct cot_ptx_parser *p, struct cot_ptx_item *item)
{
	struct cot_ptx_str rest = cot_ptx_lex_line(&p->lx);

	item->kind = COT_PTX_ITEM_FILE;
	item->text = cot_arena_strndup(p->module->arena, rest.at, rest.length);
	return item->text ? cot_ptx_next(p) : cot_ptx_no_memory(p);
}

static int parse_section(struct cot_ptx_parser *p, struct cot_ptx_item *item)
{
	const char *start;
	int r = cot_ptx_next(p);

	if (r)
		return r;
	start = p->tok.text.at - (p->tok.kind == COT_PTX_TOK_DOT);
	while (!cot_ptx_is(p, '{')) {
		if (p->tok.kind == COT_PTX_TOK_END || cot_ptx_is(p, ';'))
			return cot_ptx_wrong(p, "'{'");
		r = cot_ptx_next(p);
		if (r)
			return r;
	}
	r = skip_item(p);
	if (r)
		return r;
	item->kind = COT_PTX_ITEM_SECTION;
	item->text = cot_arena_strndup(p->module->arena, start, (size_t)(p->last_end - start));
	return item->text ? 0 : cot_ptx_no_memory(p);
}

static int parse_pragma(struct cot_ptx_parser *p, struct cot_ptx_item *item)
{
	int r = cot_ptx_next(p);

	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_STRING)
		return cot_ptx_wrong(p, "a string");
	item->kind = COT_PTX_ITEM_PRAGMA;
	item->text = cot_arena_strndup(p->module->arena, p->tok.text.at, p->tok.text.length);
	r = item->text ? cot_ptx_next(p) : cot_ptx_no_memory(p);
	return r ? r : cot_ptx_expect(p, ';');
}

static int parse_module_var(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage,
			    struct cot_ptx_item *item)
{
	int r;

	item->kind = COT_PTX_ITEM_VAR;
	p->scope = p->place = NULL;
	p->func = NULL;
	r = cot_ptx_parse_var(p, linkage, &item->var);
	return r ? r : cot_ptx_expect(p, ';');
}

static int parse_known_item(struct cot_ptx_parser *p, const char *start, struct cot_ptx_item *item)
{
	enum cot_ptx_linkage linkage = linkage_of(p);
	int r = linkage ? cot_ptx_next(p) : 0;

	if (r)
		return r;
	if (cot_ptx_is_dot(p, "entry") || cot_ptx_is_dot(p, "func")) {
		item->kind = COT_PTX_ITEM_FUNC;
		return cot_ptx_parse_func(p, linkage, start, &item->func);
	}
	if (p->tok.kind == COT_PTX_TOK_DOT && cot_ptx_space_of(&p->tok))
		return parse_module_var(p, linkage, item);
	if (!linkage && cot_ptx_is_dot(p, "alias"))
		return parse_alias(p, item);
	if (!linkage && cot_ptx_is_dot(p, "file"))
		return parse_line_item(p, item);
	if (!linkage && cot_ptx_is_dot(p, "section"))
		return parse_section(p, item);
	if (!linkage && cot_ptx_is_dot(p, "pragma"))
		return parse_pragma(p, item);
	return cot_ptx_wrong(p, "a directive such as .entry, .func or .global");
}

static int parse_item(struct cot_ptx_parser *p, struct cot_ptx_item **ret_item)
{
	const char *start = p->tok.text.at - 1; /* its dot */
	struct cot_ptx_lexer lx = p->lx;
	struct cot_ptx_token tok = p->tok;
	struct cot_ptx_item *item;
	int r;

	if (p->tok.kind != COT_PTX_TOK_DOT) {
		p->fatal = true;
		return cot_ptx_wrong(p, "a directive such as .entry, .func or .global");
	}
	item = new_item(p, COT_PTX_ITEM_OPAQUE, p->tok.line);
	if (!item)
		return cot_ptx_no_memory(p);
	r = parse_known_item(p, start, item);
	if (r && !p->fatal && !p->strict) {
		p->lx = lx;
		p->tok = tok;
		r = opaque_item(p, start, item);
	}
	if (!r)
		*ret_item = item;
	return r;
}

int cot_ptx_parse_items(struct cot_ptx_parser *p, struct cot_ptx_item *before,
			struct cot_ptx_item **ret_first)
{
	struct cot_ptx_item *item = NULL;
	int r;

	while (p->tok.kind != COT_PTX_TOK_END) {
		r = parse_item(p, &item);
		if (r)
			return r;
		cot_ptx_link_item(p->module, item, before);
		if (!*ret_first)
			*ret_first = item;
	}
	return 0;
}
