/* Declarations: variables with their initial values, parameters, registers. */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

static enum cot_ptx_type type_of(const struct cot_ptx_token *t)
{
	unsigned i;

	if (t->kind != COT_PTX_TOK_DOT)
		return COT_PTX_NO_TYPE;
	for (i = COT_PTX_NO_TYPE + 1; i < COT_PTX_N_TYPES; i++)
		if (cot_ptx_str_is(t->text, cot_ptx_type_name((enum cot_ptx_type)i)))
			return (enum cot_ptx_type)i;
	return COT_PTX_NO_TYPE;
}

enum cot_ptx_space cot_ptx_space_of(const struct cot_ptx_token *t)
{
	static const struct {
		const char *text;
		enum cot_ptx_space space;
	} spaces[] = {
		{"global", COT_PTX_SPACE_GLOBAL}, {"const", COT_PTX_SPACE_CONST},
		{"shared", COT_PTX_SPACE_SHARED}, {"local", COT_PTX_SPACE_LOCAL},
		{"param", COT_PTX_SPACE_PARAM},	  {"tex", COT_PTX_SPACE_TEX},
	};
	unsigned i;

	if (t->kind != COT_PTX_TOK_DOT)
		return COT_PTX_SPACE_NONE;
	for (i = 0; i < COT_ARRAY_LEN(spaces); i++)
		if (cot_ptx_str_is(t->text, spaces[i].text))
			return spaces[i].space;
	return COT_PTX_SPACE_NONE;
}

static int parse_count(struct cot_ptx_parser *p, uint64_t max, const char *what,
		       uint64_t *ret_value)
{
	if (p->tok.kind != COT_PTX_TOK_INT || p->tok.value > max)
		return cot_ptx_wrong(p, what);
	*ret_value = p->tok.value;
	return cot_ptx_next(p);
}

#define ALIGN_MAX 32768u

static int parse_align(struct cot_ptx_parser *p, uint32_t *ret_align)
{
	uint64_t value = 0;
	int r;

	if (p->tok.kind != COT_PTX_TOK_INT || !p->tok.value || p->tok.value > ALIGN_MAX ||
	    (p->tok.value & (p->tok.value - 1)))
		return cot_ptx_wrong(p, "an alignment, a power of two");
	r = parse_count(p, ALIGN_MAX, "an alignment", &value);
	*ret_align = (uint32_t)value;
	return r;
}

/* .attribute(.managed), or another one, whose text is kept. */
static int parse_attribute(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	const char *start;
	unsigned depth = 0;
	int r = cot_ptx_next(p);

	if (r)
		return r;
	start = p->tok.text.at;
	if (!cot_ptx_is(p, '('))
		return cot_ptx_wrong(p, "'('");
	do {
		depth += cot_ptx_is(p, '(');
		depth -= cot_ptx_is(p, ')');
		if (p->tok.kind == COT_PTX_TOK_END || cot_ptx_is(p, ';'))
			return cot_ptx_wrong(p, "')'");
		if (cot_ptx_is_dot(p, "managed"))
			var->managed = true;
		r = cot_ptx_next(p);
		if (r)
			return r;
	} while (depth);
	if (!var->managed) {
		var->attribute =
			cot_arena_strndup(p->module->arena, start, (size_t)(p->last_end - start));
		if (!var->attribute)
			return cot_ptx_no_memory(p);
	}
	return 0;
}

/* .ptr .global .align 16 of a parameter of a kernel. */
static int parse_ptr(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	int r = cot_ptx_next(p);

	var->is_ptr = true;
	if (!r && cot_ptx_space_of(&p->tok)) {
		var->ptr_space = (uint8_t)cot_ptx_space_of(&p->tok);
		r = cot_ptx_next(p);
	}
	if (!r && cot_ptx_is_dot(p, "align")) {
		r = cot_ptx_next(p);
		if (!r)
			r = parse_align(p, &var->ptr_align);
	}
	return r;
}

/* The part between the space and the name. */
static int parse_var_words(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	int r = 0;

	while (!r && p->tok.kind == COT_PTX_TOK_DOT) {
		if (cot_ptx_is_dot(p, "align") && !var->align) {
			r = cot_ptx_next(p);
			if (!r)
				r = parse_align(p, &var->align);
		} else if (cot_ptx_is_dot(p, "attribute") && !var->attribute && !var->managed) {
			r = parse_attribute(p, var);
		} else if (cot_ptx_is_dot(p, "ptr") && !var->is_ptr && var->type &&
			   var->space == COT_PTX_SPACE_PARAM) {
			r = parse_ptr(p, var);
		} else if ((cot_ptx_is_dot(p, "v2") || cot_ptx_is_dot(p, "v4")) && !var->type &&
			   var->vec == 1) {
			var->vec = (uint8_t)(p->tok.text.at[1] - '0');
			r = cot_ptx_next(p);
		} else if (type_of(&p->tok) && !var->type) {
			var->type = (uint8_t)type_of(&p->tok);
			r = cot_ptx_next(p);
		} else {
			return cot_ptx_wrong(p, "the name of a variable");
		}
	}
	if (!r && (!var->type || var->type == COT_PTX_PRED))
		return cot_ptx_wrong(p, "the type of a variable");
	return r;
}

#define DIM_MAX	      (1ull << 40)
#define VAR_BYTES_MAX (1ull << 40)

static int parse_dims(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	uint64_t bytes = (uint64_t)cot_ptx_type_bytes((enum cot_ptx_type)var->type) * var->vec;
	int r = 0;

	while (!r && cot_ptx_is(p, '[')) {
		uint64_t *dim = &var->dims[var->n_dims];

		if (var->n_dims == COT_PTX_DIMS_MAX)
			return cot_ptx_too_many(p, "dimensions", COT_PTX_DIMS_MAX);
		r = cot_ptx_next(p);
		if (!r && cot_ptx_is(p, ']') && !var->n_dims)
			var->unsized = true;
		else if (!r)
			r = parse_count(p, DIM_MAX, "the size of an array", dim);
		if (!r && !var->unsized && *dim && bytes > VAR_BYTES_MAX / *dim)
			return cot_ptx_too_many(p, "bytes in a variable", VAR_BYTES_MAX);
		bytes *= *dim ? *dim : 1;
		var->n_dims++;
		if (!r)
			r = cot_ptx_expect(p, ']');
	}
	return r;
}

/* ---- initial values ---- */

struct values {
	struct cot_ptx_init *at;
	size_t n, cap;
};

static int add_value(struct cot_ptx_parser *p, struct values *v, struct cot_ptx_init init)
{
	if (v->n == COT_PTX_INIT_MAX)
		return cot_ptx_too_many(p, "initial values", COT_PTX_INIT_MAX);
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 4;
		struct cot_ptx_init *at =
			cot_arena_grow(p->module->arena, v->at, v->n, cap, sizeof(*at));

		if (!at)
			return cot_ptx_no_memory(p);
		v->at = at;
		v->cap = cap;
	}
	v->at[v->n++] = init;
	return 0;
}

/* + 4 or - 4 behind a name. */
static int parse_offset(struct cot_ptx_parser *p, int64_t *ret_offset)
{
	bool minus = cot_ptx_is(p, '-');
	int r;

	if (!minus && !cot_ptx_is(p, '+'))
		return 0;
	r = cot_ptx_next(p);
	if (!r && !minus && cot_ptx_is(p, '-')) {
		minus = true;
		r = cot_ptx_next(p);
	}
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_INT || p->tok.value > INT64_MAX)
		return cot_ptx_wrong(p, "a number");
	*ret_offset = minus ? -(int64_t)p->tok.value : (int64_t)p->tok.value;
	return cot_ptx_next(p);
}

static int parse_symbol(struct cot_ptx_parser *p, struct cot_ptx_init *init)
{
	struct cot_ptx_name name;
	int r;

	init->kind = COT_PTX_INIT_ADDR;
	init->generic = cot_ptx_is_name(p, "generic");
	if (init->generic) {
		r = cot_ptx_next(p);
		if (!r)
			r = cot_ptx_expect(p, '(');
		if (r)
			return r;
	}
	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "a number or a name");
	name = cot_ptx_names_find(p->module->names, p->scope, p->tok.text);
	if (name.kind == COT_PTX_NAME_VAR)
		init->var = name.what;
	else if (name.kind == COT_PTX_NAME_FUNC)
		init->func = name.what;
	else
		return cot_ptx_complain(p, p->tok.line, p->tok.column, "", p->tok.text,
					" is not declared");
	r = cot_ptx_next(p);
	if (!r && init->generic)
		r = cot_ptx_expect(p, ')');
	return r ? r : parse_offset(p, &init->imm);
}

/* 0xFF00(name): one byte of an address. */
static int parse_masked(struct cot_ptx_parser *p, uint64_t mask, struct cot_ptx_init *init)
{
	unsigned shift = 0;
	int r;

	while (shift < 64 && mask != 0xffull << shift)
		shift += 8;
	if (shift == 64)
		return cot_ptx_wrong(p, "a mask of one byte such as 0xFF00 before '('");
	r = cot_ptx_next(p);
	if (!r)
		r = parse_symbol(p, init);
	init->mask_shift = (uint8_t)shift;
	return r ? r : cot_ptx_expect(p, ')');
}

static int parse_number(struct cot_ptx_parser *p, bool minus, struct cot_ptx_init *init)
{
	struct cot_ptx_token t = p->tok;
	int r = cot_ptx_next(p);

	if (r)
		return r;
	if (t.kind == COT_PTX_TOK_INT && cot_ptx_is(p, '(') && !minus)
		return parse_masked(p, t.value, init);
	init->imm = (int64_t)t.value;
	if (t.kind == COT_PTX_TOK_INT) {
		init->kind = COT_PTX_INIT_INT;
		init->flags = t.is_hex ? COT_PTX_HEX : 0;
		if (!minus && t.value > INT64_MAX)
			init->flags |= COT_PTX_UNSIGNED;
		if (minus && t.value > (uint64_t)INT64_MAX + 1)
			return cot_ptx_wrong(p, "a number of 64 bits before");
		if (minus)
			init->imm = (int64_t)(0 - t.value);
		return 0;
	}
	init->kind = t.kind == COT_PTX_TOK_F32 ? COT_PTX_INIT_F32 : COT_PTX_INIT_F64;
	if (minus)
		init->imm ^= t.kind == COT_PTX_TOK_F32 ? 1LL << 31 : INT64_MIN;
	return 0;
}

static int parse_value(struct cot_ptx_parser *p, struct values *v)
{
	struct cot_ptx_init init = {.mask_shift = 255};
	bool minus = false;
	int r = cot_ptx_accept(p, '-', &minus);

	if (r)
		return r;
	if (p->tok.kind == COT_PTX_TOK_INT || p->tok.kind == COT_PTX_TOK_F32 ||
	    p->tok.kind == COT_PTX_TOK_F64)
		r = parse_number(p, minus, &init);
	else if (!minus)
		r = parse_symbol(p, &init);
	else
		return cot_ptx_wrong(p, "a number");
	return r ? r : add_value(p, v, init);
}

/* Elements of one value at this depth of braces: 0 below the last dimension. */
static uint64_t elements_below(const struct cot_ptx_var *var, unsigned depth)
{
	uint64_t n = var->vec;
	unsigned i;

	for (i = depth; i < var->n_dims; i++)
		n *= var->dims[i];
	return n;
}

/* {1, 2} or {{1, 2}, {3}}: inner braces that are not full are filled with zeros. */
static int parse_braces(struct cot_ptx_parser *p, const struct cot_ptx_var *var, unsigned depth,
			struct values *v)
{
	uint64_t end, size = elements_below(var, depth);
	bool more = true;
	int r = cot_ptx_expect(p, '{');

	if (depth > var->n_dims)
		return cot_ptx_wrong(p, "fewer braces");
	end = v->n + size;
	while (!r && more && !cot_ptx_is(p, '}')) {
		r = cot_ptx_is(p, '{') ? parse_braces(p, var, depth + 1, v) : parse_value(p, v);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	if (r || !depth)
		return r ? r : cot_ptx_expect(p, '}');
	if (v->n > end || end - v->n > COT_PTX_INIT_MAX)
		return cot_ptx_wrong(p, "as many values as the array has");
	while (!r && v->n < end)
		r = add_value(p, v, (struct cot_ptx_init){.mask_shift = 255});
	return r ? r : cot_ptx_expect(p, '}');
}

static int parse_init(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	struct values v = {NULL, 0, 0};
	int r = cot_ptx_next(p); /* = */

	if (r)
		return r;
	var->has_init = true;
	r = cot_ptx_is(p, '{') ? parse_braces(p, var, 0, &v) : parse_value(p, &v);
	if (r)
		return r;
	if (!var->unsized && v.n > elements_below(var, 0))
		return cot_ptx_wrong(p, "at most as many values as the variable has");
	var->inits = v.at;
	var->n_inits = (uint32_t)v.n;
	return 0;
}

/* ---- variables ---- */

/* The name, what is behind it, and the entry in the table. "_" means none. */
static int parse_declarator(struct cot_ptx_parser *p, struct cot_ptx_var *var)
{
	struct cot_ptx_str text = p->tok.text;
	bool nameless = cot_ptx_is_name(p, "_");
	struct cot_ptx_name old = {COT_PTX_NAME_NONE, NULL};
	int r;

	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "the name of a variable");
	old = cot_ptx_names_get(p->module->names, p->scope, false, text);
	/* An .extern declaration may precede the definition, or appear twice. */
	if (!nameless && old.kind &&
	    (p->func || old.kind != COT_PTX_NAME_VAR ||
	     (((struct cot_ptx_var *)old.what)->linkage != COT_PTX_LINK_EXTERN &&
	      var->linkage != COT_PTX_LINK_EXTERN)))
		return cot_ptx_check_new(p, false);
	var->line = p->tok.line;
	var->name = nameless ? "_" : cot_ptx_declared_name(p, text);
	if (!var->name)
		return cot_ptx_no_memory(p);
	r = cot_ptx_next(p);
	if (!r)
		r = parse_dims(p, var);
	if (!r && cot_ptx_is(p, '='))
		r = parse_init(p, var);
	if (r || nameless || (old.kind && var->linkage == COT_PTX_LINK_EXTERN))
		return r;
	return cot_ptx_declare(p, text, var->name, false, COT_PTX_NAME_VAR, var);
}

int cot_ptx_parse_var(struct cot_ptx_parser *p, enum cot_ptx_linkage linkage,
		      struct cot_ptx_var **ret_var)
{
	struct cot_ptx_var *var = cot_arena_alloc(p->module->arena, sizeof(*var));
	int r;

	if (!var)
		return cot_ptx_no_memory(p);
	var->space = (uint8_t)cot_ptx_space_of(&p->tok);
	if (!var->space)
		return cot_ptx_wrong(p, "a space such as .param");
	var->linkage = (uint8_t)linkage;
	var->vec = 1;
	var->func = p->func;
	var->scope = p->place;
	r = cot_ptx_next(p);
	if (!r)
		r = parse_var_words(p, var);
	if (!r)
		r = parse_declarator(p, var);
	if (!r)
		*ret_var = var;
	return r;
}

int cot_ptx_parse_params(struct cot_ptx_parser *p, bool named, struct cot_ptx_var ***ret_params,
			 uint32_t *ret_n)
{
	struct cot_ptx_var **list = NULL, *var = NULL;
	uint32_t n = 0, cap = 0;
	bool more = true;
	int r = cot_ptx_expect(p, '(');

	while (!r && more && !(cot_ptx_is(p, ')') && !n)) {
		if (!cot_ptx_is_dot(p, "param"))
			return cot_ptx_wrong(p, ".param");
		if (n == COT_PTX_LIST_MAX)
			return cot_ptx_too_many(p, "parameters", COT_PTX_LIST_MAX);
		if (n == cap) {
			cap = cap ? cap * 2 : 4;
			list = cot_arena_grow(p->module->arena, list, n, cap,
					      sizeof(struct cot_ptx_var *));
			if (!list)
				return cot_ptx_no_memory(p);
		}
		r = cot_ptx_parse_var(p, COT_PTX_LINK_NONE, &var);
		if (r)
			return r;
		if (var->has_init || (named && !strcmp(var->name, "_")))
			return cot_ptx_wrong(p, "a parameter with a name and without a value");
		list[n++] = var;
		r = cot_ptx_accept(p, ',', &more);
	}
	*ret_params = list;
	*ret_n = n;
	return r ? r : cot_ptx_expect(p, ')');
}

/* ---- registers ---- */

/* <10> behind the name. */
static int parse_range(struct cot_ptx_parser *p, struct cot_ptx_reg_decl *decl)
{
	uint64_t count = 0;
	int r = cot_ptx_next(p);

	if (!r)
		r = parse_count(p, COT_PTX_REGS_MAX, "a number of registers", &count);
	decl->range = true;
	decl->count = (uint32_t)count;
	return r ? r : cot_ptx_expect(p, '>');
}

static int parse_reg_name(struct cot_ptx_parser *p, enum cot_ptx_type type)
{
	struct cot_ptx_reg_decl *decl = cot_arena_alloc(p->module->arena, sizeof(*decl));
	struct cot_ptx_str text = p->tok.text;
	struct cot_ptx_token tok = p->tok;
	struct cot_ptx_stmt *stmt;
	int r;

	if (p->tok.kind != COT_PTX_TOK_NAME || cot_ptx_is_name(p, "_"))
		return cot_ptx_wrong(p, "the name of a register");
	stmt = cot_ptx_add_stmt(p, COT_PTX_STMT_REG, tok.line);
	if (!stmt || !decl)
		return cot_ptx_no_memory(p);
	decl->count = 1;
	r = cot_ptx_next(p);
	if (!r && cot_ptx_is(p, '<'))
		r = parse_range(p, decl);
	if (r)
		return r;
	if (cot_ptx_names_get(p->module->names, p->scope, decl->range, text).kind)
		return cot_ptx_complain(p, tok.line, tok.column, "", text,
					" is declared twice in this block");
	decl->type = (uint8_t)type;
	decl->name = cot_ptx_declared_name(p, text);
	decl->scope = p->place;
	decl->first = p->func->n_regs;
	stmt->reg = decl;
	r = decl->name ? cot_ptx_grow_regs(p->func, decl->count) : -ENOMEM;
	if (r == -E2BIG)
		return cot_ptx_too_many(p, "registers", COT_PTX_REGS_MAX);
	if (r)
		return cot_ptx_no_memory(p);
	for (uint32_t i = 0; i < decl->count; i++)
		p->func->regs[decl->first + i] = (struct cot_ptx_reg){decl, decl->type};
	return cot_ptx_declare(p, text, decl->name, decl->range, COT_PTX_NAME_REG, decl);
}

int cot_ptx_parse_reg(struct cot_ptx_parser *p)
{
	enum cot_ptx_type type;
	bool more = true;
	int r = cot_ptx_next(p); /* .reg */

	if (r)
		return r;
	type = type_of(&p->tok);
	if (!type || cot_ptx_type_class(type) == COT_PTX_HANDLE_TYPE)
		return cot_ptx_wrong(p, "the type of a register");
	r = cot_ptx_next(p);
	while (!r && more) {
		r = parse_reg_name(p, type);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	return r ? r : cot_ptx_expect(p, ';');
}
