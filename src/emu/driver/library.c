/* Libraries and kernels: code that is not bound to a context, and gets a module in each. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/function.h"
#include "emu/driver/image.h"
#include "emu/driver/inside.h"

struct cot_emu_library {
	struct cot_emu_code code;
	pthread_mutex_t lock; /* also while a module is made, so that a context gets one only */
	struct cot_emu_kernel_name *kernels;
};

CUresult cot_emu_library_module(struct cot_emu_library *l, struct cot_emu_context *c,
				struct cot_emu_module **ret_module)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_error err = {{0}};
	struct cot_emu_module *m;

	pthread_mutex_lock(&l->lock);
	pthread_mutex_lock(&c->lock);
	for (m = c->modules; m && m->library != l; m = m->next)
		;
	pthread_mutex_unlock(&c->lock);
	if (!m) {
		result = cot_emu_module_load(c, &l->code, &m, &err);
		if (!result)
			m->library = l;
	}
	pthread_mutex_unlock(&l->lock);
	if (!result)
		*ret_module = m;
	return result;
}

CUresult cot_emu_library_make(const void *image, const char *path,
			      struct cot_emu_library **ret_library)
{
	struct cot_emu_library *l = calloc(1, sizeof(*l));
	struct cot_error err = {{0}};
	CUresult result;

	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = path ? cot_emu_code_read(path, &l->code, &err)
		      : cot_emu_code_take(image, &l->code, &err);
	if (result) {
		if (*err.text)
			cot_emu_complain("%s", err.text);
		free(l);
		return result;
	}
	pthread_mutex_init(&l->lock, NULL);
	*ret_library = l;
	return CUDA_SUCCESS;
}

void cot_emu_library_free(struct cot_emu_library *l)
{
	struct cot_emu_kernel_name *k;

	cot_emu_contexts_drop_library(l);
	while ((k = l->kernels)) {
		l->kernels = k->next;
		free((void *)(uintptr_t)k->name);
		free(k);
	}
	cot_emu_code_free(&l->code);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

struct cot_emu_kernel_name *cot_emu_library_kernel(struct cot_emu_library *l, const char *name)
{
	struct cot_emu_kernel_name *k;

	pthread_mutex_lock(&l->lock);
	for (k = l->kernels; k && strcmp(k->name, name) != 0; k = k->next)
		;
	if (!k && (k = calloc(1, sizeof(*k)))) {
		k->tag = COT_EMU_KERNEL_TAG;
		k->name = strdup(name);
		k->library = l;
		k->next = l->kernels;
		if (k->name) {
			l->kernels = k;
		} else {
			free(k);
			k = NULL;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return k;
}

CUkernel cot_emu_function_kernel(const struct cot_emu_function *f)
{
	struct cot_emu_library *l = f->module->library;

	return l ? (CUkernel)cot_emu_library_kernel(l, f->name) : NULL;
}

CUresult cot_emu_function_get(CUfunction handle, struct cot_emu_context *c,
			      struct cot_emu_function **ret_function)
{
	struct cot_emu_function *f = (struct cot_emu_function *)handle;
	struct cot_emu_kernel_name *k = (struct cot_emu_kernel_name *)handle;
	struct cot_emu_module *m;
	CUresult result;

	if (!handle)
		return CUDA_ERROR_INVALID_HANDLE;
	if (f->tag == COT_EMU_KERNEL_TAG) {
		result = cot_emu_library_module(k->library, c, &m);
		if (result)
			return result;
		f = cot_emu_module_function(m, k->name);
		if (!f)
			return CUDA_ERROR_NOT_FOUND;
	}
	if (f->tag != COT_EMU_FUNCTION_TAG)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_function = f;
	return CUDA_SUCCESS;
}
