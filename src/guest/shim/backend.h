/*
 * Launches that a backend makes one of with those of other programs (`cotenant run --backend`,
 * docs/backend.md).
 *
 *     backend.c          the connection, and the thread that sees its end
 *     backend_memory.c   the program's memory, at addresses that the backend maps as well
 *     backend_code.c     which kernels the backend has
 *     backend_cost.c     what launches take here, and handed over
 *     backend_launch.c   which launches are handed over, and what becomes of them
 *
 * A launch is handed over while the program's thread waits, for the window and little more. If the
 * backend has made it, the stream waits for a number in common memory, which comes behind the
 * merged launch; else the program makes it. So whatever the program does next is in order. What is
 * handed over is first in its stream, or follows others that were: the backend never waits for the
 * program, and no two can wait for each other.
 */
#ifndef COT_GUEST_SHIM_BACKEND_H
#define COT_GUEST_SHIM_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "guest/shim/driver.h"
#include "guest/shim/launch.h"

static inline bool cot_shim_backend_is_asked(void)
{
	return COT_UNLIKELY(cot_shim_settings.backend[0] != '\0');
}

/* The program's launch. The driver's result. */
int cot_shim_backend_launch(const struct cot_shim_original *o);

/* False: it is to be the driver's. */
bool cot_shim_backend_alloc(CUdeviceptr *ptr, size_t bytes);
/* False: it was not from there. */
bool cot_shim_backend_free(CUdeviceptr ptr, CUresult *ret_rc);

/* What a launch failed with that the backend had made; 0: none has. It stays. */
extern _Atomic int cot_shim_backend_fault;
static inline int cot_shim_backend_rc(int rc)
{
	int fault = atomic_load_explicit(&cot_shim_backend_fault, memory_order_relaxed);

	return COT_LIKELY(!fault) || rc ? rc : fault;
}

void cot_shim_backend_entered(CUstream stream); /* something is put into it */
void cot_shim_backend_stream_gone(CUstream stream);
void cot_shim_backend_code_gone(void);

#endif
