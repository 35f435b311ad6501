/* The models of the benchmarks of the SMQoS paper: their class is what their curves say. */
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
} benchmarks[] = {
	{"smqos/bino", "CI"},	 {"smqos/merge", "CI"}, {"smqos/cp", "CI"},   {"smqos/tpacf", "CI"},
	{"smqos/hs", "CI"},	 {"smqos/pf", "CI"},	{"smqos/atax", "MI"}, {"smqos/bicg", "MI"},
	{"smqos/gesummv", "MI"}, {"smqos/lib", "MI"},	{"smqos/lbm", "MI"},  {"smqos/mri-g", "MI"},
};

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
static void curves_have_their_class(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(benchmarks); i++) {
		const char *name = benchmarks[i].name;
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(curves_have_their_class)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
