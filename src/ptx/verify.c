/*
 * The verifier: one walk through a function. It checks what a pass can get wrong: operands against
 * the patterns of ops.def, registers and labels against what is declared where, calls against the
 * callee. What it does not know is whether an opcode has this type at all: ptxas says that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/match.h"
#include "ptx/names.h"

#define STMT_TEXT_MAX 160

struct verifier {
	const struct cot_ptx_func *func;
	const struct cot_ptx_stmt *stmt;
	struct cot_error *err;
	uint8_t *declared;   /* by register: its declaration has been passed */
	uint8_t *placed;     /* by label: it is in the function */
	const char *missing; /* found while walking through operands */
	uint32_t order;	     /* of the item; 0: one function alone is verified */
	unsigned depth;
};

static int complain(const struct verifier *v, const char *what)
{
	char text[STMT_TEXT_MAX];

	cot_ptx_print_stmt(v->func, v->stmt, text, sizeof(text));
	return cot_error_set(v->err, -EINVAL, "%s: line %u: %s in '%s'", v->func->name,
			     v->stmt->line, what, text);
}

static bool is_inside(const struct cot_ptx_scope *inner, const struct cot_ptx_scope *outer)
{
	while (inner && inner != outer)
		inner = inner->parent;
	return inner == outer;
}

/* ---- names in operands ---- */

static bool reg_is_visible(const struct verifier *v, uint32_t reg)
{
	return reg < v->func->n_regs && v->declared[reg] &&
	       is_inside(v->stmt->scope, v->func->regs[reg].decl->scope);
}

static bool label_is_visible(const struct verifier *v, const struct cot_ptx_label *label)
{
	return label->index < v->func->n_labels && v->func->labels[label->index] == label &&
	       v->placed[label->index] && is_inside(v->stmt->scope, label->scope);
}

static bool var_is_visible(const struct verifier *v, const struct cot_ptx_var *var)
{
	return !var->func || (var->func == v->func && is_inside(v->stmt->scope, var->scope));
}

/* What belongs to the module is there, and the reader has met it before this item. */
static bool is_known(const struct verifier *v, uint32_t order)
{
	return !v->order || (order && order <= v->order);
}

static void check_name(void *arg, struct cot_ptx_operand *o)
{
	struct verifier *v = arg;

	if (o->kind == COT_PTX_OPND_REG && !reg_is_visible(v, o->reg))
		v->missing = "a register that is not declared here";
	else if (o->kind == COT_PTX_OPND_LABEL && !label_is_visible(v, o->label))
		v->missing = "a label that is not placed where it can be seen";
	else if (o->kind == COT_PTX_OPND_VAR && !var_is_visible(v, o->var))
		v->missing = "a variable that is not declared here";
	else if (o->kind == COT_PTX_OPND_VAR && !o->var->func && !is_known(v, o->var->order))
		v->missing = "a variable that is not declared before";
	else if (o->kind == COT_PTX_OPND_FUNC && !is_known(v, o->func->order))
		v->missing = "a function that is not declared before";
}

/* ---- calls ---- */

/* What is passed: a register, a number, or a .param variable of the caller. */
static bool argument_fits(const struct verifier *v, const struct cot_ptx_operand *o,
			  const struct cot_ptx_var *param)
{
	enum cot_ptx_type type = (enum cot_ptx_type)param->type;

	switch (o->kind) {
	case COT_PTX_OPND_VAR:
		return o->var->space == COT_PTX_SPACE_PARAM && !o->imm &&
		       (param->unsized || o->var->unsized ||
			cot_ptx_var_bytes(o->var) == cot_ptx_var_bytes(param));
	case COT_PTX_OPND_REG:
		return !param->n_dims &&
		       cot_ptx_reg_fits((enum cot_ptx_type)v->func->regs[o->reg].type, type, true);
	case COT_PTX_OPND_INT:
	case COT_PTX_OPND_F32:
	case COT_PTX_OPND_F64:
		return !param->n_dims;
	default:
		return false;
	}
}

static int check_list(const struct verifier *v, const struct cot_ptx_operand *list,
		      struct cot_ptx_var *const *params, uint32_t n, const char *count,
		      const char *type)
{
	uint32_t i;

	if (list->n != n)
		return complain(v, count);
	for (i = 0; i < n; i++)
		if (!argument_fits(v, &list->items[i], params[i]))
			return complain(v, type);
	return 0;
}

static int check_arguments(const struct verifier *v, struct cot_ptx_var *const *rets,
			   uint32_t n_rets, struct cot_ptx_var *const *params, uint32_t n_params)
{
	const struct cot_ptx_operand *o = v->stmt->insn.operands;
	int r = check_list(v, &o[0], rets, n_rets, "not as many results as the function has",
			   "a result that does not fit the function's");

	return r ? r
		 : check_list(v, &o[2], params, n_params,
			      "not as many arguments as the function has parameters",
			      "an argument that does not fit its parameter");
}

static int check_call(const struct verifier *v)
{
	const struct cot_ptx_operand *o = v->stmt->insn.operands;
	const struct cot_ptx_stmt *table =
		o[3].kind == COT_PTX_OPND_LABEL ? o[3].label->stmt : NULL;

	if (o[1].kind == COT_PTX_OPND_FUNC) {
		const struct cot_ptx_func *f = o[1].func;

		if (f->entry)
			return complain(v, "a call of a kernel");
		/* The parameters of one that was not understood may not have been, either. */
		if (f->opaque)
			return 0;
		return check_arguments(v, f->rets, f->n_rets, f->params, f->n_params);
	}
	if (o[1].kind != COT_PTX_OPND_REG)
		return complain(v, "a call of something that is no function");
	if (!table)
		return complain(v, "a call of a register without a prototype");
	if (table->kind == COT_PTX_STMT_PROTO)
		return check_arguments(v, table->proto->rets, table->proto->n_rets,
				       table->proto->params, table->proto->n_params);
	if (table->kind != COT_PTX_STMT_CALLTARGETS)
		return complain(v, "no prototype and no table of functions");
	return 0;
}

/* ---- instructions ---- */

/* Where the instruction goes to has to be a place, or a table of places. */
static int check_branch(const struct verifier *v)
{
	const struct cot_ptx_insn *insn = &v->stmt->insn;
	const struct cot_ptx_label *label = insn->operands[insn->n_operands - 1].label;

	if (insn->op == COT_PTX_OP_BRA && label->stmt->kind != COT_PTX_STMT_LABEL)
		return complain(v, "a label that is no place");
	if (insn->op == COT_PTX_OP_BRX_IDX && label->stmt->kind != COT_PTX_STMT_TARGETS)
		return complain(v, "a label that is no table of places");
	return 0;
}

static int check_operands(const struct verifier *v)
{
	const struct cot_ptx_insn *insn = &v->stmt->insn;
	const char *pattern = cot_ptx_op_info((enum cot_ptx_op)insn->op)->operands;
	const char *expected = NULL;
	unsigned at, furthest = 0;
	char text[STMT_TEXT_MAX];

	for (; pattern; pattern = cot_ptx_pattern_next(pattern)) {
		const char *bad = cot_ptx_match(v->func, insn, pattern, &at);

		if (!bad)
			return 0;
		if (!expected || at >= furthest) {
			furthest = at;
			expected = bad;
		}
	}
	cot_ptx_print_stmt(v->func, v->stmt, text, sizeof(text));
	return cot_error_set(v->err, -EINVAL, "%s: line %u: expected %s as operand %u of '%s'",
			     v->func->name, v->stmt->line, expected, furthest + 1, text);
}

/* Modifiers of these classes may come twice. */
#define REPEATED                                                                                   \
	(1ull << COT_PTX_CLASS_TYPE | 1ull << COT_PTX_CLASS_SPACE | 1ull << COT_PTX_CLASS_LAYOUT | \
	 1ull << COT_PTX_CLASS_CACHE | 1ull << COT_PTX_CLASS_ASYNC |                               \
	 1ull << COT_PTX_CLASS_ACTION | 1ull << COT_PTX_CLASS_TENSOR |                             \
	 1ull << COT_PTX_CLASS_TENSORFIELD | 1ull << COT_PTX_CLASS_PROXY |                         \
	 1ull << COT_PTX_CLASS_TEX)

static int check_mods(const struct verifier *v)
{
	const struct cot_ptx_insn *insn = &v->stmt->insn;
	uint64_t allowed = cot_ptx_op_info((enum cot_ptx_op)insn->op)->classes, seen = 0;
	unsigned i;

	for (i = 0; i < insn->n_mods; i++) {
		uint64_t class_ = 1ull << cot_ptx_mod_class((enum cot_ptx_mod)insn->mods[i]);

		if (!(allowed & class_))
			return complain(v, "a modifier that the opcode does not know");
		if (seen & class_ & ~REPEATED)
			return complain(v, "two modifiers that exclude each other");
		seen |= class_;
	}
	return 0;
}

static int check_insn(struct verifier *v)
{
	struct cot_ptx_insn *insn = (struct cot_ptx_insn *)&v->stmt->insn;
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)insn->op)->flags;
	int r = check_mods(v);

	if (r)
		return r;
	v->missing = NULL;
	cot_ptx_for_each_operand(insn, check_name, v);
	if (v->missing)
		return complain(v, v->missing);
	if (insn->guard != COT_PTX_NO_REG &&
	    (!reg_is_visible(v, insn->guard) || v->func->regs[insn->guard].type != COT_PTX_PRED))
		return complain(v, "a guard that is no predicate declared here");
	r = check_operands(v);
	if (!r && flags & COT_PTX_F_CALL)
		r = check_call(v);
	if (!r && flags & COT_PTX_F_BRANCH)
		r = check_branch(v);
	return r;
}

/* ---- other statements ---- */

static int check_targets(struct verifier *v)
{
	const struct cot_ptx_targets *t = v->stmt->targets;
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		const struct cot_ptx_operand *o = &t->items[i];

		if (v->stmt->kind == COT_PTX_STMT_CALLTARGETS) {
			if (o->kind != COT_PTX_OPND_FUNC)
				return complain(v, "something that is no function");
			if (!is_known(v, o->func->order))
				return complain(v, "a function that is not declared before");
			continue;
		}
		if (o->kind != COT_PTX_OPND_LABEL || !label_is_visible(v, o->label))
			return complain(v, "a label that is not placed where it can be seen");
		if (o->label->stmt->kind != COT_PTX_STMT_LABEL)
			return complain(v, "a label that is no place");
	}
	return 0;
}

static int check_reg(struct verifier *v)
{
	const struct cot_ptx_reg_decl *decl = v->stmt->reg;

	if (decl->first > v->func->n_regs || decl->count > v->func->n_regs - decl->first)
		return complain(v, "registers of another function");
	if (decl->scope != v->stmt->scope)
		return complain(v, "registers of another block");
	memset(v->declared + decl->first, 1, decl->count);
	return 0;
}

static int check_var(const struct verifier *v)
{
	const struct cot_ptx_var *var = v->stmt->var;

	if (var->func != v->func || var->scope != v->stmt->scope)
		return complain(v, "a variable of another function or block");
	return 0;
}

static int check_stmt(struct verifier *v)
{
	const struct cot_ptx_stmt *s = v->stmt;

	if (s->kind == COT_PTX_STMT_OPEN)
		v->depth++;
	/* An opening brace belongs to the block around it, a closing one to the block it closes. */
	if (!s->scope || s->scope->depth + (s->kind == COT_PTX_STMT_OPEN) != v->depth)
		return complain(v, "a statement outside of its block");
	switch ((enum cot_ptx_stmt_kind)s->kind) {
	case COT_PTX_STMT_CLOSE:
		if (!v->depth)
			return complain(v, "a block that was not opened");
		v->depth--;
		return 0;
	case COT_PTX_STMT_INSN:
		return check_insn(v);
	case COT_PTX_STMT_REG:
		return check_reg(v);
	case COT_PTX_STMT_VAR:
		return check_var(v);
	case COT_PTX_STMT_TARGETS:
	case COT_PTX_STMT_CALLTARGETS:
		return check_targets(v);
	default:
		return 0;
	}
}

/* ---- the whole ---- */

/* Which labels are in the body, and where: forward branches need to know. */
static int note_labels(struct verifier *v)
{
	const struct cot_ptx_stmt *s;

	for (s = v->func->first; s; s = s->next) {
		const struct cot_ptx_label *label = NULL;

		if (s->kind == COT_PTX_STMT_LABEL)
			label = s->label;
		else if (s->kind == COT_PTX_STMT_PROTO)
			label = s->proto->label;
		else if (s->kind == COT_PTX_STMT_TARGETS || s->kind == COT_PTX_STMT_CALLTARGETS)
			label = s->targets->label;
		if (!label)
			continue;
		v->stmt = s;
		if (label->index >= v->func->n_labels || v->func->labels[label->index] != label)
			return complain(v, "a label of another function");
		if (label->stmt != s || label->scope != s->scope)
			return complain(v, "a label that is somewhere else");
		if (v->placed[label->index])
			return complain(v, "a label that is placed twice");
		v->placed[label->index] = 1;
	}
	return 0;
}

static int verify_body(struct verifier *v)
{
	int r = note_labels(v);

	for (v->stmt = v->func->first; !r && v->stmt; v->stmt = v->stmt->next)
		r = check_stmt(v);
	if (!r && v->depth)
		r = cot_error_set(v->err, -EINVAL, "%s: a block is not closed", v->func->name);
	return r;
}

static int verify_func(const struct cot_ptx_func *func, uint32_t order, struct cot_error *err)
{
	struct verifier v = {.func = func, .err = err, .order = order};
	int r = -ENOMEM;

	if (func->opaque || !func->has_body)
		return 0;
	v.declared = calloc((size_t)func->n_regs + 1, 1);
	v.placed = calloc((size_t)func->n_labels + 1, 1);
	if (v.declared && v.placed)
		r = verify_body(&v);
	else
		(void)cot_error_set(err, r, "%s: out of memory", func->name);
	free(v.declared);
	free(v.placed);
	return r;
}

int cot_ptx_verify_func(const struct cot_ptx_func *func, struct cot_error *err)
{
	return verify_func(func, 0, err);
}

/* ---- the module ---- */

/* A function is known from its first declaration on. */
static void note_order(const struct cot_ptx_module *module)
{
	const struct cot_ptx_item *item;
	uint32_t order = 1;

	for (item = module->first; item; item = item->next, order++) {
		struct cot_ptx_func *func = item->kind == COT_PTX_ITEM_FUNC ? item->func : NULL;

		if (item->kind == COT_PTX_ITEM_VAR)
			item->var->order = order;
		if (func && !func->order)
			func->order = order;
		if (func && func->decl_of && !func->decl_of->order)
			func->decl_of->order = order;
	}
}

/* What is removed keeps its number: so it is forgotten before. */
static void forget_order(const struct cot_ptx_module *module)
{
	const struct cot_ptx_item *item;

	for (item = module->first; item; item = item->next) {
		if (item->kind == COT_PTX_ITEM_FUNC)
			item->func->order = 0;
		else if (item->kind == COT_PTX_ITEM_VAR)
			item->var->order = 0;
	}
}

static int verify_var(const struct cot_ptx_var *var, uint32_t order, struct cot_error *err)
{
	uint32_t i;

	for (i = 0; i < var->n_inits; i++) {
		const struct cot_ptx_init *init = &var->inits[i];
		uint32_t known = order;

		if (init->kind == COT_PTX_INIT_ADDR)
			known = init->var ? init->var->order : init->func->order;
		if (!known || known > order)
			return cot_error_set(
				err, -EINVAL,
				"%s: line %u: value %u is the address of something that is "
				"not declared before",
				var->name, var->line, i + 1);
	}
	return 0;
}

static int verify_item(const struct cot_ptx_item *item, uint32_t order, struct cot_error *err)
{
	if (item->kind == COT_PTX_ITEM_FUNC)
		return verify_func(item->func, order, err);
	if (item->kind == COT_PTX_ITEM_VAR)
		return verify_var(item->var, order, err);
	if (item->kind != COT_PTX_ITEM_ALIAS)
		return 0;
	if (!item->alias[0]->order || item->alias[0]->order > order || !item->alias[1]->order ||
	    item->alias[1]->order > order)
		return cot_error_set(err, -EINVAL,
				     "line %u: an alias of functions that are not declared before",
				     item->line);
	return 0;
}

int cot_ptx_verify(const struct cot_ptx_module *module, struct cot_error *err)
{
	const struct cot_ptx_item *item;
	uint32_t order = 1;
	int r = 0;

	note_order(module);
	for (item = module->first; !r && item; item = item->next, order++)
		r = verify_item(item, order, err);
	forget_order(module);
	return r;
}
