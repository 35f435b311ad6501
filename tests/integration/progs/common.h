/*
 * What the test programs have in common: options, the clock, a context and the kernels. They run on
 * the emulated GPU and, with the real driver's folder on LD_LIBRARY_PATH, on a real one.
 * Times that they print are GPU time: wall time divided by COTENANT_EMU_SCALE.
 */
#ifndef COT_TESTS_COMMON_H
#define COT_TESTS_COMMON_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/abi/cuda.h"
#include "emu/driver/builtin.h"
#include "kernels_ptx.h"

#define PROG_THREADS 256u

/* The number behind `--name` on the command line. */
static inline double prog_option(int argc, char **argv, const char *name, double fallback)
{
	int i;

	for (i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtod(argv[i + 1], NULL);
	return fallback;
}

static inline double prog_scale(void)
{
	const char *s = getenv("COTENANT_EMU_SCALE");
	double v = s ? strtod(s, NULL) : 1;

	return v > 0 ? v : 1;
}

/* GPU time in microseconds. */
static inline double prog_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3) / prog_scale();
}

static inline void prog_sleep_us(double us)
{
	double s = us * prog_scale() * 1e-6;
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	if (us > 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Exit status 3 is a failing CUDA call; the name goes to standard output for scripts to read. */
static inline void prog_check(CUresult result, const char *what)
{
	const char *name = "CUDA_ERROR";

	if (!result)
		return;
	cuGetErrorName(result, &name);
	printf("failed %s %s\n", what, name);
	fflush(stdout);
	_Exit(3);
}

#define PROG_CHECK(call) prog_check((call), #call)

struct prog {
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUfunction spin, mix, trap;
};

/* In a context that the caller made. */
static inline struct prog prog_start_in(CUcontext context)
{
	struct prog p = {.context = context};

	if (cuModuleLoadData(&p.module, COT_EMU_BUILTIN_IMAGE))
		PROG_CHECK(cuModuleLoadData(&p.module, prog_ptx));
	PROG_CHECK(cuModuleGetFunction(&p.spin, p.module, "spin"));
	PROG_CHECK(cuModuleGetFunction(&p.mix, p.module, "mix"));
	PROG_CHECK(cuModuleGetFunction(&p.trap, p.module, "trap"));
	PROG_CHECK(cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING));
	return p;
}

static inline struct prog prog_start(int device)
{
	CUcontext context;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuCtxCreate(&context, 0, device));
	return prog_start_in(context);
}

static inline CUresult prog_spin(const struct prog *p, unsigned blocks, double block_us,
				 CUdeviceptr counter)
{
	uint64_t block_ns = (uint64_t)(block_us * 1e3), address = counter;
	void *params[] = {&block_ns, &address};

	return cuLaunchKernel(p->spin, blocks, 1, 1, PROG_THREADS, 1, 1, 0, p->stream, params,
			      NULL);
}

static volatile sig_atomic_t prog_stopped;

static inline void prog_on_signal(int signal)
{
	(void)signal;
	prog_stopped = 1;
}

/* SIGTERM and SIGINT end the loop: the program still prints what it has measured. */
static inline void prog_catch_signals(void)
{
	struct sigaction a = {.sa_handler = prog_on_signal};

	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
}

#endif
