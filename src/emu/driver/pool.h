/*
 * Pools for allocations in stream order. Memory comes at once, so it is there before the stream
 * gets to it; it goes when the stream gets to the free. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_POOL_H
#define COT_EMU_DRIVER_POOL_H

#include <stddef.h>

#include "cuda/abi/calls.h"

struct cot_emu_context;

/* Memory of a pool (memory.c), and what tells the pool that it is gone. */
CUresult cot_emu_pool_make(struct cot_emu_context *c, CUmemoryPool pool, size_t bytes,
			   CUdeviceptr *ret_ptr);
void cot_emu_pool_gave_back(CUmemoryPool pool, size_t bytes);

#endif
