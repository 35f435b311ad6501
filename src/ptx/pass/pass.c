#include "ptx/pass/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/pass/inside.h"

static const struct cot_pass_info passes[] = {
	[COT_PASS_WORKERS] = {"workers", "$cot_workers", NULL,
			      "persistent blocks that claim tasks and can be asked to leave"},
	[COT_PASS_RETREAT] = {"retreat", "$cot_retreat", NULL,
			      "blocks that stay or end by the SM they are on, to compare with"},
	[COT_PASS_SLICE] = {"slice", "$cot_slice", "virtual_block", "a range of the grid's blocks"},
	[COT_PASS_FUSE] = {"fuse", "$cot_fuse", NULL, "two kernels in one grid"},
	[COT_PASS_COUNT] = {"count", "$cot_count", NULL,
			    "instructions and bytes of memory of each block, counted"},
	[COT_PASS_RECORD] = {"record", "$cot_record", NULL,
			     "begin, end and SM of each block, noted"},
	[COT_PASS_BATCH] = {"batch", "$cot_batch", NULL, "several launches of it in one grid"},
};

const struct cot_pass_info *cot_pass_info(enum cot_pass pass)
{
	return &passes[pass];
}

static bool is_called(const char *of, const char *name, size_t length)
{
	return of && strlen(of) == length && !memcmp(of, name, length);
}

int cot_pass_find(const char *name, size_t length, enum cot_pass *ret_pass)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(passes); i++) {
		if (is_called(passes[i].name, name, length) ||
		    is_called(passes[i].alias, name, length)) {
			*ret_pass = (enum cot_pass)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- one kernel through one pass ---- */

typedef int (*rewrite_fn)(struct cot_ptx_func *kernel, const struct cot_facts *facts,
			  struct cot_error *err);

/* In the place of cot_pass_fuse(). */
static int refuse_one(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		      struct cot_error *err)
{
	(void)kernel;
	(void)facts;
	return cot_error_set(err, -EINVAL,
			     "the pass fuse takes two kernels; expected no single one");
}

static const rewrite_fn rewrites[] = {
	[COT_PASS_WORKERS] = cot_pass_workers, [COT_PASS_RETREAT] = cot_pass_retreat,
	[COT_PASS_SLICE] = cot_pass_slice,     [COT_PASS_FUSE] = refuse_one,
	[COT_PASS_COUNT] = cot_pass_count,     [COT_PASS_RECORD] = cot_pass_record,
	[COT_PASS_BATCH] = cot_pass_batch,
};

int cot_pass_apply(enum cot_pass pass, struct cot_ptx_func *kernel,
		   struct cot_ptx_func **ret_kernel, struct cot_refusal *ret_refusal,
		   struct cot_error *err)
{
	struct cot_ptx_func *copy;
	struct cot_facts facts;
	char *name;
	int rc = cot_pass_check(pass, kernel, &facts, ret_refusal);

	if (rc == -ENOMEM)
		return cot_error_set(err, rc, "out of memory");
	if (rc)
		return cot_error_set(err, rc, "%s", ret_refusal->text);
	name = cot_pass_join(kernel->name, passes[pass].suffix, NULL);
	if (!name)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_ptx_clone_func(kernel, name, &copy, err);
	free(name);
	if (rc)
		return rc;
	rc = rewrites[pass](copy, &facts, err);
	cot_pass_move_last(copy);
	if (!rc)
		rc = cot_ptx_verify_func(copy, err);
	if (rc) {
		cot_ptx_remove_item(copy->module, cot_ptx_item_of_func(copy));
		return rc;
	}
	*ret_kernel = copy;
	return 0;
}
