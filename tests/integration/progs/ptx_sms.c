/*
 * How many SMs a program sees, and on how many its blocks run. Prints "sms N grid N nsmid N used N
 * most N": the device's attribute; the grid that the occupancy calculator proposes, in blocks for
 * each SM of these; %nsmid; the SMs on which blocks were, and the highest %smid.
 */
#include "ptx_common.h"

#define BLOCKS 300u /* each long enough that others begin beside it */

/* clang-format off */
static const char where_text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
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
	"}\n";
/* clang-format on */

int main(void)
{
	static uint32_t words[BLOCKS][2], blocks_of[4096];
	struct ptx_prog p = ptx_start();
	int n_sms, grid, block, per_sm;
	unsigned used = 0, most = 0, i;
	CUmodule module;
	CUfunction where;
	CUdeviceptr d;
	void *params[] = {&d};

	PROG_CHECK(cuModuleLoadData(&module, where_text));
	PROG_CHECK(cuModuleGetFunction(&where, module, "where"));
	PROG_CHECK(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	PROG_CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, where, NULL, 0, 0));
	PROG_CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, where, block, 0));
	PROG_CHECK(cuMemAlloc(&d, sizeof(words)));
	PROG_CHECK(cuLaunchKernel(where, BLOCKS, 1, 1, 32, 1, 1, 0, p.stream, params, NULL));
	PROG_CHECK(cuMemcpyDtoHAsync(words, d, sizeof(words), p.stream));
	PROG_CHECK(cuStreamSynchronize(p.stream));
	for (i = 0; i < BLOCKS; i++) {
		used += words[i][0] < 4096 && !blocks_of[words[i][0]]++;
		most = words[i][0] > most ? words[i][0] : most;
	}
	printf("sms %d grid %d nsmid %u used %u most %u\n", n_sms, per_sm ? grid / per_sm : 0,
	       words[0][1], used, most);
	PROG_CHECK(cuCtxDestroy(p.context));
	return 0;
}
