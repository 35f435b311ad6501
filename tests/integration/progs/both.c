/*
 * One program on two GPUs: both [--seconds S] [--block-us U] [--blocks N]
 * Launches a batch kernel on device 0 and one on device 1, waits for both, looks at the results.
 * Prints "kernels N checksum H wrong W", of both together.
 */
#include "batch_loop.h"

#define N_DEVICES 2

int main(int argc, char **argv)
{
	static uint32_t words[BATCH_WORDS];
	struct batch b = batch_options(argc, argv);
	unsigned long n = 0, wrong = 0;
	struct prog p[N_DEVICES];
	CUdeviceptr data[N_DEVICES];
	uint64_t first = 0, sum;
	double begun;
	int i;

	for (i = 0; i < N_DEVICES; i++) {
		p[i] = prog_start(i); /* its context becomes the current one */
		PROG_CHECK(cuMemAlloc(&data[i], sizeof(words)));
	}
	prog_catch_signals();
	begun = prog_now_us();
	while (!prog_stopped && prog_now_us() - begun < b.seconds * 1e6) {
		for (i = 0; i < N_DEVICES; i++) {
			PROG_CHECK(cuCtxSetCurrent(p[i].context));
			batch_kernel(&p[i], &b, data[i]);
		}
		for (i = 0; i < N_DEVICES; i++) {
			PROG_CHECK(cuCtxSetCurrent(p[i].context));
			PROG_CHECK(cuMemcpyDtoHAsync(words, data[i], sizeof(words), p[i].stream));
			PROG_CHECK(cuStreamSynchronize(p[i].stream));
			sum = batch_sum(words);
			if (!n++)
				first = sum;
			wrong += sum != first;
		}
	}
	printf("kernels %lu checksum %016llx wrong %lu\n", n, (unsigned long long)first, wrong);
	return wrong ? 1 : 0;
}
