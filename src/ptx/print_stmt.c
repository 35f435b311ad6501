/* Statements as text. */
#include <string.h>

#include "ptx/print.h"

static void print_reg(struct cot_ptx_buf *b, const struct cot_ptx_func *func, uint32_t reg)
{
	const struct cot_ptx_reg_decl *decl;

	if (reg >= func->n_regs) {
		cot_ptx_buf_add(b, "%?");
		return;
	}
	decl = func->regs[reg].decl;
	cot_ptx_buf_add(b, decl->name);
	if (decl->range)
		cot_ptx_buf_uint(b, reg - decl->first);
}

const char *cot_ptx_reg_name(const struct cot_ptx_func *func, uint32_t reg, char *buf, size_t size)
{
	struct cot_ptx_buf b = {.text = buf, .cap = size, .fixed = true};

	if (reg < func->n_regs && !func->regs[reg].decl->range)
		return func->regs[reg].decl->name;
	if (!size)
		return "";
	print_reg(&b, func, reg);
	buf[b.size] = '\0';
	return buf;
}

static void print_sreg(struct cot_ptx_buf *b, const struct cot_ptx_operand *o)
{
	static const char *const parts[] = {".x", ".y", ".z", ".w"};

	cot_ptx_buf_add(b, cot_ptx_sreg_name((enum cot_ptx_sreg)o->sreg));
	if (o->sreg == COT_PTX_SREG_ENVREG || o->sreg == COT_PTX_SREG_PM)
		cot_ptx_buf_uint(b, o->part);
	else if (o->part < 4)
		cot_ptx_buf_add(b, parts[o->part]);
}

static void print_offset(struct cot_ptx_buf *b, const struct cot_ptx_operand *o)
{
	if (!o->imm && !(o->flags & COT_PTX_OFFSET))
		return;
	cot_ptx_buf_add(b, "+");
	cot_ptx_print_int(b, o->imm, o->flags);
}

static void print_items(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
			const struct cot_ptx_operand *o, const char *open, const char *between,
			const char *close)
{
	uint32_t i;

	cot_ptx_buf_add(b, open);
	for (i = 0; i < o->n; i++) {
		if (i)
			cot_ptx_buf_add(b, between);
		cot_ptx_print_operand(b, func, &o->items[i]);
	}
	cot_ptx_buf_add(b, close);
}

void cot_ptx_print_operand(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
			   const struct cot_ptx_operand *o)
{
	if (o->flags & COT_PTX_NEGATED)
		cot_ptx_buf_add(b, "!");
	switch ((enum cot_ptx_operand_kind)o->kind) {
	case COT_PTX_OPND_NONE:
		break;
	case COT_PTX_OPND_REG:
		print_reg(b, func, o->reg);
		break;
	case COT_PTX_OPND_SREG:
		print_sreg(b, o);
		break;
	case COT_PTX_OPND_INT:
		cot_ptx_print_int(b, o->imm, o->flags);
		break;
	case COT_PTX_OPND_F32:
	case COT_PTX_OPND_F64:
		cot_ptx_print_bits(b, o->kind == COT_PTX_OPND_F64, o->imm);
		break;
	case COT_PTX_OPND_VAR:
		cot_ptx_buf_add(b, o->var->name);
		print_offset(b, o);
		break;
	case COT_PTX_OPND_FUNC:
		cot_ptx_buf_add(b, o->func->name);
		break;
	case COT_PTX_OPND_LABEL:
		cot_ptx_buf_add(b, o->label->name);
		break;
	case COT_PTX_OPND_VECTOR:
		print_items(b, func, o, "{", ", ", "}");
		break;
	case COT_PTX_OPND_PAIR:
		print_items(b, func, o, "", "|", "");
		break;
	case COT_PTX_OPND_ADDR:
		cot_ptx_buf_add(b, "[");
		cot_ptx_print_operand(b, func, &o->items[0]);
		print_offset(b, o);
		cot_ptx_buf_add(b, "]");
		break;
	case COT_PTX_OPND_TENSOR:
		print_items(b, func, o, "[", ", ", "]");
		break;
	case COT_PTX_OPND_LIST:
		print_items(b, func, o, "(", ", ", ")");
		break;
	case COT_PTX_OPND_SINK:
		cot_ptx_buf_add(b, "_");
		break;
	}
}

static void print_mods(struct cot_ptx_buf *b, const struct cot_ptx_insn *insn)
{
	static const char *const letters[] = {"m", "n", "k"};
	unsigned i, k;

	for (i = 0; i < insn->n_mods; i++) {
		const char *name = cot_ptx_mod_name((enum cot_ptx_mod)insn->mods[i]);

		cot_ptx_buf_add(b, ".");
		if (name)
			cot_ptx_buf_add(b, name);
		for (k = 0; !name && k < 3 && insn->shape[k]; k++) {
			cot_ptx_buf_add(b, letters[k]);
			cot_ptx_buf_uint(b, insn->shape[k]);
		}
	}
}

static bool is_absent(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_NONE ||
	       (o->kind == COT_PTX_OPND_LIST && !o->n && !(o->flags & COT_PTX_EMPTY));
}

static void print_insn(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
		       const struct cot_ptx_insn *insn)
{
	const char *before = " ";
	unsigned i;

	if (insn->guard != COT_PTX_NO_REG) {
		cot_ptx_buf_add(b, insn->guard_negated ? "@!" : "@");
		print_reg(b, func, insn->guard);
		cot_ptx_buf_add(b, " ");
	}
	cot_ptx_buf_add(b, cot_ptx_op_info((enum cot_ptx_op)insn->op)->name);
	print_mods(b, insn);
	for (i = 0; i < insn->n_operands; i++) {
		if (is_absent(&insn->operands[i]))
			continue;
		cot_ptx_buf_add(b, before);
		cot_ptx_print_operand(b, func, &insn->operands[i]);
		before = ", ";
	}
}

static void print_reg_decl(struct cot_ptx_buf *b, const struct cot_ptx_reg_decl *decl)
{
	cot_ptx_buf_add(b, ".reg .");
	cot_ptx_buf_add(b, cot_ptx_type_name((enum cot_ptx_type)decl->type));
	cot_ptx_buf_add(b, " ");
	cot_ptx_buf_add(b, decl->name);
	if (decl->range) {
		cot_ptx_buf_add(b, "<");
		cot_ptx_buf_uint(b, decl->count);
		cot_ptx_buf_add(b, ">");
	}
}

static void print_proto(struct cot_ptx_buf *b, const struct cot_ptx_proto *proto)
{
	cot_ptx_buf_add(b, proto->label->name);
	cot_ptx_buf_add(b, ": .callprototype (");
	cot_ptx_print_params(b, proto->rets, proto->n_rets, ", ");
	cot_ptx_buf_add(b, ") _ (");
	cot_ptx_print_params(b, proto->params, proto->n_params, ", ");
	cot_ptx_buf_add(b, ")");
	if (proto->noreturn)
		cot_ptx_buf_add(b, " .noreturn");
}

static void print_targets(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
			  const struct cot_ptx_targets *targets, const char *directive)
{
	uint32_t i;

	cot_ptx_buf_add(b, targets->label->name);
	cot_ptx_buf_add(b, directive);
	for (i = 0; i < targets->n; i++) {
		cot_ptx_buf_add(b, i ? ", " : " ");
		cot_ptx_print_operand(b, func, &targets->items[i]);
	}
}

/* Without a semicolon, which all but labels, braces and .loc have. */
void cot_ptx_print_one(struct cot_ptx_buf *b, const struct cot_ptx_func *func,
		       const struct cot_ptx_stmt *stmt)
{
	switch ((enum cot_ptx_stmt_kind)stmt->kind) {
	case COT_PTX_STMT_INSN:
		print_insn(b, func, &stmt->insn);
		break;
	case COT_PTX_STMT_LABEL:
		cot_ptx_buf_add(b, stmt->label->name);
		cot_ptx_buf_add(b, ":");
		break;
	case COT_PTX_STMT_OPEN:
		cot_ptx_buf_add(b, "{");
		break;
	case COT_PTX_STMT_CLOSE:
		cot_ptx_buf_add(b, "}");
		break;
	case COT_PTX_STMT_REG:
		print_reg_decl(b, stmt->reg);
		break;
	case COT_PTX_STMT_VAR:
		cot_ptx_print_var(b, stmt->var);
		break;
	case COT_PTX_STMT_PROTO:
		print_proto(b, stmt->proto);
		break;
	case COT_PTX_STMT_TARGETS:
		print_targets(b, func, stmt->targets, ": .branchtargets");
		break;
	case COT_PTX_STMT_CALLTARGETS:
		print_targets(b, func, stmt->targets, ": .calltargets");
		break;
	case COT_PTX_STMT_LOC:
		cot_ptx_buf_add(b, ".loc ");
		cot_ptx_buf_add(b, stmt->text);
		break;
	case COT_PTX_STMT_PRAGMA:
		cot_ptx_buf_add(b, ".pragma ");
		cot_ptx_buf_add(b, stmt->text);
		break;
	}
}

void cot_ptx_print_stmt(const struct cot_ptx_func *func, const struct cot_ptx_stmt *stmt, char *buf,
			size_t size)
{
	struct cot_ptx_buf b = {.text = buf, .cap = size, .fixed = true};

	if (!size)
		return;
	cot_ptx_print_one(&b, func, stmt);
	buf[b.size] = '\0';
}
