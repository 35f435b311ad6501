/* Copies and fills with the stream as an argument, for cu_per_thread.c; `wait`: for the end. */
#ifndef COT_EMU_DRIVER_API_TRANSFERS_H
#define COT_EMU_DRIVER_API_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/abi/calls.h"

/* Waits. */
CUresult cot_emu_copy_flat(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cot_emu_copy_solid(CUstream stream, const CUDA_MEMCPY3D *p, bool wait);
CUDA_MEMCPY3D cot_emu_copy_of_plane(const CUDA_MEMCPY2D *p);
CUresult cot_emu_fill(CUstream stream, CUdeviceptr to, size_t pitch, unsigned value,
		      unsigned element, size_t width, size_t height, bool wait);

#endif
