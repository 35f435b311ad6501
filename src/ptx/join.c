/*
 * Two modules as one. Both stay as text: the second's names are made new where the first has them,
 * and what both print is read again.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/build.h"
#include "ptx/print.h"
#include "ptx/ptx.h"

struct join {
	struct cot_ptx_module *first, *second;
	cot_ptx_renamed_fn renamed;
	void *arg;
	struct cot_error *err;
};

/* ---- what must agree ---- */

static const char *words_behind(const char *target)
{
	const char *comma = strchr(target, ',');

	return comma ? comma : "";
}

/* sm_90a and the like: code for that GPU and no later one. */
static bool for_one_gpu(const char *target)
{
	size_t n = strcspn(target, ", ");

	return n && isalpha((unsigned char)target[n - 1]);
}

static int join_headers(const struct join *j)
{
	struct cot_ptx_module *a = j->first;
	const struct cot_ptx_module *b = j->second;
	bool older = a->version_major < b->version_major ||
		     (a->version_major == b->version_major && a->version_minor < b->version_minor);

	if (a->address_size != b->address_size)
		return cot_error_set(j->err, -EINVAL,
				     "addresses of %u and of %u bits; expected the same in both",
				     a->address_size, b->address_size);
	if (strcmp(a->target, b->target) != 0 &&
	    (for_one_gpu(a->target) || for_one_gpu(b->target) ||
	     strcmp(words_behind(a->target), words_behind(b->target)) != 0))
		return cot_error_set(
			j->err, -EINVAL,
			"the targets are %.40s and %.40s; expected the same, or GPUs of "
			"which the later one runs code for the other",
			a->target, b->target);
	if (older) {
		a->version_major = b->version_major;
		a->version_minor = b->version_minor;
	}
	if (a->sm < b->sm) {
		a->sm = b->sm;
		a->target = b->target;
	}
	return 0;
}

/* Names inside of what was not understood cannot be told. */
static int check_understood(const struct join *j, const struct cot_ptx_module *m)
{
	if (!m->n_opaque)
		return 0;
	return cot_error_set(j->err, -ENOTSUP,
			     "the %s module has %u parts that the reader does not understand; "
			     "expected none, for their names cannot be told apart",
			     m == j->first ? "first" : "second", m->n_opaque);
}

/* ---- names ---- */

static struct cot_ptx_name find(const struct cot_ptx_module *m, const char *name)
{
	return cot_ptx_names_get(m->names, NULL, false, cot_ptx_str(name));
}

static int rename_to_new(const struct join *j, const char **name)
{
	size_t size = strlen(*name) + 24;
	char *text = malloc(size);
	const char *fresh;
	unsigned i = 1;

	if (!text)
		return -ENOMEM;
	do
		(void)snprintf(text, size, "%s$cot_%u", *name, ++i);
	while (find(j->first, text).kind || find(j->second, text).kind);
	fresh = cot_ptx_strdup(j->second, text);
	free(text);
	if (!fresh)
		return -ENOMEM;
	if (j->renamed)
		j->renamed(j->arg, *name, fresh);
	*name = fresh;
	return 0;
}

/* Whether the first module has the same declaration of what is outside of both. */
static bool is_declared_alike(const struct join *j, const struct cot_ptx_item *item)
{
	struct cot_ptx_name there;

	if (item->kind == COT_PTX_ITEM_FUNC) {
		there = find(j->first, item->func->name);
		return !item->func->has_body && !item->func->decl_of &&
		       there.kind == COT_PTX_NAME_FUNC &&
		       !((const struct cot_ptx_func *)there.what)->has_body;
	}
	there = find(j->first, item->var->name);
	if (item->var->linkage == COT_PTX_LINK_EXTERN && there.kind == COT_PTX_NAME_VAR) {
		const struct cot_ptx_var *var = there.what;

		return var->linkage == COT_PTX_LINK_EXTERN && var->space == item->var->space &&
		       var->type == item->var->type &&
		       cot_ptx_var_align(var) == cot_ptx_var_align(item->var) &&
		       var->unsized == item->var->unsized &&
		       cot_ptx_var_bytes(var) == cot_ptx_var_bytes(item->var);
	}
	return false;
}

static int rename_item(const struct join *j, struct cot_ptx_item *item)
{
	const char **name = item->kind == COT_PTX_ITEM_FUNC ? &item->func->name : &item->var->name;

	if (item->kind == COT_PTX_ITEM_FUNC && item->func->decl_of)
		return 0; /* takes the definition's */
	return find(j->first, *name).kind ? rename_to_new(j, name) : 0;
}

static bool has_name(const struct cot_ptx_item *item)
{
	return item->kind == COT_PTX_ITEM_FUNC || item->kind == COT_PTX_ITEM_VAR;
}

static int rename_all(const struct join *j)
{
	struct cot_ptx_item *item, *next;
	int rc = 0;

	for (item = j->second->first; item && !rc; item = next) {
		next = item->next;
		if (item->kind == COT_PTX_ITEM_FILE || item->kind == COT_PTX_ITEM_SECTION ||
		    (has_name(item) && is_declared_alike(j, item)))
			cot_ptx_remove_item(j->second, item);
		else if (has_name(item))
			rc = rename_item(j, item);
	}
	for (item = j->second->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && item->func->decl_of)
			item->func->name = item->func->decl_of->name;
	return rc;
}

/* Places in source files: their numbers are those of the second module's .file. */
static void drop_places(struct cot_ptx_module *m)
{
	const struct cot_ptx_item *item;
	struct cot_ptx_stmt *s, *next;

	for (item = m->first; item; item = item->next)
		for (s = item->kind == COT_PTX_ITEM_FUNC ? item->func->first : NULL; s; s = next) {
			next = s->next;
			if (s->kind == COT_PTX_STMT_LOC)
				cot_ptx_unlink(item->func, s);
		}
}

/* ---- both ---- */

static int read_both(const struct join *j, struct cot_ptx_module **ret_module)
{
	struct cot_ptx_buf b = {0};
	int rc;

	cot_ptx_print_module(&b, j->first);
	cot_ptx_print_items(&b, j->second);
	rc = b.no_memory ? -ENOMEM : cot_ptx_parse(b.text, b.size, "joined", ret_module, j->err);
	free(b.text);
	if (!rc) {
		rc = cot_ptx_verify(*ret_module, j->err);
		if (rc)
			cot_ptx_destroy(*ret_module);
	}
	return rc;
}

int cot_ptx_join(struct cot_ptx_module *first, struct cot_ptx_module *second,
		 cot_ptx_renamed_fn renamed, void *arg, struct cot_ptx_module **ret_module,
		 struct cot_error *err)
{
	struct join j = {first, second, renamed, arg, err};
	int rc = check_understood(&j, first);

	rc = rc ? rc : check_understood(&j, second);
	rc = rc ? rc : join_headers(&j);
	rc = rc ? rc : rename_all(&j);
	if (rc)
		return rc == -ENOMEM ? cot_error_set(err, rc, "out of memory") : rc;
	drop_places(second);
	rc = read_both(&j, ret_module);
	return rc == -ENOMEM ? cot_error_set(err, rc, "out of memory") : rc;
}
