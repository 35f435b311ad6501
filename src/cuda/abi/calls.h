/* The entry points of libcuda.so.1 of which we know the parameters, declared from api.def. */
#ifndef COT_CUDA_ABI_CALLS_H
#define COT_CUDA_ABI_CALLS_H

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "cuda/abi/errors.h"
#include "cuda/abi/types.h"

/* The CUDA whose interface this is. */
#define COT_CUDA_VERSION 13000

#define ENTRY(name, since, shim, emulated, params) COT_EXPORT CUresult name params;
#include "cuda/abi/api.def"

/*
 * Whether `name`, as exported, is a version of what programs ask cuGetProcAddress for:
 * cuMemAlloc_v2 of cuMemAlloc.
 */
static inline bool cot_cuda_is_version_of(const char *name, const char *symbol)
{
	size_t n = strlen(name);

	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '2' &&
	    name[n - 1] <= '9')
		n -= 3;
	return strlen(symbol) == n && !memcmp(name, symbol, n);
}

#endif
