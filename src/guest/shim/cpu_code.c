/* Which kernels have a CPU version, and in which launches the user's decision wants it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/log.h"
#include "guest/os.h"
#include "guest/shim/cpu.h"
#include "guest/shim/rewrite.h"

#define PROVIDERS_MAX 8u
#define KERNELS_MAX   256u
#define PATH_SIZE     1024u

/* In a handle's entry: the providers were asked, and none has it. */
static const struct cot_shim_cpu_kernel none;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;
static const struct cot_cpu_provider *providers[PROVIDERS_MAX];
static unsigned n_providers, n_kernels;
static struct cot_shim_cpu_kernel *kernels;

/* ---- providers ---- */

static bool is_complete(const struct cot_cpu_provider *p)
{
	return p && p->abi == COT_CPU_ABI && p->name && p->open && p->memory && p->run;
}

static void load_provider(const char *path)
{
	typedef const struct cot_cpu_provider *(*provider_fn)(void);
	void *library = cot_library_open(path);
	void *symbol = library ? cot_library_symbol(library, COT_CPU_SYMBOL) : NULL;
	const struct cot_cpu_provider *p = symbol ? ((provider_fn)(uintptr_t)symbol)() : NULL;

	if (is_complete(p)) {
		providers[n_providers++] = p;
		return;
	}
	cot_log(COT_LOG_WARN, "%s is no provider of CPU versions of kernels", path);
	cot_shim_count_why(COT_SHIM_WHY_CPU_PROVIDER);
	if (library)
		cot_library_close(library);
}

/* With the lock. */
static void load_all(void)
{
	const char *list = cot_shim_settings.cpu;
	char path[PATH_SIZE];

	if (loaded)
		return;
	loaded = true;
	while (*list && n_providers < PROVIDERS_MAX) {
		size_t n = strcspn(list, ":");

		if (n && n < sizeof(path)) {
			(void)snprintf(path, sizeof(path), "%.*s", (int)n, list);
			load_provider(path);
		}
		list += n + (list[n] != '\0');
	}
}

/* ---- kernels ---- */

static uint64_t hash(const char *text, size_t length)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < length; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return h;
}

static struct cot_shim_cpu_kernel *find_known(const char *name, uint64_t text)
{
	struct cot_shim_cpu_kernel *k = kernels;

	while (k && (k->text != text || strcmp(k->name, name) != 0))
		k = k->next;
	return k;
}

/* With the lock: asks one provider after the other. */
static struct cot_shim_cpu_kernel *add(const struct cot_cpu_code *code, uint64_t text)
{
	struct cot_shim_cpu_kernel *k = n_kernels < KERNELS_MAX ? calloc(1, sizeof(*k)) : NULL;
	unsigned i;

	if (!k || !(k->name = strdup(code->name))) {
		free(k);
		return NULL;
	}
	k->text = text;
	for (i = 0; i < n_providers && !k->which; i++)
		if (!providers[i]->open(code, &k->state))
			k->which = providers[i];
	if (k->which)
		cot_log(COT_LOG_INFO, "kernel %s: its CPU version is of '%s'", k->name,
			k->which->name);
	k->next = kernels;
	kernels = k;
	n_kernels++;
	return k;
}

static const struct cot_shim_cpu_kernel *look_up(const struct cot_cpu_code *code)
{
	uint64_t text = code->ptx ? hash(code->ptx, code->ptx_length) : 0;
	const struct cot_shim_cpu_kernel *k;

	pthread_mutex_lock(&lock);
	load_all();
	k = find_known(code->name, text);
	if (!k)
		k = add(code, text);
	pthread_mutex_unlock(&lock);
	return k && k->which ? k : &none;
}

static const char *name_of(const struct cot_shim_ref *r, cot_shim_handle function)
{
	const char *name = NULL;

	if (r->kernel)
		return r->kernel->name;
	return COT_REAL(cuFuncGetName)(&name, function) ? NULL : name;
}

const struct cot_shim_cpu_kernel *cot_shim_cpu_kernel_of(struct cot_shim_ref *r,
							 cot_shim_handle function)
{
	const struct cot_shim_cpu_kernel *k = atomic_load(&r->cpu);
	struct cot_cpu_code code = {NULL, NULL, 0};

	if (!k) {
		code.name = name_of(r, function);
		code.ptx = cot_shim_code_text(r, &code.ptx_length);
		k = code.name ? look_up(&code) : &none;
		/* Another thread may have given the entry to another handle meanwhile. */
		if (atomic_load(&r->handle) == function)
			atomic_store(&r->cpu, k);
	}
	return k == &none ? NULL : k;
}

/* ---- the decision ---- */

/* The number at the beginning, and what follows it; NULL: there is none, or too large a one. */
static const char *number(const char *text, uint64_t *ret)
{
	uint64_t n = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (n > UINT32_MAX)
			return NULL;
		n = 10 * n + (uint64_t)(*at - '0');
	}
	*ret = n;
	return at == text ? NULL : at;
}

bool cot_shim_cpu_allows(const char *list, const char *name, uint64_t n_threads, uint64_t n_blocks)
{
	size_t length = strlen(name);
	uint64_t threads, blocks;
	const char *at;

	if (!*list)
		return true;
	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		if (strncmp(list, name, length) != 0 || list[length] != '/')
			continue;
		at = number(list + length + 1, &threads);
		if (!at || *at != '=' || !number(at + 1, &blocks))
			continue;
		if (threads == n_threads)
			return n_blocks <= blocks;
	}
	return false;
}

static _Atomic bool ordered;

void cot_shim_cpu_order(bool on_cpu)
{
	if (atomic_exchange(&ordered, on_cpu) != on_cpu)
		cot_log(COT_LOG_INFO, "launches are to be on the %s", on_cpu ? "CPU" : "GPU");
}

bool cot_shim_cpu_is_ordered(void)
{
	return atomic_load(&ordered);
}

void cot_shim_cpu_forget(void)
{
	cot_shim_cpu_order(false);
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
