/*
 * The driver's functions: its entry points as jumps (stubs.c), and where they lead (driver.c). The
 * shim is a libcuda.so.1 in front of the driver's, in programs with a quota or a reservation. In
 * any doubt a launch is the driver's, as the program made it, and counted. The rules are those of
 * src/guest/os.h.
 */
#ifndef COT_GUEST_SHIM_DRIVER_H
#define COT_GUEST_SHIM_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "cuda/abi/calls.h"
#include "guest/env.h"

typedef void *cot_shim_handle; /* a function or a kernel; of an owner: a module or a library */

struct cot_shim_slot_of {
	const char *name;
	void **slot; /* holds the driver's function, once it is loaded */
};

extern const struct cot_shim_slot_of cot_shim_slots[];
extern const size_t cot_shim_n_slots;

#define ENTRY(name, since, shim, emulated, params) \
	typedef CUresult cot_fn_##name params;     \
	extern void *cot_real_##name __attribute__((visibility("hidden")));
#include "cuda/abi/api.def"

/*
 * The driver's function: COT_REAL(cuCtxGetCurrent)(&context). Loads the driver if need be. Where
 * the driver is older and has no such function, the call returns CUDA_ERROR_NOT_SUPPORTED.
 */
#define COT_REAL(name) ((cot_fn_##name *)__atomic_load_n(&cot_real_##name, __ATOMIC_RELAXED))

/* Fills all slots, once. The driver's functions, or ones that return an error. */
void cot_shim_driver_load(void);

/* What the user has asked for; read with the driver's loading at the latest. */
extern struct cot_settings cot_shim_settings;

/* Whether the program is to be controlled at all; otherwise everything is passed on. */
enum cot_shim_state { COT_SHIM_OFF, COT_SHIM_ASKED, COT_SHIM_ON };
extern _Atomic int cot_shim_state;
static inline bool cot_shim_is_asked(void)
{
	return atomic_load_explicit(&cot_shim_state, memory_order_relaxed) != COT_SHIM_OFF;
}

/* ---- cache.c: /etc/ld.so.cache ---- */

/*
 * The path of the `nth` library of that name for this machine in the bytes of a cache; NULL if
 * there are not so many, or the cache is damaged. It points into the bytes.
 */
const char *cot_shim_cache_find(const unsigned char *bytes, size_t n, const char *name,
				unsigned nth);

#endif
