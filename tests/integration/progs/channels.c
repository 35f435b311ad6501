/*
 * A program that sets channels up all the time: channels streams|contexts [--seconds S]
 * [--block-us U] [--keep N] [--work-ms M] [--device D]
 * Makes a stream, or a whole context, computes on it and looks at the result; of the last N that it
 * made the oldest is then destroyed. A driver reuses a stream's channels but not a context's. With
 * --work-ms it goes on computing on each for so long.
 * Prints "channels MODE made N checksum H wrong W step_p50_us A step_max_us B".
 */
#include <stdbool.h>

#include "batch_loop.h"

#define MAX_KEPT   64u
#define MAX_STEPS  65536u
#define MIN_BLOCKS (BATCH_WORDS / PROG_THREADS)

static double step_us[MAX_STEPS];

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void destroy(const struct prog *p, bool contexts)
{
	if (contexts)
		PROG_CHECK(cuCtxDestroy(p->context));
	else
		PROG_CHECK(cuStreamDestroy(p->stream));
}

/* One more stream, or a context with one. */
static void make(const struct prog *base, struct prog *p, bool contexts, int device)
{
	if (contexts) {
		*p = prog_start(device);
		return;
	}
	*p = *base;
	PROG_CHECK(cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING));
}

/* Computes on it at least once; the last checksum, or another one that differs from the first. */
static uint64_t work(const struct prog *p, const struct batch *b, double us)
{
	static uint32_t words[BATCH_WORDS];
	double begun = prog_now_us();
	uint64_t first = 0, sum;
	CUdeviceptr data;

	PROG_CHECK(cuMemAlloc(&data, sizeof(words)));
	do {
		batch_kernel(p, b, data);
		PROG_CHECK(cuMemcpyDtoHAsync(words, data, sizeof(words), p->stream));
		PROG_CHECK(cuStreamSynchronize(p->stream));
		sum = batch_sum(words);
		first = first ? first : sum;
	} while (sum == first && !prog_stopped && prog_now_us() - begun < us);
	PROG_CHECK(cuMemFree(data));
	return sum;
}

int main(int argc, char **argv)
{
	int device = (int)prog_option(argc, argv, "--device", 0);
	double work_us = 1e3 * prog_option(argc, argv, "--work-ms", 0);
	bool contexts = argc > 1 && !strcmp(argv[1], "contexts");
	unsigned keep = (unsigned)prog_option(argc, argv, "--keep", contexts ? 2 : 24);
	struct batch b = {
		.seconds = prog_option(argc, argv, "--seconds", 2),
		.block_us = prog_option(argc, argv, "--block-us", 50),
		.blocks = MIN_BLOCKS,
	};
	static struct prog kept[MAX_KEPT];
	unsigned n = 0, wrong = 0;
	uint64_t first = 0, sum;
	double begun, t;
	struct prog base;

	if (argc < 2 || (!contexts && strcmp(argv[1], "streams") != 0) || !keep ||
	    keep > MAX_KEPT) {
		fprintf(stderr, "usage: channels streams|contexts [--seconds S] [--block-us U] "
				"[--keep N, 1 to 64] [--work-ms M] [--device D]\n");
		return 2;
	}
	prog_catch_signals();
	base = prog_start(device);
	begun = prog_now_us();
	while (!prog_stopped && n < MAX_STEPS && prog_now_us() - begun < b.seconds * 1e6) {
		t = prog_now_us();
		if (n >= keep)
			destroy(&kept[n % keep], contexts);
		make(&base, &kept[n % keep], contexts, device);
		sum = work(&kept[n % keep], &b, work_us);
		if (contexts)
			PROG_CHECK(cuCtxPopCurrent(NULL));
		if (!n)
			first = sum;
		wrong += sum != first;
		step_us[n++] = prog_now_us() - t;
	}
	if (!n)
		return 1;
	qsort(step_us, n, sizeof(step_us[0]), compare);
	printf("channels %s made %u checksum %016llx wrong %u step_p50_us %.0f step_max_us %.0f\n",
	       argv[1], n, (unsigned long long)first, wrong, step_us[n / 2], step_us[n - 1]);
	return wrong ? 1 : 0;
}
