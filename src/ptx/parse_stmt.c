/* Statements of a body: blocks, labels and declarations; instructions are in parse_insn.c. */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

/* ---- labels and what has one ---- */

/* A text that is inserted may place a label that was made before, by a bound name. */
static struct cot_ptx_label *bound_label(const struct cot_ptx_parser *p, struct cot_ptx_str text)
{
	size_t i;

	for (i = 0; i < p->n_binds; i++)
		if (cot_ptx_str_is(text, p->binds[i].name))
			return p->binds[i].operand.kind == COT_PTX_OPND_LABEL
				       ? p->binds[i].operand.label
				       : NULL;
	return NULL;
}

static int place_bound_label(struct cot_ptx_parser *p, const struct cot_ptx_token *name,
			     struct cot_ptx_label *label)
{
	struct cot_ptx_stmt *stmt;

	if (label->stmt)
		return cot_ptx_complain(p, name->line, name->column, "", name->text,
					" is placed already");
	stmt = cot_ptx_add_stmt(p, COT_PTX_STMT_LABEL, name->line);
	if (!stmt)
		return cot_ptx_no_memory(p);
	stmt->label = label;
	label->stmt = stmt;
	label->scope = p->place;
	return 0;
}

static int new_label(struct cot_ptx_parser *p, const struct cot_ptx_token *name,
		     struct cot_ptx_label **ret_label)
{
	struct cot_ptx_label *label;

	if (cot_ptx_names_get(p->module->names, p->scope, false, name->text).kind)
		return cot_ptx_complain(p, name->line, name->column, "", name->text,
					" is declared twice in this block");
	label = cot_arena_alloc(p->module->arena, sizeof(*label));
	if (!label)
		return cot_ptx_no_memory(p);
	label->name = cot_ptx_declared_name(p, name->text);
	label->scope = p->place;
	label->line = p->inserting ? 0 : name->line;
	if (!label->name || cot_ptx_add_label(p->func, label))
		return cot_ptx_no_memory(p);
	*ret_label = label;
	return cot_ptx_declare(p, name->text, label->name, false, COT_PTX_NAME_LABEL, label);
}

static int parse_proto(struct cot_ptx_parser *p, struct cot_ptx_label *label)
{
	struct cot_ptx_proto *proto = cot_arena_alloc(p->module->arena, sizeof(*proto));
	struct cot_ptx_scope *scope = p->scope, *place = p->place;
	int r = cot_ptx_next(p);

	if (!proto)
		return cot_ptx_no_memory(p);
	label->stmt->proto = proto;
	proto->label = label;
	/* Its names mean nothing: they get a block of their own. */
	p->scope = p->place = cot_ptx_new_scope(p->module, NULL);
	if (!p->scope)
		return cot_ptx_no_memory(p);
	if (!r && cot_ptx_is(p, '('))
		r = cot_ptx_parse_params(p, false, &proto->rets, &proto->n_rets);
	if (!r && p->tok.kind != COT_PTX_TOK_NAME)
		r = cot_ptx_wrong(p, "'_'");
	if (!r)
		r = cot_ptx_next(p);
	if (!r && cot_ptx_is(p, '('))
		r = cot_ptx_parse_params(p, false, &proto->params, &proto->n_params);
	if (!r && cot_ptx_is_dot(p, "noreturn")) {
		proto->noreturn = true;
		r = cot_ptx_next(p);
	}
	p->scope = scope;
	p->place = place;
	return r ? r : cot_ptx_expect(p, ';');
}

static int parse_call_target(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand)
{
	struct cot_ptx_name name = cot_ptx_names_get(p->module->names, NULL, false, p->tok.text);

	if (p->tok.kind != COT_PTX_TOK_NAME || name.kind != COT_PTX_NAME_FUNC)
		return cot_ptx_wrong(p, "the name of a function declared before");
	*ret_operand = cot_ptx_func_operand(name.what);
	return cot_ptx_next(p);
}

static int parse_targets(struct cot_ptx_parser *p, struct cot_ptx_label *label, bool funcs)
{
	struct cot_ptx_targets *targets = cot_arena_alloc(p->module->arena, sizeof(*targets));
	size_t first_fixup = p->n_fixups;
	uint32_t i, cap = 0;
	bool more = true;
	int r = cot_ptx_next(p);

	if (!targets)
		return cot_ptx_no_memory(p);
	label->stmt->targets = targets;
	targets->label = label;
	for (; !r && more; targets->n++) {
		if (targets->n == COT_PTX_LIST_MAX)
			return cot_ptx_too_many(p, "targets", COT_PTX_LIST_MAX);
		if (targets->n == cap) {
			cap = cot_ptx_room_for(cap + 1, cap);
			targets->items = cot_arena_grow(p->module->arena, targets->items,
							targets->n, cap, sizeof(targets->items[0]));
			if (!targets->items)
				return cot_ptx_no_memory(p);
		}
		r = funcs ? parse_call_target(p, &targets->items[targets->n])
			  : cot_ptx_parse_label_operand(p, &targets->items[targets->n]);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	if (r)
		return r;
	/* The list has moved while it grew; each label has one fixup. */
	for (i = 0; !funcs && i < targets->n; i++)
		p->fixups[first_fixup + i].operand = &targets->items[i];
	return cot_ptx_expect(p, ';');
}

/* The name and the colon have been read. */
static int parse_labelled(struct cot_ptx_parser *p, const struct cot_ptx_token *name)
{
	struct cot_ptx_label *label = bound_label(p, name->text);
	enum cot_ptx_stmt_kind kind = COT_PTX_STMT_LABEL;
	int r;

	if (label)
		return place_bound_label(p, name, label);
	if (cot_ptx_is_dot(p, "callprototype"))
		kind = COT_PTX_STMT_PROTO;
	else if (cot_ptx_is_dot(p, "branchtargets"))
		kind = COT_PTX_STMT_TARGETS;
	else if (cot_ptx_is_dot(p, "calltargets"))
		kind = COT_PTX_STMT_CALLTARGETS;
	r = new_label(p, name, &label);
	if (r)
		return r;
	label->stmt = cot_ptx_add_stmt(p, kind, name->line);
	if (!label->stmt)
		return cot_ptx_no_memory(p);
	if (kind == COT_PTX_STMT_LABEL) {
		label->stmt->label = label;
		return 0;
	}
	return kind == COT_PTX_STMT_PROTO
		       ? parse_proto(p, label)
		       : parse_targets(p, label, kind == COT_PTX_STMT_CALLTARGETS);
}

/* ---- names of labels that came before the labels ---- */

int cot_ptx_resolve_fixups(struct cot_ptx_parser *p)
{
	size_t i;

	for (i = 0; i < p->n_fixups; i++) {
		const struct cot_ptx_fixup *f = &p->fixups[i];
		struct cot_ptx_name name = cot_ptx_names_find(p->module->names, f->scope, f->name);

		f->operand->label = bound_label(p, f->name);
		if (f->operand->label)
			continue;
		if (name.kind != COT_PTX_NAME_LABEL)
			return cot_ptx_complain(p, f->line, f->column, "", f->name,
						name.kind ? " is no label" : " is not declared");
		f->operand->label = name.what;
	}
	p->n_fixups = 0;
	return 0;
}

/* ---- statements ---- */

static int open_block(struct cot_ptx_parser *p)
{
	struct cot_ptx_scope *inner = cot_ptx_new_scope(p->module, p->place);
	bool same = p->scope == p->place;
	struct cot_ptx_scope *lookup = same ? inner : cot_ptx_new_scope(p->module, p->scope);

	if (!inner || !lookup || !cot_ptx_add_stmt(p, COT_PTX_STMT_OPEN, p->tok.line))
		return cot_ptx_no_memory(p);
	if (++p->depth > COT_PTX_NEST_MAX)
		return cot_ptx_too_many(p, "blocks inside each other", COT_PTX_NEST_MAX);
	p->place = inner;
	p->scope = lookup;
	return cot_ptx_next(p);
}

static int close_block(struct cot_ptx_parser *p)
{
	/* The brace belongs to the block that it closes: what is put before it goes inside. */
	if (!cot_ptx_add_stmt(p, COT_PTX_STMT_CLOSE, p->tok.line))
		return cot_ptx_no_memory(p);
	p->depth--;
	p->place = p->place->parent;
	p->scope = p->scope->parent;
	return cot_ptx_next(p);
}

static int parse_loc(struct cot_ptx_parser *p)
{
	struct cot_ptx_stmt *s = cot_ptx_add_stmt(p, COT_PTX_STMT_LOC, p->tok.line);
	struct cot_ptx_str rest = cot_ptx_lex_line(&p->lx);

	if (!s)
		return cot_ptx_no_memory(p);
	s->text = cot_arena_strndup(p->module->arena, rest.at, rest.length);
	return s->text ? cot_ptx_next(p) : cot_ptx_no_memory(p);
}

static int parse_pragma(struct cot_ptx_parser *p)
{
	struct cot_ptx_stmt *s = cot_ptx_add_stmt(p, COT_PTX_STMT_PRAGMA, p->tok.line);
	int r = cot_ptx_next(p);

	if (!s)
		return cot_ptx_no_memory(p);
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_STRING)
		return cot_ptx_wrong(p, "a string");
	s->text = cot_arena_strndup(p->module->arena, p->tok.text.at, p->tok.text.length);
	r = s->text ? cot_ptx_next(p) : cot_ptx_no_memory(p);
	return r ? r : cot_ptx_expect(p, ';');
}

static int parse_local_var(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage)
{
	struct cot_ptx_stmt *s = cot_ptx_add_stmt(p, COT_PTX_STMT_VAR, p->tok.line);
	int r;

	if (!s)
		return cot_ptx_no_memory(p);
	r = cot_ptx_parse_var(p, linkage, &s->var);
	return r ? r : cot_ptx_expect(p, ';');
}

static int parse_directive(struct cot_ptx_parser *p)
{
	if (cot_ptx_is_dot(p, "reg"))
		return cot_ptx_parse_reg(p);
	if (cot_ptx_is_dot(p, "loc"))
		return parse_loc(p);
	if (cot_ptx_is_dot(p, "pragma"))
		return parse_pragma(p);
	if (cot_ptx_space_of(&p->tok))
		return parse_local_var(p, COT_PTX_LINK_NONE);
	if (cot_ptx_is_dot(p, "extern")) {
		int r = cot_ptx_next(p);

		return r ? r : parse_local_var(p, COT_PTX_LINK_EXTERN);
	}
	return cot_ptx_wrong(p, "a statement");
}

/* A name begins a label or an instruction. */
static int parse_named(struct cot_ptx_parser *p)
{
	struct cot_ptx_lexer lx = p->lx;
	struct cot_ptx_token name = p->tok;
	int r = cot_ptx_next(p);

	if (r)
		return r;
	if (cot_ptx_is(p, ':')) {
		r = cot_ptx_next(p);
		return r ? r : parse_labelled(p, &name);
	}
	p->lx = lx;
	p->tok = name;
	return cot_ptx_parse_insn(p);
}

static int parse_stmt(struct cot_ptx_parser *p)
{
	if (p->tok.kind == COT_PTX_TOK_DOT)
		return parse_directive(p);
	if (p->tok.kind == COT_PTX_TOK_NAME)
		return parse_named(p);
	if (cot_ptx_is(p, '@'))
		return cot_ptx_parse_insn(p);
	if (cot_ptx_is(p, '{'))
		return open_block(p);
	if (cot_ptx_is(p, ';'))
		return cot_ptx_next(p); /* an empty statement says nothing */
	return cot_ptx_wrong(p, "a statement");
}

int cot_ptx_parse_stmts(struct cot_ptx_parser *p)
{
	unsigned depth = p->depth;
	int r = 0;

	while (!r && p->tok.kind != COT_PTX_TOK_END) {
		if (!cot_ptx_is(p, '}')) {
			r = parse_stmt(p);
			continue;
		}
		if (p->depth == depth)
			return 0;
		r = close_block(p);
	}
	if (!r && p->depth != depth)
		return cot_ptx_wrong(p, "'}'");
	return r;
}
