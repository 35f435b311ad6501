/* Programs changed for a sample: kernels that keep their time, CPU time in other places. */
#include <math.h>

#include "base/units.h"
#include "sim/sim.h"
#include "study/preemption/variants.h"
#include "test.h"
#include "trace/gpu.h"
#include "trace/trace.h"

static double alone_us(const struct cot_scenario *like, const struct cot_program *p)
{
	struct cot_scenario sc = *like;
	double us;

	sc.n_apps = 1;
	sc.apps[0] = (struct cot_app){.tokens = COT_TOKENS_EQUAL, .name = "a", .program = *p};
	assert_int_equal(cot_sim_isolated_us(&sc, 0, NULL, NULL, &us), 0);
	return us;
}

/* 1 to 257 blocks, two on each of 13 SMs; unequal blocks take longer until their mean is made
 * shorter. The draws of another program are others: 3 % remain. */
static void kernels_keep_their_time(void **state)
{
	const struct cot_kernel kernels[] = {
		{.name = "k", .n_blocks = 257, .blocks_per_sm = 2, .block_ps = 50000000},
		{.name = "l", .n_blocks = 40, .blocks_per_sm = 1, .block_ps = 9000000}};
	const struct cot_step steps[] = {{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 20},
					 {.kind = COT_STEP_KERNEL, .kernel = 1, .launches = 40},
					 {.kind = COT_STEP_CPU, .cpu_ps = 1000000}};
	const struct cot_program program = {
		.steps = steps, .n_steps = 3, .kernels = kernels, .n_kernels = 2};
	struct cot_scenario sc = {.gpu = *cot_gpu_find("k20c"), .scheduler = "fcfs", .seed = 3};
	struct cot_preemption_variant v = {0};
	double equal_us = alone_us(&sc, &program), us;

	(void)state;
	sc.block_jitter_cv = 0.6;
	assert_true(alone_us(&sc, &program) > 1.1 * equal_us);
	assert_int_equal(cot_preemption_keep_times(&sc, &program, &v), 0);
	us = alone_us(&sc, &v.program);
	assert_true(fabs(us / equal_us - 1.0) < 0.03);
	assert_int_equal(v.program.n_steps, 3);
	cot_preemption_variant_finish(&v);
}

static void cpu_time_moves_between_the_launches(void **state)
{
	const struct cot_kernel kernel = {
		.name = "k", .n_blocks = 13, .blocks_per_sm = 1, .block_ps = 5000000};
	struct cot_step steps[] = {{.kind = COT_STEP_CPU, .cpu_ps = 100000000},
				   {.kind = COT_STEP_KERNEL, .launches = 10},
				   {.kind = COT_STEP_SYNC},
				   {.kind = COT_STEP_CPU, .cpu_ps = 100000000}};
	const struct cot_program program = {
		.steps = steps, .n_steps = 4, .kernels = &kernel, .n_kernels = 1};
	const struct cot_scenario sc = {
		.gpu = *cot_gpu_find("k20c"), .scheduler = "fcfs", .seed = 3};
	struct cot_preemption_variant v = {0};

	(void)state;
	assert_int_equal(cot_preemption_spread_cpu(&program, &v), 0);
	assert_int_equal(v.program.n_steps, 3 + 3 * 10);
	assert_int_equal(v.steps[0].cpu_ps, 10000000);
	assert_int_equal(v.steps[1].launches, 1);
	assert_int_equal(v.steps[2].kind, COT_STEP_SYNC);
	assert_int_equal(v.steps[3].cpu_ps, 18000000);
	assert_float_equal(alone_us(&sc, &v.program), alone_us(&sc, &program), 1e-6);
	cot_preemption_variant_finish(&v);

	steps[1].launches = 9;
	assert_int_equal(cot_preemption_spread_cpu(&program, &v), 0);
	assert_null(v.steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_keep_their_time),
		cmocka_unit_test(cpu_time_moves_between_the_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
