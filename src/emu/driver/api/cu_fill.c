/* Filling memory. */
#include "emu/driver/api/transfers.h"
#include "emu/driver/inside.h"

CUresult cot_emu_fill(CUstream stream, CUdeviceptr to, size_t pitch, unsigned value,
		      unsigned element, size_t width, size_t height, bool wait)
{
	CUDA_MEMSET_NODE_PARAMS p = {.dst = to,
				     .pitch = pitch,
				     .value = value,
				     .elementSize = element,
				     .width = width,
				     .height = height};
	struct cot_emu_context *c;
	struct cot_emu_task task;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!width || !height)
		return CUDA_SUCCESS;
	result = cot_emu_task_fill(&p, &task);
	if (result)
		return result;
	return wait ? cot_emu_stream_submit_and_wait(stream, &task)
		    : cot_emu_stream_submit(stream, &task);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
	return cot_emu_fill(stream, to, 0, value, 1, n, 1, false);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
{
	return cot_emu_fill(stream, to, 0, value, 2, n, 1, false);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
	return cot_emu_fill(stream, to, 0, value, 4, n, 1, false);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
	return cot_emu_fill(NULL, to, 0, value, 1, n, 1, true);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n)
{
	return cot_emu_fill(NULL, to, 0, value, 2, n, 1, true);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n)
{
	return cot_emu_fill(NULL, to, 0, value, 4, n, 1, true);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			   size_t height, CUstream stream)
{
	return cot_emu_fill(stream, to, pitch, value, 1, width, height, false);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			    size_t height, CUstream stream)
{
	return cot_emu_fill(stream, to, pitch, value, 2, width, height, false);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
			    size_t height, CUstream stream)
{
	return cot_emu_fill(stream, to, pitch, value, 4, width, height, false);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			 size_t height)
{
	return cot_emu_fill(NULL, to, pitch, value, 1, width, height, true);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			  size_t height)
{
	return cot_emu_fill(NULL, to, pitch, value, 2, width, height, true);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
	return cot_emu_fill(NULL, to, pitch, value, 4, width, height, true);
}
