/*
 * A latency program: requests of a given GPU time (a chain of multiply-adds, calibrated at the
 * start), at Poisson arrivals (--rate) or with Poisson gaps after each answer (--gap-us).
 *
 *   req --us 100 --rate 250 [--gap-us G] [--graph N] [--blocks 16] [--iters I] [--seed S]
 *       [--ready F] [--go F] [--out F] [--life S]
 *
 * --graph N: N kernels in one CUDA graph instead of one kernel. --iters skips the calibration.
 */
#include <math.h>

#include <algorithm>

#include "common.cuh"

#define THREADS 256

__global__ void chain(float *out, int iters)
{
	float x = threadIdx.x * 1e-3f + blockIdx.x, a = 0.999f, b = 1e-3f;

#pragma unroll 8
	for (int i = 0; i < iters; i++)
		x = fmaf(x, a, b);
	out[blockIdx.x * THREADS + threadIdx.x] = x;
}

struct work {
	int blocks, iters, n_graph;
	float *out;
	cudaStream_t stream;
	cudaGraphExec_t graph;

	void kernel(int n) const
	{
		chain<<<blocks, THREADS, 0, stream>>>(out, n);
	}
	void launch() const
	{
		if (n_graph)
			CHECK(cudaGraphLaunch(graph, stream));
		else
			kernel(iters);
	}
};

/* The shortest of some runs, in us: what disturbs makes it longer, never shorter. */
static double shortest_us(const struct work &w, int iters)
{
	cudaEvent_t from, to;
	float best = 1e9f;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	for (int i = 0; i < 30; i++) {
		float ms;

		CHECK(cudaEventRecord(from, w.stream));
		w.kernel(iters);
		CHECK(cudaEventRecord(to, w.stream));
		CHECK(cudaStreamSynchronize(w.stream));
		CHECK(cudaEventElapsedTime(&ms, from, to));
		best = fminf(best, ms);
	}
	CHECK(cudaEventDestroy(from));
	CHECK(cudaEventDestroy(to));
	return best * 1e3;
}

/* Two lengths, for the launch's own part to drop out. */
static int calibrate(const struct work &w, double us)
{
	const int some = 20000;
	double per_iter;

	for (int64_t end = now_ns() + 150000000; now_ns() < end;) /* the clocks come up */
		(void)shortest_us(w, some);
	per_iter = (shortest_us(w, 5 * some) - shortest_us(w, some)) / (4 * some);
	return std::max(1, (int)(us / per_iter));
}

static void make_graph(struct work *w)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < w->n_graph; i++)
		w->kernel(std::max(1, w->iters / w->n_graph));
	CHECK(cudaStreamEndCapture(w->stream, &graph));
	CHECK(cudaGraphInstantiate(&w->graph, graph, 0));
}

/* Asleep until shortly before, for the last part awake: sleeping is not exact. */
static void wait_until(int64_t when_ns)
{
	int64_t left = when_ns - now_ns();

	if (left > 400000)
		sleep_us(left / 1000 - 200);
	while (now_ns() < when_ns && !stopping)
		;
}

static void serve(const struct work &w, double rate, double gap_us, uint64_t seed)
{
	struct random_bits random = {seed};
	double mean_ns = gap_us > 0 ? gap_us * 1e3 : 1e9 / rate;
	int64_t arrival = now_ns();

	while (!is_stopping()) {
		int64_t start, end;

		if (paused) {
			wait_while_paused();
			arrival = now_ns();
		}
		arrival += (int64_t)(-log(random.uniform()) * mean_ns);
		if (arrival - now_ns() > 0)
			wait_until(arrival);
		if (stopping)
			break;
		start = now_ns();
		w.launch();
		CHECK(cudaStreamSynchronize(w.stream));
		end = now_ns();
		result.event(arrival, start, end);
		if (gap_us > 0)
			arrival = end;
	}
}

int main(int argc, char **argv)
{
	struct arguments a = {argc, argv};
	double us = a.number("--us", 100), rate = a.number("--rate", 250);
	struct work w = {};

	begin(a, "req", "latency");
	w.blocks = (int)a.number("--blocks", 16);
	w.n_graph = (int)a.number("--graph", 0);
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&w.out, (size_t)w.blocks * THREADS * sizeof(*w.out)));
	w.iters = (int)a.number("--iters", 0);
	if (!w.iters)
		w.iters = calibrate(w, us);
	if (w.n_graph)
		make_graph(&w);
	for (int i = 0; i < 50; i++) {
		w.launch();
		CHECK(cudaStreamSynchronize(w.stream));
	}
	result.integer("iters", w.iters);
	result.number("kernel_us", shortest_us(w, w.iters));
	ready_and_wait(a);
	serve(w, rate, a.number("--gap-us", 0), (uint64_t)a.number("--seed", 1));
	result.integer("n_events", (int64_t)result.events.size() / 3);
	result.write();
	return 0;
}
