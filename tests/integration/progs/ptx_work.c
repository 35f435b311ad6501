/*
 * Computes with a PTX kernel, checks every result, and prints "work runs N wrong N checksum N
 * gpu_ms N" (the time that events tell, of all runs together).
 * ptx_work [--runs N] [--rounds N] [--words N]
 */
#include "ptx_common.h"

#define MAX_WORDS 65536u

static uint32_t expected(uint32_t v, unsigned rounds)
{
	while (rounds--)
		v = v * 1664525u + 1013904223u;
	return v;
}

static unsigned count_wrong(const uint32_t *words, unsigned n, unsigned rounds)
{
	unsigned wrong = 0, i;

	for (i = 0; i < n; i++)
		wrong += words[i] != expected(i, rounds);
	return wrong;
}

int main(int argc, char **argv)
{
	static uint32_t words[MAX_WORDS];
	unsigned runs = (unsigned)prog_option(argc, argv, "--runs", 5), i, wrong = 0;
	unsigned rounds = (unsigned)prog_option(argc, argv, "--rounds", 20);
	unsigned n = (unsigned)prog_option(argc, argv, "--words", 4096);
	struct ptx_prog p = ptx_start();
	CUfunction mix = ptx_function(&p, "mix");
	uint64_t checksum = 0;
	CUevent from, to;
	CUdeviceptr d;
	float ms, total_ms = 0;
	void *params[] = {&d, &n, &rounds};

	if (!n || n > MAX_WORDS)
		return 2;
	PROG_CHECK(cuEventCreate(&from, 0));
	PROG_CHECK(cuEventCreate(&to, 0));
	PROG_CHECK(cuMemAlloc(&d, n * sizeof(*words)));
	while (runs--) {
		for (i = 0; i < n; i++)
			words[i] = i;
		PROG_CHECK(cuMemcpyHtoDAsync(d, words, n * sizeof(*words), p.stream));
		PROG_CHECK(cuEventRecord(from, p.stream));
		PROG_CHECK(cuLaunchKernel(mix, (n + PROG_THREADS - 1) / PROG_THREADS, 1, 1,
					  PROG_THREADS, 1, 1, 0, p.stream, params, NULL));
		PROG_CHECK(cuEventRecord(to, p.stream));
		PROG_CHECK(cuMemcpyDtoHAsync(words, d, n * sizeof(*words), p.stream));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		PROG_CHECK(cuEventElapsedTime(&ms, from, to));
		total_ms += ms;
		wrong += count_wrong(words, n, rounds);
	}
	for (i = 0; i < n; i++)
		checksum = checksum * 31 + words[i];
	printf("work runs %u wrong %u checksum %llu gpu_ms %.3f\n",
	       (unsigned)prog_option(argc, argv, "--runs", 5), wrong, (unsigned long long)checksum,
	       (double)total_ms);
	return wrong != 0;
}
