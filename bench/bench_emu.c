/*
 * How fast the emulated GPU computes: instructions per second, counted once for each thread that
 * takes part, for kernels that stress one part of the interpreter each.
 *
 *     bench_emu [--threads N] [--repeats N] [--only NAME]
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/exec/exec.h"

#define HEAD                                                                                      \
	".version 8.0\n.target sm_90\n.address_size 64\n"                                         \
	".visible .entry k(.param .u64 data, .param .u32 n) {\n"                                  \
	".reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<40>;\n"              \
	".shared .align 16 .b8 tile[4096];\n"                                                     \
	"ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [n];\n"                                     \
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"                     \
	"mad.lo.u32 %r5, %r2, %r3, %r4; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd3, %rd1, %rd2;\n"   \
	"mov.u32 %r10, 0; mov.u32 %r11, %r5; cvt.rn.f32.u32 %f1, %r5; mov.f32 %f2, 0f3F800000;\n" \
	"mul.lo.u32 %r6, %r4, 4; mov.u32 %r7, tile; add.u32 %r6, %r6, %r7;\n"
#define LOOP "L: "
#define AGAIN                                                              \
	"add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r1; @%p1 bra L;\n" \
	"cvt.rn.f32.u32 %f3, %r11; add.f32 %f3, %f3, %f1; st.global.f32 [%rd3], %f3; ret; }\n"
#define FOUR(text) text text text text

struct bench {
	const char *name, *what, *ptx;
	uint32_t blocks, loops;
	double goal; /* million instructions per second with two CPU cores; 0: none */
};

static const struct bench benches[] = {
	{"integer", "add, mad, xor, shift",
	 HEAD LOOP FOUR("mad.lo.u32 %r11, %r11, 1664525, 1013904223; xor.b32 %r11, %r11, %r5;"
			"shr.u32 %r12, %r11, 3; add.u32 %r11, %r11, %r12;\n") AGAIN,
	 1024, 100, 500},
	{"fma", "fused multiply-adds of f32",
	 HEAD LOOP FOUR("fma.rn.f32 %f1, %f1, %f2, %f2; fma.rn.f32 %f4, %f1, %f2, %f2;"
			"fma.rn.f32 %f5, %f4, %f2, %f2; fma.rn.f32 %f1, %f5, %f2, %f1;\n") AGAIN,
	 1024, 100, 500},
	{"global", "loads and stores that follow each other",
	 HEAD LOOP "ld.global.u32 %r12, [%rd3]; add.u32 %r11, %r11, %r12;"
		   "st.global.u32 [%rd3], %r11;\n" AGAIN,
	 1024, 100, 100},
	{"shared", "shared memory and barriers",
	 HEAD LOOP "st.shared.u32 [%r6], %r11; bar.sync 0; xor.b32 %r12, %r6, 64;"
		   "ld.shared.u32 %r13, [%r12]; add.u32 %r11, %r11, %r13; bar.sync 0;\n" AGAIN,
	 1024, 50, 100},
	{"divergent", "two ways by the parity of a number",
	 HEAD LOOP "and.b32 %r12, %r11, 1; setp.eq.u32 %p2, %r12, 0; @%p2 bra E;\n"
		   "mad.lo.u32 %r11, %r11, 3, 1; add.u32 %r11, %r11, %r4; bra.uni N;\n"
		   "E: shr.u32 %r11, %r11, 1; add.u32 %r11, %r11, %r4;\nN:" AGAIN,
	 1024, 100, 0},
	{"atomic", "atomic additions to one word",
	 HEAD LOOP "atom.global.add.u32 %r12, [%rd1], 1; add.u32 %r11, %r11, %r12;\n" AGAIN, 256,
	 50, 0},
	{"special", "sine, logarithm, reciprocal root",
	 HEAD LOOP "sin.approx.f32 %f4, %f1; lg2.approx.f32 %f5, %f1; rsqrt.approx.f32 %f6, %f1;"
		   "ex2.approx.f32 %f7, %f4; add.f32 %f1, %f7, %f2;\n" AGAIN,
	 256, 50, 0},
	{"blocks", "many short blocks", HEAD "st.global.u32 [%rd3], %r5; ret; }\n", 16384, 1, 0},
};

struct options {
	uint32_t threads, repeats;
	const char *only;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const char *text)
{
	fprintf(stderr, "bench_emu: %s\n", text);
	return 1;
}

/* Seconds of one run, and what it counted. */
static int run_once(const struct cot_exec_launch *launch, uint32_t threads, double *ret_s,
		    struct cot_exec_stats *ret_stats)
{
	struct cot_error err = {{0}};
	struct cot_exec_run *run;
	double start;

	if (cot_exec_start(launch, &run, &err))
		return fail(err.text);
	start = now_s();
	if (cot_exec_run(run, threads) != COT_EXEC_DONE) {
		fail(cot_exec_run_fault(run)->text);
		cot_exec_destroy(run);
		return 1;
	}
	*ret_s = now_s() - start;
	*ret_stats = cot_exec_run_stats(run);
	cot_exec_destroy(run);
	return 0;
}

static int measure(const struct bench *b, const struct options *o, struct cot_exec_ranges *memory,
		   void *data)
{
	struct cot_error err = {{0}};
	struct cot_exec_module *module;
	struct {
		uint64_t data;
		uint32_t n;
	} args = {(uint64_t)(uintptr_t)data, b->loops};
	struct cot_exec_launch launch = {
		.memory = memory,
		.grid = {b->blocks, 1, 1},
		.block = {256, 1, 1},
		.args = &args,
		.args_size = sizeof(args),
	};
	struct cot_exec_stats stats;
	double best = 0, s = 0;
	uint32_t i;

	if (cot_exec_module_load(memory, b->ptx, strlen(b->ptx), b->name, 0, &module, &err))
		return fail(err.text);
	launch.function = cot_exec_module_function(module, 0);
	for (i = 0; i < o->repeats; i++) {
		if (run_once(&launch, o->threads, &s, &stats)) {
			cot_exec_module_unload(module);
			return 1;
		}
		if (!best || s < best)
			best = s;
	}
	printf("%-10s %8.0f %8.1f %8.2f   %s", b->name, (double)stats.n_thread_insns / best * 1e-6,
	       best * 1e9 / (double)stats.n_warp_insns * o->threads, best * 1e3, b->what);
	if (b->goal > 0)
		printf(" (goal on two cores: %.0f)", b->goal);
	printf("\n");
	cot_exec_module_unload(module);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 't':
		o->threads = (uint32_t)strtoul(arg, NULL, 10);
		if (!o->threads || o->threads > COT_EXEC_MAX_WORKERS)
			argp_error(state, "--threads %s: expected 1 to %u", arg,
				   COT_EXEC_MAX_WORKERS);
		return 0;
	case 'r':
		o->repeats = (uint32_t)strtoul(arg, NULL, 10);
		if (!o->repeats)
			argp_error(state, "--repeats %s: expected a positive number", arg);
		return 0;
	case 'o':
		o->only = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"threads", 't', "N", 0, "CPU threads (default: the cores of this machine)", 0},
		{"repeats", 'r', "N", 0, "the best of N runs counts (default: 5)", 0},
		{"only", 'o', "NAME", 0, "this kernel only", 0},
		{0},
	};
	static const struct argp argp = {options, parse, NULL, "Measures the PTX interpreter.",
					 NULL,	  NULL,	 NULL};
	struct options o = {(uint32_t)sysconf(_SC_NPROCESSORS_ONLN), 5, NULL};
	struct cot_exec_ranges *memory = cot_exec_ranges_create();
	size_t bytes = (size_t)16384 * 256 * 4;
	void *data = aligned_alloc(256, bytes);
	size_t i;
	int bad = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!memory || !data || cot_exec_ranges_add(memory, (uint64_t)(uintptr_t)data, bytes, true))
		return fail("no memory");
	memset(data, 0, bytes);
	printf("%u CPU threads, best of %u runs\n", o.threads, o.repeats);
	printf("%-10s %8s %8s %8s\n", "kernel", "M/s", "ns/warp", "ms");
	for (i = 0; i < COT_ARRAY_LEN(benches) && !bad; i++)
		if (!o.only || !strcmp(o.only, benches[i].name))
			bad = measure(&benches[i], &o, memory, data);
	cot_exec_ranges_destroy(memory);
	free(data);
	return bad;
}
