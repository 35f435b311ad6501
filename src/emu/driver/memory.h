/*
 * Device memory is memory of the process, at the same address; it is private to it, as on the real
 * GPU. So is memory that host and device share: there is nothing to move. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_MEMORY_H
#define COT_EMU_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

#define COT_EMU_ALIGNMENT 512u

struct cot_emu_context;
struct cot_emu_range;

/* Makes memory and enters it; r->kind, flags and pool are given. */
CUresult cot_emu_memory_make(struct cot_emu_context *c, size_t bytes, struct cot_emu_range *r);
/* Of a range that is no longer in a table. */
void cot_emu_memory_free(const struct cot_emu_range *r);
/* Memory of a pool; NULL: of none. */
CUresult cot_emu_pool_make(struct cot_emu_context *c, CUmemoryPool pool, size_t bytes,
			   CUdeviceptr *ret_ptr);
CUresult cot_emu_free_now(CUdeviceptr ptr);
/* All that the context has. */
void cot_emu_memory_forget(struct cot_emu_context *c);
/* Counts memory of the device that is made elsewhere; false: there is not so much. */
bool cot_emu_memory_take(size_t bytes);
void cot_emu_memory_give(size_t bytes);
/* Of the device's, in bytes. */
uint64_t cot_emu_memory_used(void);

#endif
