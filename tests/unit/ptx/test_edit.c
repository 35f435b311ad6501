/* What passes do with a module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"
#include "unit/ptx/ptx_fixture.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static bool has_line(const struct cot_ptx_func *func, const char *expected)
{
	const struct cot_ptx_stmt *s;
	char line[128];

	for (s = func->first; s; s = s->next) {
		cot_ptx_print_stmt(func, s, line, sizeof(line));
		if (!strcmp(line, expected))
			return true;
	}
	return false;
}

static void test_looking(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *s = ptx_find(x->k, COT_PTX_OP_LD);
	char name[8], one[1];

	assert_true(x->k->entry && x->k->has_body);
	assert_int_equal(x->k->n_params, 1);
	assert_int_equal(cot_ptx_var_bytes(x->k->params[0]), 8);
	assert_int_equal(x->k->directives[0].kind, COT_PTX_DIR_MAXNTID);
	assert_int_equal(s->line, 15);
	assert_int_equal(s->insn.space, COT_PTX_SPACE_PARAM);
	assert_int_equal(s->insn.types[0], COT_PTX_U64);
	assert_ptr_equal(s->insn.operands[1].items[0].var, x->k->params[0]);
	assert_int_equal(cot_ptx_find_reg(x->k, "%r3"), 5);
	assert_string_equal(cot_ptx_reg_name(x->k, 5, name, sizeof(name)), "%r3");
	assert_string_equal(cot_ptx_reg_name(x->k, 5, name, 3), "%r");
	assert_string_equal(cot_ptx_reg_name(x->k, 5, one, 0), "");
	assert_int_equal(cot_ptx_find_reg(x->k, "%r4"), COT_PTX_NO_REG);
	assert_int_equal(cot_ptx_find_reg(x->k, "%r03"), COT_PTX_NO_REG);
	assert_int_equal(cot_ptx_find_reg(x->k, "%t"), COT_PTX_NO_REG);
	assert_int_equal(cot_ptx_var_bytes(cot_ptx_find_var(x->module, "g")), 16);
	assert_null(cot_ptx_find_var(x->module, "f"));
	assert_null(cot_ptx_find_func(x->module, "g"));
	/* Calls lead to the definition, though they came before it. */
	s = ptx_find(x->k, COT_PTX_OP_CALL);
	assert_ptr_equal(s->insn.operands[1].func, x->f);
	assert_true(x->f->has_body);
	assert_int_equal(cot_ptx_mod_of(&ptx_find(x->k, COT_PTX_OP_SETP)->insn, COT_PTX_CLASS_CMP),
			 COT_PTX_MOD_EQ);
}

struct regs {
	unsigned n_read, n_written;
	uint32_t last_written;
};

static void count(void *arg, uint32_t reg, bool written)
{
	struct regs *r = arg;

	if (written) {
		r->n_written++;
		r->last_written = reg;
	} else {
		r->n_read++;
	}
}

static void expect_regs(struct ptx_fixture *x, const char *insn, unsigned n_read,
			unsigned n_written)
{
	struct cot_ptx_stmt *s;
	struct regs r = {0, 0, 0};

	if (cot_ptx_insert_text(x->k, NULL, insn, NULL, 0, &s, NULL, &x->err))
		fail_msg("%s", x->err.text);
	cot_ptx_for_each_reg(&s->insn, count, &r);
	assert_int_equal(r.n_read, n_read);
	assert_int_equal(r.n_written, n_written);
	cot_ptx_unlink(x->k, s);
}

static void test_registers_of(void **state)
{
	struct ptx_fixture *x = *state;

	expect_regs(x, "add.u32 %r1, %r2, %r3;", 2, 1);
	expect_regs(x, "@%p1 add.u32 %r1, %r2, 3;", 2, 1);
	expect_regs(x, "ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", 1, 2);
	expect_regs(x, "st.global.v2.u32 [%rd1], {%r1, %r2};", 3, 0);
	expect_regs(x, "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", 3, 1);
	expect_regs(x, "mov.b64 {%r1, %r2}, %rd1;", 1, 2);
	expect_regs(x, "mov.b64 %rd1, {%r1, %r2};", 2, 1);
	expect_regs(x, "setp.eq.and.u32 %p1|%p0, %r1, %r2, !%p1;", 3, 2);
	expect_regs(x, "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;", 1, 2);
	expect_regs(
		x,
		"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, "
		"%r1};",
		4, 2);
	expect_regs(x, "wmma.store.d.sync.aligned.row.m16n16k16.s32 [%rd1], {%r1, %r2}, %r3;", 4,
		    0);
	expect_regs(x, "call (%r1), f, (%r2);", 1, 1);
	expect_regs(x,
		    "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r0, %r1}, %rd1, %rd2, %p1;",
		    5, 2);
}

static void test_new_names(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_bind bind = {.name = "end"};
	struct cot_ptx_label *label;
	uint32_t a, b;

	assert_int_equal(cot_ptx_new_reg(x->k, COT_PTX_U32, "flag", &a), 0);
	assert_int_equal(cot_ptx_new_reg(x->k, COT_PTX_U32, "flag", &b), 0);
	assert_int_not_equal(a, b);
	ptx_expect_print(x->k, x->k->first, ".reg .u32 %cot1_flag");
	ptx_expect_print(x->k, x->k->first->next, ".reg .u32 %cot0_flag");
	assert_int_equal(cot_ptx_find_reg(x->k, "%cot1_flag"), b);
	assert_int_equal(cot_ptx_new_label(x->k, "end", &label), 0);
	bind.operand = cot_ptx_label_operand(label);
	assert_int_equal(cot_ptx_insert_text(x->k, NULL, "end:", &bind, 1, NULL, NULL, &x->err), 0);
	ptx_expect_print(x->k, x->k->last, "$cot2_end:");
	assert_int_equal(cot_ptx_insert_text(x->k, NULL, "end:", &bind, 1, NULL, NULL, &x->err),
			 -EINVAL);
	ptx_check(x);
	/* Declarations have no body to declare things in. */
	assert_int_equal(cot_ptx_new_reg(x->module->first->next->next->func, COT_PTX_U32, "x", &a),
			 -EINVAL);
	assert_int_equal(cot_ptx_new_label(x->module->first->next->next->func, "x", &label),
			 -EINVAL);
}

/* A module that has such names goes on counting. */
static void test_names_of_before(void **state)
{
	static const char again[] = HEAD ".entry k() { .reg .b32 %cot41_x; ret; }";
	struct cot_ptx_module *module;
	struct cot_error err;
	uint32_t reg;

	(void)state;
	assert_int_equal(cot_ptx_parse(again, sizeof(again), "t", &module, &err), 0);
	assert_int_equal(cot_ptx_new_reg(module->first->func, COT_PTX_B32, "cot41_x", &reg), 0);
	assert_int_equal(cot_ptx_find_reg(module->first->func, "%cot42_x"), reg);
	cot_ptx_destroy(module);
}

static void test_insert_text(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *at = cot_ptx_body_start(x->k), *first, *last;
	struct cot_ptx_bind binds[3];
	uint32_t reg;
	int i;

	ptx_expect_print(x->k, at, ".loc 1 2 3");
	assert_int_equal(cot_ptx_new_reg(x->k, COT_PTX_U32, "n", &reg), 0);
	binds[0] = (struct cot_ptx_bind){"%n", cot_ptx_reg_operand(reg)};
	binds[1] = (struct cot_ptx_bind){"many", {.kind = COT_PTX_OPND_INT, .imm = -7}};
	binds[2] = (struct cot_ptx_bind){"page",
					 cot_ptx_var_operand(cot_ptx_find_var(x->module, "g"))};
	for (i = 0; i < 2; i++) {
		assert_int_equal(
			cot_ptx_insert_text(x->k, at,
					    ".reg .pred %p; again: ld.global.u32 %n, [page+4];"
					    "setp.eq.u32 %p, %n, many; @!%p bra again;"
					    "st.shared.u32 [s], %r2; @%p bra out;",
					    binds, 3, &first, &last, &x->err),
			0);
		assert_ptr_equal(last->next, at);
		ptx_check(x);
	}
	ptx_expect_print(x->k, first, ".reg .pred %cot3_p");
	ptx_expect_print(x->k, first->next, "cot4_again:");
}

static void test_insert_label_by_name(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_label *label;
	struct cot_ptx_bind bind = {.name = "here"};

	assert_int_equal(cot_ptx_new_label(x->k, "here", &label), 0);
	bind.operand = cot_ptx_label_operand(label);
	assert_int_equal(cot_ptx_insert_text(x->k, cot_ptx_body_start(x->k), "bra here;", &bind, 1,
					     NULL, NULL, &x->err),
			 0);
	assert_int_equal(cot_ptx_verify(x->module, &x->err), -EINVAL);
	assert_string_equal(x->err.text,
			    "k: line 0: a label that is not placed where it can be seen in "
			    "'bra $cot0_here'");
	assert_int_equal(
		cot_ptx_insert_text(x->k, NULL, "here: ret;", &bind, 1, NULL, NULL, &x->err), 0);
	ptx_check(x);
	assert_int_equal(
		cot_ptx_insert_text(x->k, NULL, "here: ret;", &bind, 1, NULL, NULL, &x->err),
		-EINVAL);
	assert_string_equal(x->err.text, "k:1:1: 'here' is placed already");
	ptx_check(x);
}

/* Inside the block of a call its names can be used, and outside they cannot. */
static void test_insert_in_block(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *call = ptx_find(x->k, COT_PTX_OP_CALL), *s;

	assert_int_equal(cot_ptx_insert_text(x->k, call, "{ .reg .b32 %u; add.u32 %u, %t, %r1; }",
					     NULL, 0, &s, NULL, &x->err),
			 0);
	ptx_check(x);
	/* Before its closing brace is inside, too. */
	assert_int_equal(cot_ptx_insert_text(x->k, call->next, "mov.u32 %t, 1;", NULL, 0, NULL,
					     NULL, &x->err),
			 0);
	ptx_check(x);
	assert_int_equal(cot_ptx_insert_text(x->k, call->next->next->next, "mov.u32 %t, 1;", NULL,
					     0, &s, NULL, &x->err),
			 -EINVAL);
	assert_string_equal(x->err.text, "k:1:9: '%t' is not declared");
	ptx_check(x);
}

static void test_insert_nothing_on_error(void **state)
{
	static const struct {
		const char *text, *sentence;
	} bad[] = {
		{"ret; frobnicate;", "k:1:6: unknown instruction 'frobnicate'"},
		{"ret; }", "k:1:6: expected a statement, found '}'"},
		{"{ ret;", "k:1:7: expected '}', found the end of the text"},
		{"bra nowhere;", "k:1:5: 'nowhere' is not declared"},
		{"ret", "k:1:4: expected a name, found the end of the text"},
		{"x: x: ret;", "k:1:4: 'x' is declared twice in this block"},
	};
	struct ptx_fixture *x = *state;
	char *before, *after;
	size_t n, i;

	assert_int_equal(cot_ptx_print_func(x->k, &before, &n), 0);
	for (i = 0; i < COT_ARRAY_LEN(bad); i++) {
		assert_int_equal(
			cot_ptx_insert_text(x->k, NULL, bad[i].text, NULL, 0, NULL, NULL, &x->err),
			-EINVAL);
		assert_string_equal(x->err.text, bad[i].sentence);
	}
	assert_int_equal(cot_ptx_print_func(x->k, &after, &n), 0);
	assert_string_equal(before, after);
	free(before);
	free(after);
	assert_int_equal(cot_ptx_insert_text(x->module->first->next->next->func, NULL, "ret;", NULL,
					     0, NULL, NULL, &x->err),
			 -EINVAL);
	assert_string_equal(x->err.text, "f: cannot be changed");
	ptx_verify(x);
}

static void test_statements(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_stmt *ret = ptx_find(x->k, COT_PTX_OP_RET), *before = ret->prev;

	cot_ptx_unlink(x->k, ret);
	assert_ptr_equal(x->k->last, before);
	cot_ptx_link(x->k, ret, NULL);
	ptx_check(x);
	cot_ptx_unlink(x->k, before);
	cot_ptx_link(x->k, before, ret);
	assert_ptr_equal(ret->prev, before);
	ptx_check(x);
}

static void test_params(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_var *a, *b, *c;

	assert_int_equal(cot_ptx_add_param(x->k, COT_PTX_U64, "extra", &a), 0);
	assert_int_equal(cot_ptx_add_param(x->k, COT_PTX_U32, "p", &b), 0);
	assert_string_equal(a->name, "extra");
	assert_string_equal(b->name, "cot0_p");
	assert_int_equal(x->k->n_params, 3);
	assert_int_equal(cot_ptx_insert_text(x->k, cot_ptx_body_start(x->k),
					     "ld.param.u64 %rd1, [extra];", NULL, 0, NULL, NULL,
					     &x->err),
			 0);
	ptx_check(x);
	/* Of a function: its declaration gets it too, and calls no longer fit. */
	assert_int_equal(cot_ptx_add_param(x->f, COT_PTX_U32, "extra", &c), 0);
	assert_int_equal(x->module->first->next->next->func->n_params, 2);
	assert_int_equal(cot_ptx_verify(x->module, &x->err), -EINVAL);
	assert_string_equal(x->err.text,
			    "k: line 25: not as many arguments as the function has parameters "
			    "in 'call (b), f, (a)'");
}

static void test_clone(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_func *copy;
	char *a, *b;
	size_t n;

	assert_int_equal(cot_ptx_print_func(x->k, &a, &n), 0);
	assert_int_equal(cot_ptx_clone_func(x->k, "q", &copy, &x->err), 0);
	assert_ptr_equal(cot_ptx_find_func(x->module, "q"), copy);
	assert_ptr_equal(cot_ptx_item_of_func(copy)->prev, cot_ptx_item_of_func(x->k));
	ptx_check(x);
	/* Changes of one are not seen in the other. */
	assert_int_equal(cot_ptx_insert_text(copy, ptx_find(copy, COT_PTX_OP_CALL),
					     "add.u32 %t, %t, %r3;", NULL, 0, NULL, NULL, &x->err),
			 0);
	ptx_find(copy, COT_PTX_OP_SETP)->insn.operands[2].imm = 9;
	ptx_check(x);
	assert_int_equal(cot_ptx_print_func(x->k, &b, &n), 0);
	assert_string_equal(a, b);
	assert_true(has_line(copy, "setp.eq.u32 %p1, %r1, 9"));
	free(a);
	free(b);
	assert_int_equal(cot_ptx_clone_func(x->k, "g", &copy, &x->err), -EEXIST);
	assert_string_equal(x->err.text, "the module has something with the name g");
	assert_int_equal(
		cot_ptx_clone_func(x->module->first->next->next->func, "z", &copy, &x->err),
		-EINVAL);
	assert_string_equal(x->err.text, "f: cannot be copied");
}

static void test_remove_opaque(void **state)
{
	static const char other[] = HEAD ".func f() { ret; }\n.entry k() { frobnicate; call f; }";
	struct cot_ptx_module *module;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_ptx_parse(other, sizeof(other), "t", &module, &err), 0);
	assert_int_equal(module->n_opaque, 1);
	cot_ptx_remove_item(module, cot_ptx_item_of_func(cot_ptx_find_func(module, "k")));
	assert_int_equal(module->n_opaque, 0);
	cot_ptx_destroy(module);
}

static void test_add_text(void **state)
{
	struct ptx_fixture *x = *state;
	struct cot_ptx_item *at = cot_ptx_item_of_func(x->k), *first;
	struct cot_ptx_var *page;

	assert_int_equal(
		cot_ptx_add_text(x->module, at,
				 ".global .u32 page;\n.func h() { .reg .b32 %r; ld.global.u32 %r, "
				 "[page]; st.global.u32 [g], %r; ret; }",
				 &first, &x->err),
		0);
	page = cot_ptx_find_var(x->module, "page");
	assert_int_equal(first->kind, COT_PTX_ITEM_VAR);
	assert_ptr_equal(first->var, page);
	assert_ptr_equal(first->next->func, cot_ptx_find_func(x->module, "h"));
	assert_ptr_equal(first->next->next, at);
	ptx_check(x);
	assert_int_equal(cot_ptx_add_text(x->module, at, ".global .u32 a;\n.func i() { what; }",
					  &first, &x->err),
			 -EINVAL);
	assert_string_equal(x->err.text, "added text:2:13: unknown instruction 'what'");
	assert_null(cot_ptx_find_var(x->module, "a"));
	assert_null(cot_ptx_find_func(x->module, "i"));
	ptx_check(x);
}

int main(void)
{
#define WITH_MODULE(test) cmocka_unit_test_setup_teardown(test, ptx_setup, ptx_teardown)
	const struct CMUnitTest tests[] = {
		WITH_MODULE(test_looking),	   WITH_MODULE(test_registers_of),
		WITH_MODULE(test_new_names),	   cmocka_unit_test(test_names_of_before),
		WITH_MODULE(test_insert_text),	   WITH_MODULE(test_insert_label_by_name),
		WITH_MODULE(test_insert_in_block), WITH_MODULE(test_insert_nothing_on_error),
		WITH_MODULE(test_statements),	   WITH_MODULE(test_params),
		WITH_MODULE(test_clone),	   cmocka_unit_test(test_remove_opaque),
		WITH_MODULE(test_add_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
