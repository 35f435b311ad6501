/* Copies as tasks. They take no GPU time. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/inside.h"
#include "emu/driver/range.h"

/* Does the end of the copy lie where it may? A range that it begins in has to hold it all. */
static bool side_valid(uint64_t address, size_t bytes, enum cot_emu_side side)
{
	struct cot_emu_range r;

	if (!cot_emu_range_find(address, &r))
		return side == COT_EMU_ANYWHERE;
	return bytes <= r.bytes - (address - r.start);
}

CUresult cot_emu_task_flat(void *to, const void *from, size_t bytes, enum cot_emu_side to_side,
			   enum cot_emu_side from_side, struct cot_emu_task *ret_task)
{
	if (!to || !from || !side_valid((uintptr_t)to, bytes, to_side) ||
	    !side_valid((uintptr_t)from, bytes, from_side))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_task = (struct cot_emu_task){
		.kind = COT_EMU_TASK_COPY,
		.copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1},
	};
	return CUDA_SUCCESS;
}

CUresult cot_emu_task_stage(struct cot_emu_task *task)
{
	struct cot_emu_copy *c = &task->copy;
	size_t bytes = c->width * c->height * c->depth, y, z;
	unsigned char *to;

	to = malloc(bytes ? bytes : 1);
	if (!to)
		return CUDA_ERROR_OUT_OF_MEMORY;
	task->owned = to;
	task->owned_bytes = bytes;
	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++, to += c->width)
			memcpy(to, c->from + z * c->from_layer + y * c->from_pitch, c->width);
	c->from = task->owned;
	c->from_pitch = c->width;
	c->from_layer = c->width * c->height;
	return CUDA_SUCCESS;
}

/* ---- two and three dimensions ---- */

struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height;
};

/* The address of the copy's first byte, and how far it is to the next row and layer. */
static CUresult place(const struct end *e, const CUDA_MEMCPY3D *p, uintptr_t *ret_at,
		      size_t *ret_pitch, size_t *ret_layer)
{
	size_t pitch = e->pitch ? e->pitch : p->WidthInBytes;
	size_t height = e->height ? e->height : p->Height, layer, last;
	uintptr_t base;

	if (e->type == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	base = e->type == CU_MEMORYTYPE_HOST ? (uintptr_t)e->host : (uintptr_t)e->device;
	if (!base || pitch < p->WidthInBytes + e->x)
		return CUDA_ERROR_INVALID_VALUE;
	layer = pitch * height;
	*ret_at = base + e->z * layer + e->y * pitch + e->x;
	*ret_pitch = pitch;
	*ret_layer = layer;
	last = (p->Depth - 1) * layer + (p->Height - 1) * pitch + p->WidthInBytes;
	return side_valid(*ret_at, last,
			  e->type == CU_MEMORYTYPE_DEVICE ? COT_EMU_DEVICE : COT_EMU_ANYWHERE)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cot_emu_task_copy(const CUDA_MEMCPY3D *p, struct cot_emu_task *ret_task)
{
	struct end to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes,
			 p->dstY,	   p->dstZ,    p->dstPitch,  p->dstHeight};
	struct end from = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes,
			   p->srcY,	     p->srcZ,	 p->srcPitch,  p->srcHeight};
	struct cot_emu_task t = {.kind = COT_EMU_TASK_COPY};
	struct cot_emu_copy *c = &t.copy;
	uintptr_t to_at, from_at;
	CUresult result;

	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	result = place(&to, p, &to_at, &c->to_pitch, &c->to_layer);
	if (!result)
		result = place(&from, p, &from_at, &c->from_pitch, &c->from_layer);
	if (result)
		return result;
	c->to = (unsigned char *)to_at;
	c->from = (const unsigned char *)from_at;
	c->width = p->WidthInBytes;
	c->height = p->Height;
	c->depth = p->Depth;
	t.given = malloc(sizeof(*t.given));
	if (!t.given)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*t.given = *p;
	*ret_task = t;
	return CUDA_SUCCESS;
}
