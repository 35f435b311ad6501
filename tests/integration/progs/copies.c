/*
 * Copies into the GPU and back, over and over, and looks at what comes back: as batch programs do,
 * or in requests.
 *
 *     copies [--requests 1] [--mib N] [--gap-us U]
 *
 * Prints "copies N wrong N" when it is told to end. Exit status 1: something else came back.
 */
#include <cotenant/request.h>

#include "common.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* In the primary context, as programs on the CUDA runtime: only those are placed. */
static struct prog start(void)
{
	CUcontext context;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	return prog_start_in(context);
}

int main(int argc, char **argv)
{
	bool requests = prog_option(argc, argv, "--requests", 0) > 0;
	size_t bytes = (size_t)prog_option(argc, argv, "--mib", 8) << 20, i;
	double gap_us = prog_option(argc, argv, "--gap-us", 0);
	struct prog p = start();
	uint32_t *there = malloc(bytes), *back = malloc(bytes), n, n_wrong = 0;
	CUdeviceptr memory;

	if (!there || !back)
		return 2;
	PROG_CHECK(cuMemAlloc(&memory, bytes));
	prog_catch_signals();
	for (n = 0; !prog_stopped; n++) {
		for (i = 0; i < bytes / sizeof(*there); i += 1024)
			there[i] = n + (uint32_t)i;
		if (requests)
			cot_request_begin(n, now_ns());
		PROG_CHECK(cuMemcpyHtoD(memory, there, bytes));
		PROG_CHECK(prog_spin(&p, 4, 100, 0));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		PROG_CHECK(cuMemcpyDtoH(back, memory, bytes));
		if (requests)
			cot_request_end(n);
		for (i = 0; i < bytes / sizeof(*there); i += 1024)
			n_wrong += back[i] != n + (uint32_t)i;
		prog_sleep_us(gap_us);
	}
	printf("copies %u wrong %u\n", n, n_wrong);
	return n_wrong != 0;
}
