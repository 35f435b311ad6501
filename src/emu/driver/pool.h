/*
 * Pools for allocations in stream order. Memory comes at once, so it is there before the stream
 * gets to it; it goes when the stream gets to the free. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_POOL_H
#define COT_EMU_DRIVER_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

struct CUmemPoolHandle_st {
	CUdevice device;
	_Atomic uint64_t used, used_high, threshold;
	_Atomic int reuse[4];	 /* settings that change nothing here, by their attribute */
	_Atomic uint32_t n_refs; /* the program's, and one for each allocation */
};

/* The device's own pool, or the one that allocations come from now. */
CUresult cot_emu_pool_of_device(CUdevice device, bool current, CUmemoryPool *ret_pool);
bool cot_emu_pool_is_default(CUmemoryPool pool);
void cot_emu_pool_choose(CUdevice device, CUmemoryPool pool);
/* It goes with its last allocation. */
void cot_emu_pool_destroy(CUmemoryPool pool);
/* Tell the pool of an allocation, and that it is gone. */
void cot_emu_pool_took(CUmemoryPool pool, size_t bytes);
void cot_emu_pool_gave_back(CUmemoryPool pool, size_t bytes);

#endif
