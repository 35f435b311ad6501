/* A batch program: one kernel after the other on the same data, each result checked. */
#ifndef COT_TESTS_BATCH_LOOP_H
#define COT_TESTS_BATCH_LOOP_H

#include "common.h"

#define BATCH_WORDS 1024u

struct batch {
	double seconds, block_us;
	unsigned blocks;
};

static inline struct batch batch_options(int argc, char **argv)
{
	return (struct batch){
		.seconds = prog_option(argc, argv, "--seconds", 2),
		.block_us = prog_option(argc, argv, "--block-us", 43000),
		/* eight blocks of 256 threads fit on each of 132 SMs */
		.blocks = (unsigned)prog_option(argc, argv, "--blocks", 132 * 8),
	};
}

static inline void batch_kernel(const struct prog *p, const struct batch *b, CUdeviceptr words)
{
	uint64_t block_ns = (uint64_t)(b->block_us * 1e3), address = words;
	uint32_t n_words = BATCH_WORDS, rounds = 3;
	void *params[] = {&block_ns, &address, &n_words, &rounds};

	PROG_CHECK(cuMemsetD32Async(words, 0x12345678, BATCH_WORDS, p->stream));
	PROG_CHECK(cuLaunchKernel(p->mix, b->blocks, 1, 1, PROG_THREADS, 1, 1, 0, p->stream, params,
				  NULL));
}

static inline uint64_t batch_sum(const uint32_t *words)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < BATCH_WORDS; i++)
		sum = (sum ^ words[i]) * 0x100000001b3ull;
	return sum;
}

/*
 * Prints "kernels N per_s R share S gpu_share G checksum H wrong W". share: of the GPU, by kernel
 * time; gpu_share: while it had a kernel there, so what the program waited for a processor between
 * two of them is left out.
 */
static inline int batch_loop(const struct prog *p, const struct batch *b)
{
	static uint32_t words[BATCH_WORDS];
	unsigned long n = 0, wrong = 0;
	double begun, passed = 0, there_us = 0, kernel_us;
	uint64_t first = 0, sum;
	CUevent from, to;
	CUdeviceptr data;
	float ms;

	prog_catch_signals();
	PROG_CHECK(cuEventCreate(&from, 0));
	PROG_CHECK(cuEventCreate(&to, 0));
	PROG_CHECK(cuMemAlloc(&data, sizeof(words)));
	begun = prog_now_us();
	while (!prog_stopped && passed < b->seconds * 1e6) {
		PROG_CHECK(cuEventRecord(from, p->stream));
		batch_kernel(p, b, data);
		PROG_CHECK(cuEventRecord(to, p->stream));
		PROG_CHECK(cuMemcpyDtoHAsync(words, data, sizeof(words), p->stream));
		PROG_CHECK(cuStreamSynchronize(p->stream));
		PROG_CHECK(cuEventElapsedTime(&ms, from, to));
		there_us += (double)ms * 1e3;
		sum = batch_sum(words);
		if (!n++)
			first = sum;
		wrong += sum != first;
		passed = prog_now_us() - begun;
	}
	kernel_us = b->block_us * ((b->blocks + 132 * 8 - 1) / (132 * 8));
	printf("kernels %lu per_s %.2f share %.3f gpu_share %.3f checksum %016llx wrong %lu\n", n,
	       passed > 0 ? (double)n * 1e6 / passed : 0,
	       passed > 0 ? (double)n * kernel_us / passed : 0,
	       there_us > 0 ? (double)n * kernel_us / there_us : 0, (unsigned long long)first,
	       wrong);
	return wrong ? 1 : 0;
}

#endif
