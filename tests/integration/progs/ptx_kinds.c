/*
 * A program with kernels of both kinds: `own` is rewritten under the shim, `library` cannot be.
 * Runs them in turn, --launches of each or until SIGTERM, checks that every block has run, and
 * appends after each pair a line "own used N most N library used N most N": on how many SMs the
 * blocks were, and the highest %smid. Then "launched N wrong N", and it waits for SIGTERM.
 */
#include <unistd.h>

#include "common.h"

#define BLOCKS	     396u
#define SHARED_BYTES (40u * 1024) /* five blocks fit an SM */

/* clang-format off */
/* The loop lets other blocks begin beside it. */
#define KERNEL(name, wait)                                                                       \
	".visible .entry " name "(.param .u64 words, .param .u32 round)\n"                       \
	"{\n"                                                                                    \
	"  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"                               \
	"  ld.param.u64 %rd1, [words];\n"                                                        \
	"  ld.param.u32 %r5, [round];\n"                                                         \
	"  mov.u32 %r1, %ctaid.x;\n"                                                             \
	"  mul.wide.u32 %rd2, %r1, 8;\n"                                                         \
	"  add.u64 %rd3, %rd1, %rd2;\n"                                                          \
	"  mov.u32 %r4, 0;\n"                                                                    \
	"again:\n"                                                                               \
	"  add.u32 %r4, %r4, 1;\n"                                                               \
	"  setp.lt.u32 %p1, %r4, 8000;\n"                                                         \
	"  @%p1 bra again;\n"                                                                    \
	wait                                                                                     \
	"  mov.u32 %r2, %smid;\n"                                                                \
	"  st.global.u32 [%rd3], %r2;\n"                                                         \
	"  add.u32 %r3, %r1, %r5;\n"                                                             \
	"  st.global.u32 [%rd3+4], %r3;\n"                                                       \
	"  ret;\n"                                                                               \
	"}\n"

static const char text[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	KERNEL("own", "")
	/* It waits for another block's word, as far as a reader can see: nobody writes ~0 there. */
	KERNEL("library",
	       "wait:\n"
	       "  ld.volatile.global.u32 %r6, [%rd3+4];\n"
	       "  setp.eq.u32 %p2, %r6, 0xffffffff;\n"
	       "  @%p2 bra wait;\n");
/* clang-format on */

struct seen {
	unsigned used, most, wrong;
};

static struct seen look(const uint32_t (*words)[2], unsigned round)
{
	static unsigned char on[4096];
	struct seen s = {0};
	unsigned i;

	memset(on, 0, sizeof(on));
	for (i = 0; i < BLOCKS; i++) {
		uint32_t sm = words[i][0] % sizeof(on);

		s.used += !on[sm];
		on[sm] = 1;
		s.most = sm > s.most ? sm : s.most;
		s.wrong += words[i][1] != i + round;
	}
	return s;
}

static struct seen run(CUfunction kernel, CUstream stream, CUdeviceptr d, unsigned round)
{
	static uint32_t words[BLOCKS][2];
	void *params[] = {&d, &round};

	PROG_CHECK(cuMemsetD32Async(d, 0, 2 * BLOCKS, stream));
	PROG_CHECK(
		cuLaunchKernel(kernel, BLOCKS, 1, 1, 1, 1, 1, SHARED_BYTES, stream, params, NULL));
	PROG_CHECK(cuMemcpyDtoHAsync(words, d, sizeof(words), stream));
	PROG_CHECK(cuStreamSynchronize(stream));
	return look(words, round);
}

int main(int argc, char **argv)
{
	unsigned n = (unsigned)prog_option(argc, argv, "--launches", 1e9), i, wrong = 0;
	struct seen own, library;
	CUfunction kernels[2];
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUdeviceptr d;

	prog_catch_signals();
	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&kernels[0], module, "own"));
	PROG_CHECK(cuModuleGetFunction(&kernels[1], module, "library"));
	PROG_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemAlloc(&d, BLOCKS * 8));
	for (i = 0; i < n && !prog_stopped; i++) {
		own = run(kernels[0], stream, d, i);
		library = run(kernels[1], stream, d, i);
		wrong += own.wrong + library.wrong;
		printf("own used %u most %u library used %u most %u\n", own.used, own.most,
		       library.used, library.most);
		fflush(stdout);
	}
	printf("launched %u wrong %u\n", 2 * i, wrong);
	fflush(stdout);
	while (!prog_stopped)
		(void)usleep(1000);
	PROG_CHECK(cuDevicePrimaryCtxRelease(0));
	return wrong != 0;
}
