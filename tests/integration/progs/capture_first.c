/*
 * The first launches of a program are recorded into a graph, as those of PyTorch's CUDA graphs may
 * be. The library learns of the program's GPU and streams only then.
 *
 *     capture_first [--kind K]      0: a stream that waits for the default stream, 1: one that does
 *                                   not, 2: the default stream of the thread
 *
 * The graph is launched, recorded once more, and launched again; in between a launch in the default
 * stream. Prints "launched N wrong N". Exit status 1: something was wrong.
 */
#include "common.h"

#define KERNELS 20u

static const char text[] = ".version 7.0\n.target sm_35\n.address_size 64\n"
			   ".visible .entry count(.param .u64 word)\n"
			   "{\n"
			   "  .reg .b64 %rd<3>;\n"
			   "  ld.param.u64 %rd1, [word];\n"
			   "  red.global.add.u32 [%rd1], 1;\n"
			   "  ret;\n"
			   "}\n";

static CUfunction function;
static CUdeviceptr word;

static void launch(CUstream stream)
{
	void *args[] = {&word};

	PROG_CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

static CUgraphExec record(CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;
	unsigned i;

	PROG_CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (i = 0; i < KERNELS; i++)
		launch(stream);
	PROG_CHECK(cuStreamEndCapture(stream, &graph));
	PROG_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	PROG_CHECK(cuGraphDestroy(graph));
	return exec;
}

static void run(CUstream stream)
{
	CUgraphExec exec = record(stream);

	PROG_CHECK(cuGraphLaunch(exec, stream));
	launch(NULL);
	PROG_CHECK(cuStreamSynchronize(stream));
	PROG_CHECK(cuGraphExecDestroy(exec));
}

int main(int argc, char **argv)
{
	int kind = (int)prog_option(argc, argv, "--kind", 0);
	uint32_t launched = 0, wanted = 2 * (KERNELS + 1);
	CUstream stream = CU_STREAM_PER_THREAD;
	CUcontext context;
	CUmodule module;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&function, module, "count"));
	PROG_CHECK(cuMemAlloc(&word, 4));
	PROG_CHECK(cuMemsetD32(word, 0, 1));
	if (kind < 2)
		PROG_CHECK(cuStreamCreate(&stream, kind ? CU_STREAM_NON_BLOCKING : 0));
	run(stream);
	run(stream);
	PROG_CHECK(cuCtxSynchronize());
	PROG_CHECK(cuMemcpyDtoH(&launched, word, 4));
	printf("launched %u wrong %d\n", launched, launched != wanted);
	return launched != wanted;
}
