/* Hand-computed schedules of FCFS and NPQ: one context owns the engine, nothing is preempted. */
#include "support/sim_build.h"
#include "test.h"

/*
 * Two SMs hold 2 * 4 blocks: 10 blocks are a wave of 8 and one of 2. Both SMs are free at 5; SM 0
 * comes first and takes the two.
 */
static void waves_fill_one_sm_after_the_other(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 10, 5, 4, 0);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 0-10");
	assert_string_equal(p.sm[0].text, "0 a run, 10 idle");
	assert_string_equal(p.sm[1].text, "0 a run, 5 idle");
	assert_int_equal(p.result.block_completions, 10);
	play_end(&p);
}

/* Depth first: 3 blocks, 2 on an SM, are 2 on SM 0 and 1 on SM 1; SM 2 is never used. */
static void a_small_kernel_leaves_sms_idle(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 3);
	(void)build_one(&b, "a", 2, 3, 5, 2, 0);
	build_stop_at(&b, 4);
	play(&p, &b);
	assert_int_equal(hw_sms(cot_sim_hw(p.sim))[0].n_resident, 2);
	assert_int_equal(hw_sms(cot_sim_hw(p.sim))[1].n_resident, 1);
	assert_string_equal(p.sm[1].text, "2 a run");
	assert_string_equal(p.sm[2].text, "");
	play_end(&p);
}

/* b could use SM 1 from 1 on, but its context does not own the engine before 10. */
static void contexts_follow_each_other(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 2, 10, 2, 0);
	(void)build_one(&b, "b", 1, 2, 10, 2, 0);
	play_expect_kernels(&b, "a 0-10, b 10-20");
}

/*
 * One context, 12 + 3 blocks. a: 4 + 4 blocks until 10, then SM 0 takes its last 4 and SM 1 is
 * left over for b, one block after the other: 10, 13, 16, 19.
 */
static void kernels_of_one_context_run_back_to_back(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 12, 10, 4, 0);
	build_one(&b, "b", 2, 3, 3, 1, 0)->context = 0;
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 2-19, a 0-20");
	assert_string_equal(p.sm[0].text, "0 a run, 20 idle");
	assert_string_equal(p.sm[1].text, "0 a run, 10 b run, 19 idle");
	play_end(&p);
}

static void build_foreign_head(struct sim_build *b, const char *scheduler)
{
	build_init(b, scheduler, 2);
	(void)build_one(b, "a", 0, 2, 10, 2, 0);
	(void)build_one(b, "b", 1, 2, 10, 2, 0);
	build_one(b, "c", 2, 2, 10, 2, 0)->context = 0;
}

/* c belongs to the owner and SM 1 is idle, but b arrived before it. */
static void a_foreign_launch_holds_back_those_behind_it(void **state)
{
	struct sim_build b;

	(void)state;
	build_foreign_head(&b, "fcfs");
	play_expect_kernels(&b, "a 0-10, b 10-20, c 20-30");
	build_foreign_head(&b, "fcfs");
	b.sc.apps[1].start_ps *= 3; /* b at 3, after c: c joins a on SM 1, b follows c */
	play_expect_kernels(&b, "a 0-10, c 2-12, b 12-22");
}

/* A queue sends its next launch when the one before is complete: by then b has waited longer. */
static void a_queue_waits_its_turn_again(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 1);
	build_one(&b, "a", 0, 1, 10, 1, 0)->program.n_steps = 1;
	build_kernel(&b, 1, 10, 1, 0)->launches = 2;
	build_cpu(&b, 5000);
	(void)build_one(&b, "b", 1, 1, 10, 1, 0);
	play_expect_kernels(&b, "a 0-10, b 10-20, a 20-30, a 30-40");
}

/*
 * The active queue has one entry per SM: two. c waits in the command buffer of the context that
 * they all share, d in its command queue behind it. c follows a at 10, d follows b at 11.
 */
static void launches_wait_for_a_full_active_queue(void **state)
{
	struct sim_build b;
	uint32_t i;

	(void)state;
	build_init(&b, "fcfs", 2);
	(void)build_one(&b, "a", 0, 1, 10, 1, 0);
	(void)build_one(&b, "b", 1, 1, 10, 1, 0);
	(void)build_one(&b, "c", 2, 1, 10, 1, 0);
	(void)build_one(&b, "d", 3, 1, 10, 1, 0);
	for (i = 0; i < 4; i++)
		b.sc.apps[i].context = 0;
	play_expect_kernels(&b, "a 0-10, b 1-11, c 10-20, d 11-21");
}

/* ---- NPQ ---- */

/* When a leaves the engine at 10, c is the most important launch that waits. */
static void npq_takes_the_most_important_next(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "npq", 1);
	(void)build_one(&b, "a", 0, 1, 10, 1, 0);
	(void)build_one(&b, "b", 1, 1, 10, 1, 0);
	build_one(&b, "c", 2, 1, 10, 1, 0)->priority = 5;
	play_expect_kernels(&b, "a 0-10, c 10-20, b 20-30");
}

static void npq_breaks_ties_by_arrival(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "npq", 1);
	(void)build_one(&b, "a", 0, 1, 10, 1, 0);
	build_one(&b, "b", 3, 1, 10, 1, 0)->priority = -2;
	build_one(&b, "c", 2, 1, 10, 1, 0)->priority = -2;
	play_expect_kernels(&b, "a 0-10, c 10-20, b 20-30");
}

/* c belongs to the owner, but b is more important: c must not join. The other way round it may. */
static void npq_lets_the_owner_join_only_with_the_best(void **state)
{
	struct sim_build b;

	(void)state;
	build_foreign_head(&b, "npq");
	b.sc.apps[1].priority = 1;
	play_expect_kernels(&b, "a 0-10, b 10-20, c 20-30");
	b.sc.apps[2].priority = 2;
	play_expect_kernels(&b, "a 0-10, c 2-12, b 12-22");
}

static void play_two_processes(struct play *p, struct sim_build *b, const char *scheduler)
{
	build_init(b, scheduler, 2);
	build_app(b, "high")->priority = 1;
	build_cpu(b, 3);
	build_kernel(b, 9, 4, 2, 0)->launches = 2;
	build_sync(b);
	(void)build_app(b, "low");
	build_kernel(b, 7, 5, 3, 0)->launches = 3;
	build_sync(b);
	build_cpu(b, 1);
	build_stop_runs(b, 5);
	play(p, b);
}

/* With two processes there is never more than one launch that waits. */
static void npq_equals_fcfs_with_two_processes(void **state)
{
	struct sim_build b;
	struct play fcfs, npq;

	(void)state;
	play_two_processes(&fcfs, &b, "fcfs");
	play_end(&fcfs);
	play_two_processes(&npq, &b, "npq");
	play_end(&npq);
	assert_string_equal(fcfs.sm[0].text, npq.sm[0].text);
	assert_string_equal(fcfs.sm[1].text, npq.sm[1].text);
	assert_string_equal(fcfs.runs.text, npq.runs.text);
	assert_int_equal(fcfs.result.end_ps, npq.result.end_ps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waves_fill_one_sm_after_the_other),
		cmocka_unit_test(a_small_kernel_leaves_sms_idle),
		cmocka_unit_test(contexts_follow_each_other),
		cmocka_unit_test(kernels_of_one_context_run_back_to_back),
		cmocka_unit_test(a_foreign_launch_holds_back_those_behind_it),
		cmocka_unit_test(a_queue_waits_its_turn_again),
		cmocka_unit_test(launches_wait_for_a_full_active_queue),
		cmocka_unit_test(npq_takes_the_most_important_next),
		cmocka_unit_test(npq_breaks_ties_by_arrival),
		cmocka_unit_test(npq_lets_the_owner_join_only_with_the_best),
		cmocka_unit_test(npq_equals_fcfs_with_two_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
