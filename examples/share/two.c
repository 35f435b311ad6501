/*
 * One program, two kinds of kernels: a thread grinds in one stream, the main thread answers
 * requests in another. It says so, and is given so: the grinding has a quarter of the SMs at most,
 * and makes room when the requests want theirs. Needs no headers of CUDA, and no compiler for it:
 *
 *   cc -Iinclude examples/share/two.c -o two -ldl -pthread
 *   cotenant run --class latency --reserve 50% -- ./two          on a GPU, under the policy smguard
 *   cotenant stats                                               meanwhile: who has what
 *
 * ./two [SECONDS [SHARE]]: for how long (10), and what the grinding may have (25%; "silent": the
 * program says nothing; "alone": there is no grinding).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cotenant/share.h>

enum { THREADS = 32, SHARED_BYTES = 40 * 1024, NON_BLOCKING = 1 };
enum { GRINDING_BLOCKS = 4000, ANSWER_BLOCKS = 1000, TIMES_MAX = 4096 };

/* state[0] blocks run now, state[1] ran at most at a time. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry work(.param .u64 state, .param .u32 rounds)\n"
			  "{\n"
			  "  .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<2>;\n"
			  "  ld.param.u64 %rd1, [state];\n"
			  "  ld.param.u32 %r1, [rounds];\n"
			  "  mov.u32 %r2, %tid.x;\n"
			  "  setp.ne.u32 %p1, %r2, 0;\n"
			  "  @%p1 bra begun;\n"
			  "  atom.global.add.u32 %r3, [%rd1], 1;\n"
			  "  add.u32 %r3, %r3, 1;\n"
			  "  red.global.max.u32 [%rd1+4], %r3;\n"
			  "begun:\n"
			  "  bar.sync 0;\n"
			  "  mov.u32 %r4, 0;\n"
			  "round:\n"
			  "  add.u32 %r4, %r4, 1;\n"
			  "  setp.lt.u32 %p2, %r4, %r1;\n"
			  "  @%p2 bra round;\n"
			  "  bar.sync 0;\n"
			  "  @%p1 bra end;\n"
			  "  red.global.add.u32 [%rd1], -1;\n"
			  "end: ret;\n"
			  "}\n";

/* name in libcuda, name here, parameters */
#define CALLS(F)                                                                                 \
	F(cuInit, init, (unsigned))                                                              \
	F(cuDeviceGet, device, (int *, int))                                                     \
	F(cuDevicePrimaryCtxRetain, retain, (void **, int))                                      \
	F(cuDevicePrimaryCtxRelease_v2, release, (int))                                          \
	F(cuCtxSetCurrent, use, (void *))                                                        \
	F(cuModuleLoadData, load, (void **, const void *))                                       \
	F(cuModuleGetFunction, function, (void **, void *, const char *))                        \
	F(cuMemAlloc_v2, alloc, (uint64_t *, size_t))                                            \
	F(cuMemsetD32Async, fill, (uint64_t, unsigned, size_t, void *))                          \
	F(cuMemcpyDtoHAsync_v2, from_gpu, (void *, uint64_t, size_t, void *))                    \
	F(cuStreamCreate, stream, (void **, unsigned))                                           \
	F(cuStreamSynchronize, wait, (void *))                                                   \
	F(cuLaunchKernel, launch,                                                                \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
	   void **, void **))

static struct {
#define F(symbol, name, parameters) int(*name) parameters;
	CALLS(F)
#undef F
} cuda;

static void stop(const char *what)
{
	fprintf(stderr, "two: %s\n", what);
	exit(1);
}

static void check(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "two: %s failed: error %d\n", what, result);
		exit(1);
	}
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol;

	if (!library)
		stop("there is no CUDA driver here; try: cotenant run --emulate h200 -- ...");
#define F(name_there, name, parameters)                 \
	symbol = dlsym(library, #name_there);           \
	if (!symbol)                                    \
		stop("the driver has no " #name_there); \
	memcpy(&cuda.name, &symbol, sizeof(symbol));
	CALLS(F)
#undef F
}

/* ---- what both streams do ---- */

struct side {
	void *context, *kernel, *stream;
	uint64_t state;
	unsigned n_blocks, rounds;
	unsigned n_launches, most; /* blocks that ran at a time */
	double took_us[TIMES_MAX]; /* the last launches, with the wait for them */
};

static void prepare(struct side *s, void *context, void *kernel)
{
	s->context = context;
	s->kernel = kernel;
	check(cuda.stream(&s->stream, NON_BLOCKING), "cuStreamCreate");
	check(cuda.alloc(&s->state, 2 * sizeof(unsigned)), "cuMemAlloc");
	check(cuda.fill(s->state, 0, 2, s->stream), "cuMemsetD32");
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void run_once(struct side *s)
{
	void *arguments[] = {&s->state, &s->rounds};
	double begin_us = now_us();
	unsigned seen[2];

	check(cuda.launch(s->kernel, s->n_blocks, 1, 1, THREADS, 1, 1, SHARED_BYTES, s->stream,
			  arguments, NULL),
	      "cuLaunchKernel");
	check(cuda.from_gpu(seen, s->state, sizeof(seen), s->stream), "cuMemcpyDtoH");
	check(cuda.wait(s->stream), "cuStreamSynchronize");
	s->took_us[s->n_launches++ % TIMES_MAX] = now_us() - begin_us;
	s->most = seen[1];
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_us(struct side *s)
{
	unsigned n = s->n_launches < TIMES_MAX ? s->n_launches : TIMES_MAX;

	qsort(s->took_us, n, sizeof(s->took_us[0]), by_size);
	return n ? s->took_us[n / 2] : 0;
}

static atomic_int over;

static void *grind(void *arg)
{
	struct side *s = arg;

	check(cuda.use(s->context), "cuCtxSetCurrent");
	do
		run_once(s);
	while (!atomic_load(&over));
	return NULL;
}

/* ---- the program ---- */

static void say(const char *whose, void *stream, enum cot_share_method method, const char *share)
{
	int rc = cot_share_stream(stream, method, share);

	if (rc == -ENOSYS)
		printf("%s: nobody to tell; expected `cotenant run --class latency --reserve 50%% -- ...`\n",
		       whose);
	else if (rc)
		printf("%s: %s\n", whose, strerror(-rc));
	else
		printf("%s: told\n", whose);
}

int main(int argc, char **argv)
{
	static struct side batch = {.n_blocks = GRINDING_BLOCKS, .rounds = 4000};
	static struct side answers = {.n_blocks = ANSWER_BLOCKS, .rounds = 1000};
	const char *share = argc > 2 ? argv[2] : "25%";
	struct timespec pause = {.tv_nsec = 20000000};
	double seconds = argc > 1 ? atoi(argv[1]) : 10, until_us;
	bool alone = !strcmp(share, "alone");
	void *context, *module, *kernel;
	pthread_t thread;
	int device;

	find_driver();
	check(cuda.init(0), "cuInit");
	check(cuda.device(&device, 0), "cuDeviceGet");
	check(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cuda.use(context), "cuCtxSetCurrent");
	check(cuda.load(&module, ptx), "cuModuleLoadData");
	check(cuda.function(&kernel, module, "work"), "cuModuleGetFunction");
	prepare(&batch, context, kernel);
	prepare(&answers, context, kernel);
	if (!alone && strcmp(share, "silent")) {
		say("grinding", batch.stream, COT_SHARE_QUOTA, share);
		say("answers", answers.stream, COT_SHARE_RESERVE, NULL);
	}
	fflush(stdout);
	if (!alone && pthread_create(&thread, NULL, grind, &batch) != 0)
		stop("no thread");
	until_us = now_us() + seconds * 1e6;
	do {
		run_once(&answers);
		nanosleep(&pause, NULL);
	} while (now_us() < until_us);
	atomic_store(&over, 1);
	if (!alone)
		pthread_join(thread, NULL);
	printf("grinding: %u launches, at most %u blocks at a time\n", batch.n_launches,
	       batch.most);
	printf("answers: %u launches, at most %u blocks at a time, median %.0f us\n",
	       answers.n_launches, answers.most, median_us(&answers));
	return cuda.release(device);
}
