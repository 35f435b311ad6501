/*
 * The built-in traces against Table 1 of Tanasic et al. (ISCA 2014): save times and percentages to
 * 0.01, launch counts, occupancy, block times, and the lengths of the applications.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "test.h"
#include "trace/gpu.h"
#include "trace/program.h"
#include "trace/trace.h"

#define N_BENCHMARKS 10
#define N_KERNELS    24

static struct cot_trace *read_trace(unsigned i)
{
	struct cot_error err = {""};
	struct cot_trace *trace = NULL;

	if (cot_trace_read(cot_trace_name(i), NULL, &trace, &err))
		fail_msg("%s", err.text);
	return trace;
}

/* Calls `check` for all kernels of all built-in traces. */
static void for_each_kernel(void (*check)(const struct cot_trace *,
					  const struct cot_trace_kernel *))
{
	unsigned i, n = 0;
	uint32_t j;

	assert_true(cot_trace_count() >= N_BENCHMARKS);
	for (i = 0; i < N_BENCHMARKS; i++) {
		struct cot_trace *trace = read_trace(i);

		assert_true(!strncmp(cot_trace_name(i), "parboil/", strlen("parboil/")));
		for (j = 0; j < trace->n_kernels; j++, n++)
			check(trace, &trace->kernels[j]);
		cot_trace_destroy(trace);
	}
	assert_int_equal(n, N_KERNELS);
}

static bool near(double ours, double printed, double tolerance)
{
	/* printed with two decimals: a hair more than the tolerance for the rounding of doubles */
	return fabs(ours - printed) <= tolerance + 1e-9;
}

static void check_save(const struct cot_trace *trace, const struct cot_trace_kernel *k)
{
	uint64_t bytes = (4ull * k->regs_per_block + k->shmem_per_block) * k->blocks_per_sm;
	double save_us = cot_us_from_ps(cot_gpu_sm_move_ps(trace->gpu, bytes));
	double pct = 100.0 * (double)bytes / (double)cot_gpu_ctx_bytes_max(trace->gpu);

	if (!near(save_us, k->save_time_us, 0.01) || !near(pct, k->resource_pct, 0.01))
		fail_msg("%s: save %.4f us, printed %.2f; %.4f %%, printed %.2f", k->name, save_us,
			 k->save_time_us, pct, k->resource_pct);
}

static void test_save_times_and_percentages(void **state)
{
	(void)state;
	for_each_kernel(check_save);
}

static void check_occupancy(const struct cot_trace *trace, const struct cot_trace_kernel *k)
{
	uint32_t fits = cot_gpu_occupancy(trace->gpu, k->regs_per_block, k->shmem_per_block, 0);

	/* Threads per block are not printed, so the formula can only give too many. */
	if (fits < k->blocks_per_sm)
		fail_msg("%s: %u blocks fit an SM, printed %u", k->name, fits, k->blocks_per_sm);
}

static void test_occupancy_is_never_below_the_table(void **state)
{
	(void)state;
	for_each_kernel(check_occupancy);
}

static void check_block_time(const struct cot_trace *trace, const struct cot_trace_kernel *k)
{
	double wave = cot_us_from_ps(cot_trace_block_ps(k, COT_BLOCK_TIME_WAVE, trace->gpu));
	double smooth = cot_us_from_ps(cot_trace_block_ps(k, COT_BLOCK_TIME_SMOOTH, trace->gpu));
	double printed = cot_us_from_ps(cot_trace_block_ps(k, COT_BLOCK_TIME_PRINTED, trace->gpu));
	uint64_t slots = (uint64_t)trace->gpu->n_sms * k->blocks_per_sm;
	double waves = (double)cot_div_up(k->n_blocks, slots);

	/* In waves of equal blocks the kernel takes as long as was measured. */
	assert_true(near(wave * waves, k->avg_time_us, 1e-3));
	assert_true(smooth >= wave && smooth <= k->avg_time_us + 1e-6);
	assert_true(printed == k->time_per_block_us);
	/* The printed column is the smooth time of one SM instead of 13, within 1.3 % or its
	 * rounding. */
	assert_true(fabs(k->avg_time_us * k->blocks_per_sm / k->n_blocks / printed - 1) < 0.013 ||
		    near(k->avg_time_us * k->blocks_per_sm / k->n_blocks, printed, 0.005));
}

static void test_block_times(void **state)
{
	(void)state;
	for_each_kernel(check_block_time);
}

static void check_known_block_times(const struct cot_trace *trace, const struct cot_trace_kernel *k)
{
	static const struct {
		const char *kernel;
		double wave_us, smooth_us;
	} known[] = {
		{"StreamCollide", 31.25, 31.48}, {"final", 35.12, 65.22},
		{"genhists", 913.46, 945.27},	 {"ComputePhiMag", 4.70, 4.70},
		{"mbsadcalc", 10.92, 10.93},	 {"griddingGPU", 412.67, 413.39},
	};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(known); i++) {
		if (strcmp(known[i].kernel, k->name) != 0)
			continue;
		assert_true(
			near(cot_us_from_ps(cot_trace_block_ps(k, COT_BLOCK_TIME_WAVE, trace->gpu)),
			     known[i].wave_us, 0.0051));
		assert_true(near(
			cot_us_from_ps(cot_trace_block_ps(k, COT_BLOCK_TIME_SMOOTH, trace->gpu)),
			known[i].smooth_us, 0.0051));
	}
}

static void test_known_block_times(void **state)
{
	(void)state;
	for_each_kernel(check_known_block_times);
}

/* Launches and blocks of one kernel in a program. */
static void count_launches(const struct cot_program *p, const char *name, uint32_t *ret_launches,
			   uint64_t *ret_blocks)
{
	uint32_t i;

	*ret_launches = 0;
	*ret_blocks = 0;
	for (i = 0; i < p->n_steps; i++) {
		const struct cot_step *s = &p->steps[i];

		if (s->kind != COT_STEP_KERNEL || strcmp(p->kernels[s->kernel].name, name) != 0)
			continue;
		*ret_launches += s->launches;
		*ret_blocks += (uint64_t)s->launches * p->kernels[s->kernel].n_blocks;
	}
}

static void test_programs_launch_what_the_table_counts(void **state)
{
	const struct cot_gpu *gpu = cot_gpu_find("k20c");
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_error err = {""};
	uint64_t blocks;
	unsigned i;
	uint32_t j, n, launches;

	(void)state;
	for (i = 0; i < N_BENCHMARKS; i++) {
		struct cot_trace *trace = read_trace(i);

		assert_string_equal(trace->name, cot_trace_name(i));
		assert_string_equal(trace->summary, cot_trace_summary(i));
		assert_int_equal(cot_trace_program(trace->name, COT_BLOCK_TIME_WAVE, gpu, &owner,
						   &program, &err),
				 0);
		/* Launches of different sizes have the mean that the table prints. */
		for (j = n = 0; j < trace->n_kernels; j++) {
			const struct cot_trace_kernel *k = &trace->kernels[j];

			count_launches(program, k->name, &launches, &blocks);
			assert_int_equal(launches, k->launches);
			assert_int_equal((blocks + launches / 2) / launches, k->n_blocks);
			n += launches;
		}
		for (j = 0; j < program->n_steps; j++)
			if (program->steps[j].kind == COT_STEP_KERNEL)
				n -= program->steps[j].launches;
		assert_int_equal(n, 0);
		cot_trace_program_destroy(owner);
		cot_trace_destroy(trace);
	}
}

static void test_applications_are_as_long_as_their_class_says(void **state)
{
	/* total as in data/traces/parboil/README.md; the class bounds are the paper's. What the
	 * CPU does beside the last kernels does not make the program longer. */
	static const struct {
		const char *name;
		double ms, beside_ms;
	} totals[N_BENCHMARKS] = {
		{"parboil/cutcp", 50, 16.414}, {"parboil/histo", 40, 0},
		{"parboil/lbm", 420, 0},       {"parboil/mri-gridding", 420, 63.908},
		{"parboil/mri-q", 7.8, 0},     {"parboil/sad", 420, 0},
		{"parboil/sgemm", 5.5, 0},     {"parboil/spmv", 2.5, 0},
		{"parboil/stencil", 420, 0},   {"parboil/tpacf", 60, 0},
	};
	const struct cot_gpu *gpu = cot_gpu_find("k20c");
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_error err = {""};
	unsigned i;

	(void)state;
	for (i = 0; i < N_BENCHMARKS; i++) {
		double ms;

		assert_string_equal(cot_trace_name(i), totals[i].name);
		assert_int_equal(cot_trace_program(totals[i].name, COT_BLOCK_TIME_WAVE, gpu, &owner,
						   &program, &err),
				 0);
		ms = cot_program_solo_us(program, gpu) / 1000 - totals[i].beside_ms;
		if (!near(ms, totals[i].ms, 0.001))
			fail_msg("%s: %.4f ms alone, expected %.3f", totals[i].name, ms,
				 totals[i].ms);
		cot_trace_program_destroy(owner);
	}
}

/* What the sources copy, for the sizes that the numbers of blocks tell. */
static void test_copies_are_those_of_the_sources(void **state)
{
	static const struct {
		const char *name;
		uint64_t to_gpu, from_gpu;
	} copies[N_BENCHMARKS] = {
		{"parboil/cutcp", 17 * 17 * 17 * 8 * 16 + 12, 88 * 88 * 88 * 4},
		{"parboil/histo", 996 * 1040 * 4 + 20 * 8, 996 * 1024 + 20 * 8},
		{"parboil/lbm", 2 * (128 * 120 * (154 + 4) * 20 * 4),
		 128 * 120 * (154 + 4) * 20 * 4},
		{"parboil/mri-gridding", 5188 * 512 * 24, 4 + (1u << 24) * 12},
		{"parboil/mri-q", 2048 * 4 * 2 + (1u << 18) * 4 * 3 + 2 * 1024 * 16,
		 2048 * 4 + (1u << 18) * 4 * 2},
		{"parboil/sad", 2 * 1920 * 1072 * 2, 41 * 1096 * 8040 * 2},
		{"parboil/sgemm", (1024 + 1056) * 992 * 4, 1024 * 1056 * 4},
		{"parboil/spmv", 2 * 149090 * 4 + 2 * 11948 * 4 + 49 * 4 + 374 * 4, 11948 * 4},
		{"parboil/stencil", 512 * 512 * 64 * 4, 512 * 512 * 64 * 4},
		{"parboil/tpacf", 3 * 101 * 487 * 4, 20 * 201 * 8},
	};
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_error err = {""};
	unsigned i;
	uint32_t j;

	(void)state;
	for (i = 0; i < N_BENCHMARKS; i++) {
		uint64_t bytes[2] = {0, 0};

		assert_int_equal(cot_trace_program(copies[i].name, COT_BLOCK_TIME_WAVE,
						   cot_gpu_find("k20c"), &owner, &program, &err),
				 0);
		for (j = 0; j < program->n_steps; j++)
			if (program->steps[j].kind == COT_STEP_H2D ||
			    program->steps[j].kind == COT_STEP_D2H)
				bytes[program->steps[j].kind == COT_STEP_D2H] +=
					program->steps[j].bytes;
		assert_int_equal(bytes[0], copies[i].to_gpu);
		assert_int_equal(bytes[1], copies[i].from_gpu);
		cot_trace_program_destroy(owner);
	}
}

/* Bytes of a program's copies of at least `least` bytes. */
static uint64_t copied(const char *name, enum cot_step_kind kind, uint64_t least)
{
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_error err = {""};
	uint64_t bytes = 0;
	uint32_t i;

	assert_int_equal(cot_trace_program(name, COT_BLOCK_TIME_WAVE, cot_gpu_find("k20c"), &owner,
					   &program, &err),
			 0);
	for (i = 0; i < program->n_steps; i++)
		if (program->steps[i].kind == kind && program->steps[i].bytes >= least)
			bytes += program->steps[i].bytes;
	cot_trace_program_destroy(owner);
	return bytes;
}

/*
 * The counters of a Quadro GV100, in sectors of 32 bytes (accel-sim-framework@46f3b1f,
 * accelwattch_hw_profiler/hw_perf.csv): what a kernel reads for the first time and writes are the
 * arrays that the program copies.
 */
static void test_copies_are_what_was_counted(void **state)
{
	uint64_t c = copied("parboil/sgemm", COT_STEP_D2H, 0);
	uint64_t q = copied("parboil/mri-q", COT_STEP_D2H, 1u << 20);
	double sads = (double)copied("parboil/sad", COT_STEP_D2H, 0) * 16 / 41;

	(void)state;
	assert_int_equal(copied("parboil/sgemm", COT_STEP_H2D, 0) + c, 393088 * 32);
	assert_int_equal(c, 135168 * 32);
	assert_int_equal(copied("parboil/mri-q", COT_STEP_H2D, 1u << 20) + q, 163840 * 32);
	assert_int_equal(q, 65536 * 32);
	assert_true(fabs(8720500.0 * 32 / sads - 1.0) < 0.011); /* some is still in the cache */
}

static void test_on_another_gpu(void **state)
{
	struct cot_gpu small = *cot_gpu_find("k20c");
	const struct cot_program *program;
	struct cot_trace_program *owner;
	struct cot_error err = {""};

	(void)state;
	/* The block time stays; never more blocks on an SM than were observed. */
	assert_int_equal(cot_trace_program("parboil/lbm", COT_BLOCK_TIME_WAVE, cot_gpu_find("h200"),
					   &owner, &program, &err),
			 0);
	assert_int_equal(program->kernels[0].blocks_per_sm, 15);
	assert_int_equal(program->kernels[0].block_ps, 31245269);
	cot_trace_program_destroy(owner);
	/* Half the registers, half the blocks. */
	small.regs_per_sm /= 2;
	assert_int_equal(cot_trace_program("parboil/lbm", COT_BLOCK_TIME_WAVE, &small, &owner,
					   &program, &err),
			 0);
	assert_int_equal(program->kernels[0].blocks_per_sm, 7);
	cot_trace_program_destroy(owner);
	/* A block of stencil has 41984 registers. */
	assert_int_not_equal(cot_trace_program("parboil/stencil", COT_BLOCK_TIME_WAVE, &small,
					       &owner, &program, &err),
			     0);
	assert_string_equal(err.text,
			    "traces/parboil/stencil.yaml:12:13: the kernel 'block2Dregtiling' does "
			    "not fit an SM of the GPU 'k20c': a block needs 41984 registers and 0 "
			    "bytes of shared memory");
}

static void test_unknown_trace(void **state)
{
	struct cot_trace *trace;
	struct cot_error err = {""};

	(void)state;
	assert_int_not_equal(cot_trace_read("parboil/bfs", NULL, &trace, &err), 0);
	assert_string_equal(err.text, "no trace 'parboil/bfs'; expected a file *.yaml or one that "
				      "`cotenant list traces` shows");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_save_times_and_percentages),
		cmocka_unit_test(test_occupancy_is_never_below_the_table),
		cmocka_unit_test(test_block_times),
		cmocka_unit_test(test_known_block_times),
		cmocka_unit_test(test_programs_launch_what_the_table_counts),
		cmocka_unit_test(test_applications_are_as_long_as_their_class_says),
		cmocka_unit_test(test_copies_are_those_of_the_sources),
		cmocka_unit_test(test_copies_are_what_was_counted),
		cmocka_unit_test(test_on_another_gpu),
		cmocka_unit_test(test_unknown_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
