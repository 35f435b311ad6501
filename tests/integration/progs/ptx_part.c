/*
 * A program on a part of the SMs: --units of eight SMs from number --first on, of one split. Says
 * "refused NAME" if the driver does not split. Otherwise it runs --kernels kernels that fill the
 * part and last --ms milliseconds alone on it, one after the other until SIGTERM, and prints "sms N
 * kernels N least_ms N most_ms N used N least N most N": the part's SMs; how long the kernels took,
 * in GPU time; and the SMs on which blocks of one more kernel were.
 */
#include "ptx_common.h"

#define UNIT	  8u
#define MAX_UNITS 128u
#define AHEAD	  8u /* kernels queued */
#define PER_SM	  8u /* blocks of PROG_THREADS threads */

static CUgreenCtx make_part(unsigned first, unsigned n)
{
	static CUdevResource units[MAX_UNITS];
	unsigned n_units = MAX_UNITS;
	CUdevResourceDesc desc;
	CUdevResource all;
	CUgreenCtx part;
	const char *name;
	CUresult result;

	PROG_CHECK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	result = cuDevSmResourceSplitByCount(units, &n_units, &all, NULL, 0, UNIT);
	if (result) {
		cuGetErrorName(result, &name);
		printf("refused %s\n", name);
		exit(1);
	}
	PROG_CHECK(cuDevResourceGenerateDesc(&desc, units + first, n));
	PROG_CHECK(cuGreenCtxCreate(&part, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	return part;
}

struct times {
	unsigned n;
	double least_ms, most_ms;
};

/* Each kernel lies between two events, and is queued long before the one before it ends. */
static struct times run_kernels(struct prog *p, unsigned n_sms, unsigned n, double ms)
{
	struct times t = {.least_ms = 1e9};
	CUevent events[AHEAD + 1];
	unsigned begun = 0, i;
	float took;

	for (i = 0; i <= AHEAD; i++)
		PROG_CHECK(cuEventCreate(&events[i], 0));
	PROG_CHECK(cuEventRecord(events[0], p->stream));
	for (t.n = 0; t.n < n && !prog_stopped; t.n++) {
		for (; begun < n && begun < t.n + AHEAD; begun++) {
			PROG_CHECK(prog_spin(p, n_sms * PER_SM, ms * 1e3, 0));
			PROG_CHECK(cuEventRecord(events[(begun + 1) % (AHEAD + 1)], p->stream));
		}
		i = (t.n + 1) % (AHEAD + 1);
		PROG_CHECK(cuEventSynchronize(events[i]));
		PROG_CHECK(cuEventElapsedTime(&took, events[t.n % (AHEAD + 1)], events[i]));
		t.least_ms = took < t.least_ms ? took : t.least_ms;
		t.most_ms = took > t.most_ms ? took : t.most_ms;
		if (!t.n) {
			puts("runs");
			fflush(stdout);
		}
	}
	return t;
}

int main(int argc, char **argv)
{
	unsigned first = (unsigned)prog_option(argc, argv, "--first", 0);
	unsigned units = (unsigned)prog_option(argc, argv, "--units", 1);
	struct ptx_where seen;
	CUgreenCtx part = NULL;
	struct ptx_prog ptx;
	struct prog p;
	struct times t;

	prog_catch_signals();
	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&p.context, 0));
	PROG_CHECK(cuCtxSetCurrent(p.context));
	part = make_part(first, units);
	PROG_CHECK(cuGreenCtxStreamCreate(&p.stream, part, CU_STREAM_NON_BLOCKING, 0));
	PROG_CHECK(cuModuleLoadData(&p.module, COT_EMU_BUILTIN_IMAGE));
	PROG_CHECK(cuModuleGetFunction(&p.spin, p.module, "spin"));
	t = run_kernels(&p, units * UNIT, (unsigned)prog_option(argc, argv, "--kernels", 1),
			prog_option(argc, argv, "--ms", 1));
	PROG_CHECK(cuStreamSynchronize(p.stream));
	PROG_CHECK(cuModuleLoadData(&ptx.module, ptx_text));
	seen = ptx_where(&ptx, p.stream);
	printf("sms %u kernels %u least_ms %.3f most_ms %.3f used %u least %u most %u\n",
	       units * UNIT, t.n, t.least_ms, t.most_ms, seen.used, seen.least, seen.most);
	PROG_CHECK(cuGreenCtxDestroy(part));
	PROG_CHECK(cuDevicePrimaryCtxRelease(0));
	return 0;
}
