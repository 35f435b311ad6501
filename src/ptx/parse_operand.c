/* Operands: names are resolved here, except labels, which may come later. */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

#define TEMPORARY 16 /* items that fit without growing */

static int add_fixup(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	struct cot_ptx_fixup *f;

	if (p->n_fixups == p->cap_fixups) {
		size_t cap = p->cap_fixups ? p->cap_fixups * 2 : 64;

		f = cot_arena_grow(p->module->arena, p->fixups, p->n_fixups, cap, sizeof(*f));
		if (!f)
			return cot_ptx_no_memory(p);
		p->fixups = f;
		p->cap_fixups = cap;
	}
	f = &p->fixups[p->n_fixups++];
	*f = (struct cot_ptx_fixup){operand, p->tok.text, p->scope, p->tok.line, p->tok.column};
	operand->kind = COT_PTX_OPND_LABEL;
	return 0;
}

int cot_ptx_parse_label_operand(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand)
{
	int r;

	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "a label");
	r = add_fixup(p, ret_operand);
	return r ? r : cot_ptx_next(p);
}

/* ---- names ---- */

static bool find_bound(const struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand)
{
	size_t i;

	for (i = 0; i < p->n_binds; i++) {
		if (!cot_ptx_str_is(p->tok.text, p->binds[i].name))
			continue;
		*ret_operand = p->binds[i].operand;
		return true;
	}
	return false;
}

static unsigned part_of(char c)
{
	static const char parts[] = "xyzw";
	unsigned i;

	for (i = 0; i < 4 && parts[i] != c; i++)
		;
	return i;
}

/* %tid.x; what follows is a part or nothing. */
static int parse_sreg(struct cot_ptx_parser *p, enum cot_ptx_sreg sreg, uint8_t part,
		      struct cot_ptx_operand *operand)
{
	int r = cot_ptx_next(p);

	operand->kind = COT_PTX_OPND_SREG;
	operand->sreg = (uint8_t)sreg;
	operand->part = part;
	if (r || p->tok.kind != COT_PTX_TOK_DOT || !cot_ptx_sreg_has_parts(sreg))
		return r;
	if (p->tok.text.length != 1 || part_of(p->tok.text.at[0]) == 4)
		return cot_ptx_wrong(p, ".x, .y, .z or .w");
	operand->part = (uint8_t)part_of(p->tok.text.at[0]);
	return cot_ptx_next(p);
}

/* A register, variable or function that is known at this place, or a special register. */
static int find_name(struct cot_ptx_parser *p, struct cot_ptx_operand *operand, bool *ret_found)
{
	struct cot_ptx_name name;
	enum cot_ptx_sreg sreg;
	uint8_t part;

	*ret_found = true;
	if (find_bound(p, operand))
		return cot_ptx_next(p);
	operand->reg = cot_ptx_names_find_reg(p->module->names, p->scope, p->tok.text);
	if (operand->reg != COT_PTX_NO_REG) {
		operand->kind = COT_PTX_OPND_REG;
		return cot_ptx_next(p);
	}
	operand->reg = 0;
	sreg = cot_ptx_words_sreg(p->module->words, p->tok.text, &part);
	if (sreg != COT_PTX_N_SREGS)
		return parse_sreg(p, sreg, part, operand);
	name = cot_ptx_names_find(p->module->names, p->scope, p->tok.text);
	if (name.kind == COT_PTX_NAME_VAR) {
		operand->kind = COT_PTX_OPND_VAR;
		operand->var = name.what;
		return cot_ptx_next(p);
	}
	if (name.kind == COT_PTX_NAME_FUNC) {
		operand->kind = COT_PTX_OPND_FUNC;
		operand->func = name.what;
		return cot_ptx_next(p);
	}
	*ret_found = false;
	return 0;
}

int cot_ptx_parse_name(struct cot_ptx_parser *p, struct cot_ptx_operand *ret_operand)
{
	bool found;
	int r;

	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "a name");
	if (cot_ptx_is_name(p, "_")) {
		ret_operand->kind = COT_PTX_OPND_SINK;
		return cot_ptx_next(p);
	}
	r = find_name(p, ret_operand, &found);
	if (r || found)
		return r;
	return cot_ptx_complain(p, p->tok.line, p->tok.column, "", p->tok.text, " is not declared");
}

/* ---- numbers ---- */

static int parse_number(struct cot_ptx_parser *p, bool minus, struct cot_ptx_operand *operand)
{
	struct cot_ptx_token t = p->tok;

	operand->imm = (int64_t)t.value;
	if (t.kind == COT_PTX_TOK_INT) {
		operand->kind = COT_PTX_OPND_INT;
		operand->flags = t.is_hex ? COT_PTX_HEX : 0;
		if (minus && t.value > (uint64_t)INT64_MAX + 1)
			return cot_ptx_wrong(p, "a number of 64 bits");
		if (minus)
			operand->imm = (int64_t)(0 - t.value);
		else if (t.value > INT64_MAX)
			operand->flags |= COT_PTX_UNSIGNED;
	} else if (t.kind == COT_PTX_TOK_F32 || t.kind == COT_PTX_TOK_F64) {
		operand->kind = t.kind == COT_PTX_TOK_F32 ? COT_PTX_OPND_F32 : COT_PTX_OPND_F64;
		if (minus)
			operand->imm ^= t.kind == COT_PTX_TOK_F32 ? 1LL << 31 : INT64_MIN;
	} else {
		return cot_ptx_wrong(p, "a number");
	}
	return cot_ptx_next(p);
}

static bool is_number(const struct cot_ptx_parser *p)
{
	return p->tok.kind == COT_PTX_TOK_INT || p->tok.kind == COT_PTX_TOK_F32 ||
	       p->tok.kind == COT_PTX_TOK_F64;
}

/* +4, -4 and +-4 behind a name. */
static int parse_offset(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	bool minus = cot_ptx_is(p, '-');
	int r;

	if (!minus && !cot_ptx_is(p, '+'))
		return 0;
	operand->flags |= COT_PTX_OFFSET;
	r = cot_ptx_next(p);
	if (!r && !minus)
		r = cot_ptx_accept(p, '-', &minus);
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_INT || p->tok.value > INT64_MAX)
		return cot_ptx_wrong(p, "a number behind '+'");
	operand->imm = minus ? -(int64_t)p->tok.value : (int64_t)p->tok.value;
	if (p->tok.is_hex)
		operand->flags |= COT_PTX_HEX;
	return cot_ptx_next(p);
}

/* ---- lists ---- */

struct list {
	struct cot_ptx_operand first[TEMPORARY], *at;
	uint32_t n, cap;
};

static struct cot_ptx_operand *next_item(struct cot_ptx_parser *p, struct list *l)
{
	if (l->n == l->cap) {
		l->at = cot_arena_grow(p->module->arena, l->at, l->n, (size_t)l->cap * 2,
				       sizeof(l->first[0]));
		l->cap *= 2;
	}
	return l->at ? &l->at[l->n++] : NULL;
}

static int keep_list(struct cot_ptx_parser *p, const struct list *l,
		     struct cot_ptx_operand *operand)
{
	operand->n = l->n;
	operand->items = cot_arena_grow(p->module->arena, l->at, l->n, l->n, sizeof(l->first[0]));
	return operand->items ? 0 : cot_ptx_no_memory(p);
}

static int parse_element(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	bool minus = false;
	int r = cot_ptx_accept(p, '-', &minus);

	if (r)
		return r;
	if (minus || is_number(p))
		return parse_number(p, minus, operand);
	r = cot_ptx_parse_name(p, operand);
	if (!r && operand->kind == COT_PTX_OPND_VAR)
		r = parse_offset(p, operand);
	return r;
}

/* {a, b} and (a, b), from the opening one on. */
static int parse_list(struct cot_ptx_parser *p, char close, enum cot_ptx_operand_kind kind,
		      struct cot_ptx_operand *operand)
{
	struct list l = {.cap = TEMPORARY};
	bool more = true;
	int r = cot_ptx_next(p);

	l.at = l.first;
	while (!r && more && !(cot_ptx_is(p, close) && !l.n)) {
		struct cot_ptx_operand *item;

		if (l.n == COT_PTX_LIST_MAX)
			return cot_ptx_too_many(p, "things in braces", COT_PTX_LIST_MAX);
		item = next_item(p, &l);
		if (!item)
			return cot_ptx_no_memory(p);
		r = parse_element(p, item);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	operand->kind = (uint8_t)kind;
	if (!l.n && kind == COT_PTX_OPND_LIST)
		operand->flags |= COT_PTX_EMPTY;
	if (!r)
		r = keep_list(p, &l, operand);
	return r ? r : cot_ptx_expect(p, close);
}

/* ---- addresses ---- */

/* [handle, sampler, {coordinates}], from the first comma on. */
static int parse_tensor(struct cot_ptx_parser *p, const struct cot_ptx_operand *base,
			struct cot_ptx_operand *operand)
{
	struct cot_ptx_operand items[3] = {*base};
	unsigned n = 1;
	int r = 0;

	while (!r && cot_ptx_is(p, ',')) {
		r = cot_ptx_next(p);
		if (r)
			return r;
		if (n == COT_ARRAY_LEN(items))
			return cot_ptx_wrong(p, "']'");
		r = cot_ptx_is(p, '{') ? parse_list(p, '}', COT_PTX_OPND_VECTOR, &items[n])
				       : parse_element(p, &items[n]);
		n++;
	}
	operand->kind = COT_PTX_OPND_TENSOR;
	operand->n = n;
	operand->items = cot_arena_grow(p->module->arena, items, n, n, sizeof(items[0]));
	return r || operand->items ? r : cot_ptx_no_memory(p);
}

static int parse_address(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	struct cot_ptx_operand base = {0};
	int r = cot_ptx_next(p); /* [ */

	if (r)
		return r;
	r = is_number(p) ? parse_number(p, false, &base) : cot_ptx_parse_name(p, &base);
	if (r)
		return r;
	if (base.kind != COT_PTX_OPND_REG && base.kind != COT_PTX_OPND_VAR &&
	    base.kind != COT_PTX_OPND_INT)
		return cot_ptx_wrong(p, "an address before");
	if (cot_ptx_is(p, ',')) {
		r = parse_tensor(p, &base, operand);
	} else {
		operand->kind = COT_PTX_OPND_ADDR;
		r = parse_offset(p, operand);
		operand->n = 1;
		operand->items = cot_arena_grow(p->module->arena, &base, 1, 1, sizeof(base));
		if (!operand->items)
			return cot_ptx_no_memory(p);
	}
	return r ? r : cot_ptx_expect(p, ']');
}

/* ---- one operand ---- */

/* p|q, from the bar on; the operand is the first of the two. */
static int parse_pair(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	struct cot_ptx_operand items[2] = {*operand};
	int r = cot_ptx_next(p);

	if (!r)
		r = cot_ptx_parse_name(p, &items[1]);
	if (r)
		return r;
	*operand = (struct cot_ptx_operand){.kind = COT_PTX_OPND_PAIR, .n = 2};
	operand->items = cot_arena_grow(p->module->arena, items, 2, 2, sizeof(items[0]));
	return operand->items ? 0 : cot_ptx_no_memory(p);
}

/* A name that nothing has before may be a label further down. */
static int parse_named(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	bool found;
	int r;

	if (cot_ptx_is_name(p, "_")) {
		r = cot_ptx_parse_name(p, operand);
	} else {
		r = find_name(p, operand, &found);
		if (!r && !found)
			return cot_ptx_parse_label_operand(p, operand);
	}
	if (!r && operand->kind == COT_PTX_OPND_VAR)
		r = parse_offset(p, operand);
	if (!r && cot_ptx_is(p, '|'))
		r = parse_pair(p, operand);
	return r;
}

static int parse_operand(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	int r;

	if (cot_ptx_is(p, '{'))
		return parse_list(p, '}', COT_PTX_OPND_VECTOR, operand);
	if (cot_ptx_is(p, '['))
		return parse_address(p, operand);
	if (cot_ptx_is(p, '!')) {
		r = cot_ptx_next(p);
		if (!r)
			r = cot_ptx_parse_name(p, operand);
		operand->flags |= COT_PTX_NEGATED;
		return r;
	}
	if (p->tok.kind == COT_PTX_TOK_NAME)
		return parse_named(p, operand);
	return parse_element(p, operand);
}

/* ---- operands of an instruction ---- */

static int parse_call_name(struct cot_ptx_parser *p, struct cot_ptx_operand *operand)
{
	int r = cot_ptx_parse_name(p, operand);

	if (!r && operand->kind != COT_PTX_OPND_FUNC && operand->kind != COT_PTX_OPND_REG)
		return cot_ptx_wrong(p, "a function or a register before");
	return r;
}

/* call (results), target, (arguments), table; all but the target may be absent. */
static int parse_call(struct cot_ptx_parser *p, struct cot_ptx_operand *operands)
{
	bool more = true;
	int r = 0;

	operands[0].kind = operands[2].kind = COT_PTX_OPND_LIST;
	if (cot_ptx_is(p, '(')) {
		r = parse_list(p, ')', COT_PTX_OPND_LIST, &operands[0]);
		if (!r)
			r = cot_ptx_expect(p, ',');
	}
	if (!r)
		r = parse_call_name(p, &operands[1]);
	if (!r)
		r = cot_ptx_accept(p, ',', &more);
	if (!r && more && cot_ptx_is(p, '(')) {
		r = parse_list(p, ')', COT_PTX_OPND_LIST, &operands[2]);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	if (!r && more)
		r = cot_ptx_parse_label_operand(p, &operands[3]);
	return r;
}

/* The operands go to the arena, and the names that are to be resolved in them with them. */
static int keep_operands(struct cot_ptx_parser *p, struct cot_ptx_insn *insn,
			 struct cot_ptx_operand *list, unsigned n, size_t first_fixup)
{
	size_t i;

	insn->n_operands = (uint8_t)n;
	insn->operands = cot_arena_grow(p->module->arena, list, n, n, sizeof(list[0]));
	if (!insn->operands)
		return cot_ptx_no_memory(p);
	for (i = first_fixup; i < p->n_fixups; i++)
		p->fixups[i].operand = insn->operands + (p->fixups[i].operand - list);
	return 0;
}

int cot_ptx_parse_operands(struct cot_ptx_parser *p, struct cot_ptx_insn *insn)
{
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)insn->op)->flags;
	struct cot_ptx_operand list[COT_PTX_OPERANDS_MAX] = {{0}};
	size_t first_fixup = p->n_fixups;
	unsigned n = 0;
	bool more;
	int r = 0;

	if (flags & COT_PTX_F_CALL) {
		r = parse_call(p, list);
		return r ? r : keep_operands(p, insn, list, 4, first_fixup);
	}
	more = !cot_ptx_is(p, ';');
	while (!r && more) {
		if (n == COT_PTX_OPERANDS_MAX)
			return cot_ptx_too_many(p, "operands", COT_PTX_OPERANDS_MAX);
		r = (flags & COT_PTX_F_BRANCH) && p->tok.kind == COT_PTX_TOK_NAME &&
				    (n || insn->op == COT_PTX_OP_BRA)
			    ? cot_ptx_parse_label_operand(p, &list[n])
			    : parse_operand(p, &list[n]);
		n++;
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	return r ? r : keep_operands(p, insn, list, n, first_fixup);
}
