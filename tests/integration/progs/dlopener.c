/*
 * Reaches the driver as the CUDA runtime does: dlopen, one dlsym, everything else through
 * cuGetProcAddress. Not linked with libcuda. dlopener [LIBRARY]
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cuda/abi/cuda.h"
#include "emu/driver/builtin.h"

/* Later ones have a cuCtxCreate with other parameters. */
#define VERSION 11030

static CUresult (*get)(const char *, void **, int, uint64_t, int *);

static void *resolve(const char *name)
{
	void *function = NULL;
	int status = 0;

	if (get(name, &function, VERSION, 0, &status) || !function)
		fprintf(stderr, "%s: not found (%d)\n", name, status);
	return function;
}

#define CALL(name, type, ...)                                           \
	do {                                                            \
		CUresult(*f) type;                                      \
		*(void **)&f = resolve(#name);                          \
		CUresult r = f ? f(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND; \
		if (r) {                                                \
			printf("failed " #name " %d\n", r);             \
			return 3;                                       \
		}                                                       \
	} while (0)

int main(int argc, char **argv)
{
	void *lib = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
	uint64_t block_ns = 100000, counter = 0, address;
	void *params[] = {&block_ns, &address};
	CUfunction spin;
	CUcontext ctx;
	CUmodule module;
	CUdeviceptr sum;

	if (!lib) {
		printf("failed dlopen %s\n", dlerror());
		return 3;
	}
	*(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
	if (!get)
		return 3;
	CALL(cuInit, (unsigned), 0);
	CALL(cuCtxCreate, (CUcontext *, unsigned, CUdevice), &ctx, 0, 0);
	CALL(cuModuleLoadData, (CUmodule *, const void *), &module, COT_EMU_BUILTIN_IMAGE);
	CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &spin, module, "spin");
	CALL(cuMemAlloc, (CUdeviceptr *, size_t), &sum, sizeof(counter));
	address = sum;
	CALL(cuMemsetD8, (CUdeviceptr, unsigned char, size_t), sum, 0, sizeof(counter));
	CALL(cuLaunchKernel,
	     (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	      CUstream, void **, void **),
	     spin, 32, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
	CALL(cuMemcpyDtoH, (void *, CUdeviceptr, size_t), &counter, sum, sizeof(counter));
	CALL(cuCtxDestroy, (CUcontext), ctx);
	printf("dlopener counter %llu\n", (unsigned long long)counter);
	return counter != 32;
}
