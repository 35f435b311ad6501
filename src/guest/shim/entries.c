/* The entry points by name, for cuGetProcAddress. */
#include "guest/shim/entries.h"
#include "guest/shim/driver.h"

#define NAME(name) extern void *cot_real_##name;
#include "cuda/abi/api.def"

/* Here only their addresses matter. */
#define NAME(name)
#define ROUTED(name, at, kind) void name(void);
#include "cuda/abi/api.def"

#define OURS_PASS(name)	       NULL
#define OURS_TAKE(name)	       (void *)(uintptr_t)(name)
#define OURS_ROUTE(name)       OURS_TAKE(name)
#define OURS_HOME(name)	       OURS_TAKE(name)
#define OURS_QUIET(name)       OURS_TAKE(name)
#define OURS_OUT(name)	       OURS_TAKE(name)
#define OURS_AWAIT(name)       OURS_TAKE(name)
#define NAME(name)	       {#name, &cot_real_##name, NULL, 0},
#define ROUTED(name, at, kind) {#name, &cot_real_##name, (void *)(uintptr_t)(name), 0},
#define ENTRY(name, since, shim, emulated, params) \
	{#name, &cot_real_##name, OURS_##shim(name), since},
const struct cot_shim_entry cot_shim_entries[] = {
#include "cuda/abi/api.def"
};
const size_t cot_shim_n_entries = sizeof(cot_shim_entries) / sizeof(cot_shim_entries[0]);
