/*
 * Launches whose results are known, with copies and fills between them in the same streams, for
 * merging across processes. Prints "backend steps N wrong N us N digest X", or "error N" at the
 * first call that fails.
 * backend [--steps N] [--streams N, 0: the default one] [--blocks N] [--kernel 0: mix, 1: turn]
 *         [--chain N launches without a wait] [--pause-us N] [--wrong-at N: a launch that faults]
 *         [--outside 1: memory from a pool] [--hold 1: wait for a signal before the end]
 */
#include <unistd.h>

#include "ptx_common.h"

#define MAX_STREAMS 8
#define WORDS	    (64u * PROG_THREADS)

static const char mix_text[] = MIX_PTX_HEAD("sm_70") MIX_PTX;
static const char turn_text[] = MIX_PTX_HEAD("sm_70") TURN_PTX;

static uint32_t is[WORDS], expected[MAX_STREAMS][WORDS];
static unsigned n, rounds = 3;
static int kernel;
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void play(uint32_t *words)
{
	unsigned i, k;

	for (i = 0; i < n; i++)
		if (kernel)
			words[i] = (words[i] ^ i) + rounds;
		else
			for (k = 0; k < rounds; k++)
				words[i] = words[i] * MIX_TIMES + MIX_PLUS;
}

static void check(CUresult result)
{
	if (!result)
		return;
	printf("error %d\n", (int)result);
	fflush(stdout);
	_exit(3);
}

static void step(CUfunction f, CUdeviceptr d, CUstream s, uint32_t *words, unsigned chain)
{
	void *params[] = {&d, &n, &rounds};
	unsigned i;

	for (i = 0; i < chain; i++) {
		check(cuLaunchKernel(f, n / PROG_THREADS, 1, 1, PROG_THREADS, 1, 1, 0, s, params,
				     NULL));
		play(words);
	}
	/* Behind the launches, and before the next. */
	check(cuMemsetD32Async(d + 4, words[0] & 0xff, 3, s));
	words[1] = words[2] = words[3] = words[0] & 0xff;
}

static unsigned count_wrong(CUdeviceptr d, const uint32_t *words)
{
	unsigned wrong = 0, i;

	check(cuMemcpyDtoH(is, d, n * sizeof(is[0])));
	for (i = 0; i < n; i++)
		wrong += is[i] != words[i];
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned steps = (unsigned)prog_option(argc, argv, "--steps", 100), wrong = 0, i, k;
	unsigned streams = (unsigned)prog_option(argc, argv, "--streams", 1), n_buffers;
	unsigned chain = (unsigned)prog_option(argc, argv, "--chain", 1);
	unsigned wrong_at = (unsigned)prog_option(argc, argv, "--wrong-at", 1e9), how = 1;
	double pause_us = prog_option(argc, argv, "--pause-us", 0), begin;
	CUstream s[MAX_STREAMS] = {NULL};
	CUdeviceptr d[MAX_STREAMS];
	struct ptx_prog p = {0};
	CUmodule module;
	CUfunction f, wild;
	uint64_t digest = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGUSR1, stop); /* ends well */
	n = (unsigned)prog_option(argc, argv, "--blocks", 4) * PROG_THREADS;
	kernel = (int)prog_option(argc, argv, "--kernel", 0);
	n_buffers = streams ? streams : 1;
	if (!n || n > WORDS || streams > MAX_STREAMS)
		return 2;
	check(cuInit(0));
	check(cuDevicePrimaryCtxRetain(&p.context, 0));
	check(cuCtxSetCurrent(p.context));
	check(cuModuleLoadData(&p.module, ptx_text));
	check(cuModuleLoadData(&module, kernel ? turn_text : mix_text));
	check(cuModuleGetFunction(&f, module, kernel ? "turn" : "mix"));
	check(cuModuleGetFunction(&wild, p.module, "wrong"));
	for (i = 0; i < n_buffers; i++) {
		if (streams)
			check(cuStreamCreate(&s[i], i % 2 ? CU_STREAM_NON_BLOCKING : 0));
		if (prog_option(argc, argv, "--outside", 0) > 0)
			check(cuMemAllocAsync(&d[i], n * sizeof(is[0]), NULL));
		else
			check(cuMemAlloc(&d[i], n * sizeof(is[0])));
		for (k = 0; k < n; k++)
			expected[i][k] = k * 7 + i;
		check(cuMemcpyHtoD(d[i], expected[i], n * sizeof(is[0])));
	}
	printf("begins\n");
	begin = prog_now_us();
	for (i = 0; i < steps && !stopped; i++) {
		if (i == wrong_at) {
			void *params[] = {&d[0], &how};

			check(cuLaunchKernel(wild, 1, 1, 1, PROG_THREADS, 1, 1, 0, s[0], params,
					     NULL));
		}
		for (k = 0; k < n_buffers; k++)
			step(f, d[k], s[k], expected[k], chain);
		/* Sometimes a wait, sometimes the next one at once. */
		for (k = 0; k < n_buffers && i % 4 != 3; k++)
			check(cuStreamSynchronize(s[k]));
		if (i % 16 == 0)
			wrong += count_wrong(d[i % n_buffers], expected[i % n_buffers]);
		prog_sleep_us(pause_us);
	}
	check(cuCtxSynchronize());
	begin = prog_now_us() - begin;
	for (k = 0; k < n_buffers; k++) {
		wrong += count_wrong(d[k], expected[k]);
		for (i = 0; i < n; i++)
			digest = digest * 1099511628211ull + is[i];
		if (prog_option(argc, argv, "--outside", 0) <= 0)
			check(cuMemFree(d[k]));
	}
	printf("backend steps %u wrong %u us %.2f digest %016llx\n", steps, wrong,
	       begin / (steps ? steps : 1), (unsigned long long)digest);
	return wrong != 0;
}
