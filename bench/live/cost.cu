/*
 * What control costs a program: run it with and without the library and compare.
 *
 *   cost launch   empty kernels, back to back and one at a time, and graphs
 *   cost start    times of main(), cuInit, the first context, the first kernel; memory in use then
 *   cost queued   kernels of 400 ms, two of them ahead, until it is ended
 *        [--out F] [--ready F] [--go F] [--rounds N]
 *
 * Times are in ns; those of `start` are points on CLOCK_MONOTONIC.
 */
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>

#include "common.cuh"

#define BATCH	  2000
#define LONG_NS	  400000000ull
#define N_AHEAD	  2

__global__ void empty(void)
{
}

__global__ void last(unsigned long long ns)
{
	unsigned long long begin, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - begin < ns);
}

static cudaStream_t stream;

static std::string list(std::vector<double> values)
{
	std::string t = "[";
	char number[40];

	for (double v : values) {
		snprintf(number, sizeof(number), "%s%.1f", t.size() > 1 ? ", " : "", v);
		t += number;
	}
	return t + "]";
}

static double percentile(std::vector<double> values, double p)
{
	std::sort(values.begin(), values.end());
	return values[std::min(values.size() - 1, (size_t)(p * values.size()))];
}

/* Fewer than the queue holds (about 1000 launches), so that no launch waits for the GPU. */
static double back_to_back_ns(void)
{
	const int n = 500;
	int64_t from = now_ns();

	for (int i = 0; i < n; i++)
		empty<<<1, 32, 0, stream>>>();
	from = now_ns() - from;
	CHECK(cudaStreamSynchronize(stream));
	return (double)from / n;
}

static cudaGraphExec_t make_graph(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 20; i++)
		empty<<<1, 32, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

template <class Work> static std::vector<double> each_ns(Work work)
{
	std::vector<double> all;

	for (int i = 0; i < BATCH; i++) {
		int64_t from = now_ns();

		work();
		CHECK(cudaStreamSynchronize(stream));
		all.push_back((double)(now_ns() - from));
	}
	return all;
}

static void measure_launch(const struct arguments &a)
{
	int rounds = (int)a.number("--rounds", 40);
	std::vector<double> back, one, graph;
	cudaGraphExec_t exec;

	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	exec = make_graph();
	for (int i = 0; i < 10; i++)
		(void)back_to_back_ns();
	(void)each_ns([] { empty<<<1, 32, 0, stream>>>(); });
	ready_and_wait(a);
	for (int i = 0; i < rounds; i++)
		back.push_back(back_to_back_ns());
	one = each_ns([] { empty<<<1, 32, 0, stream>>>(); });
	graph = each_ns([&] { CHECK(cudaGraphLaunch(exec, stream)); });
	result.raw("back_to_back_ns", list(back));
	result.number("launch_ns", percentile(back, 0.5));
	result.number("launch_min_ns", percentile(back, 0));
	result.number("one_ns", percentile(one, 0.5));
	result.number("one_p99_ns", percentile(one, 0.99));
	result.number("graph_ns", percentile(graph, 0.5));
	result.number("graph_p99_ns", percentile(graph, 0.99));
}

static void measure_start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned) = NULL;
	size_t unused, all;

	if (!library)
		fail("libcuda.so.1 does not load: %s", dlerror());
	*(void **)&init = dlsym(library, "cuInit");
	if (!init || init(0) != CUDA_SUCCESS)
		fail("cuInit failed");
	result.integer("t_init_ns", now_ns());
	CHECK(cudaSetDevice(0));
	CHECK(cudaFree(0));
	result.integer("t_context_ns", now_ns());
	empty<<<1, 32>>>();
	CHECK(cudaDeviceSynchronize());
	result.integer("t_kernel_ns", now_ns());
	CHECK(cudaMemGetInfo(&unused, &all));
	result.integer("used_bytes", (int64_t)(all - unused));
}

static void stay_ahead(const struct arguments &a)
{
	cudaEvent_t ends[N_AHEAD];

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; !is_stopping(); i++) {
		if (i < N_AHEAD)
			CHECK(cudaEventCreateWithFlags(&ends[i], cudaEventBlockingSync));
		else
			CHECK(cudaEventSynchronize(ends[i % N_AHEAD]));
		last<<<1, 1, 0, stream>>>(LONG_NS);
		CHECK(cudaEventRecord(ends[i % N_AHEAD], stream));
		if (i == N_AHEAD)
			ready_and_wait(a);
	}
	CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	struct arguments a = {argc, argv};
	const char *kind = argc > 1 ? argv[1] : "";

	begin(a, "cost", "cost");
	result.text("kind", kind);
	if (!strcmp(kind, "launch"))
		measure_launch(a);
	else if (!strcmp(kind, "start"))
		measure_start();
	else if (!strcmp(kind, "queued"))
		stay_ahead(a);
	else
		fail("the kind is '%s'; expected launch, start or queued", kind);
	result.write();
	return 0;
}
