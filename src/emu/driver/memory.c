/*
 * Device memory is memory of the process, at the same address; it is private to it, as on the real
 * GPU. Transfers take no GPU time. A source in host memory is read when the call is made.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"

#define DEVICE_MEMORY (139ull << 30)
#define ALIGNMENT     512u

/* In front of each allocation. */
struct cot_emu_block {
	size_t bytes;
	struct cot_emu_context *context;
	struct cot_emu_block *prev, *next; /* in its context */
};

#define HEADER ALIGNMENT
static_assert(sizeof(struct cot_emu_block) <= HEADER, "the header keeps the alignment");

static _Atomic uint64_t used_bytes;

static void link_block(struct cot_emu_context *c, struct cot_emu_block *b)
{
	pthread_mutex_lock(&c->lock);
	b->context = c;
	b->prev = NULL;
	b->next = c->blocks;
	if (b->next)
		b->next->prev = b;
	c->blocks = b;
	pthread_mutex_unlock(&c->lock);
}

static void unlink_block(struct cot_emu_block *b)
{
	pthread_mutex_lock(&b->context->lock);
	if (b->prev)
		b->prev->next = b->next;
	else
		b->context->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
	pthread_mutex_unlock(&b->context->lock);
}

void cot_emu_blocks_free(struct cot_emu_context *c)
{
	struct cot_emu_block *b;

	while ((b = c->blocks)) {
		c->blocks = b->next;
		atomic_fetch_sub(&used_bytes, b->bytes);
		free(b);
	}
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (free_bytes)
		*free_bytes = DEVICE_MEMORY - atomic_load(&used_bytes);
	if (total_bytes)
		*total_bytes = DEVICE_MEMORY;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct cot_emu_context *c;
	struct cot_emu_block *b;
	CUresult result = cot_emu_current(&c);
	void *memory;

	if (result)
		return result;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > DEVICE_MEMORY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (atomic_fetch_add(&used_bytes, bytes) + bytes > DEVICE_MEMORY ||
	    posix_memalign(&memory, ALIGNMENT, bytes + HEADER)) {
		atomic_fetch_sub(&used_bytes, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	b = memory;
	b->bytes = bytes;
	link_block(c, b);
	*ptr = (uintptr_t)memory + HEADER;
	return CUDA_SUCCESS;
}

/* Waits for all work of the context first, as the real one does. */
CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult result = cuCtxSynchronize();
	struct cot_emu_block *b;

	if (result || !ptr)
		return result;
	b = (struct cot_emu_block *)(uintptr_t)(ptr - HEADER);
	unlink_block(b);
	atomic_fetch_sub(&used_bytes, b->bytes);
	free(b);
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = malloc(bytes);
	return *ptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *ptr)
{
	CUresult result = cuCtxSynchronize();

	if (!result)
		free(ptr);
	return result;
}

/* ---- transfers ---- */

static CUresult copy(CUstream stream, void *to, const void *from, size_t bytes, bool stage)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_COPY, .to = to, .from = from, .n = bytes};
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !bytes)
		return result;
	if (!to || !from)
		return CUDA_ERROR_INVALID_VALUE;
	if (stage) {
		op.owned = malloc(bytes);
		if (!op.owned)
			return CUDA_ERROR_OUT_OF_MEMORY;
		op.from = memcpy(op.owned, from, bytes);
	}
	return cot_emu_stream_push(s, &op);
}

static CUresult set(CUstream stream, CUdeviceptr to, uint32_t value, uint32_t element, size_t n)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_SET, .n = n, .value = value, .element = element};
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !n)
		return result;
	if (!to)
		return CUDA_ERROR_INVALID_VALUE;
	op.to = (unsigned char *)(uintptr_t)to;
	return cot_emu_stream_push(s, &op);
}

/* A call that waits: after everything that was launched before, on any stream. */
static CUresult after_all(CUresult result)
{
	return result ? result : cuCtxSynchronize();
}

static void *host(CUdeviceptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return copy(stream, host(to), from, bytes, true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy(stream, to, host(from), bytes, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy(stream, host(to), host(from), bytes, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	CUresult result = cuCtxSynchronize();

	return result ? result : after_all(copy(NULL, host(to), from, bytes, false));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	CUresult result = cuCtxSynchronize();

	return result ? result : after_all(copy(NULL, to, host(from), bytes, false));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	CUresult result = cuCtxSynchronize();

	return result ? result : after_all(copy(NULL, host(to), host(from), bytes, false));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
	return set(stream, to, value, 1, n);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
	return set(stream, to, value, sizeof(value), n);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
	CUresult result = cuCtxSynchronize();

	return result ? result : after_all(set(NULL, to, value, 1, n));
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n)
{
	CUresult result = cuCtxSynchronize();

	return result ? result : after_all(set(NULL, to, value, sizeof(value), n));
}
