/* Which memory kernels can reach, by short ones. */
#include <stdio.h>
#include <string.h>

#include "ptx/pass/pass.h"
#include "test.h"

#define HEAD                                                                                 \
	".version 7.0\n.target sm_52\n.address_size 64\n"                                    \
	".global .align 8 .b8 table[64];\n.const .align 4 .u32 fixed[4];\n"                  \
	".func (.param .u32 r) twice(.param .u32 x) { .reg .b32 %a; ld.param.u32 %a, [x];\n" \
	" add.u32 %a, %a, %a; st.param.u32 [r], %a; ret; }\n"                                \
	".visible .entry k(.param .u64 p, .param .u64 q) {\n"                                \
	" .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 8 .b8 s[64];\n"                   \
	" ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; cvta.to.global.u64 %d3, %d1;\n"
#define TAIL " ret;\n}\n"

static enum cot_reach reach_of(const char *body)
{
	struct cot_ptx_module *module = NULL;
	struct cot_error err = {{0}};
	enum cot_reach reach;
	char text[4096];

	(void)snprintf(text, sizeof(text), "%s%s%s", HEAD, body, TAIL);
	if (cot_ptx_parse(text, strlen(text), "test", &module, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_pass_reach(cot_ptx_find_func(module, "k"), &reach), 0);
	cot_ptx_destroy(module);
	return reach;
}

static void arguments(void **state)
{
	(void)state;
	assert_int_equal(reach_of(""), COT_REACH_ARGUMENTS);
	assert_int_equal(reach_of("ld.global.u32 %r1, [%d3+4]; st.global.u32 [%d2], %r1;"),
			 COT_REACH_ARGUMENTS);
	/* An index that was read. */
	assert_int_equal(reach_of("ld.global.u32 %r1, [%d3]; mul.wide.u32 %d4, %r1, 4;"
				  "add.s64 %d5, %d2, %d4; st.global.u32 [%d5], %r1;"),
			 COT_REACH_ARGUMENTS);
	/* 64 bits that are only a value. */
	assert_int_equal(reach_of("ld.global.u64 %d4, [%d3]; st.global.u64 [%d2], %d4;"),
			 COT_REACH_ARGUMENTS);
	/* The block's own memory. */
	assert_int_equal(reach_of("mov.u64 %d4, s; st.shared.u32 [%d4], %r1;"),
			 COT_REACH_ARGUMENTS);
}

static void variables(void **state)
{
	(void)state;
	assert_int_equal(reach_of("ld.global.u32 %r1, [table+4];"), COT_REACH_VARIABLES);
	assert_int_equal(reach_of("ld.const.u32 %r1, [fixed];"), COT_REACH_VARIABLES);
	assert_int_equal(reach_of("mov.u64 %d4, table; st.global.u64 [%d3], %d4;"),
			 COT_REACH_VARIABLES);
}

static void anything(void **state)
{
	static const char *const bodies[] = {
		"ld.global.u64 %d4, [%d3]; ld.global.u32 %r1, [%d4];",
		"ld.global.v2.u64 {%d4, %d5}, [%d3]; add.s64 %d6, %d5, 8; st.global.u32 [%d6], %r1;",
		"ld.global.v2.u32 {%r1, %r2}, [%d3]; mov.b64 %d4, {%r1, %r2}; ld.u32 %r3, [%d4];",
		"ld.global.u32 %r1, [%d3]; cvt.u64.u32 %d4, %r1; shl.b64 %d4, %d4, 32;"
		"or.b64 %d5, %d4, %d2; ld.global.u32 %r3, [%d5];",
		/* By way of shared memory. */
		"st.shared.u64 [s], %d1; ld.shared.u64 %d4, [s]; ld.global.u32 %r1, [%d4];",
		"atom.global.exch.b64 %d4, [%d3], %d2; st.global.u32 [%d4], %r1;",
		"ld.global.u32 %r1, [4096];",
		"{ .param .u32 a; .param .u32 b; st.param.u32 [a], %r1;"
		"call (b), twice, (a); ld.param.u32 %r2, [b]; }",
		/* Found only the second time around. */
		"mov.u64 %d4, %d2; again: ld.global.u32 %r1, [%d4]; ld.global.u64 %d4, [%d3];"
		"bra again;",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (reach_of(bodies[i]) != COT_REACH_ANYTHING)
			fail_msg("%s", bodies[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(variables),
		cmocka_unit_test(anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
