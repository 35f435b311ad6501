/*
 * What merging costs the program's thread: a step of one launch in each of some streams, and a
 * wait, as the program makes it and with `cotenant run --merge`, always merged; and what that is
 * for a launch. Behind it is a driver that does nothing (bench/shim/driver.c): on a GPU's driver
 * each launch that is saved is worth some microseconds more. Each number is the smallest of several
 * runs. Every run counts what has come to the driver: if that is not one launch a step, it fails.
 *
 *     bench_merge [--steps N]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/calls.h"

#define STEPS_DEFAULT 2000u
#define REPEATS	      100
#define STREAMS	      8
#define KERNELS	      4

#define KERNEL(name)                                                                             \
	".visible .entry " name "(.param .u64 to, .param .u32 x)\n"                              \
	"{ .reg .b32 %r<3>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [x];\n" \
	"mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"          \
	"st.global.u32 [%rd3], %r1; ret; }\n"

static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n" KERNEL("a") KERNEL("b")
	KERNEL("c") KERNEL("d");
static const char *const kernels[KERNELS] = {"a", "b", "c", "d"};

static const struct {
	const char *what;
	unsigned streams, kernels;
} cases[] = {
	{"2 of one kernel", 2, 1}, {"4 of one kernel", 4, 1}, {"8 of one kernel", 8, 1},
	{"2 kernels", 2, 2},	   {"3 kernels", 3, 3},	      {"4 kernels", 4, 4},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

struct results {
	double step_ns[CASES];
	unsigned long least[CASES], most[CASES]; /* launches that came to the driver, of all runs */
};

static unsigned n_steps = STEPS_DEFAULT;
static char streams[STREAMS][64]; /* their addresses serve as handles */
static __typeof__(cuLaunchKernel) *launch;
static __typeof__(cuStreamSynchronize) *synchronize;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void failed(const char *what)
{
	fprintf(stderr, "bench_merge: %s\n", what);
	exit(1);
}

static void *symbol(void *handle, const char *name)
{
	void *found = handle ? dlsym(handle, name) : NULL;

	if (!found)
		failed(name);
	return found;
}

static void step(CUfunction const *functions, unsigned n_streams, unsigned n_kernels)
{
	uint64_t to = 4096;
	uint32_t x = 7, i;
	void *params[] = {&to, &x};

	for (i = 0; i < n_streams; i++)
		if (launch(functions[i % n_kernels], 4, 1, 1, 64, 1, 1, 0, (CUstream)streams[i],
			   params, NULL))
			failed("a launch");
	if (synchronize((CUstream)streams[0]))
		failed("a wait");
}

static void measure(const char *path, struct results *ret)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL),
	     *driver = dlopen(COT_STUB_DRIVER, RTLD_NOW | RTLD_LOCAL);
	const unsigned long *n_launches = symbol(driver, "cot_stub_n_launches");
	__typeof__(cuInit) *init;
	__typeof__(cuModuleLoadData) *load;
	__typeof__(cuModuleGetFunction) *get;
	CUfunction functions[KERNELS];
	CUmodule module;
	unsigned c, i, k;

	*(void **)&launch = symbol(handle, "cuLaunchKernel");
	*(void **)&synchronize = symbol(handle, "cuStreamSynchronize");
	*(void **)&init = symbol(handle, "cuInit");
	*(void **)&load = symbol(handle, "cuModuleLoadData");
	*(void **)&get = symbol(handle, "cuModuleGetFunction");
	if (init(0) || load(&module, text))
		failed("the module");
	for (k = 0; k < KERNELS; k++)
		if (get(&functions[k], module, kernels[k]))
			failed(kernels[k]);
	for (c = 0; c < CASES; c++) {
		/* The first launches go as they are. */
		for (i = 0; i < 100; i++)
			step(functions, cases[c].streams, cases[c].kernels);
		for (k = 0; k < REPEATS; k++) {
			unsigned long before = *n_launches, n;
			double begin = now_ns(), ns;

			for (i = 0; i < n_steps; i++)
				step(functions, cases[c].streams, cases[c].kernels);
			ns = (now_ns() - begin) / n_steps;
			if (k == 0 || ns < ret->step_ns[c])
				ret->step_ns[c] = ns;
			n = *n_launches - before;
			if (k == 0 || n < ret->least[c])
				ret->least[c] = n;
			if (k == 0 || n > ret->most[c])
				ret->most[c] = n;
		}
	}
}

/* In a process of its own, since the shim looks at its environment once. */
static struct results measure_apart(const char *path, const char *merge)
{
	struct results r = {.step_ns = {0}};
	int fds[2], status = -1;
	pid_t pid;

	if (pipe(fds))
		failed("no pipe");
	pid = fork();
	if (!pid) {
		setenv("COTENANT_MERGE", merge, 1);
		setenv("COTENANT_MERGE_STORE", "0", 1);
		setenv("COTENANT_MERGE_US", "100000", 1); /* the wait ends it */
		setenv("COTENANT_SOCKET", "/nowhere", 1);
		setenv("COTENANT_SHIM_DRIVER", COT_STUB_DRIVER, 1);
		measure(path, &r);
		exit(write(fds[1], &r, sizeof(r)) != (ssize_t)sizeof(r));
	}
	if (pid < 0 || read(fds[0], &r, sizeof(r)) != (ssize_t)sizeof(r) ||
	    waitpid(pid, &status, 0) != pid || status)
		failed("a run failed");
	close(fds[0]);
	close(fds[1]);
	return r;
}

int main(int argc, char **argv)
{
	struct results plain, merged;
	unsigned c;

	if (argc == 3 && !strcmp(argv[1], "--steps"))
		n_steps = (unsigned)strtoul(argv[2], NULL, 10);
	if (!n_steps || (argc != 1 && argc != 3)) {
		fprintf(stderr, "usage: bench_merge [--steps N]\n");
		return 2;
	}
	plain = measure_apart(COT_STUB_DRIVER, "0");
	merged = measure_apart(COT_SHIM, "always");
	printf("ns per step        as it is    merged  a launch more   launches that the driver gets\n");
	for (c = 0; c < CASES; c++) {
		if (merged.least[c] < n_steps || merged.most[c] * 100 > n_steps * 101ul)
			failed("not every step was one launch");
		printf("%-18s %8.1f  %8.1f       %8.1f   %u -> %.2f\n", cases[c].what,
		       plain.step_ns[c], merged.step_ns[c],
		       (merged.step_ns[c] - plain.step_ns[c]) / cases[c].streams, cases[c].streams,
		       (double)merged.most[c] / n_steps);
	}
	return 0;
}
