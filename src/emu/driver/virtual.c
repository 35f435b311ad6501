#include "emu/driver/virtual.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/driver/memory.h"
#include "emu/driver/range.h"

#define RESERVATIONS 256u
#define ALLOCATIONS  4096u
#define MAPPINGS     4096u

struct reservation {
	uint64_t at;
	size_t bytes; /* 0: free */
};

struct allocation {
	int fd;
	size_t bytes; /* 0: free */
	bool imported, released;
	unsigned n_mapped;
};

struct mapping {
	uint64_t at;
	size_t bytes; /* 0: free */
	unsigned allocation;
	bool open;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static struct reservation reservations[RESERVATIONS];
static struct allocation allocations[ALLOCATIONS];
static struct mapping mappings[MAPPINGS];

static bool is_whole(uint64_t at, size_t bytes)
{
	return bytes && !(bytes % COT_EMU_GRANULARITY) && !(at % COT_EMU_GRANULARITY);
}

/* ---- addresses ---- */

static void *find_addresses(uint64_t at, size_t bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t more = bytes + COT_EMU_GRANULARITY, before;
	char *p;

	if (at) {
		p = mmap((void *)(uintptr_t)at, bytes, PROT_NONE, flags, -1, 0);
		if (p == MAP_FAILED || (uintptr_t)p == at)
			return p;
		munmap(p, bytes);
	}
	p = mmap(NULL, more, PROT_NONE, flags, -1, 0);
	if (p == MAP_FAILED)
		return p;
	before = (COT_EMU_GRANULARITY - (uintptr_t)p % COT_EMU_GRANULARITY) % COT_EMU_GRANULARITY;
	if (before)
		munmap(p, before);
	munmap(p + before + bytes, COT_EMU_GRANULARITY - before);
	return p + before;
}

CUresult cot_emu_virtual_reserve(uint64_t at, size_t bytes, uint64_t *ret_at)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	unsigned i;
	void *p;

	if (!is_whole(at, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (i = 0; i < RESERVATIONS && reservations[i].bytes; i++)
		;
	p = i < RESERVATIONS ? find_addresses(at, bytes) : MAP_FAILED;
	if (p != MAP_FAILED) {
		*ret_at = (uintptr_t)p;
		reservations[i] = (struct reservation){*ret_at, bytes};
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* With the lock, as all below. */
static bool is_mapped(uint64_t at, size_t bytes)
{
	unsigned i;

	for (i = 0; i < MAPPINGS; i++)
		if (mappings[i].bytes && mappings[i].at < at + bytes &&
		    at < mappings[i].at + mappings[i].bytes)
			return true;
	return false;
}

static bool is_reserved(uint64_t at, size_t bytes)
{
	unsigned i;

	for (i = 0; i < RESERVATIONS; i++)
		if (at >= reservations[i].at && bytes <= reservations[i].bytes &&
		    at - reservations[i].at <= reservations[i].bytes - bytes)
			return true;
	return false;
}

CUresult cot_emu_virtual_unreserve(uint64_t at, size_t bytes)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < RESERVATIONS && bytes; i++) {
		if (reservations[i].at != at || reservations[i].bytes != bytes ||
		    is_mapped(at, bytes))
			continue;
		munmap((void *)(uintptr_t)at, bytes);
		reservations[i].bytes = 0;
		result = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- memory ---- */

/* A handle is an index from 1 on. */
static struct allocation *allocation_of(CUmemGenericAllocationHandle handle)
{
	struct allocation *a = handle && handle <= ALLOCATIONS ? &allocations[handle - 1] : NULL;

	return a && a->bytes && !a->released ? a : NULL;
}

static CUresult add_allocation(int fd, size_t bytes, bool imported,
			       CUmemGenericAllocationHandle *ret_handle)
{
	unsigned i;

	for (i = 0; i < ALLOCATIONS && allocations[i].bytes; i++)
		;
	if (i == ALLOCATIONS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocations[i] = (struct allocation){.fd = fd, .bytes = bytes, .imported = imported};
	*ret_handle = i + 1;
	return CUDA_SUCCESS;
}

static void drop_if_unused(struct allocation *a)
{
	if (!a->released || a->n_mapped)
		return;
	close(a->fd);
	if (!a->imported)
		cot_emu_memory_give(a->bytes);
	a->bytes = 0;
}

static CUresult make_file(size_t bytes, int *ret_fd)
{
	int fd;

	if (!cot_emu_memory_take(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	fd = memfd_create("cotenant-emu-memory", MFD_CLOEXEC);
	if (fd >= 0 && !ftruncate(fd, (off_t)bytes)) {
		*ret_fd = fd;
		return CUDA_SUCCESS;
	}
	if (fd >= 0)
		close(fd);
	cot_emu_memory_give(bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cot_emu_virtual_create(size_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	int fd = -1;

	if (is_whole(0, bytes))
		result = make_file(bytes, &fd);
	if (result)
		return result;
	pthread_mutex_lock(&lock);
	result = add_allocation(fd, bytes, false, ret_handle);
	pthread_mutex_unlock(&lock);
	if (result) {
		close(fd);
		cot_emu_memory_give(bytes);
	}
	return result;
}

CUresult cot_emu_virtual_release(CUmemGenericAllocationHandle handle)
{
	struct allocation *a;

	pthread_mutex_lock(&lock);
	a = allocation_of(handle);
	if (a) {
		a->released = true;
		drop_if_unused(a);
	}
	pthread_mutex_unlock(&lock);
	return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cot_emu_virtual_export(CUmemGenericAllocationHandle handle, int *ret_fd)
{
	const struct allocation *a;
	int fd = -1;

	pthread_mutex_lock(&lock);
	a = allocation_of(handle);
	if (a)
		fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lock);
	if (fd < 0)
		return a ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	*ret_fd = fd;
	return CUDA_SUCCESS;
}

CUresult cot_emu_virtual_import(int fd, CUmemGenericAllocationHandle *ret_handle)
{
	CUresult result;
	struct stat st;
	int own;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    !is_whole(0, (size_t)st.st_size))
		return CUDA_ERROR_INVALID_VALUE;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	result = add_allocation(own, (size_t)st.st_size, true, ret_handle);
	pthread_mutex_unlock(&lock);
	if (result)
		close(own);
	return result;
}

/* ---- mappings ---- */

static CUresult map(uint64_t at, struct allocation *a)
{
	unsigned i;

	for (i = 0; i < MAPPINGS && mappings[i].bytes; i++)
		;
	if (i == MAPPINGS || mmap((void *)(uintptr_t)at, a->bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_FIXED, a->fd, 0) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mappings[i] = (struct mapping){at, a->bytes, (unsigned)(a - allocations), false};
	a->n_mapped++;
	return CUDA_SUCCESS;
}

CUresult cot_emu_virtual_map(uint64_t at, size_t bytes, CUmemGenericAllocationHandle handle)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct allocation *a;

	pthread_mutex_lock(&lock);
	a = allocation_of(handle);
	if (a && is_whole(at, bytes) && bytes == a->bytes && is_reserved(at, bytes) &&
	    !is_mapped(at, bytes))
		result = map(at, a);
	pthread_mutex_unlock(&lock);
	return result;
}

static struct mapping *mapping_at(uint64_t at, size_t bytes)
{
	unsigned i;

	for (i = 0; i < MAPPINGS; i++)
		if (mappings[i].bytes && mappings[i].at == at && mappings[i].bytes == bytes)
			return &mappings[i];
	return NULL;
}

CUresult cot_emu_virtual_open(uint64_t at, size_t bytes, CUdevice device)
{
	struct cot_emu_range r = {
		.start = at, .bytes = bytes, .kind = COT_EMU_RANGE_MAPPED, .device = device};
	CUresult result = CUDA_SUCCESS;
	struct mapping *m;

	pthread_mutex_lock(&lock);
	m = mapping_at(at, bytes);
	if (!m)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (!m->open && cot_emu_range_add(&r))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	else
		m->open = true;
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult cot_emu_virtual_unmap(uint64_t at, size_t bytes)
{
	struct cot_emu_range r;
	struct allocation *a;
	struct mapping *m;

	pthread_mutex_lock(&lock);
	m = mapping_at(at, bytes);
	if (m) {
		if (m->open)
			(void)cot_emu_range_remove(at, COT_EMU_RANGE_MAPPED, &r);
		/* The addresses stay reserved. */
		(void)mmap((void *)(uintptr_t)at, bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		a = &allocations[m->allocation];
		m->bytes = 0;
		a->n_mapped--;
		drop_if_unused(a);
	}
	pthread_mutex_unlock(&lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
