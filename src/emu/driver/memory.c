#include "emu/driver/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "emu/driver/inside.h"
#include "emu/driver/pool.h"
#include "emu/driver/range.h"

/* From here on an allocation has pages of its own, which cost nothing until they are touched. */
#define MAP_BYTES (1u << 20)

static _Atomic uint64_t used_bytes;

uint64_t cot_emu_memory_used(void)
{
	return atomic_load(&used_bytes);
}

/* The whole machine knows what each process has. */
static void note(CUdevice device, int64_t bytes)
{
	cot_emu_gpu_note_memory(cot_emu_machine(), (uint32_t)cot_emu_visible(device), bytes);
}

static void *map_bytes(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void cot_emu_memory_free(const struct cot_emu_range *r)
{
	if (r->kind & (COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED)) {
		atomic_fetch_sub(&used_bytes, r->bytes);
		note(r->device, -(int64_t)r->bytes);
	}
	if (r->pool)
		cot_emu_pool_gave_back(r->pool, r->bytes);
	if (r->kind == COT_EMU_RANGE_REGISTERED)
		return;
	if (r->mapped)
		munmap((void *)(uintptr_t)r->start, r->mapped);
	else
		free((void *)(uintptr_t)r->start);
}

bool cot_emu_memory_take(size_t bytes)
{
	uint64_t limit = cot_emu_device_memory();

	if (bytes <= limit && atomic_fetch_add(&used_bytes, bytes) + bytes <= limit)
		return true;
	if (bytes <= limit)
		atomic_fetch_sub(&used_bytes, bytes);
	return false;
}

void cot_emu_memory_give(size_t bytes)
{
	atomic_fetch_sub(&used_bytes, bytes);
}

CUresult cot_emu_memory_make(struct cot_emu_context *c, size_t bytes, struct cot_emu_range *r)
{
	bool device = r->kind & (COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED);
	void *p = NULL;

	if (device && !cot_emu_memory_take(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->mapped = bytes >= MAP_BYTES ? bytes : 0;
	if (r->mapped)
		p = map_bytes(bytes);
	else if (posix_memalign(&p, COT_EMU_ALIGNMENT, bytes))
		p = NULL;
	r->start = (uintptr_t)p;
	r->bytes = bytes;
	r->context = c;
	r->device = c->device;
	if (p && !cot_emu_range_add(r)) {
		if (device)
			note(r->device, (int64_t)bytes);
		return CUDA_SUCCESS;
	}
	if (p && r->mapped)
		munmap(p, r->mapped);
	else
		free(p);
	if (device)
		atomic_fetch_sub(&used_bytes, bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void cot_emu_memory_forget(struct cot_emu_context *c)
{
	struct cot_emu_range r;

	while (cot_emu_range_take(c, &r))
		cot_emu_memory_free(&r);
}

CUresult cot_emu_free_now(CUdeviceptr ptr)
{
	struct cot_emu_range r;

	if (!cot_emu_range_remove(ptr, COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED, &r))
		return CUDA_ERROR_INVALID_VALUE;
	cot_emu_memory_free(&r);
	return CUDA_SUCCESS;
}

CUresult cot_emu_pool_make(struct cot_emu_context *c, CUmemoryPool pool, size_t bytes,
			   CUdeviceptr *ret_ptr)
{
	struct cot_emu_range r = {.kind = COT_EMU_RANGE_DEVICE, .pool = pool};
	CUresult result = cot_emu_memory_make(c, bytes, &r);

	if (!result)
		*ret_ptr = r.start;
	return result;
}
