/*
 * The real driver: where it is, and the slots that lead into it. It is loaded with the program's
 * first call, so that programs which never use CUDA pay nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/log.h"
#include "guest/os.h"
#include "guest/shim/driver.h"

#define DRIVER	  "libcuda.so.1"
#define CACHE	  "/etc/ld.so.cache"
#define CACHE_MAX (16u << 20)
#define PATH_SIZE 4096u

_Atomic int cot_shim_state;
struct cot_settings cot_shim_settings;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_read;	/* the environment */
static char *path_list; /* LD_LIBRARY_PATH; NULL: none */

static const char *const usual[] = {
	"/usr/local/nvidia/lib64",   "/usr/local/nvidia/lib",	   "/usr/lib64",
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64/nvidia",
	"/usr/lib/wsl/lib",	     "/run/opengl-driver/lib",	   "/usr/lib",
};

/* ---- the environment ---- */

static const char *from_environment(const char *name)
{
	return getenv(name);
}

/* With the lock. */
static void read_environment(void)
{
	const char *list = getenv("LD_LIBRARY_PATH");

	if (has_read)
		return;
	has_read = true;
	path_list = list ? strdup(list) : NULL;
	cot_settings_read(&cot_shim_settings, from_environment, program_invocation_name);
}

/* Programs change their environment, or clear it, before they use the GPU. */
__attribute__((constructor)) static void at_load(void)
{
	pthread_mutex_lock(&lock);
	read_environment();
	pthread_mutex_unlock(&lock);
}

/* ---- finding it ---- */

/* The content of a slot when the driver has no such function, or there is no driver. */
static int missing(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static int no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

static void fill_all(int (*with)(void))
{
	size_t i;

	for (i = 0; i < cot_shim_n_slots; i++)
		__atomic_store_n(cot_shim_slots[i].slot, (void *)(uintptr_t)with, __ATOMIC_RELEASE);
}

/* A library at that path that is not this one; NULL. */
static void *try_path(const char *path)
{
	void *handle = access(path, R_OK) ? NULL : cot_library_open(path), *found;

	if (!handle)
		return NULL;
	found = cot_library_symbol(handle, "cuInit");
	if (found && found != (void *)(uintptr_t)cuInit) {
		cot_log(COT_LOG_INFO, "the driver is %s", path);
		return handle;
	}
	cot_library_close(handle);
	return NULL;
}

static void *try_folder(const char *folder, size_t length)
{
	char path[PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%.*s/" DRIVER, (int)length, folder);

	return length && n > 0 && (size_t)n < sizeof(path) ? try_path(path) : NULL;
}

static void *try_list(const char *list)
{
	void *handle = NULL;

	while (list && *list && !handle) {
		size_t n = strcspn(list, ":;");

		handle = try_folder(list, n);
		list += n + (list[n] != '\0');
	}
	return handle;
}

static void *try_cached(const unsigned char *bytes, size_t n)
{
	void *handle = NULL;
	const char *path;
	unsigned i;

	for (i = 0; !handle && (path = cot_shim_cache_find(bytes, n, DRIVER, i)); i++)
		handle = try_path(path);
	return handle;
}

static void *try_cache(void)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes = fd < 0 ? NULL : malloc(CACHE_MAX);
	void *handle = NULL;
	size_t n = 0;
	ssize_t got;

	while (bytes && n < CACHE_MAX && (got = read(fd, bytes + n, CACHE_MAX - n)) > 0)
		n += (size_t)got;
	if (bytes)
		handle = try_cached(bytes, n);
	free(bytes);
	if (fd >= 0)
		close(fd);
	return handle;
}

static void *find_driver(void)
{
	void *handle = NULL;
	size_t i;

	if (cot_shim_settings.driver[0])
		handle = try_path(cot_shim_settings.driver);
	if (!handle)
		handle = try_list(path_list);
	if (!handle)
		handle = try_cache();
	for (i = 0; !handle && i < COT_ARRAY_LEN(usual); i++)
		handle = try_folder(usual[i], strlen(usual[i]));
	return handle;
}

static void fill(void *handle)
{
	size_t i;

	for (i = 0; i < cot_shim_n_slots; i++) {
		void *found = cot_library_symbol(handle, cot_shim_slots[i].name);

		if (!found)
			found = (void *)(uintptr_t)missing;
		__atomic_store_n(cot_shim_slots[i].slot, found, __ATOMIC_RELEASE);
	}
}

static void load(void)
{
	void *handle;

	read_environment();
	cot_log_level_set(cot_shim_settings.log);
	handle = find_driver();
	if (!handle) {
		cot_log(COT_LOG_ERROR, "there is no " DRIVER " but the shim");
		fill_all(no_driver);
		return;
	}
	if (cot_shim_settings.shim)
		atomic_store(&cot_shim_state, COT_SHIM_ASKED);
	fill(handle);
}

void cot_shim_driver_load(void)
{
	static _Atomic uint64_t loading;
	static bool loaded;

	if (atomic_load(&loading) == (uint64_t)pthread_self()) {
		/* The driver's own start-up has called us: it gets an error, not a deadlock. */
		fill_all(no_driver);
		return;
	}
	pthread_mutex_lock(&lock);
	if (!loaded) {
		atomic_store(&loading, (uint64_t)pthread_self());
		load();
		loaded = true;
		atomic_store(&loading, 0);
	}
	pthread_mutex_unlock(&lock);
}
