/*
 * Latency-sensitive program: a small kernel every now and then, and how long each took.
 * Gaps vary between half and one and a half of the mean, so as not to fall in step with slices.
 * request [--seconds S] [--count N] [--gap-us U] [--block-us U] [--blocks N] [--device D]
 * Prints "requests N p50_us A p99_us B max_us C gpu_p50_us D gpu_p99_us E gpu_max_us F". The first
 * three are as the program sees them; the others, from events, are of the requests that were handed
 * over in one go: where the program had to wait for a processor between an event and the kernel,
 * the time between the events is not the GPU's. So these are exact however busy the CPU is. --count
 * counts them.
 */
#include "base/rng.h"
#include "common.h"

#define MAX_REQUESTS 100000u
#define ONE_GO_US    40 /* a few times what the calls take */

static double seen_us[MAX_REQUESTS], gpu_us[MAX_REQUESTS];

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *prefix, double *us, unsigned n)
{
	if (!n)
		return;
	qsort(us, n, sizeof(us[0]), compare);
	printf(" %sp50_us %.0f %sp99_us %.0f %smax_us %.0f", prefix, us[n / 2], prefix,
	       us[(size_t)n * 99 / 100], prefix, us[n - 1]);
}

int main(int argc, char **argv)
{
	double seconds = prog_option(argc, argv, "--seconds", 2);
	double gap_us = prog_option(argc, argv, "--gap-us", 3000);
	double block_us = prog_option(argc, argv, "--block-us", 100);
	unsigned blocks = (unsigned)prog_option(argc, argv, "--blocks", 16);
	unsigned most = (unsigned)prog_option(argc, argv, "--count", MAX_REQUESTS), n = 0;
	unsigned n_exact = 0;
	struct prog p = prog_start((int)prog_option(argc, argv, "--device", 0));
	double begun = prog_now_us(), t, calls_us;
	struct cot_rng rng = {1};
	CUevent from, to;
	float ms;

	PROG_CHECK(cuEventCreate(&from, 0));
	PROG_CHECK(cuEventCreate(&to, 0));
	prog_catch_signals();
	while (!prog_stopped && n_exact < most && n < MAX_REQUESTS &&
	       prog_now_us() - begun < seconds * 1e6) {
		t = prog_now_us();
		PROG_CHECK(cuEventRecord(from, p.stream));
		PROG_CHECK(prog_spin(&p, blocks, block_us, 0));
		PROG_CHECK(cuEventRecord(to, p.stream));
		calls_us = prog_now_us() - t;
		PROG_CHECK(cuStreamSynchronize(p.stream));
		seen_us[n++] = prog_now_us() - t;
		PROG_CHECK(cuEventElapsedTime(&ms, from, to));
		if (calls_us <= ONE_GO_US)
			gpu_us[n_exact++] = (double)ms * 1e3;
		prog_sleep_us(gap_us * (0.5 + (double)cot_rng_below(&rng, 1000) * 1e-3));
	}
	if (!n)
		return 1;
	printf("requests %u", n);
	report("", seen_us, n);
	report("gpu_", gpu_us, n_exact);
	printf("\n");
	return 0;
}
