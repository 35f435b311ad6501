#include "kernels/launch/rewrite.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels of a module, in the order of the text. */
struct entries {
	struct cot_ptx_func *func[COT_REWRITE_MAX_ENTRIES];
	uint32_t n, n_own; /* the partner's come after n_own */
};

/* The kernels that are launched. */
struct forms {
	struct cot_ptx_func *func[COT_REWRITE_MAX_FORMS];
	uint32_t n;
};

/* Where the body of a module begins: after .version, .target and .address_size. */
static const char *after_header(const char *text)
{
	const char *at = strstr(text, ".address_size");

	at = at ? strchr(at, '\n') : NULL;
	return at ? at + 1 : text;
}

static bool same_file(const struct cot_bench *a, const struct cot_bench *b)
{
	return a->file && b->file && strcmp(a->file, b->file) == 0;
}

/* One text of all: each file once. */
static int join(const struct cot_bench *const *benches, uint32_t n, char **ret_text,
		struct cot_error *err)
{
	char *text = NULL;
	size_t size, length;
	FILE *out = open_memstream(&text, &size);
	uint32_t i, k;
	int rc = 0;

	if (!out)
		return cot_error_set(err, -ENOMEM, "not enough memory for the PTX");
	for (i = 0; i < n && !rc; i++) {
		const char *ptx = cot_bench_ptx(benches[i], &length);

		for (k = 0; k < i && !same_file(benches[k], benches[i]); k++)
			;
		if (!ptx)
			rc = cot_error_set(err, -ENOENT, "%s: its PTX is not in this program",
					   benches[i]->name);
		else if (k == i)
			fputs(i ? after_header(ptx) : ptx, out);
	}
	if (fclose(out) && !rc)
		rc = cot_error_set(err, -ENOMEM, "not enough memory for the PTX");
	if (rc)
		free(text);
	else
		*ret_text = text;
	return rc;
}

static bool has_entry(const struct cot_bench *bench, const char *entry)
{
	char needle[256];
	size_t size;

	if (bench->file)
		return strcmp(bench->entry, entry) == 0;
	snprintf(needle, sizeof(needle), ".entry %s(", entry);
	return strstr(cot_bench_ptx(bench, &size), needle) != NULL;
}

static void add_entries(struct cot_ptx_module *module, const struct cot_bench *bench,
			struct entries *entries)
{
	const struct cot_ptx_item *item;

	for (item = module->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->entry && item->func->has_body &&
		    entries->n < COT_REWRITE_MAX_ENTRIES && has_entry(bench, item->func->name))
			entries->func[entries->n++] = item->func;
}

/* A driver need not compile the others. */
static void drop_all_but(struct cot_ptx_module *module, struct cot_ptx_func *const *kernels,
			 uint32_t n)
{
	struct cot_ptx_item *item, *next;
	uint32_t i;

	for (item = module->first; item; item = next) {
		next = item->next;
		for (i = 0; i < n && kernels[i] != item->func; i++)
			;
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->entry && i == n)
			cot_ptx_remove_item(module, item);
	}
}

static void find_entries(struct cot_ptx_module *module, const struct cot_bench *bench,
			 const struct cot_bench *partner, struct entries *entries)
{
	*entries = (struct entries){0};
	add_entries(module, bench, entries);
	entries->n_own = entries->n;
	if (partner)
		add_entries(module, partner, entries);
	drop_all_but(module, entries->func, entries->n);
}

/* What a host needs to know to put launches of the kernel into one. */
static void lay_out(struct cot_rewrite_outcome *outcome, const struct cot_ptx_func *kernel)
{
	uint32_t i;

	(void)cot_pass_batch_shape(kernel, &outcome->shape);
	for (i = 0; i < kernel->n_params && i < COT_BENCH_MAX_ARGS; i++)
		outcome->param_at[i] = (uint32_t)cot_pass_param_at(kernel, i);
}

static int add_outcome(struct cot_rewritten *r, enum cot_pass pass,
		       const struct cot_ptx_func *kernel, const struct cot_refusal *refusal)
{
	struct cot_rewrite_outcome *outcome =
		realloc(r->outcomes, (r->n_outcomes + 1) * sizeof(*outcome));

	if (!outcome)
		return -ENOMEM;
	r->outcomes = outcome;
	outcome += r->n_outcomes++;
	*outcome = (struct cot_rewrite_outcome){.refusal = *refusal, .pass = pass};
	snprintf(outcome->entry, sizeof(outcome->entry), "%s", kernel->name);
	if (pass == COT_PASS_BATCH && refusal->reason == COT_REASON_NONE)
		lay_out(outcome, kernel);
	return 0;
}

static int apply(struct cot_rewritten *r, enum cot_pass pass, struct cot_ptx_func *first,
		 struct cot_ptx_func *second, struct cot_error *err)
{
	struct cot_refusal refusal = {0};
	struct cot_ptx_func *made;
	int rc = second ? cot_pass_fuse(first, second, &made, &refusal, err)
			: cot_pass_apply(pass, first, &made, &refusal, err);

	if (rc && rc != -ENOTSUP)
		return rc;
	if (!rc)
		refusal.reason = COT_REASON_NONE;
	return add_outcome(r, pass, first, &refusal);
}

static int apply_all(struct cot_rewritten *r, const struct entries *entries, uint32_t passes,
		     struct cot_error *err)
{
	uint32_t i, k, pass;
	int rc = 0;

	for (pass = 0; pass < COT_N_PASSES && !rc; pass++) {
		if (!(passes & 1u << pass))
			continue;
		for (i = 0; i < entries->n_own && !rc; i++) {
			if (pass != COT_PASS_FUSE) {
				rc = apply(r, (enum cot_pass)pass, entries->func[i], NULL, err);
				continue;
			}
			for (k = entries->n_own; k < entries->n && !rc; k++)
				rc = apply(r, COT_PASS_FUSE, entries->func[i], entries->func[k],
					   err);
		}
	}
	return rc;
}

int cot_rewrite(const struct cot_bench *bench, const struct cot_bench *partner, uint32_t passes,
		struct cot_rewritten *ret_rewritten, struct cot_error *err)
{
	const struct cot_bench *const both[] = {bench, partner};
	struct cot_rewritten r = {0};
	struct cot_ptx_module *module = NULL;
	struct entries entries;
	char *text;
	int rc = join(both, partner ? 2 : 1, &text, err);

	if (rc)
		return rc;
	rc = cot_ptx_parse(text, strlen(text), bench->name, &module, err);
	if (!rc) {
		find_entries(module, bench, partner, &entries);
		rc = apply_all(&r, &entries, passes, err);
	}
	if (!rc && cot_ptx_print(module, &r.text, &r.size))
		rc = cot_error_set(err, -ENOMEM, "not enough memory for the PTX");
	cot_ptx_destroy(module);
	free(text);
	if (rc)
		cot_rewritten_finish(&r);
	else
		*ret_rewritten = r;
	return rc;
}

/* ---- what several sessions launch together ---- */

void cot_fuse_name(const char *const *entries, uint32_t n, char ret_name[COT_FUSE_NAME])
{
	size_t length = 0, room;
	uint32_t i;

	ret_name[0] = '\0';
	for (i = 0; i < n && length < COT_FUSE_NAME; i++) {
		room = COT_FUSE_NAME - length;
		length += (size_t)snprintf(ret_name + length, room, "%s%s", i ? "$cot_fuse$" : "",
					   entries[i]);
	}
}

/* The kernel of these: the first ones', fused with the last. What is there is not made again. */
static int make_form(struct cot_ptx_module *module, const char *const *entries, uint32_t n,
		     struct cot_ptx_func **ret_form, struct cot_error *err)
{
	struct cot_ptx_func *form = cot_ptx_find_func(module, entries[0]), *next, *made;
	struct cot_refusal refusal;
	char name[COT_FUSE_NAME];
	uint32_t i;
	int rc = 0;

	for (i = 1; i < n && form; i++) {
		cot_fuse_name(entries, i + 1, name);
		made = cot_ptx_find_func(module, name);
		next = cot_ptx_find_func(module, entries[i]);
		if (next && !made)
			rc = cot_pass_fuse(form, next, &made, &refusal, err);
		if (rc)
			return rc;
		form = made;
	}
	*ret_form = form;
	return form ? 0
		    : cot_error_set(err, -ENOENT, "%s: there is no such kernel", entries[i - 1]);
}

static int add_form(struct forms *forms, struct cot_ptx_func *form, struct cot_error *err)
{
	uint32_t i;

	for (i = 0; i < forms->n; i++)
		if (forms->func[i] == form)
			return 0;
	if (forms->n == COT_REWRITE_MAX_FORMS)
		return cot_error_set(err, -E2BIG, "they have more than %u different launches",
				     COT_REWRITE_MAX_FORMS);
	forms->func[forms->n++] = form;
	return 0;
}

static int make_forms(struct cot_ptx_module *module, struct cot_session *const *sessions,
		      uint32_t n, struct forms *forms, struct cot_error *err)
{
	const char *entries[COT_FUSE_MAX];
	struct cot_ptx_func *form;
	uint32_t step = 0, n_entries, i;
	int rc = 0;

	do {
		n_entries = 0;
		for (i = 0; i < n; i++)
			if (step < sessions[i]->n_steps)
				entries[n_entries++] = sessions[i]->in->steps[step].entry;
		if (n_entries)
			rc = make_form(module, entries, n_entries, &form, err);
		if (n_entries && !rc)
			rc = add_form(forms, form, err);
		step++;
	} while (n_entries && !rc);
	return rc;
}

int cot_rewrite_fused(struct cot_session *const *sessions, uint32_t n,
		      struct cot_rewritten *ret_rewritten, struct cot_error *err)
{
	const struct cot_bench *benches[COT_FUSE_MAX];
	struct cot_ptx_module *module = NULL;
	struct cot_rewritten r = {0};
	struct forms forms = {.n = 0};
	char *text;
	uint32_t i;
	int rc;

	for (i = 0; i < n; i++)
		benches[i] = sessions[i]->in->bench;
	rc = join(benches, n, &text, err);
	if (rc)
		return rc;
	rc = cot_ptx_parse(text, strlen(text), benches[0]->name, &module, err);
	if (!rc)
		rc = make_forms(module, sessions, n, &forms, err);
	if (!rc) {
		drop_all_but(module, forms.func, forms.n);
		if (cot_ptx_print(module, &r.text, &r.size))
			rc = cot_error_set(err, -ENOMEM, "not enough memory for the PTX");
	}
	cot_ptx_destroy(module);
	free(text);
	if (!rc)
		*ret_rewritten = r;
	return rc;
}

void cot_rewritten_finish(struct cot_rewritten *r)
{
	free(r->text);
	free(r->outcomes);
	*r = (struct cot_rewritten){0};
}

const struct cot_rewrite_outcome *cot_rewritten_outcome(const struct cot_rewritten *r,
							const char *entry, enum cot_pass pass)
{
	uint32_t i;

	for (i = 0; i < r->n_outcomes; i++)
		if (r->outcomes[i].pass == pass && strcmp(r->outcomes[i].entry, entry) == 0)
			return &r->outcomes[i];
	return NULL;
}

const struct cot_refusal *cot_rewritten_refusal(const struct cot_rewritten *r, const char *entry,
						enum cot_pass pass)
{
	uint32_t i;

	for (i = 0; i < r->n_outcomes; i++)
		if (r->outcomes[i].pass == pass && strcmp(r->outcomes[i].entry, entry) == 0 &&
		    r->outcomes[i].refusal.reason != COT_REASON_NONE)
			return &r->outcomes[i].refusal;
	return NULL;
}
