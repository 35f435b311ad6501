/*
 * The schedulers that keep promised IPCs, in whole simulations: who gets which SM when, what loses
 * its power, and what quotas do.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/inside.h"
#include "support/sim_build.h"
#include "test.h"

#define N_EPOCHS 64u

static void build_gpu(struct sim_build *b, const char *scheduler, uint32_t n_sms)
{
	build_init(b, scheduler, n_sms);
	b->sc.gpu.dram_bytes_per_s = 10000000000ull * n_sms; /* 8 bytes per cycle and SM */
	b->sc.gpu.issue_width = 2;
	b->sc.gpu.sm_bytes_per_cycle = 32;
	b->sc.gpu.dram_efficiency = 0.8;
	b->sc.gpu.power = (struct cot_gpu_power){10, 0.1, 1.5, 4, 10, 20, 1000};
	b->sc.qos_batch_sms = 1;
	b->sc.qos_threshold = 0.03;
	b->sc.epoch_cycles = 10000;
	build_stop_at(b, 10.0 * N_EPOCHS);
}

/* Blocks of 8 warps, 4 on an SM: 2 instructions per cycle of an SM without memory. */
static struct cot_app *add_app(struct sim_build *b, const char *name, double mem_fraction)
{
	struct cot_app *app = build_app(b, name);
	struct cot_step *s = build_kernel(b, 100000, 1, 4, 1);
	struct cot_kernel *k = &b->kernels[b->sc.n_apps - 1][s->kernel];

	k->work = (struct cot_kernel_work){.insts = 2000,
					   .warps = 8,
					   .cpi = 8,
					   .mem_fraction = mem_fraction,
					   .dram_bytes = 100,
					   .latency = 40,
					   .mlp = 2};
	k->block_ps = 2000000;
	return app;
}

struct record {
	uint32_t n;
	struct cot_sim_epoch epochs[2 * N_EPOCHS];
	struct cot_sim_result result;
};

static void epoch_done(void *arg, const struct cot_sim_epoch *e)
{
	struct record *r = arg;

	assert_true(r->n < 2 * N_EPOCHS);
	r->epochs[r->n++] = *e;
}

static const struct cot_sim_observer observer = {.epoch_done = epoch_done};

static void run(const struct sim_build *b, struct record *r)
{
	struct cot_sim *sim;

	memset(r, 0, sizeof(*r));
	assert_int_equal(cot_sim_create(&b->sc, NULL, &observer, r, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r->result);
	assert_int_equal(r->result.refused, 0);
	assert_int_equal(r->n, N_EPOCHS);
	cot_sim_destroy(sim);
}

static double ipc(const struct record *r, uint32_t app)
{
	return r->result.counts.insts[app] / (1e4 * N_EPOCHS);
}

/* a needs 6 of 8 SMs and has 4: one more after the first epoch, and one more after each until its
 * mean is there. b always keeps its last SM. */
static void smqos_moves_one_sm_at_a_time(void **state)
{
	static struct record r;
	struct sim_build b;
	uint32_t i;

	(void)state;
	build_gpu(&b, "smqos", 8);
	add_app(&b, "a", 0)->qos.ipc = 12;
	(void)add_app(&b, "b", 0);
	run(&b, &r);
	assert_int_equal(r.epochs[0].sms[0], 4);
	assert_int_equal(r.epochs[0].sms[1], 4);
	for (i = 1; i < r.n; i++) {
		int moved = (int)r.epochs[i].sms[0] - (int)r.epochs[i - 1].sms[0];

		assert_true(moved >= -1 && moved <= 1);
		assert_true(r.epochs[i].sms[1] >= 1);
	}
	assert_true(ipc(&r, 0) >= 12.0);
	assert_true(ipc(&r, 0) < 13.5);
}

/*
 * Moving an SM takes three epochs here. Who does not wait for it asks for another in each of them,
 * has too many then, gives them back, and so on: more SMs change hands and less is done on them.
 */
static void smqos_waits_for_its_moves(void **state)
{
	static struct record waits, hasty;
	struct sim_build b;

	(void)state;
	build_gpu(&b, "smqos", 16);
	b.sc.gpu.dram_bytes_per_s /= 40;
	add_app(&b, "a", 0)->qos.ipc = 23;
	(void)add_app(&b, "b", 0);
	run(&b, &waits);
	(void)snprintf(b.sc.scheduler, sizeof(b.sc.scheduler), "smqos-hasty");
	run(&b, &hasty);
	assert_true(waits.result.preemptions < hasty.result.preemptions);
	assert_true(ipc(&waits, 1) > ipc(&hasty, 1));
	assert_true(ipc(&waits, 0) >= 0.98 * 23);
}

/* Two SMs of b fill memory: what b does not need has no power, and that shows in the energy. */
static void smqos_gates_what_does_not_pay(void **state)
{
	static struct record smqos, spart;
	struct sim_build b;

	(void)state;
	build_gpu(&b, "smqos", 8);
	add_app(&b, "a", 0)->qos.ipc = 4;
	(void)add_app(&b, "b", 0.16);
	run(&b, &smqos);
	(void)snprintf(b.sc.scheduler, sizeof(b.sc.scheduler), "spart");
	run(&b, &spart);
	assert_true(smqos.epochs[N_EPOCHS - 1].n_gated >= 1);
	assert_true(smqos.result.counts.gated_sm_us > 0.0);
	assert_true(spart.result.counts.gated_sm_us == 0.0);
	assert_true(ipc(&smqos, 0) >= 4.0 && ipc(&spart, 0) >= 4.0);
	assert_true(ipc(&smqos, 1) > 0.9 * ipc(&spart, 1));
	assert_true(smqos.result.counts.energy_j < spart.result.counts.energy_j);
}

/* By its linear model a gets 6 of 8 SMs at once: 8 IPC on 4 are 2 each. */
static void spart_moves_by_its_model(void **state)
{
	static struct record r;
	struct sim_build b;

	(void)state;
	build_gpu(&b, "spart", 8);
	b.sc.gpu.dram_bytes_per_s *= 100; /* SMs change hands in no time */
	add_app(&b, "a", 0)->qos.ipc = 12;
	(void)add_app(&b, "b", 0);
	run(&b, &r);
	assert_int_equal(r.epochs[0].sms[0], 4);
	assert_int_equal(r.epochs[1].sms[0], 6);
	assert_int_equal(r.epochs[1].sms[1], 2);
	assert_true(ipc(&r, 0) > 11.9 && ipc(&r, 0) < 14.1);
}

/* Rollover: a has its goal exactly, b the rest of every SM; the naive one cannot make up for a
 * first epoch, the others do. */
static void rollover_shares_every_sm(void **state)
{
	static const char *const names[] = {"rollover", "rollover-naive", "rollover-history",
					    "rollover-elastic"};
	static struct record r;
	struct sim_build b;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		build_gpu(&b, names[i], 4);
		b.sc.gpu.blocks_per_sm = 4;
		add_app(&b, "a", 0)->qos.ipc = 5;
		(void)add_app(&b, "b", 0);
		run(&b, &r);
		assert_int_equal(r.epochs[0].sms[0], 4);
		assert_int_equal(r.epochs[0].sms[1], 4);
		assert_true(ipc(&r, 0) >= 4.999);
		if (i != 3)
			assert_true(ipc(&r, 0) < 5.1);
		/* 8 per cycle are there; who is out of quota leaves its slots to the other. */
		assert_true(ipc(&r, 0) + ipc(&r, 1) <= 8.0 + 1e-6);
		assert_true(ipc(&r, 0) + ipc(&r, 1) > 6.5);
	}
}

/* a needs three blocks' warps on each SM and starts with two: b gives one away, which is saved. */
static void rollover_moves_blocks(void **state)
{
	static struct record r;
	struct sim_build b;

	(void)state;
	build_gpu(&b, "rollover", 4);
	b.sc.gpu.blocks_per_sm = 4;
	add_app(&b, "a", 0)->qos.ipc = 5;
	(void)add_app(&b, "b", 0);
	b.kernels[0][0].work.cpi = 16; /* half an instruction per cycle and block */
	run(&b, &r);
	assert_true(r.result.saved_bytes >= 4000);
	assert_true(ipc(&r, 0) >= 4.9);
}

/* What a lane gives up is counted out of its kernel: at every instant the tables are true. */
static void rollover_counts_blocks(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	uint32_t i;

	(void)state;
	build_gpu(&b, "rollover", 4);
	b.sc.gpu.blocks_per_sm = 4;
	add_app(&b, "a", 0)->qos.ipc = 5;
	(void)add_app(&b, "b", 0);
	b.kernels[0][0].work.cpi = 16;
	build_stop_at(&b, 100);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	while (cot_sim_run(sim, 1) == COT_SIM_MORE)
		for (i = 0; i < 2; i++) {
			const struct hw_kernel *k = play_kernel_of(sim, i);
			const struct hw_sm *lane = hw_sms(cot_sim_hw(sim));
			uint32_t n = 0, slot;

			for (slot = 0; slot < hw_n_slots(cot_sim_hw(sim)); slot++)
				n += lane[slot].kernel == k ? lane[slot].n_resident : 0;
			assert_int_equal(k->n_resident, n);
			assert_int_equal(k->n_fresh + k->n_preempted + n + k->n_done,
					 k->desc->n_blocks);
		}
	cot_sim_destroy(sim);
}

static void expect_limit(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k, uint32_t n,
			 bool taken)
{
	uint64_t refused = hw_n_refused(hw);
	uint32_t before = lane->limit;

	assert_int_equal(hw_set_limit(hw, lane, k, n), taken);
	assert_int_equal(hw_n_refused(hw), refused + !taken);
	assert_int_equal(lane->limit, taken ? n : before);
}

/* Room is given where SMs have lanes, to who is there or to nobody's lane, as much as there is. */
static void limits_are_checked(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	struct hw_kernel *k, *other;
	struct hw_sm *lanes;
	struct hw *hw;

	(void)state;
	build_gpu(&b, "rollover", 2);
	b.sc.gpu.blocks_per_sm = 6;
	(void)add_app(&b, "a", 0);
	(void)add_app(&b, "b", 0);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	hw = cot_sim_hw(sim);
	lanes = hw_sms(hw);
	k = hw_active(hw);
	other = k->next;
	assert_int_equal(lanes[0].limit, 3);
	expect_limit(hw, &lanes[0], k, 4, false); /* six are there, and b has three */
	expect_limit(hw, &lanes[0], k, 0, false); /* not while it is there */
	expect_limit(hw, &lanes[0], other, 2, false);
	expect_limit(hw, &lanes[0], k, 2, true);
	expect_limit(hw, &lanes[2], other, 4, true);
	expect_limit(hw, &lanes[2], other, 5, false); /* more than it ever has on an SM */
	expect_limit(hw, &lanes[0], k, 2, true);
	hw_gate(hw, &lanes[0]);
	assert_int_equal(hw_n_refused(hw), 5);
	cot_sim_destroy(sim);

	(void)snprintf(b.sc.scheduler, sizeof(b.sc.scheduler), "fcfs");
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	hw = cot_sim_hw(sim);
	expect_limit(hw, hw_sms(hw), hw_active(hw), 1, false);
	cot_sim_destroy(sim);
}

/* Without goals, and with kernels that say nothing, they all fill SMs in order of arrival. */
static void without_goals_there_is_an_order(void **state)
{
	static const char *const names[] = {"smqos", "spart", "rollover"};
	struct sim_build b;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		build_init(&b, names[i], 2);
		(void)build_one(&b, "a", 0, 2, 10, 1, 0);
		(void)build_one(&b, "b", 0, 2, 10, 1, 0);
		play_expect_kernels(&b, "a 0-10, b 0-20");
	}
}

/* An idle SM loses power once, gets it back with hw_assign() and needs 1000 cycles for that. */
static void woken_sms_take_their_time(void **state)
{
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;
	struct hw_kernel *k;
	struct hw_sm *sm;
	struct hw *hw;

	(void)state;
	build_gpu(&b, "fcfs", 2);
	(void)build_app(&b, "a");
	build_cpu(&b, 1e6);
	b.sc.apps[0].start_ps = 0;
	(void)build_app(&b, "b");
	build_kernel(&b, 1, 1, 1, 0)->launches = 1;
	b.kernels[1][0].work = (struct cot_kernel_work){2000, 8, 8, 0, 0, 40, 1, 0, 0};
	b.kernels[1][0].block_ps = 2000000;
	build_cpu(&b, 1e6);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	hw = cot_sim_hw(sim);
	hw_gate(hw, &hw_sms(hw)[0]);
	assert_int_equal(hw_n_refused(hw), 0);
	hw_gate(hw, &hw_sms(hw)[0]); /* it has none */
	assert_int_equal(hw_n_refused(hw), 1);
	assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	k = hw_active(hw);
	sm = &hw_sms(hw)[1];
	assert_ptr_equal(sm->kernel, k);  /* the idle one, not the one without power */
	hw_assign(hw, &hw_sms(hw)[0], k); /* nothing left to issue */
	assert_int_equal(hw_n_refused(hw), 2);
	assert_int_equal(hw_sms(hw)[0].state, HW_SM_GATED);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r);
	assert_int_equal(r.refused, 2);
	assert_true(fabs(r.counts.gated_sm_us - 10.0 * N_EPOCHS) < 1e-6);
	cot_sim_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smqos_moves_one_sm_at_a_time),
		cmocka_unit_test(smqos_waits_for_its_moves),
		cmocka_unit_test(smqos_gates_what_does_not_pay),
		cmocka_unit_test(spart_moves_by_its_model),
		cmocka_unit_test(rollover_shares_every_sm),
		cmocka_unit_test(rollover_moves_blocks),
		cmocka_unit_test(rollover_counts_blocks),
		cmocka_unit_test(limits_are_checked),
		cmocka_unit_test(without_goals_there_is_an_order),
		cmocka_unit_test(woken_sms_take_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
