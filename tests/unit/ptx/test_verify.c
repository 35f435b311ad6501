/* What the verifier says when a pass has moved or mixed up things. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"
#include "test.h"
#include "unit/ptx/ptx_fixture.h"

static void expect_wrong(struct ptx_fixture *x, const char *sentence)
{
	assert_int_equal(cot_ptx_verify(x->module, &x->err), -EINVAL);
	assert_string_equal(x->err.text, sentence);
}

/* Statements that were moved, or lost what they need. */
static void test_wrong_places(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *ret = ptx_find(x->k, COT_PTX_OP_RET),
			    *add = ptx_find(x->k, COT_PTX_OP_ADD);
	struct cot_ptx_stmt *reg = x->k->first->next, *out = ret->prev, *next = add->next;
	struct cot_ptx_stmt label = {.kind = COT_PTX_STMT_LABEL, .line = ret->line};

	cot_ptx_unlink(x->k, add);
	cot_ptx_link(x->k, add, ret);
	expect_wrong(x, "k: line 22: a register that is not declared here in 'add.u32 %t, %r1, 1'");
	cot_ptx_unlink(x->k, add);
	cot_ptx_link(x->k, add, next);
	ptx_verify(x);

	cot_ptx_unlink(x->k, reg);
	expect_wrong(x, "k: line 16: a register that is not declared here in 'ld.global.u32 %r1, "
			"[%rd1+8]'");
	cot_ptx_link(x->k, reg, x->k->first);
	ptx_verify(x);

	cot_ptx_unlink(x->k, out);
	expect_wrong(
		x, "k: line 18: a label that is not placed where it can be seen in '@%p1 bra out'");
	cot_ptx_link(x->k, out, ptx_find(x->k, COT_PTX_OP_CALL));
	expect_wrong(
		x, "k: line 18: a label that is not placed where it can be seen in '@%p1 bra out'");
	cot_ptx_unlink(x->k, out);
	cot_ptx_link(x->k, out, ret);
	ptx_verify(x);

	label.label = out->label;
	cot_ptx_link(x->k, &label, ret);
	expect_wrong(x, "k: line 27: a label that is somewhere else in 'out:'");
	cot_ptx_unlink(x->k, &label);
	out->label->stmt = out;
	ptx_verify(x);

	ret->scope = add->scope;
	expect_wrong(x, "k: line 28: a statement outside of its block in 'ret'");
	ret->scope = x->k->scope;
	ret->insn.mods[ret->insn.n_mods++] = COT_PTX_MOD_FTZ;
	expect_wrong(x, "k: line 28: a modifier that the opcode does not know in 'ret.ftz'");
	ret->insn.n_mods--;
	ptx_verify(x);
}

static void test_wrong_blocks(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *s = x->k->first, *close;

	while (s->kind != COT_PTX_STMT_CLOSE)
		s = s->next;
	close = s;
	cot_ptx_unlink(x->k, close);
	expect_wrong(x, "k: line 27: a statement outside of its block in 'out:'");
	while (x->k->last->line > 26)
		cot_ptx_unlink(x->k, x->k->last);
	s = ptx_find(x->k, COT_PTX_OP_BRA);
	cot_ptx_unlink(x->k, s);
	expect_wrong(x, "k: a block is not closed");
}

/* What belongs to another function. */
static void test_wrong_function(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_func *copy;
	struct cot_ptx_stmt *ld, *bra, *s;

	assert_int_equal(cot_ptx_clone_func(x->k, "q", &copy, &x->err), 0);
	ld = ptx_find(x->k, COT_PTX_OP_LD);
	ld->insn.operands[1].items[0].var = copy->params[0];
	expect_wrong(
		x, "k: line 15: a variable that is not declared here in 'ld.param.u64 %rd1, [p]'");
	ld->insn.operands[1].items[0].var = x->k->params[0];
	ptx_verify(x);
	bra = ptx_find(x->k, COT_PTX_OP_BRA);
	bra->insn.operands[0] = ptx_find(copy, COT_PTX_OP_BRA)->insn.operands[0];
	expect_wrong(
		x, "k: line 18: a label that is not placed where it can be seen in '@%p1 bra out'");
	bra->insn.operands[0].label = x->k->labels[0];
	ptx_verify(x);
	for (s = x->k->first; s->kind != COT_PTX_STMT_VAR; s = s->next)
		;
	s->var = copy->params[0];
	expect_wrong(x, "k: line 13: a variable of another function or block in '.param .u64 p'");
}

/* Things of the module that are gone, or stand behind what names them. */
static void test_wrong_order(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_item *first, *decl;

	assert_int_equal(cot_ptx_insert_text(x->k, NULL, "mov.u64 %rd1, g; mov.u64 %rd2, f;", NULL,
					     0, NULL, NULL, &x->err),
			 0);
	assert_int_equal(cot_ptx_add_text(x->module, cot_ptx_item_of_func(x->k)->next,
					  ".global .u64 t[2] = {7, g};\n.global .u64 u = f;",
					  &first, &x->err),
			 0);
	ptx_check(x);
	cot_ptx_remove_item(x->module, first);
	cot_ptx_link_item(x->module, first, x->module->first);
	expect_wrong(x,
		     "t: line 1: value 2 is the address of something that is not declared before");
	cot_ptx_remove_item(x->module, first);
	ptx_verify(x);

	for (first = x->module->first; first->kind != COT_PTX_ITEM_VAR;)
		first = first->next;
	cot_ptx_remove_item(x->module, first);
	expect_wrong(x, "k: line 0: a variable that is not declared before in 'mov.u64 %rd1, g'");
	cot_ptx_link_item(x->module, first, cot_ptx_item_of_func(x->k));
	decl = cot_ptx_item_of_func(x->k)->prev->prev;
	assert_int_equal(decl->kind, COT_PTX_ITEM_FUNC);
	cot_ptx_remove_item(x->module, decl);
	expect_wrong(x, "k: line 25: a function that is not declared before in 'call (b), f, (a)'");
}

int main(void)
{
#define WITH_MODULE(test) cmocka_unit_test_setup_teardown(test, ptx_setup, ptx_teardown)
	const struct CMUnitTest tests[] = {
		WITH_MODULE(test_wrong_places),
		WITH_MODULE(test_wrong_blocks),
		WITH_MODULE(test_wrong_function),
		WITH_MODULE(test_wrong_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
