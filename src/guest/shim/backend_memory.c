/*
 * The program's memory in its window: what cuMemAlloc() gives is mapped at the same address in the
 * backend. Where that does not work it is the driver's, and launches that use it stay here.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/window.h"
#include "guest/log.h"
#include "guest/shim/backend_inside.h"
#include "guest/shim/fork.h"

#define HANDLE_FD 1 /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
#define PINNED	  1 /* CU_MEM_ALLOCATION_TYPE_PINNED */
#define SAID_MAX  4 /* a program may ask for more than there is again and again */

/* Smaller numbers are no addresses of a GPU's memory, nor are those beyond 47 bits. */
#define LOWEST	(1ull << 32)
#define HIGHEST (1ull << 47)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the window */
static struct cot_window window;

/* ---- chunks ---- */

/* The program has the driver's memory instead; why stands in the log. */
static bool worked(CUresult rc, const char *call, const struct cot_window_chunk *c)
{
	static _Atomic uint32_t n_said;

	if (rc && atomic_fetch_add(&n_said, 1) < SAID_MAX)
		cot_log(COT_LOG_WARN, "%s of %llu bytes for the backend: error %d", call,
			(unsigned long long)c->bytes, rc);
	return !rc;
}

static void drop_chunk(const struct cot_window_chunk *c)
{
	(void)COT_REAL(cuMemUnmap)(c->at, c->bytes);
	(void)COT_REAL(cuMemRelease)(c->handle);
}

static bool map_here(struct cot_window_chunk *c, CUdevice device)
{
	const CUmemAllocationProp prop = {.type = PINNED,
					  .requestedHandleTypes = HANDLE_FD,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, (int)device}};
	const CUmemAccessDesc access = {.location = prop.location, .flags = 3};
	CUmemGenericAllocationHandle handle;

	if (!worked(COT_REAL(cuMemCreate)(&handle, c->bytes, &prop, 0), "cuMemCreate", c))
		return false;
	if (!worked(COT_REAL(cuMemMap)(c->at, c->bytes, 0, handle, 0), "cuMemMap", c)) {
		(void)COT_REAL(cuMemRelease)(handle);
		return false;
	}
	c->handle = handle;
	if (worked(COT_REAL(cuMemSetAccess)(c->at, c->bytes, &access, 1), "cuMemSetAccess", c))
		return true;
	drop_chunk(c);
	return false;
}

static bool tell(enum cot_backend_type type, const struct cot_window_chunk *c, int fd)
{
	struct cot_backend_message m = {.type = type, .memory = {c->at, c->bytes}};
	bool sent;

	pthread_mutex_lock(&cot_shim_backend_lock);
	sent = cot_shim_backend_send(&m, fd);
	pthread_mutex_unlock(&cot_shim_backend_lock);
	return sent;
}

static bool map_there(const struct cot_window_chunk *c)
{
	bool sent = false;
	int fd = -1;

	if (!worked(COT_REAL(cuMemExportToShareableHandle)(&fd, c->handle, HANDLE_FD, 0),
		    "cuMemExportToShareableHandle", c))
		return false;
	sent = tell(COT_BACKEND_MAP, c, fd);
	close(fd);
	return sent;
}

/* With the lock: a chunk in both. */
static int make_chunk(struct cot_window_chunk *c)
{
	if (!map_here(c, cot_shim_attached.device))
		return -ENOMEM;
	if (map_there(c) && !cot_window_add(&window, c))
		return 0;
	drop_chunk(c);
	return -ENOMEM;
}

/* ---- allocations ---- */

static bool is_its_device(void)
{
	CUdevice device;

	return !COT_REAL(cuCtxGetDevice)(&device) && device == cot_shim_attached.device;
}

bool cot_shim_backend_alloc(CUdeviceptr *ptr, size_t bytes)
{
	struct cot_window_chunk chunk;
	uint64_t at = 0;
	int rc;

	if (!ptr || !bytes || !cot_shim_is_on() || !cot_shim_backend_is_there() || !is_its_device())
		return false;
	pthread_mutex_lock(&lock);
	if (!window.at)
		cot_window_init(&window, cot_backend_window(cot_shim_attached.client),
				COT_BACKEND_WINDOW_BYTES);
	rc = cot_window_take(&window, bytes, &at, &chunk);
	if (rc == -EAGAIN) {
		rc = make_chunk(&chunk);
		if (!rc)
			rc = cot_window_take(&window, bytes, &at, &chunk);
	}
	pthread_mutex_unlock(&lock);
	if (!rc)
		*ptr = at;
	return !rc;
}

bool cot_shim_backend_free(CUdeviceptr ptr, CUresult *ret_rc)
{
	struct cot_window_chunk chunk;
	bool ours;
	int rc;

	pthread_mutex_lock(&lock);
	ours = window.at && cot_window_has(&window, ptr);
	pthread_mutex_unlock(&lock);
	if (!ours)
		return false;
	/* As cuMemFree() does; in streams that wait for the backend as well. */
	*ret_rc = COT_REAL(cuCtxSynchronize)();
	pthread_mutex_lock(&lock);
	rc = cot_window_give(&window, ptr, &chunk);
	if (!rc) {
		(void)tell(COT_BACKEND_UNMAP, &chunk, -1);
		drop_chunk(&chunk);
	}
	pthread_mutex_unlock(&lock);
	if (rc == -ENOENT && !*ret_rc)
		*ret_rc = CUDA_ERROR_INVALID_VALUE; /* not where an allocation begins */
	return true;
}

/* With the lock: of one argument, which may be a structure. */
static bool has_all_of(const unsigned char *bytes, uint32_t n)
{
	uint64_t word;
	uint32_t at;

	for (at = 0; at + sizeof(word) <= n; at += (uint32_t)sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		if (word >= LOWEST && word < HIGHEST &&
		    !(window.at && cot_window_has(&window, word)))
			return false;
	}
	return true;
}

bool cot_shim_backend_has_memory(const struct cot_shim_kernel *k, const unsigned char *params)
{
	bool has = true;
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < k->n_params && has; i++)
		has = has_all_of(params + k->params[i].at, k->params[i].bytes);
	pthread_mutex_unlock(&lock);
	return has;
}

void cot_shim_backend_memory_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(&window, 0, sizeof(window)); /* the parent's */
}
