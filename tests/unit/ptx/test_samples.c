/*
 * What compilers wrote: every file of tests/ptx/samples and kernels/ptx is understood whole, and is
 * printed with the same tokens, except that `.reg .b32 a, b;` becomes two statements.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/lex.h"
#include "ptx/ptx.h"
#include "test.h"

#define PATH_MAX_BYTES 512
#define TEXT_MAX       (4u << 20)

static char *read_file(const char *path, size_t *ret_size)
{
	char *text = malloc(TEXT_MAX);
	FILE *f = fopen(path, "rb");

	assert_non_null(text);
	if (!f)
		fail_msg("%s: cannot be opened", path);
	*ret_size = fread(text, 1, TEXT_MAX, f);
	assert_true(*ret_size < TEXT_MAX);
	fclose(f);
	return text;
}

static struct cot_ptx_token next(struct cot_ptx_lexer *lx)
{
	struct cot_ptx_token t;
	struct cot_error err;

	if (cot_ptx_lex(lx, &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static bool is_same(const struct cot_ptx_token *a, const struct cot_ptx_token *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == COT_PTX_TOK_INT || a->kind == COT_PTX_TOK_F32 || a->kind == COT_PTX_TOK_F64)
		return a->value == b->value;
	return a->text.length == b->text.length && !memcmp(a->text.at, b->text.at, a->text.length);
}

static unsigned compare_tokens(const char *path, const char *before, size_t before_size,
			       const char *after, size_t after_size)
{
	struct cot_ptx_lexer a, b;
	bool in_reg = false;
	unsigned n = 0;

	cot_ptx_lex_init(&a, before, before_size, path);
	cot_ptx_lex_init(&b, after, after_size, "printed");
	for (;; n++) {
		struct cot_ptx_token x = next(&a), y = next(&b);

		if (in_reg && x.punct == ',' && y.punct == ';') {
			(void)next(&b); /* .reg */
			(void)next(&b); /* .b32 */
			continue;
		}
		if (!is_same(&x, &y))
			fail_msg("%s:%u: '%.*s' became '%.*s'", path, x.line, (int)x.text.length,
				 x.text.at, (int)y.text.length, y.text.at);
		if (x.kind == COT_PTX_TOK_END)
			return n;
		if (x.kind == COT_PTX_TOK_DOT && cot_ptx_str_is(x.text, "reg"))
			in_reg = true;
		else if (x.punct == ';')
			in_reg = false;
	}
}

static void check_understood(const struct cot_ptx_module *module)
{
	const struct cot_ptx_item *item;

	for (item = module->first; item; item = item->next) {
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->opaque)
			fail_msg("%s", item->func->reason);
		if (item->kind == COT_PTX_ITEM_OPAQUE)
			fail_msg("%s", item->reason);
	}
}

static void check_file(const char *path)
{
	size_t size, printed_size, again_size;
	char *text = read_file(path, &size), *printed, *again;
	struct cot_ptx_module *module;
	struct cot_error err;

	if (cot_ptx_parse(text, size, path, &module, &err))
		fail_msg("%s", err.text);
	check_understood(module);
	if (cot_ptx_verify(module, &err))
		fail_msg("%s: %s", path, err.text);
	assert_int_equal(cot_ptx_print(module, &printed, &printed_size), 0);
	cot_ptx_destroy(module);
	assert_true(compare_tokens(path, text, size, printed, printed_size) > 100);

	if (cot_ptx_parse(printed, printed_size, path, &module, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_ptx_print(module, &again, &again_size), 0);
	cot_ptx_destroy(module);
	assert_int_equal(again_size, printed_size);
	assert_memory_equal(again, printed, printed_size);
	free(text);
	free(printed);
	free(again);
}

static void check_folder(const char *folder, unsigned least)
{
	char path[PATH_MAX_BYTES];
	const struct dirent *entry;
	DIR *dir = opendir(folder);
	unsigned n = 0;

	if (!dir)
		fail_msg("%s: cannot be opened", folder);
	while ((entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (length < 4 || strcmp(entry->d_name + length - 4, ".ptx") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		check_file(path);
		n++;
	}
	closedir(dir);
	assert_true(n >= least);
}

static void test_samples(void **state)
{
	(void)state;
	check_folder("tests/ptx/samples", 12);
}

static void test_kernels(void **state)
{
	(void)state;
	check_folder("kernels/ptx", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
