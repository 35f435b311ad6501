/* Parts of the emulated GPU for tests: a kernel that says on which SMs it ran, and one split. */
#ifndef COT_TESTS_GREEN_H
#define COT_TESTS_GREEN_H

#include <stdint.h>
#include <string.h>

#include "cuda/abi/cuda.h"
#include "test.h"

#define OK(call)       assert_int_equal(call, CUDA_SUCCESS)
#define N_SMS	       132u
#define UNIT	       8u
#define N_UNITS	       15u /* and twelve SMs are left, as on an H200 */
#define GREEN_BLOCKS   300u
#define GREEN_NO_BLOCK 0xffffffffu

/* clang-format off */
static const char green_ptx[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	/* Each block writes its SM; the loop lets others begin beside it. */
	".visible .entry where(.param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r1, %ctaid.x;\n"
	"  mul.wide.u32 %rd2, %r1, 4;\n"
	"  add.u64 %rd3, %rd1, %rd2;\n"
	"  mov.u32 %r2, %smid;\n"
	"  mov.u32 %r3, 0;\n"
	"again:\n"
	"  add.u32 %r3, %r3, 1;\n"
	"  setp.lt.u32 %p1, %r3, 3000;\n"
	"  @%p1 bra again;\n"
	"  st.global.u32 [%rd3], %r2;\n"
	"  ret;\n"
	"}\n"
	/* Waits until words[0] is not zero. */
	".visible .entry poll(.param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"again:\n"
	"  ld.volatile.global.u32 %r1, [%rd1];\n"
	"  setp.eq.u32 %p1, %r1, 0;\n"
	"  @%p1 bra again;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

/* Units of eight SMs, of one split. */
static inline void green_units(CUdevResource units[N_UNITS], CUdevResource *rest, unsigned flags)
{
	CUdevResource all;
	unsigned n = N_UNITS;

	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	OK(cuDevSmResourceSplitByCount(units, &n, &all, rest, flags, UNIT));
	assert_int_equal(n, N_UNITS);
}

/* On the units [first, first + n). */
static inline CUgreenCtx green_make(CUdevResource *units, unsigned first, unsigned n)
{
	CUdevResourceDesc desc;
	CUgreenCtx green;

	OK(cuDevResourceGenerateDesc(&desc, units + first, n));
	OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	return green;
}

static inline CUstream green_stream(CUgreenCtx green)
{
	CUstream s;

	OK(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
	return s;
}

static inline CUcontext green_ctx(CUgreenCtx green)
{
	CUcontext ctx;

	OK(cuCtxFromGreenCtx(&ctx, green));
	return ctx;
}

/* ---- what each test begins with: the primary context, kernels in it, and one split ---- */

static struct {
	CUcontext primary;
	CUlibrary library;
	CUmodule module; /* of the library */
	CUfunction where, poll;
	CUdeviceptr words; /* of `where` */
	CUdeviceptr flag;  /* of `poll` */
	CUdevResource units[N_UNITS], rest;
} green;

static inline int green_setup(void **state)
{
	(void)state;
	OK(cuDevicePrimaryCtxRetain(&green.primary, 0));
	OK(cuCtxSetCurrent(green.primary));
	OK(cuLibraryLoadData(&green.library, green_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetModule(&green.module, green.library));
	OK(cuModuleGetFunction(&green.where, green.module, "where"));
	OK(cuModuleGetFunction(&green.poll, green.module, "poll"));
	OK(cuMemAlloc(&green.words, GREEN_BLOCKS * sizeof(uint32_t)));
	OK(cuMemsetD32(green.words, GREEN_NO_BLOCK, GREEN_BLOCKS));
	OK(cuMemAlloc(&green.flag, sizeof(uint32_t)));
	OK(cuMemsetD32(green.flag, 0, 1));
	green_units(green.units, &green.rest, 0);
	return 0;
}

static inline int green_teardown(void **state)
{
	(void)state;
	OK(cuLibraryUnload(green.library));
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuCtxSetCurrent(NULL));
	return 0;
}

/* The SMs on which blocks of the last `where` were: the lowest, the highest, and how many. */
struct green_seen {
	uint32_t least, most, n;
};

static inline struct green_seen green_look(void)
{
	static uint32_t at[GREEN_BLOCKS];
	struct green_seen seen = {.least = UINT32_MAX};
	uint32_t blocks_of[1024] = {0}, i;

	OK(cuMemcpyDtoH(at, green.words, sizeof(at)));
	for (i = 0; i < GREEN_BLOCKS; i++) {
		assert_in_range(at[i], 0, 1023);
		seen.n += !blocks_of[at[i]]++;
		seen.least = at[i] < seen.least ? at[i] : seen.least;
		seen.most = at[i] > seen.most ? at[i] : seen.most;
	}
	return seen;
}

static inline void green_assert_on(uint32_t first, uint32_t n)
{
	struct green_seen seen = green_look();

	assert_in_range(seen.least, first, first + n - 1);
	assert_in_range(seen.most, first, first + n - 1);
	/* Not on a part of these by accident. */
	assert_true(seen.n > n / 2);
	OK(cuMemsetD32(green.words, GREEN_NO_BLOCK, GREEN_BLOCKS));
}

static inline CUresult green_launch_where(CUstream s)
{
	void *params[] = {&green.words};

	return cuLaunchKernel(green.where, GREEN_BLOCKS, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

/* Lasts until somebody calls green_release(). */
static inline CUresult green_launch_poll(CUstream s)
{
	void *params[] = {&green.flag};

	return cuLaunchKernel(green.poll, 1, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

static inline void green_release(void)
{
	__atomic_store_n((uint32_t *)(uintptr_t)green.flag, 1, __ATOMIC_RELEASE);
}

/* Runs `where` in the stream: its blocks are on the SMs [first, first + n). */
static inline void green_check(CUstream s, uint32_t first, uint32_t n)
{
	OK(green_launch_where(s));
	OK(cuStreamSynchronize(s));
	green_assert_on(first, n);
}

#endif
