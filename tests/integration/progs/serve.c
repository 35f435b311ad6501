/*
 * A service: requests of one or several kernels in a row, whose sizes it says, one after the other
 * with gaps in between; the batch programs beside it may be anybody's. It uses the primary context,
 * as programs on the CUDA runtime do.
 *
 *     serve [--count N] [--tasks N] [--block-us U] [--blocks N] [--gap-us U] [--sizes N] [--own-us
 * U] [--poll 1]
 *
 * In each request its own CPU takes --own-us before it waits for the result; --poll: it asks until
 * that is there. The sizes of requests are 1 to --sizes in turn, times 4; a request of size 4 K has
 * K times as many kernels. Each block of a kernel counts itself. Prints "requests N wrong N" at the
 * end, or when it is told to end. Exit status 1: a count was wrong.
 */
#include <cotenant/request.h>
#include <stdbool.h>

#include "common.h"

static struct prog begin(void)
{
	struct prog p;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&p.context, 0));
	PROG_CHECK(cuCtxSetCurrent(p.context));
	if (cuModuleLoadData(&p.module, COT_EMU_BUILTIN_IMAGE))
		PROG_CHECK(cuModuleLoadData(&p.module, prog_ptx));
	PROG_CHECK(cuModuleGetFunction(&p.spin, p.module, "spin"));
	PROG_CHECK(cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING));
	return p;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* How many blocks have counted themselves. */
static double own_us;
static bool polls;

static void wait_for(CUstream stream)
{
	CUresult rc;

	while (polls && (rc = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
		;
	if (!polls)
		rc = cuStreamSynchronize(stream);
	PROG_CHECK(rc);
}

static uint64_t answer(const struct prog *p, CUdeviceptr counter, unsigned tasks, unsigned blocks,
		       double block_us)
{
	uint64_t count = 0;
	unsigned i;

	PROG_CHECK(cuMemcpyHtoDAsync(counter, &count, sizeof(count), p->stream));
	for (i = 0; i < tasks; i++)
		PROG_CHECK(prog_spin(p, blocks, block_us, counter));
	PROG_CHECK(cuMemcpyDtoHAsync(&count, counter, sizeof(count), p->stream));
	if (own_us > 0)
		prog_sleep_us(own_us);
	wait_for(p->stream);
	return count;
}

int main(int argc, char **argv)
{
	unsigned most = (unsigned)prog_option(argc, argv, "--count", 1e9), n, n_wrong = 0;
	unsigned tasks = (unsigned)prog_option(argc, argv, "--tasks", 4);
	unsigned blocks = (unsigned)prog_option(argc, argv, "--blocks", 16);
	unsigned sizes = (unsigned)prog_option(argc, argv, "--sizes", 1);
	double block_us = prog_option(argc, argv, "--block-us", 500);
	double gap_us = prog_option(argc, argv, "--gap-us", 5000);
	struct prog p = begin();
	CUdeviceptr counter;

	own_us = prog_option(argc, argv, "--own-us", 0);
	polls = prog_option(argc, argv, "--poll", 0) > 0;
	PROG_CHECK(cuMemAlloc(&counter, sizeof(uint64_t)));
	prog_catch_signals();
	for (n = 0; n < most && !prog_stopped; n++) {
		unsigned size = n % sizes + 1;

		cot_request_begin(n, now_ns());
		cot_request_size(n, 4 * size);
		n_wrong += answer(&p, counter, tasks * size, blocks, block_us) !=
			   (uint64_t)tasks * size * blocks;
		cot_request_end(n);
		prog_sleep_us(gap_us);
	}
	printf("requests %u wrong %u\n", n, n_wrong);
	return n_wrong != 0;
}
