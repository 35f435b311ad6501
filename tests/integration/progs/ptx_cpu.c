/*
 * Launches that may be made on the CPU, in every kind of stream and between copies, in a graph,
 * behind a kernel that does not end, and one that is wrong. Prints a line for each case and waits
 * for a signal.
 */
#include "ptx_common.h"

#define BLOCKS 3u
#define N      (BLOCKS * PROG_THREADS)
#define ROUNDS 5u

static uint32_t words[N];

static uint32_t mixed(uint32_t v, unsigned times)
{
	while (times--)
		v = v * 1664525u + 1013904223u;
	return v;
}

static unsigned wrong(uint32_t seed, unsigned times)
{
	unsigned i, n = 0;

	for (i = 0; i < N; i++)
		n += words[i] != mixed(seed + i, times);
	return n;
}

static void fill(uint32_t seed)
{
	unsigned i;

	for (i = 0; i < N; i++)
		words[i] = seed + i;
}

static void mix(const struct ptx_prog *p, CUdeviceptr d, CUstream stream)
{
	unsigned n = N, rounds = ROUNDS;
	void *params[] = {&d, &n, &rounds};

	PROG_CHECK(cuLaunchKernel(ptx_function(p, "mix"), BLOCKS, 1, 1, PROG_THREADS, 1, 1, 0,
				  stream, params, NULL));
}

/* Between copies that are only queued. */
static void in_order(const struct ptx_prog *p, CUdeviceptr d, CUstream stream, const char *name)
{
	fill(7);
	PROG_CHECK(cuMemcpyHtoDAsync(d, words, sizeof(words), stream));
	mix(p, d, stream);
	mix(p, d, stream);
	PROG_CHECK(cuMemcpyDtoHAsync(words, d, sizeof(words), stream));
	PROG_CHECK(cuStreamSynchronize(stream));
	printf("%s wrong %u\n", name, wrong(7, 2 * ROUNDS));
}

/* Recorded, nothing is computed; then it is, twice. */
static void in_graph(const struct ptx_prog *p, CUdeviceptr d)
{
	CUgraphExec exec;
	CUgraph graph;

	fill(9);
	PROG_CHECK(cuMemcpyHtoD(d, words, sizeof(words)));
	PROG_CHECK(cuStreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	mix(p, d, p->stream);
	PROG_CHECK(cuStreamEndCapture(p->stream, &graph));
	PROG_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	PROG_CHECK(cuGraphLaunch(exec, p->stream));
	PROG_CHECK(cuGraphLaunch(exec, p->stream));
	PROG_CHECK(cuStreamSynchronize(p->stream));
	PROG_CHECK(cuMemcpyDtoH(words, d, sizeof(words)));
	printf("graph wrong %u\n", wrong(9, 2 * ROUNDS));
}

/* The launch returns, though what comes before it does not end until later. */
static void behind(const struct ptx_prog *p, CUdeviceptr d)
{
	CUdeviceptr stop, counts;
	uint32_t one = 1;
	void *params[] = {&stop, &counts};

	PROG_CHECK(cuMemAlloc(&stop, 4));
	PROG_CHECK(cuMemAlloc(&counts, 4));
	PROG_CHECK(cuMemsetD32(stop, 0, 1));
	fill(11);
	PROG_CHECK(cuMemcpyHtoD(d, words, sizeof(words)));
	PROG_CHECK(cuLaunchKernel(ptx_function(p, "poll"), 1, 1, 1, 1, 1, 1, 0, p->stream, params,
				  NULL));
	mix(p, d, p->stream);
	PROG_CHECK(cuMemcpyHtoDAsync(stop, &one, 4, p->other));
	PROG_CHECK(cuStreamSynchronize(p->stream));
	PROG_CHECK(cuMemcpyDtoH(words, d, sizeof(words)));
	printf("behind wrong %u\n", wrong(11, ROUNDS));
}

/* Beside a kernel in the same allocation: what it writes stays. */
static void beside(const struct ptx_prog *p)
{
	uint32_t zero = 0, one = 1, first, second;
	CUdeviceptr all, stop, counts;
	void *params[] = {&stop, &counts};

	PROG_CHECK(cuMemAlloc(&all, sizeof(words) + 8));
	stop = all + sizeof(words);
	counts = stop + 4;
	PROG_CHECK(cuMemcpyHtoD(stop, &zero, 4));
	PROG_CHECK(cuMemcpyHtoD(counts, &zero, 4));
	fill(13);
	PROG_CHECK(cuMemcpyHtoD(all, words, sizeof(words)));
	PROG_CHECK(cuLaunchKernel(ptx_function(p, "poll"), 1, 1, 1, 1, 1, 1, 0, p->other, params,
				  NULL));
	mix(p, all, p->stream);
	/* Nobody writes the flag but this. */
	PROG_CHECK(cuMemcpyHtoDAsync(stop, &one, 4, p->stream));
	PROG_CHECK(cuStreamSynchronize(p->other));
	PROG_CHECK(cuMemcpyDtoH(&first, counts, 4));
	mix(p, all, p->stream);
	PROG_CHECK(cuStreamSynchronize(p->stream));
	PROG_CHECK(cuMemcpyDtoH(&second, counts, 4));
	PROG_CHECK(cuMemcpyDtoH(words, all, sizeof(words)));
	printf("beside wrong %u counts %s\n", wrong(13, 2 * ROUNDS),
	       first && first == second ? "kept" : "lost");
}

/* What a kernel does wrong is told as without all this. */
static void fault(const struct ptx_prog *p, CUdeviceptr d)
{
	unsigned how = 1;
	void *params[] = {&d, &how};
	int rc = cuLaunchKernel(ptx_function(p, "wrong"), 1, 1, 1, 1, 1, 1, 0, p->stream, params,
				NULL);

	if (!rc)
		rc = cuStreamSynchronize(p->stream);
	printf("fault %d\n", rc);
}

/* For a GPU for which kernels can be rewritten: then their text is known to who runs them. */
static CUmodule load(void)
{
	static char text[sizeof(ptx_text)];
	CUmodule module;

	memcpy(text, ptx_text, sizeof(text));
	memcpy(strstr(text, "sm_35"), "sm_70", 5);
	PROG_CHECK(cuModuleLoadData(&module, text));
	return module;
}

int main(void)
{
	struct ptx_prog p = ptx_start();
	CUdeviceptr d;

	prog_catch_signals();
	p.module = load();
	PROG_CHECK(cuMemAlloc(&d, sizeof(words)));
	in_order(&p, d, p.stream, "stream");
	in_order(&p, d, NULL, "default");
	in_order(&p, d, CU_STREAM_PER_THREAD, "thread");
	in_graph(&p, d);
	behind(&p, d);
	beside(&p);
	printf("end\n");
	fflush(stdout);
	while (!prog_stopped)
		prog_sleep_us(1000);
	fault(&p, d);
	fflush(stdout);
	return 0;
}
