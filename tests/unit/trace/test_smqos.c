/* The models of the benchmarks of the SMQoS paper: their class is what their curves say, and their
 * grids are those of the codes. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/qos.h"
#include "test.h"
#include "trace/gpu.h"
#include "trace/trace.h"

#define N_SMS 16u

static const struct {
	const char *name;
	const char *cls;
	uint32_t blocks, warps; /* of a launch, of a block, in the codes */
} benchmarks[] = {
	{"bino", "CI", 1024, 8}, {"merge", "CI", 4096, 16}, {"cp", "CI", 256, 4},
	{"tpacf", "CI", 201, 8}, {"hs", "CI", 1849, 8},	    {"pf", "CI", 463, 8},
	{"atax", "MI", 16, 8},	 {"bicg", "MI", 16, 8},	    {"gesummv", "MI", 16, 8},
	{"lib", "MI", 64, 2},	 {"lbm", "MI", 18000, 4},   {"mri-g", "MI", 65536, 2},
};

static const char *trace_of(const char *set, unsigned i)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "%s/%s", set, benchmarks[i].name);
	return name;
}

static double ipc_on(const char *name, uint32_t n_sms)
{
	struct cot_gpu gpu = *cot_gpu_find("gtx480");
	struct cot_trace_program *owner;
	const struct cot_program *program;
	struct cot_scenario sc;
	double ipc;

	gpu.n_sms = n_sms;
	assert_int_equal(cot_trace_program(name, COT_BLOCK_TIME_WAVE, &gpu, &owner, &program, NULL),
			 0);
	memset(&sc, 0, sizeof(sc));
	sc.gpu = gpu;
	sc.n_apps = 1;
	sc.apps[0].program = *program;
	sc.apps[0].tokens = COT_TOKENS_EQUAL;
	sc.stop_ps = 1000 * COT_PS_PER_US;
	sc.quantum_ps = COT_PS_PER_US;
	assert_int_equal(cot_qos_isolated_ipc(&sc, 0, &ipc), 0);
	cot_trace_program_destroy(owner);
	return ipc;
}

/* Bound by computation: IPC grows with every SM up to all of them. Bound by memory: it stops
 * growing between a third and three quarters of them. */
static void waves_have_their_class(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(benchmarks); i++) {
		const char *name = trace_of("smqos-waves", i);
		double third = ipc_on(name, 5), three_quarters = ipc_on(name, 12);
		double all = ipc_on(name, N_SMS);
		struct cot_trace *trace;

		if (*benchmarks[i].cls == 'C') {
			assert_true(all / three_quarters > 0.95 * 16 / 12);
			assert_true(all / third > 0.95 * 16 / 5);
		} else {
			assert_true(all / three_quarters < 1.02);
			assert_true(all / third > 1.3);
		}
		assert_int_equal(cot_trace_read(name, NULL, &trace, NULL), 0);
		assert_int_equal(trace->n_kernels, 1);
		assert_string_equal(trace->kernels[0].kernel_class, benchmarks[i].cls);
		cot_trace_destroy(trace);
	}
}

/* The codes' own: IPC of the one class grows from half of the SMs to all of them, that of the other
 * no more over the last quarter. Nothing grows without SMs. */
static void grids_have_their_class(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(benchmarks); i++) {
		const char *name = trace_of("smqos", i);
		double half = ipc_on(name, N_SMS / 2), three_quarters = ipc_on(name, 12);
		double all = ipc_on(name, N_SMS);
		struct cot_trace *trace;

		if (*benchmarks[i].cls == 'C')
			assert_true(all / half > 1.6);
		else
			assert_true(all / three_quarters < 1.02);
		assert_int_equal(cot_trace_read(name, NULL, &trace, NULL), 0);
		assert_int_equal(trace->n_kernels, 1);
		assert_string_equal(trace->kernels[0].kernel_class, benchmarks[i].cls);
		assert_int_equal(trace->kernels[0].n_blocks, benchmarks[i].blocks);
		assert_int_equal(trace->kernels[0].work.warps, benchmarks[i].warps);
		cot_trace_destroy(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(waves_have_their_class),
					   cmocka_unit_test(grids_have_their_class)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
