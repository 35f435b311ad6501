/* A module's text with a second form of each kernel that the pass takes: workers, or one for merged
 * launches. */
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

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), of_end = strlen(end);

	return n > of_end && !strcmp(name + n - of_end, end);
}

bool cot_shim_is_added(const char *name)
{
	return ends_with(name, COT_SHIM_SUFFIX) || ends_with(name, COT_SHIM_BATCH) ||
	       strstr(name, COT_SHIM_FUSE) != NULL;
}

void cot_shim_rewritten_finish(struct cot_shim_rewritten *r)
{
	unsigned i;

	for (i = 0; i < r->n_kernels; i++) {
		free(r->kernels[i].name);
		free(r->kernels[i].params);
	}
	free(r->kernels);
	for (i = 0; i < r->n_refusals; i++)
		free(r->refusals[i].name);
	free(r->refusals);
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

/* For merged launches. */
static int note_params(struct cot_shim_kernel *k, const struct cot_ptx_func *kernel)
{
	uint32_t i;

	k->align = 1;
	k->params = calloc(kernel->n_params ? kernel->n_params : 1, sizeof(k->params[0]));
	if (!k->params)
		return -ENOMEM;
	for (i = 0; i < kernel->n_params; i++) {
		uint32_t align = cot_ptx_var_align(kernel->params[i]);

		k->params[i] = (struct cot_shim_param){
			.at = (uint32_t)cot_pass_param_at(kernel, i),
			.bytes = (uint32_t)cot_ptx_var_bytes(kernel->params[i]),
		};
		k->params_bytes = k->params[i].at + k->params[i].bytes;
		k->align = align > k->align ? align : k->align;
	}
	return 0;
}

static int note_kernel(struct cot_shim_rewritten *r, const struct cot_ptx_func *kernel,
		       enum cot_pass pass)
{
	struct cot_shim_kernel *k = &r->kernels[r->n_kernels];

	*k = (struct cot_shim_kernel){
		.name = strdup(kernel->name),
		.n_params = kernel->n_params,
		.args_at = args_at(kernel),
		.index = r->n_kernels,
	};
	if (!k->name)
		return -ENOMEM;
	r->n_kernels++;
	return pass == COT_PASS_BATCH ? note_params(k, kernel) : 0;
}

static bool is_kernel(const struct cot_ptx_item *item)
{
	return item->kind == COT_PTX_ITEM_FUNC && item->func->entry && item->func->has_body;
}

/* For those who get the text from the store. */
static int note_refusal(struct cot_shim_rewritten *r, const char *name, unsigned reason)
{
	struct cot_shim_refusal *more =
		realloc(r->refusals, (r->n_refusals + 1) * sizeof(r->refusals[0]));

	if (!more)
		return -ENOMEM;
	r->refusals = more;
	more[r->n_refusals] = (struct cot_shim_refusal){strdup(name), reason};
	if (!more[r->n_refusals].name)
		return -ENOMEM;
	r->n_refusals++;
	return 0;
}

static int refused(struct cot_shim_rewritten *r, const struct cot_ptx_func *kernel, int rc,
		   unsigned reason, const char *text)
{
	if (rc != -ENOTSUP)
		reason = COT_N_REASONS;
	cot_log(COT_LOG_INFO, "kernel %s: %s", kernel->name, text);
	cot_shim_count_refused(reason);
	return rc == -ENOMEM ? rc : r ? note_refusal(r, kernel->name, reason) : 0;
}

/*
 * What waits for memory that others write may wait for what the host does when another launch has
 * ended: it must not be in one with that.
 */
static int refuse_spins(struct cot_shim_rewritten *r, const struct cot_ptx_func *kernel,
			bool *ret_spins)
{
	struct cot_refusal refusal = {.reason = COT_REASON_NONE};
	struct cot_facts facts = {0};
	int rc = cot_pass_check(COT_PASS_BATCH, kernel, &facts, &refusal);

	*ret_spins = !rc && facts.spins;
	return *ret_spins      ? refused(r, kernel, -ENOTSUP, COT_REASON_SPIN,
					 cot_reason_why(COT_REASON_SPIN))
	       : rc == -ENOMEM ? rc
			       : 0;
}

/* Of names that the module has already, both would be ours: such a module is left alone. */
static int apply(struct cot_shim_rewritten *r, struct cot_ptx_func *kernel, enum cot_pass pass,
		 struct cot_ptx_func **ret_taken)
{
	struct cot_refusal refusal = {.reason = COT_REASON_NONE};
	struct cot_error err = {{0}};
	struct cot_ptx_func *made;
	bool spins = false;
	int rc;

	if (cot_shim_is_added(kernel->name))
		return -EEXIST;
	rc = pass == COT_PASS_BATCH ? refuse_spins(r, kernel, &spins) : 0;
	if (rc || spins)
		return rc;
	rc = cot_pass_apply(pass, kernel, &made, &refusal, &err);
	if (rc)
		return refused(pass == COT_PASS_BATCH ? r : NULL, kernel, rc,
			       (unsigned)refusal.reason, rc == -ENOTSUP ? refusal.text : err.text);
	*ret_taken = kernel;
	return note_kernel(r, kernel, pass);
}

static unsigned n_in(uint32_t set)
{
	return (unsigned)__builtin_popcount(set);
}

/* How many sets of `size` among n there are. */
static unsigned n_sets(unsigned n, unsigned size)
{
	unsigned found = 0;
	uint32_t set;

	for (set = 1; set < 1u << n; set++)
		found += n_in(set) == size;
	return found;
}

/* All sets of `size` of them: each is the set without its last kernel, fused with that. What cannot
 * be is launched one by one. */
static int fuse_sets(struct cot_shim_rewritten *r, unsigned size, struct cot_ptx_func **forms)
{
	struct cot_refusal refusal;
	struct cot_error err = {{0}};
	uint32_t set, last;
	int rc;

	for (set = 1; set < 1u << r->n_kernels; set++) {
		last = 1u << (31 - __builtin_clz(set));
		if (n_in(set) != size || !forms[set ^ last])
			continue;
		rc = cot_pass_fuse(forms[set ^ last], forms[last], &forms[set], &refusal, &err);
		if (rc == -ENOMEM)
			return rc;
		if (!rc)
			r->fused[r->n_fused++] = set;
	}
	return 0;
}

static int fuse_all(struct cot_shim_rewritten *r, struct cot_ptx_func *const *kernels)
{
	struct cot_ptx_func *forms[1u << COT_SHIM_FUSE_MAX] = {NULL};
	unsigned n = r->n_kernels, size, i;
	int rc = 0;

	if (n > COT_SHIM_FUSE_MAX)
		return 0;
	for (i = 0; i < n; i++)
		forms[1u << i] = kernels[i];
	for (size = 2; size <= COT_SHIM_FUSED_KERNELS && !rc; size++) {
		if (r->n_fused + n_sets(n, size) > COT_SHIM_FUSED_MAX)
			break;
		rc = fuse_sets(r, size, forms);
	}
	return rc;
}

static int apply_all(struct cot_shim_rewritten *r, struct cot_ptx_module *module,
		     enum cot_pass pass)
{
	struct cot_ptx_func **found, *taken;
	struct cot_ptx_item *item;
	unsigned n = 0, i = 0, n_taken = 0;
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
	for (i = 0; i < n && !rc; i++) {
		taken = NULL;
		rc = apply(r, found[i], pass, &taken);
		if (taken)
			found[n_taken++] = taken;
	}
	if (!rc && pass == COT_PASS_BATCH)
		rc = fuse_all(r, found);
	free(found);
	return rc ? rc : r->n_kernels ? 0 : -ENOENT;
}

/* What is in the module cannot be compiled by this driver. */
static bool is_too_new(const struct cot_ptx_module *module, unsigned newest)
{
	return 10 * module->version_major + module->version_minor > newest;
}

static int rewrite_by(const char *text, size_t length, unsigned newest, enum cot_pass pass,
		      struct cot_shim_rewritten *ret)
{
	struct cot_shim_rewritten r = {.suffix = cot_pass_info(pass)->suffix};
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
	rc = is_too_new(module, newest) ? -EPROTONOSUPPORT : apply_all(&r, module, pass);
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

int cot_shim_rewrite(const char *text, size_t length, unsigned newest,
		     struct cot_shim_rewritten *ret)
{
	return rewrite_by(text, length, newest, COT_PASS_WORKERS, ret);
}

int cot_shim_rewrite_to_merge(const char *text, size_t length, unsigned newest,
			      struct cot_shim_rewritten *ret)
{
	return rewrite_by(text, length, newest, COT_PASS_BATCH, ret);
}
