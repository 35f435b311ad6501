/*
 * What the shim adds to a call that it leaves as it is, in nanoseconds: a call that it only passes
 * on, and the launch of a kernel that was not rewritten, with the shim switched off and on. Behind
 * it is a driver that does nothing (bench/shim/driver.c). Each number is the smallest of several
 * runs, since everything else on the machine can only add to it.
 *
 *     bench_shim [--calls N]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/calls.h"

#define CALLS_DEFAULT 5000000u
#define REPEATS	      7
#define FUNCTIONS     512 /* as many as a large program launches */

typedef __typeof__(cuLaunchKernel) launch_fn;
typedef __typeof__(cuStreamQuery) query_fn;

struct library {
	launch_fn *launch;
	query_fn *query;
	__typeof__(cuInit) *init;
	__typeof__(cuGetProcAddress) *proc;
};

static unsigned n_calls = CALLS_DEFAULT;
static volatile int sink;
static char functions[FUNCTIONS][64]; /* their addresses serve as handles */
#define STREAM ((CUstream)functions[0])

static void *symbol(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found) {
		fprintf(stderr, "bench_shim: no %s\n", name);
		exit(1);
	}
	return found;
}

static struct library open_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct library l;

	if (!handle) {
		fprintf(stderr, "bench_shim: %s\n", dlerror());
		exit(1);
	}
	*(void **)&l.launch = symbol(handle, "cuLaunchKernel");
	*(void **)&l.query = symbol(handle, "cuStreamQuery");
	*(void **)&l.init = symbol(handle, "cuInit");
	*(void **)&l.proc = symbol(handle, "cuGetProcAddress");
	return l;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_launches(launch_fn *launch)
{
	void *params[1] = {NULL};
	double begin = now_ns();
	unsigned i;

	for (i = 0; i < n_calls; i++)
		sink = launch((CUfunction)functions[i % FUNCTIONS], 1, 1, 1, 256, 1, 1, 0, STREAM,
			      params, NULL);
	return (now_ns() - begin) / n_calls;
}

static double time_queries(query_fn *query)
{
	double begin = now_ns();
	unsigned i;

	for (i = 0; i < n_calls; i++)
		sink = query(STREAM);
	return (now_ns() - begin) / n_calls;
}

struct times {
	double launch, query, found; /* found: by cuGetProcAddress */
};

static void least(double *of, double ns, int i)
{
	if (i == 0 || ns < *of)
		*of = ns;
}

static struct times measure(const char *path)
{
	struct library l = open_library(path);
	launch_fn *found = NULL;
	struct times t = {0};
	int i;

	sink = l.init(0);
	if (l.proc("cuLaunchKernel", (void **)&found, 12000, 0) || !found)
		exit(1);
	for (i = 0; i < REPEATS; i++) {
		least(&t.launch, time_launches(l.launch), i);
		least(&t.query, time_queries(l.query), i);
		least(&t.found, time_launches(found), i);
	}
	return t;
}

/* In a process of its own, since the shim looks at its environment once. */
static struct times measure_apart(const char *path, const char *on)
{
	struct times t = {0};
	int fds[2], status = -1;
	pid_t pid;

	if (pipe(fds))
		exit(1);
	pid = fork();
	if (!pid) {
		setenv("COTENANT_SHIM", on, 1);
		setenv("COTENANT_SOCKET", "/nowhere", 1);
		setenv("COTENANT_SHIM_DRIVER", COT_STUB_DRIVER, 1);
		t = measure(path);
		_exit(write(fds[1], &t, sizeof(t)) != (ssize_t)sizeof(t));
	}
	if (pid < 0 || read(fds[0], &t, sizeof(t)) != (ssize_t)sizeof(t) ||
	    waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "bench_shim: a run failed\n");
		exit(1);
	}
	close(fds[0]);
	close(fds[1]);
	return t;
}

static void show(const char *what, struct times t, struct times plain)
{
	printf("%-22s %6.1f %+6.1f   %6.1f %+6.1f   %6.1f %+6.1f\n", what, t.query,
	       t.query - plain.query, t.launch, t.launch - plain.launch, t.found,
	       t.found - plain.found);
}

int main(int argc, char **argv)
{
	struct times plain, off, on;

	if (argc == 3 && !strcmp(argv[1], "--calls"))
		n_calls = (unsigned)strtoul(argv[2], NULL, 10);
	if (!n_calls || (argc != 1 && argc != 3)) {
		fprintf(stderr, "usage: bench_shim [--calls N]\n");
		return 2;
	}
	plain = measure_apart(COT_STUB_DRIVER, "0");
	off = measure_apart(COT_SHIM, "0");
	on = measure_apart(COT_SHIM, "1");
	printf("ns per call            passed on       launch          launch, cuGetProcAddress\n");
	show("driver alone", plain, plain);
	show("shim, switched off", off, plain);
	show("shim, switched on", on, plain);
	return 0;
}
