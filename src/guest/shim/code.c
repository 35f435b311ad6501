/* Which modules and libraries were rewritten, and which of the program's handles are in them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/shim/code.h"
#include "guest/shim/counts.h"
#include "guest/shim/driver.h"
#include "guest/shim/rewrite.h"

#define NAME_MAX_BYTES 16384u

struct cot_shim_code {
	struct cot_shim_rewritten made;
	unsigned n_owners;
};

struct owner {
	cot_shim_handle handle; /* a module or a library */
	struct cot_shim_code *code;
	cot_shim_handle library; /* of a module that is a library's; else NULL */
	struct owner *next;
};

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static struct owner *owners;
static _Atomic bool any; /* was rewritten */

static struct owner *find_owner(cot_shim_handle handle)
{
	struct owner *o = owners;

	while (o && o->handle != handle)
		o = o->next;
	return o;
}

static bool add_owner(cot_shim_handle handle, struct cot_shim_code *code, cot_shim_handle library)
{
	struct owner *o = calloc(1, sizeof(*o));

	if (!o)
		return false;
	*o = (struct owner){.handle = handle, .code = code, .library = library, .next = owners};
	owners = o;
	code->n_owners++;
	return true;
}

static void unref(struct cot_shim_code *code)
{
	if (--code->n_owners)
		return;
	cot_shim_rewritten_finish(&code->made);
	free(code);
}

void cot_shim_code_add(cot_shim_handle owner, struct cot_shim_rewritten *r)
{
	struct cot_shim_code *code = calloc(1, sizeof(*code));

	if (code)
		code->made = *r;
	pthread_mutex_lock(&code_lock);
	if (code && add_owner(owner, code, NULL)) {
		atomic_store(&any, true);
		cot_shim_count_rewritten(r->n_kernels);
		code = NULL;
	} else {
		cot_shim_rewritten_finish(r);
	}
	pthread_mutex_unlock(&code_lock);
	free(code);
	*r = (struct cot_shim_rewritten){.text = NULL};
}

void cot_shim_code_alias(cot_shim_handle module, cot_shim_handle library)
{
	struct owner *o;

	if (!atomic_load(&any))
		return;
	pthread_mutex_lock(&code_lock);
	o = find_owner(library);
	if (o && !find_owner(module))
		(void)add_owner(module, o->code, library);
	pthread_mutex_unlock(&code_lock);
}

void cot_shim_code_forget(cot_shim_handle owner)
{
	struct owner **at = &owners, *o;

	pthread_mutex_lock(&code_lock);
	while ((o = *at)) {
		if (o->handle != owner && o->library != owner) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		cot_shim_handles_drop(o->handle);
		unref(o->code);
		free(o);
	}
	/* Handles of what was not rewritten may come back as others. */
	cot_shim_handles_drop(owner);
	pthread_mutex_unlock(&code_lock);
}

unsigned cot_shim_code_n_added(cot_shim_handle owner)
{
	struct owner *o;
	unsigned n;

	if (!atomic_load(&any))
		return 0;
	pthread_mutex_lock(&code_lock);
	o = find_owner(owner);
	n = o ? o->code->made.n_kernels + o->code->made.n_fused : 0;
	pthread_mutex_unlock(&code_lock);
	return n;
}

/* It stays valid until the program unloads the owner, which it may not do while it uses the
 * functions. */
static const struct cot_shim_kernel *find_kernel(cot_shim_handle owner, const char *name,
						 struct cot_shim_code **ret_code)
{
	const struct cot_shim_kernel *k = NULL;
	struct owner *o;
	unsigned i;

	if (!atomic_load(&any))
		return NULL;
	pthread_mutex_lock(&code_lock);
	o = find_owner(owner);
	for (i = 0; o && i < o->code->made.n_kernels && !k; i++)
		if (!strcmp(o->code->made.kernels[i].name, name))
			k = &o->code->made.kernels[i];
	if (k)
		*ret_code = o->code;
	pthread_mutex_unlock(&code_lock);
	return k;
}

/* Of a handle that has an entry already, nothing changes but what it is. */
static void enter(cot_shim_handle handle, struct cot_shim_code *code,
		  const struct cot_shim_kernel *kernel, cot_shim_handle owner,
		  cot_shim_handle workers, bool in_library)
{
	struct cot_shim_ref *r;

	pthread_mutex_lock(&code_lock);
	r = cot_shim_handles_put(handle);
	if (r && (r->kernel != kernel || r->workers != workers)) {
		r->owner = owner;
		r->workers = workers;
		r->in_library = in_library;
		r->kernel = kernel;
		r->code = code;
	}
	pthread_mutex_unlock(&code_lock);
}

/* NULL: there is none. */
static cot_shim_handle find_named(cot_shim_handle owner, const char *name, bool is_kernel)
{
	CUfunction function = NULL;
	CUkernel kernel = NULL;
	int rc = is_kernel ? COT_REAL(cuLibraryGetKernel)(&kernel, owner, name)
			   : COT_REAL(cuModuleGetFunction)(&function, owner, name);

	if (rc)
		return NULL;
	return is_kernel ? (cot_shim_handle)kernel : (cot_shim_handle)function;
}

/* The rewritten function; NULL: there is none. */
static cot_shim_handle find_added(cot_shim_handle owner, const char *name, const char *suffix,
				  bool is_kernel)
{
	size_t size = strlen(name) + strlen(suffix) + 1;
	char *added = size <= NAME_MAX_BYTES ? malloc(size) : NULL;
	cot_shim_handle found;

	if (!added)
		return NULL;
	(void)snprintf(added, size, "%s%s", name, suffix);
	found = find_named(owner, added, is_kernel);
	free(added);
	return found;
}

void cot_shim_code_function(cot_shim_handle handle, cot_shim_handle owner, const char *name,
			    bool is_kernel)
{
	struct cot_shim_code *code = NULL;
	const struct cot_shim_kernel *kernel = find_kernel(owner, name, &code);
	cot_shim_handle workers =
		kernel ? find_added(owner, name, code->made.suffix, is_kernel) : NULL;

	if (workers)
		enter(handle, code, kernel, owner, workers, is_kernel);
	else
		enter(handle, NULL, NULL, owner, NULL, is_kernel);
}

const struct cot_shim_rewritten *cot_shim_code_made(const struct cot_shim_ref *r)
{
	return &atomic_load(&r->code)->made;
}

cot_shim_handle cot_shim_code_fused(const struct cot_shim_ref *r, uint32_t kernels)
{
	const struct cot_shim_rewritten *made = cot_shim_code_made(r);
	cot_shim_handle found = NULL;
	size_t size = 1, at = 0;
	char *name;
	unsigned i;

	for (i = 0; i < made->n_kernels; i++)
		if (kernels >> i & 1)
			size += strlen(made->kernels[i].name) + strlen(COT_SHIM_FUSE);
	name = size <= NAME_MAX_BYTES ? malloc(size) : NULL;
	for (i = 0; name && i < made->n_kernels; i++)
		if (kernels >> i & 1)
			at += (size_t)snprintf(name + at, size - at, "%s%s",
					       at ? COT_SHIM_FUSE : "", made->kernels[i].name);
	if (name)
		found = find_named(r->owner, name, atomic_load(&r->in_library));
	free(name);
	return found;
}

void cot_shim_code_function_of(cot_shim_handle function, cot_shim_handle kernel)
{
	struct cot_shim_ref *of = cot_shim_code_ref(kernel);
	CUfunction workers = NULL;

	if (of && of->kernel && !COT_REAL(cuKernelGetFunction)(&workers, of->workers))
		enter(function, of->code, of->kernel, of->owner, workers, true);
	else
		enter(function, NULL, NULL, NULL, NULL, true);
}

struct cot_shim_ref *cot_shim_code_ref(cot_shim_handle handle)
{
	struct cot_shim_ref *r = cot_shim_handles_find(handle);
	CUmodule module = NULL;
	const char *name = NULL;

	if (COT_LIKELY(r != NULL))
		return r;
	if (atomic_load(&any) && !COT_REAL(cuFuncGetModule)(&module, handle) &&
	    !COT_REAL(cuFuncGetName)(&name, handle) && name)
		cot_shim_code_function(handle, module, name, false);
	else
		enter(handle, NULL, NULL, NULL, NULL, false);
	return cot_shim_handles_find(handle);
}

const char *cot_shim_code_text(const struct cot_shim_ref *r, size_t *ret_length)
{
	const struct cot_shim_code *code = atomic_load(&r->code);

	*ret_length = code && code->made.text ? strlen(code->made.text) : 0;
	return *ret_length ? code->made.text : NULL;
}

void cot_shim_code_reset(void)
{
	code_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	owners = NULL; /* what the parent had stays its own */
	atomic_store(&any, false);
	cot_shim_handles_clear();
}
