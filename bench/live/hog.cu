/*
 * Batch programs that keep the GPU busy, and whose results can be checked.
 *
 *   hog long     kernels of about 40 ms: every block lives as long as the kernel
 *   hog blocks   the same, in blocks of --block-us (20, 100, 1000, 10000); --cycle: each of
 *                these in turn for --each seconds
 *   hog copy     passes over --mib of memory by a kernel that reads and writes
 *   hog dma      copies between the host's and the GPU's memory by the copy engines
 *   hog context  kernels with more and more registers and shared memory in use, each in turn for
 *                --each seconds
 *        [--ready F] [--go F] [--out F] [--life S]
 *
 * Each kernel's result is the input of the next one. After 8, 16, 32, ... kernels a hash of all of
 * it is noted: a program that lost anything while it was off the GPU shows another hash than alone.
 */
#include <algorithm>
#include <functional>

#include "common.cuh"
#include "hog_context.cuh"

#define THREADS	  256
#define PER_SM	  8	 /* blocks of 256 threads that fill an SM of 2048 threads */
#define LONG_ITER 232000 /* about 40 ms on an H200, where 250000 took 43 */
#define LONG_MS	  40.0
#define DEPTH	  2 /* kernels in the queue */

static int n_sms;
static cudaStream_t stream, side;

/* ---- the kernels ---- */

/* Registers and shared memory that are alive from the first to the last instruction. Several blocks
 * may share a slot of `out`: they combine by exclusive or, whose order does not matter. */
__global__ void __launch_bounds__(THREADS, PER_SM)
	work(unsigned *out, const unsigned *in, int iters, unsigned n_slots)
{
	__shared__ unsigned sm[THREADS];
	unsigned slot = blockIdx.x % n_slots * THREADS + threadIdx.x;
	unsigned a = (blockIdx.x * 1664525u + threadIdx.x) ^ in[slot], b = a ^ 0x9e3779b9u;

	sm[threadIdx.x] = a;
	__syncthreads();
	for (int i = 0; i < iters; i++) {
		a = a * 1664525u + 1013904223u;
		b ^= a >> 3;
		b = b * 22695477u + sm[(threadIdx.x + i) % THREADS];
	}
	atomicXor(&out[slot], a ^ b);
}

__global__ void stream_copy(uint4 *to, const uint4 *from, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x) {
		uint4 v = from[i];

		v.x = v.x * 1664525u + 1013904223u;
		v.y ^= v.x;
		v.z += v.y;
		v.w ^= v.z >> 5;
		to[i] = v;
	}
}

__global__ void fill(unsigned *out, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x)
		out[i] = (unsigned)(i * 2654435761u);
}

/* Every word counts, with its place. */
__global__ void digest(unsigned long long *sum, const unsigned *in, size_t n)
{
	unsigned long long own = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x)
		own += (in[i] ^ (unsigned)(i >> 7)) * (2ull * i + 1);
	atomicAdd(sum, own);
}

/* ---- what they share ---- */

/* Buffers that take turns, and the notes of results. */
struct chain {
	unsigned *buffer[2];
	unsigned long long *sum;
	size_t n_words;
	int64_t n_done, next_note = 8;
	std::string notes = "[";

	void create(size_t words)
	{
		n_words = words;
		CHECK(cudaMalloc(&sum, sizeof(*sum)));
		for (auto &b : buffer) {
			CHECK(cudaMalloc(&b, words * sizeof(unsigned)));
			fill<<<4 * n_sms, THREADS, 0, stream>>>(b, words);
		}
		CHECK(cudaGetLastError());
		CHECK(cudaStreamSynchronize(stream));
	}
	/* The result of kernel number n, counted from 1. */
	unsigned *out(int64_t n)
	{
		return buffer[n & 1];
	}
	const unsigned *in(int64_t n)
	{
		return buffer[~n & 1];
	}
	/* To be called when kernel n_done is complete and at most the next one was launched: that
	 * one only reads what is looked at here. */
	void note()
	{
		unsigned long long value;
		char t[96];

		if (n_done != next_note)
			return;
		next_note *= 2;
		CHECK(cudaMemsetAsync(sum, 0, sizeof(*sum), side));
		digest<<<2 * n_sms, THREADS, 0, side>>>(sum, out(n_done), n_words);
		CHECK(cudaMemcpyAsync(&value, sum, sizeof(value), cudaMemcpyDeviceToHost, side));
		CHECK(cudaStreamSynchronize(side));
		snprintf(t, sizeof(t), "%s[%lld, %lld, \"%016llx\"]", notes.size() > 1 ? ", " : "",
			 (long long)n_done, (long long)now_ns(), value);
		notes += t;
	}
};

/* ---- the loop: two in the queue, so that the GPU never waits for us ---- */

struct pump {
	cudaEvent_t done[DEPTH];
	int64_t n_launched, n_ended, last_end_ns;

	void create()
	{
		for (auto &e : done)
			CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
		n_launched = n_ended = 0;
		last_end_ns = now_ns();
	}
	void launched()
	{
		CHECK(cudaEventRecord(done[n_launched++ % DEPTH], stream));
	}
	/* Waits for the oldest one. */
	void end_one()
	{
		int64_t end;

		CHECK(cudaEventSynchronize(done[n_ended++ % DEPTH]));
		end = now_ns();
		result.event(last_end_ns, end, 1);
		last_end_ns = end;
	}
};

template <class Launch, class Ended> static void run(Launch launch, Ended ended)
{
	struct pump pump;

	pump.create();
	while (!is_stopping()) {
		if (paused) {
			while (pump.n_ended < pump.n_launched) {
				pump.end_one();
				ended(pump.n_ended);
			}
			wait_while_paused();
			pump.last_end_ns = now_ns();
			continue;
		}
		launch(pump.n_launched + 1);
		pump.launched();
		if (pump.n_launched - pump.n_ended < DEPTH)
			continue;
		pump.end_one();
		ended(pump.n_ended);
	}
	while (pump.n_ended < pump.n_launched) {
		pump.end_one();
		ended(pump.n_ended);
	}
	CHECK(cudaStreamSynchronize(stream));
}

static double one_ms(const std::function<void()> &launch)
{
	cudaEvent_t from, to;
	float ms;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	CHECK(cudaEventRecord(from, stream));
	launch();
	CHECK(cudaEventRecord(to, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventElapsedTime(&ms, from, to));
	CHECK(cudaGetLastError());
	return ms;
}

/* ---- long and short blocks ---- */

static void launch_work(struct chain *c, int64_t n, double block_us)
{
	unsigned n_slots = n_sms * PER_SM;
	int iters = std::max(1, (int)(LONG_ITER * block_us / (LONG_MS * 1e3)));
	unsigned n_blocks = (unsigned)(n_slots * std::max(1.0, LONG_MS * 1e3 / block_us));

	CHECK(cudaMemsetAsync(c->out(n), 0, c->n_words * sizeof(unsigned), stream));
	work<<<n_blocks, THREADS, 0, stream>>>(c->out(n), c->in(n), iters, n_slots);
	CHECK(cudaGetLastError());
}

/* "[[label, from, to], ...]": who was at work when. */
struct segments {
	std::string json = "[";
	int64_t since_ns = 0;
	int current = -1;

	void close(const char *label)
	{
		char t[160];

		if (current < 0)
			return;
		snprintf(t, sizeof(t), "%s[\"%s\", %lld, %lld]", json.size() > 1 ? ", " : "", label,
			 (long long)since_ns, (long long)now_ns());
		json += t;
	}
	void open(int i)
	{
		current = i;
		since_ns = now_ns();
	}
};

static void run_work(const struct arguments &a, bool blocks)
{
	static const double cycle_us[] = {LONG_MS * 1e3, 10000, 1000, 100, 20};
	bool cycle = blocks && a.has("--cycle");
	double each_ns = a.number("--each", 1.5) * 1e9;
	double block_us = blocks ? a.number("--block-us", 100) : LONG_MS * 1e3;
	struct segments segments;
	struct chain c = {};
	char label[32] = "";

	c.create((size_t)n_sms * PER_SM * THREADS);
	for (int i = 0; i < 3; i++)
		result.number(i < 2 ? "warm_ms" : "kernel_ms",
			      one_ms([&] { launch_work(&c, 1, block_us); }));
	/* From the beginning again, so that the notes do not depend on the warming up. */
	fill<<<4 * n_sms, THREADS, 0, stream>>>(c.buffer[0], c.n_words);
	CHECK(cudaStreamSynchronize(stream));
	ready_and_wait(a);
	run(
		[&](int64_t n) {
			if (cycle &&
			    (segments.current < 0 || now_ns() - segments.since_ns > each_ns)) {
				segments.close(label);
				segments.open((segments.current + 1) % 5);
				block_us = cycle_us[segments.current];
				snprintf(label, sizeof(label), "%g", block_us);
			}
			launch_work(&c, n, block_us);
		},
		[&](int64_t n) {
			c.n_done = n;
			c.note();
		});
	segments.close(label);
	result.raw("segments", segments.json + "]");
	result.raw("notes", cycle ? "[]" : c.notes + "]");
}

/* ---- memory ---- */

static void run_copy(const struct arguments &a)
{
	size_t bytes = (size_t)a.number("--mib", 2048) << 20;
	struct chain c = {};
	auto launch = [&](int64_t n) {
		stream_copy<<<16 * n_sms, 512, 0, stream>>>(
			(uint4 *)c.out(n), (const uint4 *)c.in(n), bytes / sizeof(uint4));
		CHECK(cudaGetLastError());
	};
	double ms = 0;

	c.create(bytes / sizeof(unsigned));
	for (int i = 0; i < 5; i++)
		ms = one_ms([&] { launch(1); });
	result.number("kernel_ms", ms);
	result.number("gb_per_s", 2.0 * bytes / ms / 1e6);
	fill<<<4 * n_sms, THREADS, 0, stream>>>(c.buffer[0], c.n_words);
	CHECK(cudaStreamSynchronize(stream));
	ready_and_wait(a);
	run(launch, [&](int64_t n) {
		c.n_done = n;
		c.note();
	});
	result.raw("notes", c.notes + "]");
}

static void run_dma(const struct arguments &a)
{
	size_t bytes = (size_t)a.number("--mib", 256) << 20;
	unsigned *host, *gpu;
	double ms = 0;
	auto launch = [&](int64_t) {
		CHECK(cudaMemcpyAsync(gpu, host, bytes, cudaMemcpyHostToDevice, stream));
		CHECK(cudaMemcpyAsync(host, gpu, bytes, cudaMemcpyDeviceToHost, stream));
	};

	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaMalloc(&gpu, bytes));
	for (size_t i = 0; i < bytes / 4; i++)
		host[i] = (unsigned)(i * 2654435761u);
	for (int i = 0; i < 3; i++)
		ms = one_ms([&] { launch(1); });
	result.number("kernel_ms", ms);
	result.number("gb_per_s", 2.0 * bytes / ms / 1e6);
	ready_and_wait(a);
	run(launch, [](int64_t) {});
	result.integer("hash_ok", fnv1a(host, 4096) != 0 && host[12345] == 12345u * 2654435761u);
	result.raw("notes", "[]");
}

/* ---- what a switch has to save ---- */

static void run_context(const struct arguments &a)
{
	double each_ns = a.number("--each", 1.5) * 1e9;
	int n = n_context_variants;
	std::vector<int> iters(n);
	std::string table = "[";
	struct segments segments;
	unsigned *out;
	int v = 0;

	CHECK(cudaMalloc(&out, sizeof(unsigned) * n_sms * 2048));
	for (int i = 0; i < n; i++) {
		const struct context_variant *k = &context_variants[i];
		struct cudaFuncAttributes attr;
		char t[256];

		CHECK(cudaFuncSetAttribute(k->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
					   k->smem_kib << 10));
		CHECK(cudaFuncGetAttributes(&attr, k->kernel));
		(void)one_ms([&] { context_launch(k, out, 2000, n_sms, stream); });
		iters[i] = (int)(2000 * 20.0 /
				 one_ms([&] { context_launch(k, out, 2000, n_sms, stream); }));
		snprintf(t, sizeof(t),
			 "%s{\"name\": \"%s\", \"regs\": %d, \"threads_per_sm\": %d, "
			 "\"reg_kib_per_sm\": %.1f, \"smem_kib_per_sm\": %d, \"local_bytes\": %zu}",
			 i ? ", " : "", k->name, attr.numRegs, k->threads * k->per_sm,
			 attr.numRegs * 4.0 * k->threads * k->per_sm / 1024,
			 k->smem_kib * k->per_sm, attr.localSizeBytes);
		table += t;
	}
	result.raw("variants", table + "]");
	ready_and_wait(a);
	run(
		[&](int64_t) {
			if (segments.current < 0 || now_ns() - segments.since_ns > each_ns) {
				segments.close(context_variants[v].name);
				v = (segments.current + 1) % n;
				segments.open(v);
			}
			context_launch(&context_variants[v], out, iters[v], n_sms, stream);
			CHECK(cudaGetLastError());
		},
		[](int64_t) {});
	segments.close(context_variants[v].name);
	result.raw("segments", segments.json + "]");
	result.raw("notes", "[]");
}

int main(int argc, char **argv)
{
	struct arguments a = {argc, argv};
	const char *kind = argc > 1 ? argv[1] : "";

	begin(a, "hog", "batch");
	result.text("kind", kind);
	CHECK(cudaSetDevice(0));
	CHECK(cudaDeviceGetAttribute(&n_sms, cudaDevAttrMultiProcessorCount, 0));
	n_sms = (int)a.number("--sms", n_sms);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	if (!strcmp(kind, "long") || !strcmp(kind, "blocks"))
		run_work(a, !strcmp(kind, "blocks"));
	else if (!strcmp(kind, "copy"))
		run_copy(a);
	else if (!strcmp(kind, "dma"))
		run_dma(a);
	else if (!strcmp(kind, "context"))
		run_context(a);
	else
		fail("the kind is '%s'; expected long, blocks, copy, dma or context", kind);
	result.integer("n_events", (int64_t)result.events.size() / 3);
	result.write();
	return 0;
}
