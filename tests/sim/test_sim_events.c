/* What a scheduler is told, and when: the causes of every call of schedule(), worked out by hand.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "support/sim_build.h"
#include "test.h"

static char calls[512];
static struct hw_kernel *reserved_for;
static uint32_t n_timers;

/* Times in us; Arrived, Idle, Finished, Switched, Timer, Context, Epoch, Quota. */
static void note(const struct hw *hw, unsigned events)
{
	static const char letters[] = "AIFSTCEQ";
	size_t n = strlen(calls), i;

	n += (size_t)snprintf(calls + n, sizeof(calls) - n, "%s%llu ", n ? ", " : "",
			      (unsigned long long)(hw_now_ps(hw) / COT_PS_PER_US));
	for (i = 0; i < 8; i++)
		if (events >> i & 1)
			calls[n++] = letters[i];
	calls[n] = '\0';
}

static void fill(struct hw *hw)
{
	struct hw_kernel *k;
	struct hw_sm *sm;

	while (hw_pending(hw) && !hw_active_full(hw))
		(void)hw_admit(hw, hw_pending(hw));
	hw_for_each_active (k, hw)
		while (k->issue && hw_unissued(k) && (sm = hw_idle_sm(hw)))
			hw_assign(hw, sm, k);
}

static void schedule(struct hw *hw, unsigned events)
{
	note(hw, events);
	fill(hw);
}

static const struct hw_sched_ops plain = {.name = "plain", .schedule = schedule, .contexts = true};

/* At the first timer SM 0 goes to the newest kernel, at the second to nobody. */
static void schedule_timed(struct hw *hw, unsigned events)
{
	schedule(hw, events);
	if (events & HW_EV_ARRIVED)
		hw_timer_set(hw, 5 * COT_PS_PER_US);
	if (!(events & HW_EV_TIMER))
		return;
	reserved_for = hw_active(hw)->next;
	if (!n_timers++) {
		hw_reserve(hw, &hw_sms(hw)[0], reserved_for);
		hw_timer_set(hw, 12 * COT_PS_PER_US);
	} else {
		hw_set_issue(hw, reserved_for, false);
		hw_evict(hw, &hw_sms(hw)[0]);
	}
}

static const struct hw_sched_ops timed = {.name = "timed", .schedule = schedule_timed};

static void expect(const struct sim_build *b, const struct hw_sched_ops *ops, const char *text)
{
	struct cot_sim *sim;
	struct hw_context c = {.slice_ps = 1, .preempt = COT_PREEMPT_SWITCH};

	calls[0] = '\0';
	n_timers = 0;
	assert_int_equal(cot_sim_create(&b->sc, ops, NULL, NULL, &sim, NULL), 0);
	if (ops->contexts) {
		assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
		cot_sim_set_context(sim, 0, &c);
	}
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(hw_n_refused(cot_sim_hw(sim)), 0);
	if (!cot_sim_scenario(sim)->epoch_cycles) /* nothing is counted */
		assert_true(hw_insts(cot_sim_hw(sim), 0) == 0);
	cot_sim_destroy(sim);
	assert_string_equal(calls, text);
}

/* a: two blocks one after the other, 5 us each, from 1 us on; b: waits behind it, from 3 us on. */
static void arrivals_and_ends(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_one(&b, "a", 1, 2, 5, 1, 0);
	(void)build_one(&b, "b", 3, 1, 2, 1, 0);
	build_stop_at(&b, 20);
	expect(&b, &plain, "1 A, 1 C, 3 A, 11 IF, 13 IF");
}

/* SM 0 is b's from 6 us on, after a's block was saved for 1 us; idle at 13 us. */
static void switches_and_timers(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 8, 100, 1, 1);
	(void)build_one(&b, "b", 0, 4, 100, 1, 1);
	build_stop_at(&b, 20);
	expect(&b, &timed, "0 A, 5 T, 6 S, 12 T, 13 I");
}

/* Once, a kernel that issues one instruction per cycle, 25 us of them; epochs take 10 us. */
static void build_counted(struct sim_build *b)
{
	(void)build_kernel(b, 1, 25, 1, 0);
	build_sync(b);
	build_stop_runs(b, 1);
	b->sc.gpu.dram_bytes_per_s = 10000000000ull;
	b->sc.gpu.issue_width = 2;
	b->sc.gpu.sm_bytes_per_cycle = 32;
	b->sc.gpu.dram_efficiency = 0.8;
	b->sc.epoch_cycles = 10000;
	b->kernels[0][0].work = (struct cot_kernel_work){25000, 4, 4, 0, 0, 40, 1, 0, 0};
}

/* Epochs of 10 us where instructions are counted; once more than a thousand of them pass in which
 * nothing else can happen, the simulation is stuck. */
static void epochs(void **state)
{
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_counted(&b);
	expect(&b, &plain, "0 A, 0 C, 10 E, 20 E, 25 IF");
	/* The block halts for ever. */
	b.kernels[0][0].work.cpi = 1e30;
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_STALLED);
	cot_sim_result(sim, &r);
	assert_int_equal(r.end_ps / COT_PS_PER_US, 10010);
	assert_int_equal(r.n_epochs, 1000);
	cot_sim_destroy(sim);
}

/* Two thousand epochs of a program that computes are no reason to believe that it is stuck. */
static void a_long_pause_is_no_stall(void **state)
{
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	build_cpu(&b, 20000);
	build_counted(&b);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r);
	assert_int_equal(r.end_ps / COT_PS_PER_US, 20025);
	assert_int_equal(r.n_epochs, 2002);
	cot_sim_destroy(sim);
}

/* ---- lanes ---- */

/* On each SM room for three blocks of a and one of b; from 5 us on for two of each. */
static void schedule_lanes(struct hw *hw, unsigned events)
{
	struct hw_kernel *k;
	struct hw_sm *lane;
	uint32_t sm;

	while (hw_pending(hw))
		(void)hw_admit(hw, hw_pending(hw));
	for (sm = 0; sm < 2; sm++)
		hw_for_each_active (k, hw) {
			lane = &hw_sms(hw)[k->app * 2 + sm];
			if (events & HW_EV_ARRIVED)
				assert_true(hw_set_limit(hw, lane, k, k->app ? 1 : 3));
			else if (events & HW_EV_TIMER)
				assert_true(hw_set_limit(hw, lane, k, 2));
			if (lane->state == HW_SM_IDLE && hw_unissued(k))
				hw_assign(hw, lane, k);
		}
	if (events & HW_EV_ARRIVED)
		hw_timer_set(hw, 5 * COT_PS_PER_US);
}

static const struct hw_sched_ops lanes = {
	.name = "lanes", .schedule = schedule_lanes, .shares_sms = true};

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	(void)begin_ps;
	(void)kernel;
	((uint64_t *)arg)[app] = end_ps / COT_PS_PER_US;
}

/*
 * b's second block on an SM waits for a's to be saved, 1 us for the trap and 2: it begins at 8 us.
 * At 100 us, when the blocks that stayed have ended, SM 0 takes both of a's that were saved,
 * restores them in 4 us, and they have 95 left.
 */
static void room_is_free_when_it_is_saved(void **state)
{
	static const struct cot_sim_observer obs = {.kernel_done = kernel_done};
	uint64_t ends[3] = {0};
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;

	(void)state;
	build_init(&b, "rollover", 2);
	b.sc.gpu.blocks_per_sm = 4;
	b.sc.gpu.trap_ps = COT_PS_PER_US;
	(void)build_one(&b, "a", 0, 6, 100, 3, 2);
	(void)build_one(&b, "b", 0, 4, 10, 2, 0);
	/* Instructions are counted for a third one, which comes later than the end. */
	(void)build_one(&b, "c", 500, 1, 1, 1, 0);
	b.sc.gpu.dram_bytes_per_s =
		2000000000ull; /* an SM's share moves 1000 bytes in a microsecond */
	b.sc.gpu.issue_width = 2;
	b.sc.gpu.sm_bytes_per_cycle = 32;
	b.sc.gpu.dram_efficiency = 0.8;
	b.kernels[2][0].work = (struct cot_kernel_work){1000, 4, 4, 0, 0, 40, 1, 0, 0};
	build_stop_at(&b, 400);
	assert_int_equal(cot_sim_create(&b.sc, &lanes, &obs, ends, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r);
	cot_sim_destroy(sim);
	assert_int_equal(r.refused, 0);
	assert_int_equal(r.saved_bytes, 4000);
	assert_int_equal(r.restored_bytes, 4000);
	assert_int_equal(ends[1], 18);
	assert_int_equal(ends[0], 199);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrivals_and_ends),
		cmocka_unit_test(switches_and_timers),
		cmocka_unit_test(epochs),
		cmocka_unit_test(a_long_pause_is_no_stall),
		cmocka_unit_test(room_is_free_when_it_is_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
