/*
 * Which modules and kernels the backend has been told of. By what they are, not by handles: a
 * module that is unloaded and loaded again is the same one.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/shim/backend_inside.h"

#define CACHE 256u

struct module {
	uint64_t hash;
	size_t length;
};

struct kernel {
	uint32_t module;
	char name[COT_BACKEND_NAME];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static struct module modules[COT_BACKEND_MODULES];
static struct kernel kernels[COT_BACKEND_KERNELS];
static uint32_t n_modules, n_kernels;
/* The kernels' numbers, from 1 on, by where the shim has them; until a module goes. */
static struct {
	const struct cot_shim_kernel *kernel;
	uint32_t number;
} cache[CACHE];

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}

static bool send(struct cot_backend_message *m, int fd)
{
	bool sent;

	pthread_mutex_lock(&cot_shim_backend_lock);
	sent = cot_shim_backend_send(m, fd);
	pthread_mutex_unlock(&cot_shim_backend_lock);
	return sent;
}

static bool send_text(uint32_t module, const char *text, size_t length)
{
	struct cot_backend_message m = {.type = COT_BACKEND_MODULE,
					.module = {module, (uint32_t)length}};
	int fd = (int)syscall(SYS_memfd_create, "cotenant-module", 1u /* MFD_CLOEXEC */);
	size_t n = 0;
	ssize_t wrote = 1;
	bool sent;

	if (fd < 0)
		return false;
	while (n < length && wrote > 0) {
		wrote = write(fd, text + n, length - n);
		n += wrote > 0 ? (size_t)wrote : 0;
	}
	sent = n == length && send(&m, fd);
	close(fd);
	return sent;
}

/* With the lock, as below: its number, COT_BACKEND_MODULES: none. */
static uint32_t module_of(const struct cot_shim_ref *ref)
{
	size_t length;
	const char *text = cot_shim_code_text(ref, &length);
	uint64_t hash;
	uint32_t i;

	if (!text || length > COT_BACKEND_TEXT_MAX)
		return COT_BACKEND_MODULES;
	hash = hash_of(text, length);
	for (i = 0; i < n_modules; i++)
		if (modules[i].hash == hash && modules[i].length == length)
			return i;
	if (n_modules == COT_BACKEND_MODULES || !send_text(n_modules, text, length))
		return COT_BACKEND_MODULES;
	modules[n_modules] = (struct module){hash, length};
	return n_modules++;
}

/* Its number, COT_BACKEND_KERNELS: none. */
static uint32_t kernel_of(const struct cot_shim_ref *ref, const struct cot_shim_kernel *k)
{
	uint32_t module = module_of(ref), i;
	struct cot_backend_message m = {.type = COT_BACKEND_KERNEL};
	size_t length = strlen(k->name);

	if (module == COT_BACKEND_MODULES || length >= COT_BACKEND_NAME)
		return COT_BACKEND_KERNELS;
	for (i = 0; i < n_kernels; i++)
		if (kernels[i].module == module && !strcmp(kernels[i].name, k->name))
			return i;
	m.kernel.kernel = n_kernels;
	m.kernel.module = module;
	memcpy(m.kernel.name, k->name, length + 1);
	if (n_kernels == COT_BACKEND_KERNELS || !send(&m, -1))
		return COT_BACKEND_KERNELS;
	kernels[n_kernels].module = module;
	memcpy(kernels[n_kernels].name, k->name, length + 1);
	return n_kernels++;
}

enum cot_shim_why cot_shim_backend_why(enum cot_backend_why why)
{
	static const enum cot_shim_why whys[COT_BACKEND_N_WHYS] = {
		[COT_BACKEND_WHY_NOT] = COT_SHIM_WHY_NOT,
		[COT_BACKEND_WHY_ALONE] = COT_SHIM_WHY_MERGE_ALONE,
		[COT_BACKEND_WHY_WORSE] = COT_SHIM_WHY_MERGE_WORSE,
		[COT_BACKEND_WHY_REFUSED] = COT_SHIM_WHY_MERGE_REFUSED,
		[COT_BACKEND_WHY_KERNEL] = COT_SHIM_WHY_MERGE_KERNEL,
		[COT_BACKEND_WHY_VARIABLE] = COT_SHIM_WHY_MERGE_VARIABLES,
		[COT_BACKEND_WHY_POINTERS] = COT_SHIM_WHY_MERGE_POINTERS,
	};

	return why < COT_BACKEND_N_WHYS ? whys[why] : COT_SHIM_WHY_MERGE_REFUSED;
}

enum cot_shim_why cot_shim_backend_kernel(const struct cot_shim_ref *ref, uint32_t *ret_kernel)
{
	const struct cot_shim_kernel *k = atomic_load(&ref->kernel);
	uint32_t at = (uint32_t)(((uintptr_t)k >> 4) % CACHE), number;
	uint8_t is;

	pthread_mutex_lock(&lock);
	if (cache[at].kernel != k) {
		cache[at].kernel = k;
		cache[at].number = kernel_of(ref, k);
	}
	number = cache[at].number;
	pthread_mutex_unlock(&lock);
	if (number == COT_BACKEND_KERNELS)
		return COT_SHIM_WHY_MERGE_KERNEL;
	is = atomic_load(&cot_shim_attached.page->kernels[number]);
	if (!is)
		return COT_SHIM_WHY_MERGE_UNREADY;
	*ret_kernel = number;
	return cot_shim_backend_why((enum cot_backend_why)(is - 1));
}

void cot_shim_backend_code_gone(void)
{
	pthread_mutex_lock(&lock);
	memset(cache, 0, sizeof(cache));
	pthread_mutex_unlock(&lock);
}

void cot_shim_backend_code_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(cache, 0, sizeof(cache));
	n_modules = n_kernels = 0;
}
