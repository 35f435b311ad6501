/*
 * The fluid model against the model of single warps: random mixes of kernels, alone on all SMs, on
 * SMs of their own, and sharing SMs.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/fluid.h"
#include "sim/warp_model.h"
#include "support/sim_random.h"
#include "test.h"

#define N_SMS	 8u
#define CYCLES	 20000u
#define CLOSE	 0.10 /* of the instructions per cycle of a kernel */
#define FARTHEST 0.35

enum mix { ALONE, APART, TOGETHER, N_MIXES };

struct mixed {
	enum mix mix;
	uint32_t split, warps[2];
	struct cot_kernel_work work[2];
	struct warps_gpu gpu;
};

#define PICK(r, ...) \
	((double[]){ \
		__VA_ARGS__}[cot_rng_below(r, sizeof((double[]){__VA_ARGS__}) / sizeof(double))])

static void draw(struct mixed *m, uint64_t seed)
{
	struct cot_rng r = {.state = seed};
	uint32_t i, sm;

	memset(m, 0, sizeof(*m));
	m->mix = (enum mix)(seed % N_MIXES);
	m->split = 1 + (uint32_t)cot_rng_below(&r, N_SMS - 1);
	m->gpu.n_sms = N_SMS;
	m->gpu.issue_width = (uint32_t)PICK(&r, 1, 2, 4);
	m->gpu.sm_bytes_per_cycle = 32;
	m->gpu.dram_bytes_per_cycle = PICK(&r, 60, 100, 200);
	for (i = 0; i < 2; i++) {
		m->warps[i] = 8 * (1 + (uint32_t)cot_rng_below(&r, 6));
		m->work[i] = (struct cot_kernel_work){
			.insts = 1000,
			.warps = 8,
			.cpi = PICK(&r, 1, 4, 8, 16, 24),
			.mem_fraction = PICK(&r, 0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3),
			.dram_bytes = PICK(&r, 32, 64, 128, 256),
			.latency = PICK(&r, 200, 400, 600),
			.mlp = PICK(&r, 1, 2, 4),
		};
	}
	for (sm = 0; sm < N_SMS; sm++)
		for (i = 0; i < 2; i++) {
			if ((m->mix == ALONE && i) || (m->mix == APART && i != (sm >= m->split)))
				continue;
			m->gpu.lanes[m->gpu.n_lanes++] =
				(struct warps_lane){m->work[i], sm, m->warps[i]};
		}
}

/* Instructions per cycle of both kernels by the fluid model. */
static void solve(const struct mixed *m, double *ret_ipc)
{
	struct cot_fluid_lane lanes[2];
	struct cot_fluid_group groups[2] = {{.n_sms = N_SMS, .n_lanes = 1, .lanes = lanes}};
	struct cot_fluid f = {
		.issue_width = m->gpu.issue_width,
		.sm_bytes_per_cycle = m->gpu.sm_bytes_per_cycle,
		.dram_bytes_per_cycle = m->gpu.dram_bytes_per_cycle,
		.queueing = 0.01,
		.groups = groups,
		.n_groups = 1,
	};
	uint32_t i;

	for (i = 0; i < 2; i++)
		lanes[i] = (struct cot_fluid_lane){
			.work = &m->work[i], .warps = m->warps[i], .stall = 1.0, .penalty = 1.0};
	if (m->mix == APART) {
		f.n_groups = 2;
		groups[0].n_sms = m->split;
		groups[1] = (struct cot_fluid_group){N_SMS - m->split, 1, lanes + 1};
	} else if (m->mix == TOGETHER) {
		groups[0].n_lanes = 2;
	}
	cot_fluid_solve(&f);
	ret_ipc[0] = groups[0].n_sms * lanes[0].rate;
	ret_ipc[1] = (m->mix == APART ? groups[1].n_sms : N_SMS) * lanes[1].rate;
}

static void simulate(const struct mixed *m, uint64_t seed, double *ret_ipc)
{
	double ipc[WARPS_MAX_LANES], transfer;
	uint32_t i, which;

	warps_run(&m->gpu, CYCLES, seed, ipc, &transfer);
	ret_ipc[0] = 0.0;
	ret_ipc[1] = 0.0;
	for (i = 0; i < m->gpu.n_lanes; i++) {
		which = m->mix == APART	     ? m->gpu.lanes[i].sm >= m->split
			: m->mix == TOGETHER ? i % 2
					     : 0;
		ret_ipc[which] += ipc[i];
	}
}

static void fluid_and_warps_agree(void **state)
{
	unsigned n = random_n_cases(30), c, i, n_values = 0, n_close = 0;
	double sum = 0.0, fluid[2], warps[2], off;
	struct mixed m;

	(void)state;
	for (c = 0; c < n; c++) {
		uint64_t seed = random_first_seed() + c;

		draw(&m, seed);
		solve(&m, fluid);
		simulate(&m, seed, warps);
		for (i = 0; i < (m.mix == ALONE ? 1u : 2u); i++) {
			off = fabs(fluid[i] / warps[i] - 1.0);
			if (off > FARTHEST)
				fail_msg("seed %u, kernel %u: %g by the fluid model, %g by warps",
					 (unsigned)seed, i, fluid[i], warps[i]);
			n_values++;
			n_close += off <= CLOSE;
			sum += off;
		}
	}
	print_message("%u values: mean deviation %.2f %%, %u within 10 %%\n", n_values,
		      100.0 * sum / n_values, n_close);
	assert_true(sum / n_values < 0.03);
	assert_true(n_close >= 0.92 * n_values);
}

/* A transfer that wants little gets all of it, one that wants much the share of an SM. */
static void transfers_share_memory(void **state)
{
	const struct cot_kernel_work work = {1000, 8, 4, 0.3, 128, 400, 4, 0, 0};
	struct cot_fluid_lane lane = {.work = &work, .warps = 48, .stall = 1.0, .penalty = 1.0};
	struct cot_fluid_group group = {.n_sms = N_SMS, .n_lanes = 1, .lanes = &lane};
	struct warps_gpu gpu = {
		.n_sms = N_SMS,
		.issue_width = 2,
		.sm_bytes_per_cycle = 32,
		.dram_bytes_per_cycle = 90,
		.n_lanes = N_SMS,
	};
	static const double wants[] = {4.0, 60.0};
	double ipc[WARPS_MAX_LANES], got;
	uint32_t i;

	(void)state;
	for (i = 0; i < N_SMS; i++)
		gpu.lanes[i] = (struct warps_lane){work, i, 48};
	for (i = 0; i < 2; i++) {
		struct cot_fluid_flow flow = {.demand = wants[i]};
		struct cot_fluid f = {
			.issue_width = 2,
			.sm_bytes_per_cycle = 32,
			.dram_bytes_per_cycle = 90,
			.queueing = 0.01,
			.groups = &group,
			.n_groups = 1,
			.flows = &flow,
			.n_flows = 1,
		};

		gpu.transfer_bytes_per_cycle = wants[i];
		cot_fluid_solve(&f);
		warps_run(&gpu, CYCLES, 1, ipc, &got);
		assert_true(fabs(flow.rate / got - 1.0) < 0.05);
		assert_true(fabs(lane.rate / ipc[0] - 1.0) < 0.05);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fluid_and_warps_agree),
		cmocka_unit_test(transfers_share_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
