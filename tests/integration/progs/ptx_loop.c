/*
 * PTX kernels one after another, each with new words, until a signal or the end of its time. Prints
 * "step N" whenever 20 ms have gone by, and at the end "loop steps N wrong N p50_us N p99_us N
 * max_us N": how long a step took, in wall time. With a period it is a server's requests.
 * ptx_loop [--seconds S] [--blocks N] [--rounds N] [--period-us N]
 */
#include "ptx_common.h"

#define MAX_BLOCKS  512u
#define MAX_SAMPLES 65536u
#define EVERY	    251u /* words that are checked: not all, for the CPU is the GPU here */

static uint32_t words[MAX_BLOCKS * PROG_THREADS];
static double samples[MAX_SAMPLES];

static unsigned count_wrong(unsigned n, unsigned rounds, uint32_t seed)
{
	unsigned wrong = 0, i, k;
	uint32_t v;

	for (i = 0; i < n; i += EVERY) {
		v = seed + i;
		for (k = 0; k < rounds; k++)
			v = v * 1664525u + 1013904223u;
		wrong += words[i] != v;
	}
	return wrong;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_end(unsigned long steps, unsigned wrong)
{
	size_t n = steps < MAX_SAMPLES ? steps : MAX_SAMPLES;

	qsort(samples, n, sizeof(samples[0]), by_size);
	printf("loop steps %lu wrong %u p50_us %.0f p99_us %.0f max_us %.0f\n", steps, wrong,
	       n ? samples[n / 2] : 0, n ? samples[n - 1 - n / 100] : 0, n ? samples[n - 1] : 0);
}

int main(int argc, char **argv)
{
	double seconds = prog_option(argc, argv, "--seconds", 5), begin, now, end, told = 0;
	double period_us = prog_option(argc, argv, "--period-us", 0);
	unsigned blocks = (unsigned)prog_option(argc, argv, "--blocks", 512), wrong = 0, n, i;
	unsigned rounds = (unsigned)prog_option(argc, argv, "--rounds", 100);
	struct ptx_prog p = ptx_start();
	CUfunction mix = ptx_function(&p, "mix");
	unsigned long steps = 0;
	CUdeviceptr d;
	void *params[] = {&d, &n, &rounds};

	if (!blocks || blocks > MAX_BLOCKS)
		return 2;
	n = blocks * PROG_THREADS;
	prog_catch_signals();
	PROG_CHECK(cuMemAlloc(&d, n * sizeof(words[0])));
	end = prog_now_us() + seconds * 1e6;
	while (!prog_stopped && (begin = prog_now_us()) < end) {
		for (i = 0; i < n; i++)
			words[i] = (uint32_t)steps + i;
		PROG_CHECK(cuMemcpyHtoDAsync(d, words, n * sizeof(words[0]), p.stream));
		PROG_CHECK(cuLaunchKernel(mix, blocks, 1, 1, PROG_THREADS, 1, 1, 0, p.stream,
					  params, NULL));
		PROG_CHECK(cuMemcpyDtoHAsync(words, d, n * sizeof(words[0]), p.stream));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		now = prog_now_us();
		wrong += count_wrong(n, rounds, (uint32_t)steps);
		samples[steps++ % MAX_SAMPLES] = now - begin;
		if (now - told > 20000) {
			told = now;
			printf("step %lu\n", steps);
			fflush(stdout);
		}
		prog_sleep_us(begin + period_us - prog_now_us());
	}
	print_end(steps, wrong);
	PROG_CHECK(cuCtxDestroy(p.context));
	return wrong != 0;
}
