/*
 * Kernels with fewer blocks than the GPU has room for, as many codes have them: under SMQoS what
 * they have no block for loses its power.
 */
#include "sim/inside.h"
#include "support/sim_build.h"
#include "test.h"
#include "trace/gpu.h"

#define N_EPOCHS 200u

static void build_gpu(struct sim_build *b, const char *scheduler, uint32_t n_sms)
{
	build_init(b, scheduler, n_sms);
	b->sc.gpu = *cot_gpu_find("gtx480");
	b->sc.gpu.dram_bytes_per_s = b->sc.gpu.dram_bytes_per_s / 16 * n_sms;
	b->sc.gpu.n_sms = n_sms;
	b->sc.qos_threshold = 0.03;
	b->sc.epoch_cycles = 10000;
	b->sc.stop_ps = N_EPOCHS * cot_gpu_work_ps(&b->sc.gpu, 10000);
}

/* Blocks of 8 warps, at most 6 on an SM, that last longer than the simulation. */
static struct cot_app *add_app(struct sim_build *b, const char *name, uint32_t n_blocks)
{
	struct cot_app *app = build_app(b, name);
	struct cot_step *s = build_kernel(b, n_blocks, 1, 6, 16);
	struct cot_kernel *k = &b->kernels[b->sc.n_apps - 1][s->kernel];

	k->work = (struct cot_kernel_work){.insts = 100000,
					   .warps = 8,
					   .cpi = 8,
					   .mem_fraction = 0.2,
					   .dram_bytes = 128,
					   .latency = 400,
					   .mlp = 2};
	k->block_ps = cot_gpu_work_ps(&b->sc.gpu, 8 * 100000);
	return app;
}

static double ipc_of(const struct sim_build *b, const struct cot_sim_result *r, uint32_t app)
{
	return r->counts.insts[app] / ((double)N_EPOCHS * b->sc.epoch_cycles);
}

static void epoch_done(void *arg, const struct cot_sim_epoch *e)
{
	*(struct cot_sim_epoch *)arg = *e;
}

static const struct cot_sim_observer observer = {.epoch_done = epoch_done};

static void run(const struct sim_build *b, struct cot_sim_result *r, struct cot_sim_epoch *last)
{
	struct cot_sim *sim;

	assert_int_equal(cot_sim_create(&b->sc, NULL, &observer, last, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, r);
	assert_int_equal(r->refused, 0);
	cot_sim_destroy(sim);
}

/* 16 blocks fit three SMs: most of 32 lose their power, and the promise is kept. */
static void what_has_no_block_loses_its_power(void **state)
{
	struct cot_sim_epoch last = {0};
	struct cot_sim_result r;
	struct sim_build b;
	double goal;

	(void)state;
	build_gpu(&b, "fcfs", 32);
	add_app(&b, "a", 16)->qos.ipc = 1;
	run(&b, &r, &last);
	goal = 0.85 * ipc_of(&b, &r, 0);
	build_gpu(&b, "smqos", 32);
	add_app(&b, "a", 16)->qos.ipc = goal;
	(void)add_app(&b, "b", 16);
	run(&b, &r, &last);
	assert_true(last.n_gated >= 10);
	assert_true(ipc_of(&b, &r, 0) >= goal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_block_loses_its_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
