/*
 * The bound of a program's memory (`cotenant run --memory`): what this process has of each GPU, and
 * whether more would be too much.
 *
 * What counts is what the program asks for: allocations of every kind, and what the driver keeps in
 * its pools. What another process has allocated and this one only opens is that one's. The driver's
 * own memory, for contexts and code, does not count, nor does that of nodes of graphs. From any
 * thread.
 */
#ifndef COT_GUEST_SHIM_MEMORY_H
#define COT_GUEST_SHIM_MEMORY_H

#include "guest/shim/fork.h"
#include "proto/proto.h"

#define COT_SHIM_MEMORY_GPUS 16

/* What a number is the name of. */
enum cot_shim_memory_kind {
	COT_SHIM_MEMORY_ADDRESS,
	COT_SHIM_MEMORY_HANDLE, /* of physical memory, mapped or not */
	COT_SHIM_MEMORY_ARRAY,
	COT_SHIM_MEMORY_POOL, /* which has what the driver says */
};

/* An allocation on its way: it has been found to fit, and counts already. */
struct cot_shim_memory_claim {
	int device; /* -1: it is not counted */
	uint64_t bytes;
};

static inline bool cot_shim_memory_is_bound(void)
{
	return COT_UNLIKELY(cot_shim_settings.memory_bytes != 0) && cot_shim_is_on();
}

/* CUDA_ERROR_OUT_OF_MEMORY, and counted: it would be too much. Device -1: the current context's. */
CUresult cot_shim_memory_claim(int device, uint64_t bytes, struct cot_shim_memory_claim *ret_claim);
/* Out of a pool, NULL: the device's current one; it takes from the device what it has not yet. */
CUresult cot_shim_memory_claim_pool(CUmemoryPool pool, uint64_t bytes,
				    struct cot_shim_memory_claim *ret_claim);
/* The allocation has the name, and counts until that is dropped; or, if `rc` says that the driver
 * has not made it, no longer. */
void cot_shim_memory_settle(const struct cot_shim_memory_claim *claim, CUresult rc,
			    enum cot_shim_memory_kind kind, uint64_t name);
/* Its owner has given it back. One that is not known is not ours. */
void cot_shim_memory_drop(enum cot_shim_memory_kind kind, uint64_t name);
/* Physical memory is there until its handle is released and nothing of it is mapped any longer. */
void cot_shim_memory_hold(uint64_t handle);
void cot_shim_memory_map(uint64_t handle, CUdeviceptr at);
void cot_shim_memory_unmap(CUdeviceptr at, size_t bytes);
/* A context ends, and all of its allocations; a pool is made. */
void cot_shim_memory_context_gone(CUcontext context);
void cot_shim_memory_pool(CUmemoryPool pool, int device);
/* What the program may still have, and has in all, of what the driver says. */
void cot_shim_memory_info(size_t *free_bytes, size_t *total_bytes);
/* False: nothing has changed since the last time, and `always` is not set. Calls no driver. */
bool cot_shim_memory_tell(int device, bool always, struct cot_msg_memory *ret_m);
void cot_shim_memory_forget(void); /* after fork() */

#endif
