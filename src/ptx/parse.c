#include "ptx/parse.h"

#include <errno.h>
#include <string.h>

#define QUOTE_MAX 48 /* characters of the text in a message */

/* ---- tokens and messages ---- */

int cot_ptx_next(struct cot_ptx_parser *p)
{
	int r;

	p->last_end = p->tok.text.at + p->tok.text.length;
	r = cot_ptx_lex(&p->lx, &p->tok, p->err);
	if (r)
		p->fatal = true;
	return r;
}

bool cot_ptx_is(const struct cot_ptx_parser *p, char punct)
{
	return p->tok.punct == punct;
}

bool cot_ptx_is_dot(const struct cot_ptx_parser *p, const char *word)
{
	return p->tok.kind == COT_PTX_TOK_DOT && cot_ptx_str_is(p->tok.text, word);
}

bool cot_ptx_is_name(const struct cot_ptx_parser *p, const char *word)
{
	return p->tok.kind == COT_PTX_TOK_NAME && cot_ptx_str_is(p->tok.text, word);
}

int cot_ptx_complain(struct cot_ptx_parser *p, uint32_t line, uint32_t column, const char *what,
		     struct cot_ptx_str text, const char *behind)
{
	int n = (int)(text.length < QUOTE_MAX ? text.length : QUOTE_MAX);

	return cot_error_set(p->err, -EINVAL, "%s:%u:%u: %s'%.*s'%s", p->lx.name, line, column,
			     what, n, text.at, behind);
}

int cot_ptx_wrong(struct cot_ptx_parser *p, const char *expected)
{
	const struct cot_ptx_token *t = &p->tok;
	bool dot = t->kind == COT_PTX_TOK_DOT;
	int n = (int)(t->text.length < QUOTE_MAX ? t->text.length : QUOTE_MAX);

	if (t->kind == COT_PTX_TOK_END)
		return cot_error_set(p->err, -EINVAL,
				     "%s:%u:%u: expected %s, found the end of the text", p->lx.name,
				     t->line, t->column, expected);
	return cot_error_set(p->err, -EINVAL, "%s:%u:%u: expected %s, found '%s%.*s'", p->lx.name,
			     t->line, t->column, expected, dot ? "." : "", n, t->text.at);
}

int cot_ptx_too_many(struct cot_ptx_parser *p, const char *what, unsigned long max)
{
	return cot_error_set(p->err, -EINVAL, "%s:%u:%u: more than %lu %s", p->lx.name, p->tok.line,
			     p->tok.column, max, what);
}

int cot_ptx_no_memory(struct cot_ptx_parser *p)
{
	p->fatal = true;
	return cot_error_set(p->err, -ENOMEM, "%s: out of memory", p->lx.name);
}

int cot_ptx_expect(struct cot_ptx_parser *p, char punct)
{
	char what[] = "' '";

	if (cot_ptx_is(p, punct))
		return cot_ptx_next(p);
	what[1] = punct;
	return cot_ptx_wrong(p, what);
}

int cot_ptx_accept(struct cot_ptx_parser *p, char punct, bool *ret_was)
{
	*ret_was = cot_ptx_is(p, punct);
	return *ret_was ? cot_ptx_next(p) : 0;
}

/* ---- declared names ---- */

int cot_ptx_check_new(struct cot_ptx_parser *p, bool range)
{
	struct cot_ptx_str text = p->tok.text;

	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "a name");
	if (cot_ptx_names_get(p->module->names, p->scope, range, text).kind)
		return cot_ptx_complain(p, p->tok.line, p->tok.column, "", text,
					" is declared twice in this block");
	return 0;
}

/*
 * Names that passes make hold a number of the module: %cot7_flag. A module that has such names
 * already, because it was written by us, goes on counting behind them.
 */
static void note_number(struct cot_ptx_module *module, struct cot_ptx_str text)
{
	uint32_t n = 0;
	size_t i = 0;

	if (text.length && (text.at[0] == '%' || text.at[0] == '$'))
		i = 1;
	if (text.length - i < 4 || memcmp(text.at + i, "cot", 3))
		return;
	for (i += 3; i < text.length && text.at[i] >= '0' && text.at[i] <= '9' && n < 100000000;
	     i++)
		n = n * 10 + (uint32_t)(text.at[i] - '0');
	if (n >= module->next_fresh)
		module->next_fresh = n + 1;
}

const char *cot_ptx_declared_name(struct cot_ptx_parser *p, struct cot_ptx_str text)
{
	if (p->inserting)
		return cot_ptx_fresh_name(p->module, text);
	note_number(p->module, text);
	return cot_arena_strndup(p->module->arena, text.at, text.length);
}

int cot_ptx_declare(struct cot_ptx_parser *p, struct cot_ptx_str text, const char *name, bool range,
		    enum cot_ptx_name_kind kind, void *what)
{
	struct cot_ptx_names *names = p->module->names;
	struct cot_ptx_name entry = {kind, what};
	int r;

	if (p->inserting) {
		const char *spelled = cot_arena_strndup(p->module->arena, text.at, text.length);

		if (!spelled ||
		    cot_ptx_names_set(names, p->scope, range,
				      (struct cot_ptx_str){spelled, text.length}, entry))
			return cot_ptx_no_memory(p);
	}
	r = cot_ptx_names_set(names, p->place, range, cot_ptx_str(name), entry);
	return r ? cot_ptx_no_memory(p) : 0;
}

/* ---- items ---- */

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

/* ---- the whole ---- */

int cot_ptx_parser_init(struct cot_ptx_parser *p, struct cot_ptx_module *module, const char *text,
			size_t size, const char *name, struct cot_error *err)
{
	memset(p, 0, sizeof(*p));
	p->module = module;
	p->err = err;
	err->text[0] = '\0';
	cot_ptx_lex_init(&p->lx, text, size, name);
	p->tok.text.at = text;
	if (cot_ptx_lex_check(&p->lx, err)) {
		p->fatal = true;
		return -EINVAL;
	}
	return cot_ptx_next(p);
}
