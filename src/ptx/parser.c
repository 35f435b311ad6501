#include "ptx/parser.h"

#include <errno.h>
#include <string.h>

#include "ptx/build.h"

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

/* ---- statements ---- */

struct cot_ptx_stmt *cot_ptx_add_stmt(struct cot_ptx_parser *p, enum cot_ptx_stmt_kind kind,
				      uint32_t line)
{
	struct cot_ptx_stmt *s = cot_arena_alloc(p->module->arena, sizeof(*s));

	if (!s)
		return NULL;
	s->kind = (uint8_t)kind;
	s->line = p->inserting ? 0 : line;
	s->scope = p->place;
	s->prev = p->last;
	if (p->last)
		p->last->next = s;
	else
		p->first = s;
	p->last = s;
	return s;
}

/* ---- the beginning ---- */

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
