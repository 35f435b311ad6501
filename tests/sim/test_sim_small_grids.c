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

	k->work = (struct cot_kernel_work){.insts = 8 * 100000,
					   .warps = 8,
					   .cpi = 8,
					   .mem_fraction = 0.2,
					   .dram_bytes = 128,
					   .latency = 400,
					   .mlp = 2};
	k->block_ps = cot_gpu_work_ps(&b->sc.gpu, 8 * 100000);
	return app;
}

static void shorten(struct sim_build *b, uint32_t app, uint32_t by)
{
	b->kernels[app][0].block_ps /= by;
	b->kernels[app][0].work.insts /= by;
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

/* SMs without power in the end, under a scheduler; the promise is kept. */
static uint32_t gated_under(const char *scheduler)
{
	struct cot_sim_epoch last = {0};
	struct cot_sim_result r;
	struct sim_build b;
	double goal;

	build_gpu(&b, "fcfs", 32);
	add_app(&b, "a", 16)->qos.ipc = 1;
	run(&b, &r, &last);
	goal = 0.85 * ipc_of(&b, &r, 0);
	build_gpu(&b, scheduler, 32);
	b.sc.dispatch = COT_DISPATCH_BREADTH;
	add_app(&b, "a", 16)->qos.ipc = goal;
	(void)add_app(&b, "b", 16);
	run(&b, &r, &last);
	assert_true(ipc_of(&b, &r, 0) >= goal);
	return last.n_gated;
}

/* Algorithm 2 acts: of two kernels that few SMs are enough for, a fifth of the SMs and more lose
 * their power, and it matters how the batch task searches. */
static void the_search_decides_who_has_power(void **state)
{
	uint32_t smqos = gated_under("smqos"), printed = gated_under("smqos-printed");

	(void)state;
	assert_true(5 * smqos >= 32);
	assert_true(printed < smqos);
	assert_int_equal(gated_under("spart"), 0);
}

/* ---- dispatch in breadth ---- */

/* How many blocks each SM has: digits. */
static const char *blocks_of(struct cot_sim *sim)
{
	static char text[65];
	struct hw *hw = cot_sim_hw(sim);
	uint32_t i;

	for (i = 0; i < hw_scenario(hw)->gpu.n_sms; i++)
		text[i] = (char)('0' + hw_sms(hw)[i].n_resident);
	text[i] = '\0';
	return text;
}

static void expect_blocks(enum cot_dispatch dispatch, uint32_t n_sms, uint32_t n_blocks,
			  const char *blocks)
{
	struct sim_build b;
	struct cot_sim *sim;

	build_gpu(&b, "fcfs", n_sms);
	b.sc.dispatch = dispatch;
	(void)add_app(&b, "a", n_blocks);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	assert_string_equal(blocks_of(sim), blocks);
	assert_int_equal(cot_sim_hw(sim)->n_refused, 0);
	cot_sim_destroy(sim);
}

static void blocks_go_to_all_sms(void **state)
{
	(void)state;
	expect_blocks(COT_DISPATCH_DEPTH, 8, 16, "66400000");
	expect_blocks(COT_DISPATCH_BREADTH, 8, 5, "11111000");
	expect_blocks(COT_DISPATCH_BREADTH, 8, 8, "11111111");
	expect_blocks(COT_DISPATCH_BREADTH, 8, 19, "33322222");
	expect_blocks(COT_DISPATCH_BREADTH, 8, 100, "66666666");
}

/* All blocks of a wave end together. What is left after the first waves is again for all SMs. */
static void so_does_the_last_wave(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	uint32_t waves;

	(void)state;
	build_gpu(&b, "fcfs", 4);
	b.sc.dispatch = COT_DISPATCH_BREADTH;
	(void)add_app(&b, "a", 3 * 24 + 6);
	shorten(&b, 0, 100);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	for (waves = 1; waves <= 3; waves++) {
		while (sim->block_completions < 24 * waves)
			assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
		assert_string_equal(blocks_of(sim), waves < 3 ? "6666" : "2211");
	}
	cot_sim_destroy(sim);
}

/* What an SM gives up goes on at once where there is room, not when an SM is set up next. */
static void so_do_preempted_blocks(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;

	(void)state;
	build_gpu(&b, "fcfs", 4);
	b.sc.dispatch = COT_DISPATCH_BREADTH;
	(void)add_app(&b, "a", 8);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	hw_evict(cot_sim_hw(sim), &hw_sms(cot_sim_hw(sim))[3]);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE); /* the save ends */
	assert_string_equal(blocks_of(sim), "3320");
	cot_sim_destroy(sim);
}

/* At every instant every block is somewhere, and an SM at work has one. */
static void expect_true_tables(struct cot_sim *sim, uint32_t app)
{
	const struct hw_kernel *k = play_kernel_of(sim, app);
	const struct hw_sm *lane = hw_sms(cot_sim_hw(sim));
	uint32_t n = 0, slot;

	if (!k)
		return;
	for (slot = 0; slot < hw_n_slots(cot_sim_hw(sim)); slot++) {
		if (lane[slot].kernel != k)
			continue;
		n += lane[slot].n_resident;
		if (lane[slot].state == HW_SM_RUNNING)
			assert_true(lane[slot].n_resident > 0);
	}
	assert_int_equal(k->n_awaited, 0);
	assert_int_equal(k->n_resident, n);
	assert_int_equal(k->n_fresh + k->n_preempted + n + k->n_done, k->desc->n_blocks);
}

static void breadth_loses_no_block(void **state)
{
	static const char *const names[] = {"fcfs",  "dss",	      "ppq",   "timeslice",
					    "smqos", "smqos-printed", "spart", "rollover"};
	struct sim_build b;
	struct cot_sim *sim;
	unsigned i, drain;

	(void)state;
	for (i = 0; i < 8; i++)
		for (drain = 0; drain < 2; drain++) {
			build_gpu(&b, names[i], 8);
			b.sc.dispatch = COT_DISPATCH_BREADTH;
			b.sc.preempt = drain ? COT_PREEMPT_DRAIN : COT_PREEMPT_SWITCH;
			b.sc.stop_ps /= 10;
			add_app(&b, "a", 37)->qos.ipc = 2;
			add_app(&b, "b", 11)->priority = 1;
			shorten(&b, 0, 300);
			shorten(&b, 1, 200);
			assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
			while (cot_sim_run(sim, 1) == COT_SIM_MORE) {
				expect_true_tables(sim, 0);
				expect_true_tables(sim, 1);
			}
			assert_true(sim->block_completions > 60);
			assert_int_equal(cot_sim_hw(sim)->n_refused, 0);
			cot_sim_destroy(sim);
		}
}

/* ---- limits of their own ---- */

/* On so many SMs and the memory of 16. */
static void build_limited(struct sim_build *b, const char *scheduler, uint32_t n_sms,
			  uint32_t n_apps, double goal, double limit)
{
	uint32_t i;

	build_gpu(b, scheduler, n_sms);
	b->sc.gpu.dram_bytes_per_s = cot_gpu_find("gtx480")->dram_bytes_per_s;
	for (i = 0; i < n_apps; i++) {
		add_app(b, i ? "b" : "a", 10000)->qos.ipc = goal;
		b->kernels[i][0].work.gpu_ipc_max = limit;
	}
}

/* Alone the kernel is as fast on 5 SMs as on 32. Two of them fit into one memory, so that each has
 * what it has alone, which nobody can have of a memory that it fills. */
static void two_limits_fit_one_memory(void **state)
{
	struct cot_sim_epoch last;
	struct cot_sim_result r;
	struct sim_build b;
	double five, all, filled;

	(void)state;
	build_limited(&b, "fcfs", 5, 1, 1, 3);
	run(&b, &r, &last);
	five = ipc_of(&b, &r, 0);
	build_limited(&b, "fcfs", 32, 1, 1, 3);
	run(&b, &r, &last);
	all = ipc_of(&b, &r, 0);
	assert_true(all <= 3.0 && five > 0.97 * all);
	build_limited(&b, "spart", 32, 2, 0.97 * all, 3);
	run(&b, &r, &last);
	assert_true(ipc_of(&b, &r, 0) >= 0.95 * all);
	assert_true(ipc_of(&b, &r, 1) >= 0.95 * all);
	build_limited(&b, "fcfs", 32, 1, 1, 0);
	run(&b, &r, &last);
	filled = ipc_of(&b, &r, 0);
	build_limited(&b, "spart", 32, 2, 0.97 * filled, 0);
	run(&b, &r, &last);
	assert_true(ipc_of(&b, &r, 1) < 0.7 * filled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_block_loses_its_power),
		cmocka_unit_test(the_search_decides_who_has_power),
		cmocka_unit_test(blocks_go_to_all_sms),
		cmocka_unit_test(so_does_the_last_wave),
		cmocka_unit_test(so_do_preempted_blocks),
		cmocka_unit_test(breadth_loses_no_block),
		cmocka_unit_test(two_limits_fit_one_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
