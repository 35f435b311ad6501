/*
 * A module's text with workers beside its kernels. The unit is in a shared library, so its source
 * is here.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "no_merge.h"
#include "notes.h"

static unsigned n_allocations = ~0u; /* how many more succeed */
static int n_held;		     /* not given back yet */

static bool may_allocate(void)
{
	if (!n_allocations)
		return false;
	n_allocations--;
	n_held++;
	return true;
}

static void *played_calloc(size_t n, size_t size)
{
	return may_allocate() ? calloc(n, size) : NULL;
}

static char *played_strdup(const char *s)
{
	return may_allocate() ? strdup(s) : NULL;
}

static void played_free(void *p)
{
	n_held -= p != NULL;
	free(p);
}

#define calloc played_calloc
#define strdup played_strdup
#define free   played_free
#include "guest/shim/rewrite.c"
#undef calloc
#undef strdup
#undef free

#define HEAD   ".version 8.4\n.target sm_90\n.address_size 64\n"
#define NEWEST 84

void cot_shim_count_why(enum cot_shim_why why)
{
	note("why %u;", why);
}

void cot_shim_count_refused(unsigned reason)
{
	note("refused %s;",
	     reason < COT_N_REASONS ? cot_reason_name((enum cot_reason)reason) : "otherwise");
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)fmt;
	assert_int_equal(level, COT_LOG_INFO);
}

static struct cot_shim_rewritten made;

static int set_up(void **state)
{
	(void)state;
	n_allocations = ~0u;
	n_held = 0;
	made = (struct cot_shim_rewritten){.text = NULL};
	written[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	n_held += made.text != NULL; /* the printer's */
	cot_shim_rewritten_finish(&made);
	assert_int_equal(n_held, 0);
	assert_true(!made.text && !made.kernels && !made.n_kernels);
	return 0;
}

static int rewrite(const char *text)
{
	return cot_shim_rewrite(text, strlen(text), NEWEST, &made);
}

static void expect_kernel(unsigned i, const char *name, uint32_t n_params, uint32_t at)
{
	char added[64];

	assert_true(i < made.n_kernels);
	assert_string_equal(made.kernels[i].name, name);
	assert_int_equal(made.kernels[i].n_params, n_params);
	assert_int_equal(made.kernels[i].args_at, at);
	(void)snprintf(added, sizeof(added), ".entry %s$cot_workers(", name);
	assert_non_null(strstr(made.text, added));
	added[7 + strlen(name)] = '(';
	added[8 + strlen(name)] = '\0';
	assert_non_null(strstr(made.text, added));
}

static void expect_none(int rc, int expected, const char *counted)
{
	assert_int_equal(rc, expected);
	assert_true(!made.text && !made.kernels && !made.n_kernels);
	assert_int_equal(n_held, 0);
	expect_done(counted);
}

static const char *why(enum cot_shim_why w)
{
	static char text[16];

	(void)snprintf(text, sizeof(text), "why %d;", w);
	return text;
}

/* The new parameter stands behind the program's own, where the driver expects it. */
static void kernels(void **state)
{
	(void)state;
	assert_int_equal(
		rewrite(HEAD ".global .u32 shared_by_both;\n"
			     ".func (.reg .u32 %r) twice(.reg .u32 %a) { add.u32 %r, %a, %a; }\n"
			     ".entry none() { ret; }\n"
			     ".entry one(.param .u32 a) { ret; }\n"
			     ".entry mixed(.param .u8 a, .param .u64 b, .param .u32 c) { ret; }\n"
			     ".entry bytes(.param .u32 a, .param .align 16 .b8 b[20]) { ret; }\n"
			     ".entry pair(.param .u32 a, .param .u32 b) { ret; }\n"),
		0);
	assert_int_equal(made.n_kernels, 5);
	expect_kernel(0, "none", 0, 0);
	expect_kernel(1, "one", 1, 8);
	expect_kernel(2, "mixed", 3, 24);
	expect_kernel(3, "bytes", 2, 40);
	expect_kernel(4, "pair", 2, 8);
	expect_done("");
}

/* Which sets of kernels have a form: all of two, of three and four where they are not too many. */
static void sets_of_kernels(void **state)
{
	static const unsigned n_forms[] = {0, 0, 1, 4, 11, 20, 15, 0};
	char text[512], form[64];
	unsigned n, i, k;

	(void)state;
	for (n = 1; n < 8; n++) {
		int at = snprintf(text, sizeof(text), "%s", HEAD);

		for (i = 0; i < n; i++)
			at += snprintf(text + at, sizeof(text) - (size_t)at,
				       ".entry k%u(.param .u32 a) { ret; }\n", i);
		assert_int_equal(cot_shim_rewrite_to_merge(text, strlen(text), NEWEST, &made), 0);
		assert_int_equal(made.n_fused, n_forms[n]);
		for (i = 0; i < made.n_fused; i++) {
			at = snprintf(form, sizeof(form), ".entry ");
			for (k = 0; k < n; k++)
				if (made.fused[i] >> k & 1)
					at += snprintf(form + at, sizeof(form) - (size_t)at,
						       "%sk%u", at > 7 ? COT_SHIM_FUSE : "", k);
			(void)snprintf(form + at, sizeof(form) - (size_t)at, "(");
			assert_non_null(strstr(made.text, form));
			if (i)
				assert_true(__builtin_popcount(made.fused[i]) >=
					    __builtin_popcount(made.fused[i - 1]));
		}
		n_held += made.text != NULL;
		cot_shim_rewritten_finish(&made);
	}
}

/* What it makes can be read, and holds the program's module. */
static void the_text_is_whole(void **state)
{
	struct cot_ptx_module *module;
	struct cot_error err;

	(void)state;
	assert_int_equal(rewrite(HEAD ".global .u32 v;\n.entry k(.param .u32 a) { ret; }\n"), 0);
	assert_int_equal(
		cot_ptx_parse(made.text, strlen(made.text), "what was made", &module, &err), 0);
	cot_ptx_destroy(module);
	assert_non_null(strstr(made.text, ".u32 v;"));
}

#define REFUSED ".entry r() { .reg .u32 %a; griddepcontrol.wait; ret; }\n"

static void refused_kernels(void **state)
{
	(void)state;
	assert_int_equal(rewrite(HEAD REFUSED ".entry k() { ret; }\n"), 0);
	assert_int_equal(made.n_kernels, 1);
	expect_kernel(0, "k", 0, 0);
	assert_null(strstr(made.text, "r$cot_workers"));
	expect_done("refused griddepcontrol;");
}

static void nothing_to_rewrite(void **state)
{
	char expected[64];

	(void)state;
	(void)snprintf(expected, sizeof(expected), "refused griddepcontrol;%s",
		       why(COT_SHIM_WHY_NO_KERNEL));
	expect_none(rewrite(HEAD REFUSED), -ENOENT, expected);
	expect_none(rewrite(HEAD), -ENOENT, why(COT_SHIM_WHY_NO_KERNEL));
	expect_none(rewrite(HEAD ".func f() { ret; }\n"), -ENOENT, why(COT_SHIM_WHY_NO_KERNEL));
	expect_none(rewrite(HEAD ".extern .entry k();\n"), -ENOENT, why(COT_SHIM_WHY_NO_KERNEL));
	expect_none(rewrite("nonsense"), -EINVAL, why(COT_SHIM_WHY_UNREADABLE));
}

/* Names like ours may be anybody's. */
static void ours_already(void **state)
{
	(void)state;
	expect_none(rewrite(HEAD ".entry k() { ret; }\n.entry k$cot_workers() { ret; }\n"), -EEXIST,
		    "refused otherwise;");
	expect_none(rewrite(HEAD ".entry k$cot_workers() { ret; }\n"), -EEXIST, "");
}

static void newer_than_the_compiler(void **state)
{
	static const char *const texts[] = {".version 8.5\n.target sm_90\n.entry k() { ret; }\n",
					    ".version 9.0\n.target sm_90\n.entry k() { ret; }\n"};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++)
		expect_none(rewrite(texts[i]), -EPROTONOSUPPORT, why(COT_SHIM_WHY_NEWER_PTX));
	assert_int_equal(rewrite(HEAD ".entry k() { ret; }\n"), 0);
	expect_done("");
}

/* Compiling much anew takes longer than the program would wait. */
static void long_texts(void **state)
{
	static const char start[] = HEAD ".entry k() { ret; }\n";
	char *text = malloc(COT_PTX_REWRITE_MAX + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '\n', COT_PTX_REWRITE_MAX + 1);
	memcpy(text, start, sizeof(start) - 1);
	expect_none(cot_shim_rewrite(text, COT_PTX_REWRITE_MAX + 1, NEWEST, &made), -E2BIG,
		    why(COT_SHIM_WHY_LONG_TEXT));
	assert_int_equal(cot_shim_rewrite(text, COT_PTX_REWRITE_MAX, NEWEST, &made), 0);
	expect_done("");
	free(text);
}

static void out_of_memory(void **state)
{
	unsigned n;

	(void)state;
	for (n = 0; n < 4; n++) {
		n_allocations = n;
		expect_none(rewrite(HEAD ".entry k() { ret; }\n.entry l() { ret; }\n"), -ENOMEM,
			    "");
	}
	n_allocations = 4;
	assert_int_equal(rewrite(HEAD ".entry k() { ret; }\n.entry l() { ret; }\n"), 0);
	assert_int_equal(n_allocations, 0);
}

static void names_of_ours(void **state)
{
	(void)state;
	assert_true(cot_shim_is_added("a$cot_workers"));
	assert_false(cot_shim_is_added("$cot_workers"));
	assert_false(cot_shim_is_added("a$cot_workers_"));
	assert_false(cot_shim_is_added("a_cot_workers"));
	assert_false(cot_shim_is_added("a"));
	assert_false(cot_shim_is_added(""));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_ours),
		TEST(kernels),
		TEST(sets_of_kernels),
		TEST(the_text_is_whole),
		TEST(refused_kernels),
		TEST(nothing_to_rewrite),
		TEST(ours_already),
		TEST(newer_than_the_compiler),
		TEST(long_texts),
		TEST(out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
