/*
 * Kernels in PTX that really run, for the programs ptx_*.c: on the emulated GPU, and the same text
 * on a real one.
 */
#ifndef COT_TESTS_PTX_COMMON_H
#define COT_TESTS_PTX_COMMON_H

#include "bench/mix_ptx.h"
#include "common.h"

/* clang-format off */
static const char ptx_text[] =
	MIX_PTX_HEAD("sm_35")
	/* Every block's first thread counts in counts[block] until stop[0] is not zero. */
	".visible .entry poll(.param .u64 stop, .param .u64 counts)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<5>;\n"
	"  ld.param.u64 %rd1, [stop];\n"
	"  ld.param.u64 %rd2, [counts];\n"
	"  mov.u32 %r1, %ctaid.x;\n"
	"  mul.wide.u32 %rd3, %r1, 4;\n"
	"  add.u64 %rd4, %rd2, %rd3;\n"
	"  mov.u32 %r2, 0;\n"
	"again:\n"
	"  add.u32 %r2, %r2, 1;\n"
	"  st.volatile.global.u32 [%rd4], %r2;\n"
	"  ld.volatile.global.u32 %r3, [%rd1];\n"
	"  setp.eq.u32 %p1, %r3, 0;\n"
	"  @%p1 bra again;\n"
	"  ret;\n"
	"}\n"
	MIX_PTX
	/* Neighbours write the same word: a race. */
	".visible .entry race(.param .u64 words)\n"
	"{\n"
	"  .reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r1, %tid.x;\n"
	"  shr.u32 %r2, %r1, 6;\n"
	"  mul.wide.u32 %rd2, %r2, 4;\n"
	"  add.u64 %rd3, %rd1, %rd2;\n"
	"  st.global.u32 [%rd3], %r1;\n"
	"  ret;\n"
	"}\n"
	/* Each block writes %smid and %nsmid; the loop lets others begin beside it. */
	".visible .entry where(.param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r1, %ctaid.x;\n"
	"  mul.wide.u32 %rd2, %r1, 8;\n"
	"  add.u64 %rd3, %rd1, %rd2;\n"
	"  mov.u32 %r2, %smid;\n"
	"  mov.u32 %r3, %nsmid;\n"
	"  mov.u32 %r4, 0;\n"
	"again:\n"
	"  add.u32 %r4, %r4, 1;\n"
	"  setp.lt.u32 %p1, %r4, 8000;\n"
	"  @%p1 bra again;\n"
	"  st.global.u32 [%rd3], %r2;\n"
	"  st.global.u32 [%rd3+4], %r3;\n"
	"  ret;\n"
	"}\n"
	/* 0: nothing; 1: far beyond; 2: not aligned; 3: trap */
	".visible .entry wrong(.param .u64 words, .param .u32 how)\n"
	"{\n"
	"  .reg .pred %p<4>; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.param.u32 %r1, [how];\n"
	"  setp.eq.u32 %p1, %r1, 1;\n"
	"  setp.eq.u32 %p2, %r1, 2;\n"
	"  setp.eq.u32 %p3, %r1, 3;\n"
	"  @%p1 st.global.u32 [%rd1+0x40000000], %r1;\n"
	"  @%p2 st.global.u32 [%rd1+2], %r1;\n"
	"  @%p3 trap;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

struct ptx_prog {
	CUcontext context;
	CUmodule module;
	CUstream stream, other;
};

static inline struct ptx_prog ptx_start(void)
{
	struct ptx_prog p;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuCtxCreate(&p.context, 0, 0));
	PROG_CHECK(cuModuleLoadData(&p.module, ptx_text));
	PROG_CHECK(cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamCreate(&p.other, CU_STREAM_NON_BLOCKING));
	return p;
}

static inline CUfunction ptx_function(const struct ptx_prog *p, const char *name)
{
	CUfunction f;

	PROG_CHECK(cuModuleGetFunction(&f, p->module, name));
	return f;
}

/* On which SMs the blocks of `where` were. */
struct ptx_where {
	unsigned nsmid, used, least, most;
};

#define PTX_WHERE_BLOCKS 300u

static inline struct ptx_where ptx_where(const struct ptx_prog *p, CUstream stream)
{
	static uint32_t words[PTX_WHERE_BLOCKS][2], blocks_of[4096];
	struct ptx_where seen = {.least = UINT32_MAX};
	CUdeviceptr d;
	void *params[] = {&d};
	uint32_t i, sm;

	PROG_CHECK(cuMemAlloc(&d, sizeof(words)));
	PROG_CHECK(cuLaunchKernel(ptx_function(p, "where"), PTX_WHERE_BLOCKS, 1, 1, 32, 1, 1, 0,
				  stream, params, NULL));
	PROG_CHECK(cuMemcpyDtoHAsync(words, d, sizeof(words), stream));
	PROG_CHECK(cuStreamSynchronize(stream));
	memset(blocks_of, 0, sizeof(blocks_of));
	for (i = 0; i < PTX_WHERE_BLOCKS; i++) {
		sm = words[i][0];
		seen.used += sm < 4096 && !blocks_of[sm]++;
		seen.least = sm < seen.least ? sm : seen.least;
		seen.most = sm > seen.most ? sm : seen.most;
	}
	seen.nsmid = words[0][1];
	PROG_CHECK(cuMemFree(d));
	return seen;
}

#endif
