/* Instructions: guard, opcode with its modifiers, then the operands (parse_operand.c). */
#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

#define WORDS_MAX     32u  /* the opcode and what follows it by dots */
#define OPCODE_MAX    512u /* bytes of it */
#define OP_WORDS_MAX  6u   /* words of an opcode, such as cp.async.bulk.prefetch.tensor */
#define MOD_WORDS_MAX 3u   /* words of a modifier, such as xorsign.abs */

/* add.rn.f32 as one text, and where its words begin and end. */
struct opcode {
	char text[OPCODE_MAX];
	size_t start[WORDS_MAX], end[WORDS_MAX];
	unsigned n;
};

static int read_opcode(struct cot_ptx_parser *p, struct opcode *o)
{
	size_t n = 0;
	int r = 0;

	o->n = 0;
	while (!r && (p->tok.kind == COT_PTX_TOK_DOT || !o->n)) {
		struct cot_ptx_str word = p->tok.text;

		if (o->n == WORDS_MAX || word.length + 1 > sizeof(o->text) - n)
			return cot_ptx_wrong(p, "fewer words behind an opcode");
		if (o->n)
			o->text[n++] = '.';
		memcpy(o->text + n, word.at, word.length);
		o->start[o->n] = n;
		n += word.length;
		o->end[o->n++] = n;
		r = cot_ptx_next(p);
	}
	return r;
}

static struct cot_ptx_str words(const struct opcode *o, unsigned first, unsigned n)
{
	size_t start = o->start[first];

	return (struct cot_ptx_str){o->text + start, o->end[first + n - 1] - start};
}

/* m16n8k16 and m8n8 */
static bool read_shape(struct cot_ptx_str text, uint16_t shape[3])
{
	static const char letters[] = "mnk";
	unsigned part;
	size_t i = 0;

	for (part = 0; part < 3 && i < text.length; part++) {
		size_t digits = i + 1;
		unsigned n = 0;

		if (text.at[i] != letters[part])
			return false;
		for (i = digits; i < text.length && text.at[i] >= '0' && text.at[i] <= '9'; i++)
			n = n < 1000 ? n * 10 + (unsigned)(text.at[i] - '0') : n;
		if (i == digits || text.at[digits] == '0' || n > 1000)
			return false;
		shape[part] = (uint16_t)n;
	}
	return i == text.length && part >= 2;
}

static int add_mod(struct cot_ptx_parser *p, struct cot_ptx_insn *insn, enum cot_ptx_mod mod)
{
	if (insn->n_mods == COT_PTX_MODS_MAX)
		return cot_ptx_too_many(p, "modifiers", COT_PTX_MODS_MAX);
	insn->mods[insn->n_mods++] = (uint16_t)mod;
	return 0;
}

/* The modifier that begins at the i-th word: the longest one. Returns how many words it has. */
static unsigned find_mod(struct cot_ptx_parser *p, const struct opcode *o, unsigned i,
			 uint64_t classes, struct cot_ptx_insn *insn, enum cot_ptx_mod *ret_mod)
{
	unsigned n = o->n - i < MOD_WORDS_MAX ? o->n - i : MOD_WORDS_MAX;

	for (; n; n--) {
		*ret_mod = cot_ptx_words_mod(p->module->words, words(o, i, n), classes);
		if (*ret_mod)
			return n;
	}
	if (!(classes >> COT_PTX_CLASS_SHAPE & 1) || insn->shape[0] ||
	    !read_shape(words(o, i, 1), insn->shape))
		return 0;
	*ret_mod = COT_PTX_MOD_SHAPE;
	return 1;
}

static int resolve_opcode(struct cot_ptx_parser *p, const struct opcode *o,
			  const struct cot_ptx_token *at, struct cot_ptx_insn *insn)
{
	unsigned i, n = o->n < OP_WORDS_MAX ? o->n : OP_WORDS_MAX;
	enum cot_ptx_op op = COT_PTX_N_OPS;
	uint64_t classes;

	for (; n; n--) {
		op = cot_ptx_words_op(p->module->words, words(o, 0, n));
		if (op != COT_PTX_N_OPS)
			break;
	}
	if (!n)
		return cot_ptx_complain(p, at->line, at->column, "unknown instruction ",
					words(o, 0, o->n), "");
	insn->op = (uint16_t)op;
	classes = cot_ptx_op_info(op)->classes;
	for (i = n; i < o->n; i += n) {
		enum cot_ptx_mod mod = COT_PTX_NO_MOD;

		n = find_mod(p, o, i, classes, insn, &mod);
		if (!n)
			return cot_error_set(p->err, -EINVAL,
					     "%s:%u:%u: '%.*s' does not know the modifier '.%.*s'",
					     p->lx.name, at->line, at->column,
					     (int)words(o, 0, o->n).length, o->text,
					     (int)words(o, i, 1).length, words(o, i, 1).at);
		if (add_mod(p, insn, mod))
			return -EINVAL;
	}
	return 0;
}

/* @p or @!p */
static int parse_guard(struct cot_ptx_parser *p, struct cot_ptx_insn *insn)
{
	struct cot_ptx_operand operand = {0};
	int r = cot_ptx_next(p);

	if (!r)
		r = cot_ptx_accept(p, '!', &insn->guard_negated);
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "a predicate");
	r = cot_ptx_parse_name(p, &operand);
	if (r)
		return r;
	if (operand.kind != COT_PTX_OPND_REG)
		return cot_ptx_wrong(p, "a predicate before");
	insn->guard = operand.reg;
	return 0;
}

int cot_ptx_parse_insn(struct cot_ptx_parser *p)
{
	struct cot_ptx_stmt *s = cot_ptx_add_stmt(p, COT_PTX_STMT_INSN, p->tok.line);
	struct cot_ptx_token at;
	struct opcode opcode;
	int r = 0;

	if (!s)
		return cot_ptx_no_memory(p);
	s->insn.guard = COT_PTX_NO_REG;
	if (cot_ptx_is(p, '@'))
		r = parse_guard(p, &s->insn);
	if (r)
		return r;
	at = p->tok;
	s->line = p->inserting ? 0 : at.line;
	if (at.kind != COT_PTX_TOK_NAME)
		return cot_ptx_wrong(p, "an instruction");
	r = read_opcode(p, &opcode);
	if (!r)
		r = resolve_opcode(p, &opcode, &at, &s->insn);
	if (r)
		return r;
	cot_ptx_decode_mods(&s->insn);
	r = cot_ptx_parse_operands(p, &s->insn);
	return r ? r : cot_ptx_expect(p, ';');
}
