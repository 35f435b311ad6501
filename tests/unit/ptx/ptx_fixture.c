#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unit/ptx/ptx_fixture.h"

#define HEAD ".version 8.0\n.target sm_90, debug\n.address_size 64\n"

static const char text[] = HEAD ".file 1 \"a.cu\"\n"
				".global .align 4 .u32 g[4];\n"
				".func (.param .b32 r) f(.param .b32 x);\n"
				".entry k(.param .u64 p)\n.maxntid 64\n{\n"
				".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\n"
				".shared .align 4 .b32 s;\n"
				".loc 1 2 3\n"
				"ld.param.u64 %rd1, [p];\n"
				"ld.global.u32 %r1, [%rd1+8];\n"
				"setp.eq.u32 %p1, %r1, 0;\n"
				"@%p1 bra out;\n"
				"{\n.reg .b32 %t;\n.param .b32 a;\nadd.u32 %t, %r1, 1;\n"
				"st.param.b32 [a], %t;\n.param .b32 b;\ncall (b), f, (a);\n}\n"
				"out:\nret;\n}\n"
				".func (.param .b32 r) f(.param .b32 x)\n{\nret;\n}\n"
				".section .debug_x { .b8 1 }\n";

int ptx_setup(void **state)
{
	struct ptx_fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	assert_int_equal(cot_ptx_parse(text, sizeof(text), "t", &x->module, &x->err), 0);
	x->k = cot_ptx_find_func(x->module, "k");
	x->f = cot_ptx_find_func(x->module, "f");
	assert_non_null(x->k);
	assert_non_null(x->f);
	assert_int_equal(x->module->n_opaque, 0);
	*state = x;
	return 0;
}

int ptx_teardown(void **state)
{
	struct ptx_fixture *x = *state;

	cot_ptx_destroy(x->module);
	free(x);
	return 0;
}

void ptx_verify(struct ptx_fixture *x)
{
	if (cot_ptx_verify(x->module, &x->err))
		fail_msg("%s", x->err.text);
}

void ptx_check(struct ptx_fixture *x)
{
	struct cot_ptx_module *again;
	char *printed, *second;
	size_t n, n_second;

	ptx_verify(x);
	assert_int_equal(cot_ptx_print(x->module, &printed, &n), 0);
	if (cot_ptx_parse(printed, n, "printed", &again, &x->err))
		fail_msg("%s", x->err.text);
	assert_int_equal(again->n_opaque, 0);
	assert_int_equal(cot_ptx_print(again, &second, &n_second), 0);
	assert_string_equal(second, printed);
	cot_ptx_destroy(again);
	free(printed);
	free(second);
}

void ptx_expect_print(const struct cot_ptx_func *func, const struct cot_ptx_stmt *s,
		      const char *expected)
{
	char line[128];

	assert_non_null(s);
	cot_ptx_print_stmt(func, s, line, sizeof(line));
	assert_string_equal(line, expected);
}

struct cot_ptx_stmt *ptx_find(const struct cot_ptx_func *func, enum cot_ptx_op op)
{
	struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN && s->insn.op == op)
			return s;
	fail_msg("the instruction is not there");
	return NULL;
}
