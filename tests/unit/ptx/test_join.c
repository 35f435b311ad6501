/* Two modules as one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "test.h"

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"

/* Both have a kernel, a function that is declared first, variables that name each other, and what
 * is outside of them. */
#define BODY                                                                              \
	".file 1 \"a.cu\"\n"                                                              \
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"          \
	".extern .shared .align 16 .b8 dynamic[];\n"                                      \
	".func helper(.param .b32 n);\n"                                                  \
	".global .u32 total;\n"                                                           \
	".global .u64 where = total;\n"                                                   \
	".visible .entry k(.param .u64 out)\n{\n"                                         \
	"\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n\t.loc 1 7 0\n"                         \
	"\tmov.u32 %r0, dynamic;\n\tld.global.u32 %r1, [total];\n"                        \
	"\t{\n\t.param .b32 p;\n\tst.param.b32 [p], %r1;\n\tcall.uni helper, (p);\n\t}\n" \
	"\tret;\n}\n"                                                                     \
	".func helper(.param .b32 n)\n{\n\tret;\n}\n"

static struct cot_ptx_module *parse(const char *text)
{
	struct cot_ptx_module *m = NULL;
	struct cot_error err = {""};

	if (cot_ptx_parse(text, strlen(text), "text", &m, &err))
		fail_msg("%s", err.text);
	return m;
}

static char said[512];

static void note(void *arg, const char *old, const char *renamed)
{
	assert_ptr_equal(arg, said);
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s->%s ", old, renamed);
}

/* As text; NULL: refused, and why is in *err. */
static char *join(const char *a, const char *b, struct cot_error *err)
{
	struct cot_ptx_module *first = parse(a), *second = parse(b), *joined;
	char *text = NULL;
	size_t size;

	said[0] = '\0';
	*err = (struct cot_error){""};
	if (!cot_ptx_join(first, second, note, said, &joined, err)) {
		assert_int_equal(cot_ptx_verify(joined, err), 0);
		assert_int_equal(cot_ptx_print(joined, &text, &size), 0);
		cot_ptx_destroy(joined);
	}
	cot_ptx_destroy(first);
	cot_ptx_destroy(second);
	return text;
}

static unsigned n_times(const char *text, const char *what)
{
	unsigned n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static void test_same_names(void **state)
{
	struct cot_error err;
	char *text = join(HEAD("8.0", "sm_80") BODY, HEAD("8.1", "sm_90") BODY, &err);

	(void)state;
	assert_non_null(text);
	assert_string_equal(said, "total->total$cot_2 where->where$cot_2 k->k$cot_2 "
				  "helper->helper$cot_2 ");
	assert_non_null(strstr(text, ".version 8.1\n.target sm_90\n"));
	assert_int_equal(n_times(text, " vprintf("), 1);
	assert_int_equal(n_times(text, ".b8 dynamic[]"), 1);
	assert_int_equal(n_times(text, "mov.u32 %r0, dynamic;"), 2);
	assert_int_equal(n_times(text, "where$cot_2 = total$cot_2;"), 1);
	assert_int_equal(n_times(text, "[total$cot_2]"), 1);
	assert_int_equal(n_times(text, "call.uni helper, "), 1);
	assert_int_equal(n_times(text, "call.uni helper$cot_2, "), 1);
	assert_int_equal(n_times(text, ".func helper$cot_2("), 2); /* declared and defined */
	/* .loc 1 of the second would name a file of the first. */
	assert_int_equal(n_times(text, ".loc"), 1);
	assert_int_equal(n_times(text, ".file"), 1);
	free(text);
}

/* The new name is new in both. */
static void test_taken_names(void **state)
{
	static const char *const a =
		HEAD("8.0", "sm_90") ".global .u32 x;\n.global .u32 x$cot_2;\n";
	static const char *const b =
		HEAD("8.0", "sm_90") ".global .u32 x;\n.global .u32 x$cot_3;\n";
	struct cot_error err;
	char *text = join(a, b, &err);

	(void)state;
	assert_non_null(text);
	assert_string_equal(said, "x->x$cot_4 ");
	free(text);
}

/* What is outside of both is one thing only if both say the same of it. */
static void test_declared_differently(void **state)
{
	struct cot_error err;
	char *text = join(
		HEAD("8.0", "sm_90") ".extern .shared .align 16 .b8 s[];\n.func f();\n",
		HEAD("8.0", "sm_90") ".extern .shared .align 8 .b8 s[];\n.global .u32 f;\n", &err);

	(void)state;
	assert_non_null(text);
	assert_string_equal(said, "s->s$cot_2 f->f$cot_2 ");
	free(text);
}

static void expect_refused(const char *a, const char *b, const char *why)
{
	struct cot_error err;

	assert_null(join(a, b, &err));
	if (!strstr(err.text, why))
		fail_msg("expected '%s' in '%s'", why, err.text);
}

static void test_refused(void **state)
{
	static const char *const sm_90 = HEAD("8.0", "sm_90") "\n";

	(void)state;
	expect_refused(sm_90, HEAD("8.0", "sm_90a") "\n", "the targets are sm_90 and sm_90a");
	expect_refused(HEAD("8.0", "sm_80a") "\n", sm_90, "the targets are sm_80a and sm_90");
	expect_refused(sm_90, HEAD("8.0", "sm_90, debug") "\n", "sm_90 and sm_90, debug");
	expect_refused(sm_90, ".version 8.0\n.target sm_90\n.address_size 32\n",
		       "addresses of 64 and of 32 bits");
	expect_refused(sm_90, HEAD("8.0", "sm_90") ".something new;\n",
		       "the second module has 1 parts");
	expect_refused(HEAD("8.0", "sm_90") ".something new;\n", sm_90,
		       "the first module has 1 parts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_names),
		cmocka_unit_test(test_taken_names),
		cmocka_unit_test(test_declared_differently),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
