/*
 * A kernel that runs until it is told to stop, and counts meanwhile in memory that the host sees.
 * Prints "count N" every 20 ms, and at the end "poll count N".
 * ptx_poll [--seconds S] [--blocks N]
 */
#include "ptx_common.h"

#define MAX_BLOCKS 64

static uint64_t sum(const uint32_t *counts, unsigned n)
{
	uint64_t total = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		total += __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
	return total;
}

int main(int argc, char **argv)
{
	double seconds = prog_option(argc, argv, "--seconds", 1), end;
	unsigned blocks = (unsigned)prog_option(argc, argv, "--blocks", 2);
	struct ptx_prog p = ptx_start();
	uint32_t *counts, one = 1;
	CUdeviceptr stop, mapped;
	void *memory;
	void *params[] = {&stop, &mapped};

	if (!blocks || blocks > MAX_BLOCKS)
		return 2;
	prog_catch_signals();
	PROG_CHECK(cuMemAlloc(&stop, sizeof(one)));
	PROG_CHECK(cuMemsetD32(stop, 0, 1));
	PROG_CHECK(cuMemHostAlloc(&memory, MAX_BLOCKS * sizeof(*counts), 2));
	PROG_CHECK(cuMemHostGetDevicePointer(&mapped, memory, 0));
	counts = memory;
	memset(counts, 0, MAX_BLOCKS * sizeof(*counts));
	PROG_CHECK(cuLaunchKernel(ptx_function(&p, "poll"), blocks, 1, 1, 1, 1, 1, 0, p.stream,
				  params, NULL));
	end = prog_now_us() + seconds * 1e6 / prog_scale();
	while (!prog_stopped && prog_now_us() < end) {
		printf("count %llu\n", (unsigned long long)sum(counts, blocks));
		fflush(stdout);
		prog_sleep_us(20000 / prog_scale());
	}
	PROG_CHECK(cuMemcpyHtoDAsync(stop, &one, sizeof(one), p.other));
	PROG_CHECK(cuStreamSynchronize(p.stream));
	printf("poll count %llu\n", (unsigned long long)sum(counts, blocks));
	PROG_CHECK(cuCtxDestroy(p.context));
	return 0;
}
