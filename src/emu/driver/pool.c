#include "emu/driver/pool.h"

#include <stdlib.h>

#include "emu/driver/inside.h"

static struct CUmemPoolHandle_st default_pools[COT_EMU_MAX_GPUS];
static _Atomic(CUmemoryPool) current_pools[COT_EMU_MAX_GPUS];

bool cot_emu_pool_is_default(CUmemoryPool pool)
{
	return pool >= default_pools && pool < default_pools + COT_EMU_MAX_GPUS;
}

static void unref(CUmemoryPool pool)
{
	if (!cot_emu_pool_is_default(pool) && atomic_fetch_sub(&pool->n_refs, 1) == 1)
		free(pool);
}

void cot_emu_pool_gave_back(CUmemoryPool pool, size_t bytes)
{
	atomic_fetch_sub(&pool->used, bytes);
	unref(pool);
}

CUresult cot_emu_pool_of_device(CUdevice device, bool current, CUmemoryPool *ret_pool)
{
	CUresult result = cot_emu_ready();
	CUmemoryPool pool = NULL;

	if (result || !ret_pool)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	default_pools[device].device = device;
	if (current)
		pool = atomic_load(&current_pools[device]);
	*ret_pool = pool ? pool : &default_pools[device];
	return CUDA_SUCCESS;
}

void cot_emu_pool_took(CUmemoryPool pool, size_t bytes)
{
	uint64_t used = atomic_fetch_add(&pool->used, bytes) + bytes;
	uint64_t high = atomic_load(&pool->used_high);

	while (used > high && !atomic_compare_exchange_weak(&pool->used_high, &high, used))
		;
	if (!cot_emu_pool_is_default(pool))
		atomic_fetch_add(&pool->n_refs, 1);
}

void cot_emu_pool_choose(CUdevice device, CUmemoryPool pool)
{
	atomic_store(&current_pools[device], pool);
}

void cot_emu_pool_destroy(CUmemoryPool pool)
{
	CUmemoryPool p = pool;

	atomic_compare_exchange_strong(&current_pools[pool->device], &p, NULL);
	unref(pool);
}
