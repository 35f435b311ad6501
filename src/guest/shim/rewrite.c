/* A module's text with a second form of each kernel that the pass `workers` takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cotenant/passes.h"
#include "guest/log.h"
#include "guest/shim/counts.h"
#include "guest/shim/rewrite.h"
#include "ptx/pass/pass.h"
#include "ptx/ptx.h"

#define KERNELS_MAX 65536u

bool cot_shim_is_added(const char *name)
{
	size_t n = strlen(name), suffix = sizeof(COT_SHIM_SUFFIX) - 1;

	return n > suffix && !strcmp(name + n - suffix, COT_SHIM_SUFFIX);
}

void cot_shim_rewritten_finish(struct cot_shim_rewritten *r)
{
	unsigned i;

	for (i = 0; i < r->n_kernels; i++)
		free(r->kernels[i].name);
	free(r->kernels);
	free(r->text);
	*r = (struct cot_shim_rewritten){.text = NULL};
}

static uint32_t align_to(uint32_t at, uint32_t align)
{
	return (at + align - 1) / align * align;
}

/* Where what is appended to the kernel's parameters begins. */
static uint32_t args_at(const struct cot_ptx_func *kernel)
{
	uint32_t at = 0, i;

	for (i = 0; i < kernel->n_params; i++)
		at = align_to(at, cot_ptx_var_align(kernel->params[i])) +
		     (uint32_t)cot_ptx_var_bytes(kernel->params[i]);
	return align_to(at, _Alignof(struct cot_workers_args));
}

static int note_kernel(struct cot_shim_rewritten *r, const struct cot_ptx_func *kernel)
{
	struct cot_shim_kernel *k = &r->kernels[r->n_kernels];

	*k = (struct cot_shim_kernel){
		.name = strdup(kernel->name),
		.n_params = kernel->n_params,
		.args_at = args_at(kernel),
	};
	if (!k->name)
		return -ENOMEM;
	r->n_kernels++;
	return 0;
}

static bool is_kernel(const struct cot_ptx_item *item)
{
	return item->kind == COT_PTX_ITEM_FUNC && item->func->entry && item->func->has_body;
}

/* Of names that the module has already, both would be ours: such a module is left alone. */
static int apply(struct cot_shim_rewritten *r, struct cot_ptx_func *kernel)
{
	struct cot_refusal refusal = {.reason = COT_REASON_NONE};
	struct cot_error err = {{0}};
	struct cot_ptx_func *made;
	int rc;

	if (cot_shim_is_added(kernel->name))
		return -EEXIST;
	rc = cot_pass_apply(COT_PASS_WORKERS, kernel, &made, &refusal, &err);
	if (!rc)
		return note_kernel(r, kernel);
	cot_log(COT_LOG_INFO, "kernel %s: %s", kernel->name,
		rc == -ENOTSUP ? refusal.text : err.text);
	cot_shim_count_refused(rc == -ENOTSUP ? (unsigned)refusal.reason : COT_N_REASONS);
	return rc == -ENOMEM ? rc : 0;
}

static int apply_all(struct cot_shim_rewritten *r, struct cot_ptx_module *module)
{
	struct cot_ptx_func **found;
	struct cot_ptx_item *item;
	unsigned n = 0, i = 0;
	int rc = 0;

	for (item = module->first; item; item = item->next)
		n += is_kernel(item);
	if (!n || n > KERNELS_MAX)
		return -ENOENT;
	r->kernels = calloc(n, sizeof(r->kernels[0]));
	/* Listed before, since new ones come between. */
	found = calloc(n, sizeof(struct cot_ptx_func *));
	if (!r->kernels || !found)
		rc = -ENOMEM;
	for (item = module->first; item && !rc; item = item->next)
		if (is_kernel(item))
			found[i++] = item->func;
	for (i = 0; i < n && !rc; i++)
		rc = apply(r, found[i]);
	free(found);
	return rc ? rc : r->n_kernels ? 0 : -ENOENT;
}

/* What is in the module cannot be compiled by this driver. */
static bool is_too_new(const struct cot_ptx_module *module, unsigned newest)
{
	return 10 * module->version_major + module->version_minor > newest;
}

int cot_shim_rewrite(const char *text, size_t length, unsigned newest,
		     struct cot_shim_rewritten *ret)
{
	struct cot_shim_rewritten r = {.text = NULL};
	struct cot_ptx_module *module = NULL;
	struct cot_error err = {{0}};
	size_t size;
	int rc;

	if (length > COT_PTX_REWRITE_MAX) {
		cot_shim_count_why(COT_SHIM_WHY_LONG_TEXT);
		return -E2BIG;
	}
	rc = cot_ptx_parse(text, length, "PTX", &module, &err);
	if (rc) {
		cot_log(COT_LOG_INFO, "%s", err.text);
		cot_shim_count_why(COT_SHIM_WHY_UNREADABLE);
		return rc;
	}
	rc = is_too_new(module, newest) ? -EPROTONOSUPPORT : apply_all(&r, module);
	if (rc == -EPROTONOSUPPORT)
		cot_shim_count_why(COT_SHIM_WHY_NEWER_PTX);
	if (rc == -ENOENT)
		cot_shim_count_why(COT_SHIM_WHY_NO_KERNEL);
	if (!rc)
		rc = cot_ptx_print(module, &r.text, &size);
	cot_ptx_destroy(module);
	if (rc)
		cot_shim_rewritten_finish(&r);
	else
		*ret = r;
	return rc;
}
