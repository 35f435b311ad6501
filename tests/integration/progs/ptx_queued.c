/*
 * Kernels queued in two streams, of which the first of each runs until a file is there. Then it
 * does nothing, until a signal. It uses the primary context, as programs on the CUDA runtime do.
 * ptx_queued --until FILE
 */
#include "ptx_common.h"

#define QUEUED	 8
#define MOST_MS	 100000
#define POINT_MS 20

static CUdeviceptr stop, count;

static void launch(CUfunction poll, CUstream stream)
{
	void *params[] = {&stop, &count};

	PROG_CHECK(cuLaunchKernel(poll, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void nap(const char *until)
{
	int i;

	for (i = 0; i < MOST_MS / POINT_MS && !prog_stopped; i++) {
		if (until && access(until, F_OK) == 0)
			return;
		usleep(POINT_MS * 1000);
	}
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUfunction poll;
	CUstream streams[3];
	int i;

	if (argc != 3 || strcmp(argv[1], "--until") != 0)
		return 2;
	prog_catch_signals();
	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, ptx_text));
	PROG_CHECK(cuModuleGetFunction(&poll, module, "poll"));
	PROG_CHECK(cuMemAlloc(&stop, 4));
	PROG_CHECK(cuMemAlloc(&count, 4));
	PROG_CHECK(cuMemsetD32(stop, 0, 1));
	for (i = 0; i < 3; i++)
		PROG_CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	for (i = 0; i < QUEUED; i++)
		launch(poll, streams[i % 2]);
	puts("queued");
	fflush(stdout);
	nap(argv[2]);
	PROG_CHECK(cuMemsetD32Async(stop, 1, 1, streams[2]));
	PROG_CHECK(cuStreamSynchronize(streams[0]));
	PROG_CHECK(cuStreamSynchronize(streams[1]));
	puts("done");
	fflush(stdout);
	nap(NULL);
	return 0;
}
