/*
 * The passes over whatever the reader takes: each kernel is refused with a reason, or rewritten
 * into one that the verifier takes and that reads the same when printed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_KERNELS 4u
#define MAX_SIZE    16384u

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* Errors other than refusals are for names that are taken and for what is too long. What was right
 * stays so. */
static void check(int rc, const struct cot_refusal *refusal, const struct cot_ptx_module *module,
		  bool was_right)
{
	struct cot_error err;

	REQUIRE(rc == 0 || rc == -ENOTSUP || rc == -EEXIST || rc == -E2BIG);
	REQUIRE((rc == -ENOTSUP) == (refusal->reason != COT_REASON_NONE));
	REQUIRE(rc != -ENOTSUP || refusal->text[0]);
	REQUIRE(!was_right || !cot_ptx_verify(module, &err));
}

static void rewrite(struct cot_ptx_func *kernel, bool is_right)
{
	struct cot_refusal refusal = {0};
	struct cot_ptx_func *made;
	struct cot_error err;
	unsigned pass;
	int rc;

	for (pass = 0; pass < COT_N_PASSES; pass++) {
		if (pass == COT_PASS_FUSE)
			continue;
		made = NULL;
		rc = cot_pass_apply((enum cot_pass)pass, kernel, &made, &refusal, &err);
		check(rc, &refusal, kernel->module, is_right);
		REQUIRE(!rc == (made != NULL));
	}
}

static void print_again(const struct cot_ptx_module *module)
{
	struct cot_ptx_module *again;
	struct cot_error err;
	char *text, *second;
	size_t n, n_second;

	REQUIRE(!cot_ptx_print(module, &text, &n));
	REQUIRE(!cot_ptx_parse(text, n, "printed", &again, &err));
	REQUIRE(again->n_opaque == module->n_opaque);
	REQUIRE(!cot_ptx_print(again, &second, &n_second));
	REQUIRE(n == n_second && !memcmp(text, second, n));
	cot_ptx_destroy(again);
	free(text);
	free(second);
}

/* A module goes together with itself, unless the new names are too long. */
static void join(const uint8_t *data, size_t size)
{
	struct cot_ptx_module *first, *second, *joined;
	struct cot_error err;
	bool right;
	int rc;

	REQUIRE(!cot_ptx_parse((const char *)data, size, "fuzz", &first, &err));
	REQUIRE(!cot_ptx_parse((const char *)data, size, "fuzz", &second, &err));
	right = !first->n_opaque && !cot_ptx_verify(first, &err) && size < COT_PTX_NAME_MAX / 2;
	rc = cot_ptx_join(first, second, NULL, NULL, &joined, &err);
	REQUIRE(!right || !rc);
	REQUIRE(!rc || err.text[0]);
	if (!rc)
		cot_ptx_destroy(joined);
	cot_ptx_destroy(first);
	cot_ptx_destroy(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_ptx_func *kernels[MAX_KERNELS], *made;
	struct cot_refusal refusal = {0};
	struct cot_ptx_module *module;
	struct cot_ptx_item *item;
	struct cot_error err;
	unsigned n = 0, i;
	bool is_right;

	if (size > MAX_SIZE || cot_ptx_parse((const char *)data, size, "fuzz", &module, &err))
		return 0;
	is_right = !cot_ptx_verify(module, &err);
	for (item = module->first; item && n < MAX_KERNELS; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->entry && !item->func->decl_of)
			kernels[n++] = item->func;
	for (i = 0; i < n; i++)
		rewrite(kernels[i], is_right);
	if (n) {
		int rc = cot_pass_fuse(kernels[0], kernels[n - 1], &made, &refusal, &err);

		check(rc, &refusal, module, is_right);
	}
	print_again(module);
	cot_ptx_destroy(module);
	join(data, size);
	return 0;
}
