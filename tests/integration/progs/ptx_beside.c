/*
 * How many kernels of one program run beside each other: one in each of --streams streams, none of
 * which ends before all are told to. Waits until --expect of them have begun, and a little longer;
 * prints "began N".
 */
#include "ptx_common.h"

#define MAX_STREAMS 32u
#define WAIT_MS	    20000u
#define LONGER_MS   200u

static unsigned n_begun(const volatile uint32_t *counts, unsigned n)
{
	unsigned begun = 0, i;

	for (i = 0; i < n; i++)
		begun += counts[i] != 0;
	return begun;
}

int main(int argc, char **argv)
{
	unsigned n = (unsigned)prog_option(argc, argv, "--streams", 4), i;
	unsigned expected = (unsigned)prog_option(argc, argv, "--expect", n), ms;
	struct ptx_prog p = ptx_start();
	CUdeviceptr words, stop, counts;
	volatile uint32_t *seen;
	void *host;

	if (n > MAX_STREAMS)
		return 2;
	/* Memory that the program may look at while kernels run. */
	PROG_CHECK(cuMemAllocHost(&host, (MAX_STREAMS + 1) * sizeof(uint32_t)));
	memset(host, 0, (MAX_STREAMS + 1) * sizeof(uint32_t));
	PROG_CHECK(cuMemHostGetDevicePointer(&words, host, 0));
	seen = host;
	stop = words + MAX_STREAMS * sizeof(uint32_t);
	for (i = 0; i < n; i++) {
		void *params[] = {&stop, &counts};
		CUstream s;

		counts = words + i * sizeof(uint32_t);
		PROG_CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		PROG_CHECK(cuLaunchKernel(ptx_function(&p, "poll"), 1, 1, 1, 1, 1, 1, 0, s, params,
					  NULL));
	}
	for (ms = 0; n_begun(seen, n) < expected && ms < WAIT_MS; ms++)
		prog_sleep_us(1000);
	prog_sleep_us(LONGER_MS * 1000.0);
	printf("began %u\n", n_begun(seen, n));
	seen[MAX_STREAMS] = 1;
	PROG_CHECK(cuCtxSynchronize());
	PROG_CHECK(cuCtxDestroy(p.context));
	return 0;
}
