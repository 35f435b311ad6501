/*
 * A latency program: requests of a given GPU time (a chain of multiply-adds, calibrated at the
 * start), at Poisson arrivals (--rate), with Poisson gaps after each answer (--gap-us), or as the
 * runner says on a page while the program runs (--board, orders.cuh).
 *
 *   req --us 100 --rate 250 [--gap-us G] [--board F] [--graph N [--stamps]] [--first] [--blocks 16]
 *       [--iters I] [--seed S] [--ready F] [--go F] [--out F] [--life S]
 *
 * --graph N: N kernels in one CUDA graph instead of one kernel. --iters skips the calibration.
 * --first: on a stream of the highest priority. --stamps: each kernel notes when it began and
 * ended, by the GPU's clock. The file then also has, for every request, its begin (host clock), how
 * long it took from there to the answer, from its first kernel's begin to its last one's end, and
 * its longest pause between two kernels; all in ns.
 */
#include <math.h>

#include <algorithm>

#include "../../include/cotenant/request.h"
#include "common.cuh"
#include "orders.cuh"

#define THREADS	   256
#define STAMPS_MAX 1024
#define PARTS_MAX  (1u << 16)

struct stamp {
	unsigned long long begin, end;
};

static __device__ unsigned long long gpu_ns(void)
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/* The first block's times stand for the kernel's: all are as long, and fit at once. */
__global__ void chain(float *out, int iters, struct stamp *stamp)
{
	float x = threadIdx.x * 1e-3f + blockIdx.x, a = 0.999f, b = 1e-3f;
	bool notes = stamp && !blockIdx.x && !threadIdx.x;

	if (notes)
		stamp->begin = gpu_ns();

#pragma unroll 8
	for (int i = 0; i < iters; i++)
		x = fmaf(x, a, b);
	out[blockIdx.x * THREADS + threadIdx.x] = x;
	if (notes)
		stamp->end = gpu_ns();
}

struct work {
	int blocks, iters, n_graph;
	float *out;
	struct stamp *stamps; /* mapped memory of the host; NULL: not noted */
	cudaStream_t stream;
	cudaGraphExec_t graph;

	void kernel(int n, struct stamp *stamp = NULL) const
	{
		chain<<<blocks, THREADS, 0, stream>>>(out, n, stamp);
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
		w->kernel(std::max(1, w->iters / w->n_graph), w->stamps ? w->stamps + i : NULL);
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

/* What the requests were made of, as JSON. */
static std::string parts;
static unsigned n_parts;

static void note_parts(const struct work &w, int64_t start, int64_t end)
{
	const struct stamp *s = w.stamps;
	unsigned long long longest = 0;
	char t[160];

	if (!s || n_parts++ >= PARTS_MAX)
		return;
	for (int i = 1; i < w.n_graph; i++)
		longest = std::max(longest, s[i].begin - s[i - 1].end);
	snprintf(t, sizeof(t), "%s[%lld, %lld, %llu, %llu]", parts.empty() ? "" : ", ",
		 (long long)start, (long long)(end - start), s[w.n_graph - 1].end - s[0].begin,
		 longest);
	parts += t;
}

/* Returns when the answer was there. */
static int64_t answer(const struct work &w, int64_t arrival)
{
	int64_t start = now_ns(), end;

	cot_request_begin(0, (uint64_t)arrival);
	w.launch();
	CHECK(cudaStreamSynchronize(w.stream));
	cot_request_end(0);
	end = now_ns();
	result.event(arrival, start, end);
	note_parts(w, start, end);
	return end;
}

static void serve(const struct work &w, double rate, double gap_us, uint64_t seed)
{
	struct random_bits random = {seed};
	double mean_ns = gap_us > 0 ? gap_us * 1e3 : 1e9 / rate;
	int64_t arrival = now_ns();

	while (!is_stopping()) {
		int64_t end;

		if (paused) {
			wait_while_paused();
			arrival = now_ns();
		}
		arrival += (int64_t)(-log(random.uniform()) * mean_ns);
		if (arrival - now_ns() > 0)
			wait_until(arrival);
		if (stopping)
			break;
		end = answer(w, arrival);
		if (gap_us > 0)
			arrival = end;
	}
}

#define LOOK_NS 2000000 /* how often the board is looked at, at least */

/* An arrival that is given up is an event that begins at 0. */
static void serve_orders(const struct work &w, const char *path)
{
	struct orders<struct random_bits> orders;
	auto lost = [](int64_t arrival) { result.event(arrival, 0, now_ns()); };

	if (!orders.open(path))
		fail("--board: %s cannot be mapped", path);
	while (!is_stopping()) {
		int64_t now = now_ns(), arrival, left;

		orders.obey(now, lost);
		arrival = orders.take(now);
		if (arrival) {
			now = now_ns();
			orders.answer(answer(w, arrival) - now);
			continue;
		}
		left = std::min(orders.next_ns - now, (int64_t)LOOK_NS);
		if (left > 400000)
			sleep_us(left / 1000 - 200);
	}
	orders.give_up(lost);
}

int main(int argc, char **argv)
{
	struct arguments a = {argc, argv};
	double us = a.number("--us", 100), rate = a.number("--rate", 250);
	struct work w = {};
	int last, first;

	begin(a, "req", "latency");
	w.blocks = (int)a.number("--blocks", 16);
	w.n_graph = (int)a.number("--graph", 0);
	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceGetStreamPriorityRange(&last, &first));
	CHECK(cudaStreamCreateWithPriority(&w.stream, cudaStreamNonBlocking,
					   a.has("--first") ? first : last));
	CHECK(cudaMalloc(&w.out, (size_t)w.blocks * THREADS * sizeof(*w.out)));
	if (w.n_graph > STAMPS_MAX)
		fail("--graph: at most %d kernels", STAMPS_MAX);
	if (a.has("--stamps"))
		CHECK(cudaHostAlloc(&w.stamps, STAMPS_MAX * sizeof(*w.stamps), cudaHostAllocMapped));
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
	if (*a.text("--board", ""))
		serve_orders(w, a.text("--board", ""));
	else
		serve(w, rate, a.number("--gap-us", 0), (uint64_t)a.number("--seed", 1));
	result.integer("n_events", (int64_t)result.events.size() / 3);
	if (w.stamps)
		result.raw("parts", "[" + parts + "]");
	result.write();
	return 0;
}
