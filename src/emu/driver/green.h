/*
 * Green contexts: parts of the SMs of a device, with streams whose kernels run there and nowhere
 * else. Everything but the SMs, such as modules, memory and faults, is the primary context's: that
 * is what the streams belong to. A green context is named in two ways, as itself and as the context
 * that cuCtxFromGreenCtx gives.
 *
 * Counted: by the program, until it destroys it, and by each stream. It holds the primary context
 * until it is destroyed. Thread-safe, but for one green context's events of all streams: as in
 * CUDA, one thread at a time works with a green context.
 */
#ifndef COT_EMU_DRIVER_GREEN_H
#define COT_EMU_DRIVER_GREEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/driver/inside.h"
#include "emu/driver/resource.h"

struct cot_emu_context;
struct CUstream_st;

struct CUgreenCtx_st {
	_Atomic uint32_t n_refs;
	char name;			 /* its address is the CUcontext */
	struct cot_emu_context *context; /* the primary one; NULL: it has gone */
	struct cot_emu_part part;
	uint64_t id;
	_Atomic bool gone; /* destroyed, or its context is */
	struct CUstream_st *null_stream;
	struct cot_emu_barrier barrier;
	struct CUgreenCtx_st *next;
};

CUresult cot_emu_green_make(const struct cot_emu_part *part, struct CUgreenCtx_st **ret_green);
/* Its streams stay, but can no longer be used. */
CUresult cot_emu_green_destroy(struct CUgreenCtx_st *green);
/* NULL may be given; returns the same. */
struct CUgreenCtx_st *cot_emu_green_ref(struct CUgreenCtx_st *green);
void cot_emu_green_unref(struct CUgreenCtx_st *green);
bool cot_emu_green_is_gone(const struct CUgreenCtx_st *green);
/* The context is going away. */
void cot_emu_greens_forget(struct cot_emu_context *c);

/* CUDA_ERROR_INVALID_CONTEXT: there is no such green context. */
CUresult cot_emu_green_get(CUgreenCtx handle, struct CUgreenCtx_st **ret_green);
/* NULL: this is another context. */
struct CUgreenCtx_st *cot_emu_green_of(CUcontext handle);
CUcontext cot_emu_green_context(struct CUgreenCtx_st *green);

#endif
