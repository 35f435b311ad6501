/*
 * One of several copies of a program that launches a small kernel again and again, and waits each
 * time. Opens the driver itself, so that the shim is found where it is preloaded. Prints one line
 * of JSON: how long a launch with its wait took, and whether the words are right.
 *
 *   copies [--seconds S] [--blocks N] [--rounds N] [--seed N] [--at UNIX_SECONDS] [--depth N]
 *          [--streams N] [--kernels 1|4]
 *
 * --at: begin then, as the other copies; --depth: launches in each stream before all are waited
 * for; --kernels 4: of four kernels alike, one in each stream in turn.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/mix_ptx.h"

#define THREADS	    256u
#define BLOCKS_MAX  4096u
#define STREAMS_MAX 16u
#define TIMES_MAX   (1u << 20)
#define KERNELS	    4u

typedef unsigned long long pointer;
typedef struct handle *handle;

static const char of_one[] = MIX_PTX_HEAD("sm_70") MIX_PTX;
static const char of_four[] = MIX_PTX_HEAD("sm_70") MIX_PTX MIX_PTX_NAMED("mix2")
	MIX_PTX_NAMED("mix3") MIX_PTX_NAMED("mix4");
static const char *const names[KERNELS] = {"mix", "mix2", "mix3", "mix4"};

#define CALLS(F)                                                                               \
	F(cuInit, (unsigned))                                                                  \
	F(cuDevicePrimaryCtxRetain, (handle *, int))                                           \
	F(cuCtxSetCurrent, (handle))                                                           \
	F(cuModuleLoadData, (handle *, const void *))                                          \
	F(cuModuleGetFunction, (handle *, handle, const char *))                               \
	F(cuMemAlloc_v2, (pointer *, size_t))                                                  \
	F(cuMemcpyHtoD_v2, (pointer, const void *, size_t))                                    \
	F(cuMemcpyDtoH_v2, (void *, pointer, size_t))                                          \
	F(cuStreamCreate, (handle *, unsigned))                                                \
	F(cuStreamSynchronize, (handle))                                                       \
	F(cuLaunchKernel, (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
			   unsigned, handle, void **, void **))

#define F(name, params) static int(*name) params;
CALLS(F)
#undef F

static uint32_t words[BLOCKS_MAX * THREADS];
static float times_us[TIMES_MAX];

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double option(int argc, char **argv, const char *name, double otherwise)
{
	int i;

	for (i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtod(argv[i + 1], NULL);
	return otherwise;
}

static void check(int rc, const char *what)
{
	if (!rc)
		return;
	printf("{\"error\": %d, \"call\": \"%s\"}\n", rc, what);
	exit(3);
}
#define CHECK(name, ...) check(name(__VA_ARGS__), #name)

static void open_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver) {
		printf("{\"error\": -1, \"call\": \"dlopen\"}\n");
		exit(3);
	}
#define F(name, params)                               \
	{                                             \
		void *symbol = dlsym(driver, #name);  \
		memcpy(&name, &symbol, sizeof(name)); \
	}
	CALLS(F)
#undef F
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static uint32_t first_word(uint32_t seed, unsigned stream, unsigned i)
{
	return (seed * 31 + stream) * 2654435761u + i;
}

int main(int argc, char **argv)
{
	unsigned blocks = (unsigned)option(argc, argv, "--blocks", 8);
	unsigned rounds = (unsigned)option(argc, argv, "--rounds", 1000), n, i, wrong = 0;
	unsigned depth = (unsigned)option(argc, argv, "--depth", 1), steps = 0, k;
	unsigned n_streams = (unsigned)option(argc, argv, "--streams", 1);
	uint32_t seed = (uint32_t)option(argc, argv, "--seed", 1), by = 1, plus = 0;
	double at = option(argc, argv, "--at", 0), end, begin, since, late;
	struct timespec pause = {0, 1000000};
	unsigned n_kernels = (unsigned)option(argc, argv, "--kernels", 1);
	handle context, module, functions[KERNELS], streams[STREAMS_MAX];
	pointer d[STREAMS_MAX];

	if (!blocks || blocks > BLOCKS_MAX || !depth || !n_streams || n_streams > STREAMS_MAX ||
	    (n_kernels != 1 && n_kernels != KERNELS))
		return 2;
	n = blocks * THREADS;
	open_driver();
	CHECK(cuInit, 0);
	CHECK(cuDevicePrimaryCtxRetain, &context, 0);
	CHECK(cuCtxSetCurrent, context);
	CHECK(cuModuleLoadData, &module, n_kernels == 1 ? of_one : of_four);
	for (k = 0; k < n_kernels; k++)
		CHECK(cuModuleGetFunction, &functions[k], module, names[k]);
	for (k = 0; k < n_streams; k++) {
		CHECK(cuStreamCreate, &streams[k], 1);
		CHECK(cuMemAlloc_v2, &d[k], n * sizeof(words[0]));
		for (i = 0; i < n; i++)
			words[i] = first_word(seed, k, i);
		CHECK(cuMemcpyHtoD_v2, d[k], words, n * sizeof(words[0]));
	}
	while (now_s(CLOCK_REALTIME) < at)
		nanosleep(&pause, NULL);
	late = at > 0 ? now_s(CLOCK_REALTIME) - at : 0;
	begin = now_s(CLOCK_MONOTONIC);
	end = begin + option(argc, argv, "--seconds", 0.5);
	for (since = begin; since < end && steps < TIMES_MAX; steps++) {
		double done;

		for (i = 0; i < depth * n_streams; i++) {
			void *params[] = {&d[i % n_streams], &n, &rounds};

			CHECK(cuLaunchKernel, functions[i % n_streams % n_kernels], blocks, 1, 1,
			      THREADS, 1, 1, 0, streams[i % n_streams], params, NULL);
		}
		for (k = 0; k < n_streams; k++)
			CHECK(cuStreamSynchronize, streams[k]);
		done = now_s(CLOCK_MONOTONIC);
		times_us[steps] = (float)((done - since) * 1e6);
		since = done;
	}
	/* What `rounds` times do at once, and then all launches. */
	for (i = 0; i < rounds; i++) {
		by *= MIX_TIMES;
		plus = plus * MIX_TIMES + MIX_PLUS;
	}
	for (k = 0; k < n_streams; k++) {
		CHECK(cuMemcpyDtoH_v2, words, d[k], n * sizeof(words[0]));
		for (i = 0; i < n; i++) {
			uint32_t v = first_word(seed, k, i);
			unsigned times;

			for (times = 0; times < steps * depth; times++)
				v = v * by + plus;
			wrong += v != words[i];
		}
	}
	qsort(times_us, steps, sizeof(times_us[0]), by_size);
	printf("{\"steps\": %u, \"depth\": %u, \"streams\": %u, \"blocks\": %u, \"rounds\": %u, \"seconds\": %.4f, "
	       "\"late_ms\": %.1f, "
	       "\"mean_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"words\": %u, \"wrong\": "
	       "%u}\n",
	       steps, depth, n_streams, blocks, rounds, since - begin, late * 1e3,
	       (since - begin) * 1e6 / steps, (double)times_us[steps / 2],
	       (double)times_us[steps - 1 - steps / 100], n * n_streams, wrong);
	return wrong != 0;
}
