/*
 * The entry points for programs whose default stream is one per thread: NULL means that one. For
 * most calls that is all; those that wait do so for the thread's stream alone.
 */
#include "emu/driver/api/transfers.h"
#include "emu/driver/inside.h"

#define S(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

#define DEFINE_EMU(name, params, args) \
	CUresult name##_ptsz params    \
	{                              \
		return name args;      \
	}
#define DEFINE_NONE(name, params, args)
#define ENTRY_STREAM(name, since, shim, emulated, params, args) \
	DEFINE_##emulated(name, params, args)
#include "cuda/abi/api.def"

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **params,
			       void **extra)
{
	CUlaunchConfig mine;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	mine = *config;
	mine.hStream = S(config->hStream);
	return cuLaunchKernelEx(&mine, function, params, extra);
}

/* ---- transfers that wait ---- */

static CUdeviceptr device(const void *ptr)
{
	return (uintptr_t)ptr;
}

CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, device(from), bytes);
}

CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, device(to), from, bytes);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
			   size_t bytes)
{
	(void)to_ctx;
	(void)from_ctx;
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy)
{
	CUDA_MEMCPY3D solid;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	solid = cot_emu_copy_of_plane(copy);
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, &solid, true);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy)
{
	return cuMemcpy2D_v2_ptds(copy);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, copy, true);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, copy, true);
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t n)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, 0, value, 1, n, 1, true);
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t n)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, 0, value, 2, n, 1, true);
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned value, size_t n)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, 0, value, 4, n, 1, true);
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			      size_t height)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, pitch, value, 1, width, height, true);
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			       size_t height)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, pitch, value, 2, width, height, true);
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
			       size_t height)
{
	return cot_emu_fill(CU_STREAM_PER_THREAD, to, pitch, value, 4, width, height, true);
}
