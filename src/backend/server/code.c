/* Modules and kernels of programs. What two programs have alike is there once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/server/server.h"
#include "ptx/pass/pass.h"
#include "ptx/ptx.h"

#define BATCH "$cot_batch" /* what the shim calls the forms that it adds */

struct backend_code {
	struct backend_code *next;
	char *text;
	size_t bytes;
	CUmodule module; /* NULL: the driver did not take it */
};

static struct backend_code *codes;
static struct backend_kernel *kernels;
static struct backend_pair *pairs;
static size_t text_bytes;
static uint32_t n_codes, n_kernels, n_pairs;

struct backend_code *cot_backend_code_of(struct backend *b, char *text, size_t bytes)
{
	struct backend_code *code;
	CUresult rc;

	for (code = codes; code; code = code->next)
		if (code->bytes == bytes && !memcmp(code->text, text, bytes)) {
			free(text);
			return code;
		}
	code = n_codes < BACKEND_CODES_MAX && text_bytes + bytes <= BACKEND_TEXTS_MAX
		       ? calloc(1, sizeof(*code))
		       : NULL;
	if (!code) {
		free(text);
		return NULL;
	}
	n_codes++;
	text_bytes += bytes;
	*code = (struct backend_code){codes, text, bytes, NULL};
	rc = b->cuda.cuModuleLoadData(&code->module, text);
	if (rc) {
		code->module = NULL;
		backend_say("a module of %zu bytes: error %d", bytes, (int)rc);
	}
	codes = code;
	return code;
}

/* ---- kernels ---- */

static CUfunction function_of(struct backend *b, CUmodule module, const char *name,
			      const char *suffix, const char *other)
{
	char text[3 * COT_BACKEND_NAME];
	CUfunction function = NULL;

	(void)snprintf(text, sizeof(text), "%s%s%s", name, suffix, other);
	return b->cuda.cuModuleGetFunction(&function, module, text) ? NULL : function;
}

static enum cot_backend_why note_params(struct backend_kernel *k, const struct cot_ptx_func *func)
{
	uint32_t i;

	if (func->n_params >= BACKEND_PARAMS_MAX)
		return COT_BACKEND_WHY_KERNEL;
	k->n_params = func->n_params;
	for (i = 0; i < func->n_params; i++) {
		k->params[i] = (struct backend_param){(uint32_t)cot_pass_param_at(func, i),
						      (uint32_t)cot_ptx_var_bytes(func->params[i])};
		k->params_bytes = k->params[i].at + k->params[i].bytes;
	}
	return k->params_bytes > COT_BACKEND_PARAMS || cot_pass_batch_shape(func, &k->shape)
		       ? COT_BACKEND_WHY_KERNEL
		       : COT_BACKEND_WHY_NOT;
}

static enum cot_backend_why look(struct backend_kernel *k, const struct cot_ptx_module *module)
{
	const struct cot_ptx_func *func = cot_ptx_find_func(module, k->name);
	struct cot_refusal refusal = {.reason = COT_REASON_NONE};
	struct cot_facts facts = {0};
	enum cot_reach reach = COT_REACH_ANYTHING;

	if (!func || !func->entry || !func->has_body ||
	    cot_pass_check(COT_PASS_BATCH, func, &facts, &refusal) || facts.spins ||
	    cot_pass_reach(func, &reach))
		return COT_BACKEND_WHY_KERNEL;
	if (reach != COT_REACH_ARGUMENTS)
		return reach == COT_REACH_VARIABLES ? COT_BACKEND_WHY_VARIABLE
						    : COT_BACKEND_WHY_POINTERS;
	return note_params(k, func);
}

static enum cot_backend_why prepare(struct backend *b, struct backend_kernel *k)
{
	struct cot_ptx_module *module = NULL;
	struct cot_error err = {{0}};
	enum cot_backend_why why;

	if (!k->code->module || cot_ptx_parse(k->code->text, k->code->bytes, "PTX", &module, &err))
		return COT_BACKEND_WHY_KERNEL;
	why = look(k, module);
	cot_ptx_destroy(module);
	if (why != COT_BACKEND_WHY_NOT)
		return why;
	k->alone = function_of(b, k->code->module, k->name, "", "");
	k->batch = function_of(b, k->code->module, k->name, BATCH, "");
	return k->alone && k->batch ? COT_BACKEND_WHY_NOT : COT_BACKEND_WHY_KERNEL;
}

struct backend_kernel *cot_backend_kernel_of(struct backend *b, struct backend_code *code,
					     const char *name)
{
	struct backend_kernel *k;

	for (k = kernels; k; k = k->next)
		if (k->code == code && !strcmp(k->name, name))
			return k;
	k = n_kernels < BACKEND_KERNELS_MAX ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	n_kernels++;
	k->code = code;
	(void)snprintf(k->name, sizeof(k->name), "%s", name);
	k->why = prepare(b, k);
	k->next = kernels;
	kernels = k;
	return k;
}

/* ---- two kernels in one grid ---- */

const struct backend_pair *cot_backend_pair_find(const struct backend_kernel *a,
						 const struct backend_kernel *b)
{
	const struct backend_pair *p = pairs;

	while (p && !(p->first == a && p->second == b) && !(p->first == b && p->second == a))
		p = p->next;
	return p;
}

struct renamed {
	const char *old;
	char name[COT_BACKEND_NAME + 64];
};

static void note_renamed(void *arg, const char *old, const char *renamed)
{
	struct renamed *r = arg;

	if (!strcmp(old, r->old))
		(void)snprintf(r->name, sizeof(r->name), "%s", renamed);
}

/* *ret_module: of both texts. The second kernel's name may be another one in it. */
static int join(const struct backend_kernel *first, const struct backend_kernel *second,
		struct cot_ptx_module **ret_module, struct renamed *ret_name)
{
	struct cot_ptx_module *a = NULL, *b = NULL;
	struct cot_error err = {{0}};
	int rc = cot_ptx_parse(first->code->text, first->code->bytes, "PTX", &a, &err);

	*ret_name = (struct renamed){.old = second->name};
	(void)snprintf(ret_name->name, sizeof(ret_name->name), "%s", second->name);
	if (rc || first->code == second->code) {
		*ret_module = a;
		return rc;
	}
	rc = cot_ptx_parse(second->code->text, second->code->bytes, "PTX", &b, &err);
	if (!rc)
		rc = cot_ptx_join(a, b, note_renamed, ret_name, ret_module, &err);
	if (rc)
		backend_say("%s and %s do not go together: %s", first->name, second->name,
			    err.text);
	cot_ptx_destroy(a);
	cot_ptx_destroy(b);
	return rc;
}

/* NULL: there is none. */
static char *fuse(struct cot_ptx_module *module, const char *first, const char *second,
		  const char **ret_name)
{
	struct cot_ptx_func *a = cot_ptx_find_func(module, first),
			    *b = cot_ptx_find_func(module, second), *made = NULL;
	struct cot_refusal refusal;
	struct cot_error err = {{0}};
	char *text = NULL;
	size_t bytes;
	int rc = a && b ? cot_pass_fuse(a, b, &made, &refusal, &err) : -ENOENT;

	if (rc || cot_ptx_print(module, &text, &bytes))
		return NULL;
	*ret_name = made->name;
	return text;
}

static CUfunction make(struct backend *b, const struct backend_kernel *first,
		       const struct backend_kernel *second)
{
	struct cot_ptx_module *module = NULL;
	struct renamed as;
	CUmodule loaded = NULL;
	CUfunction function = NULL;
	const char *name = NULL;
	char *text;

	if (join(first, second, &module, &as))
		return NULL;
	text = fuse(module, first->name, as.name, &name);
	if (text && !b->cuda.cuModuleLoadData(&loaded, text))
		function = function_of(b, loaded, name, "", "");
	free(text);
	cot_ptx_destroy(module);
	return function;
}

/* The shim has made some of one text already. */
static CUfunction find_made(struct backend *b, const struct backend_kernel *first,
			    const struct backend_kernel *second)
{
	return first->code == second->code ? function_of(b, first->code->module, first->name,
							 "$cot_fuse$", second->name)
					   : NULL;
}

void cot_backend_pair_make(struct backend *b, const struct backend_kernel *first,
			   const struct backend_kernel *second)
{
	struct backend_pair *p = n_pairs < BACKEND_PAIRS_MAX ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return;
	n_pairs++;
	*p = (struct backend_pair){pairs, first, second, find_made(b, first, second)};
	if (!p->function) {
		p->function = find_made(b, second, first);
		if (p->function)
			*p = (struct backend_pair){pairs, second, first, p->function};
	}
	if (!p->function)
		p->function = make(b, first, second);
	backend_say("%s and %s in one: %s", p->first->name, p->second->name,
		    p->function ? "yes" : "no");
	pairs = p;
}
