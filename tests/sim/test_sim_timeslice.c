/*
 * Hand-computed schedules of time slicing. The quantum is 10 us. A GPU of n SMs has n active
 * kernels at most, so there are as many SMs as programs, and they mostly do the same.
 */
#include "support/sim_build.h"
#include "test.h"

/*
 * 1 us to save or restore a block. a (30 us) 0 to 10; saved, b (15 us) from 11, its quantum until
 * 21; saved, a's turn: restored at 23, its quantum until 33, 20 done; saved, b's: restored at 35, 5
 * left, done at 40: its turn ends early. a is restored at 41, 10 left.
 */
static void turns_last_a_quantum_or_less(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_one(&b, "a", 0, 2, 30, 1, 1);
	(void)build_one(&b, "b", 1, 2, 15, 1, 1);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 1-40, a 0-51");
	assert_string_equal(p.sm[0].text,
			    "0 a run, 10 a save, 11 b run, 21 b save, 22 a restore, 23 a run, "
			    "33 a save, 34 b restore, 35 b run, 40 a restore, 41 a run, 51 idle");
	assert_int_equal(p.result.preemptions, 2 * 3);
	play_end(&p);
}

/* Switching costs nothing here: 10 us each, in the order of their numbers. */
static void turns_go_round(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 3);
	(void)build_one(&b, "a", 0, 3, 100, 1, 0);
	(void)build_one(&b, "b", 2, 3, 100, 1, 0);
	(void)build_one(&b, "c", 1, 3, 100, 1, 0);
	build_stop_at(&b, 45);
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 a run, 10 b run, 20 c run, 30 a run, 40 b run");
	play_end(&p);
}

/*
 * A quantum of 2 us, less than the 4 us of a restore: it starts after the restore, so everybody
 * goes on. a 0 to 2, saved at 6; b 6 to 8, saved at 12; a restored at 16, runs to 18, and so on: a
 * turn is 4 save + 4 restore + 2 run, and a's 6 us are done in its third, which ends at 38.
 */
static void a_quantum_may_be_shorter_than_a_restore(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	b.sc.quantum_ps = 2000000;
	(void)build_one(&b, "a", 0, 2, 6, 1, 4);
	(void)build_one(&b, "b", 1, 2, 50, 1, 4);
	build_stop_at(&b, 50);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 0-38");
	play_end(&p);
}

/* Who comes at the same time goes in the order of the scenario. */
static void the_first_turn_is_the_first_programs(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 3);
	(void)build_one(&b, "a", 0, 3, 5, 1, 0);
	(void)build_one(&b, "b", 0, 3, 5, 1, 0);
	(void)build_one(&b, "c", 0, 3, 5, 1, 0);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 0-5, b 0-10, c 0-15");
	play_end(&p);
}

/* The quantum is a parameter. */
static void the_quantum_can_be_set(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	b.sc.quantum_ps = 25000000;
	(void)build_one(&b, "a", 0, 2, 100, 1, 0);
	(void)build_one(&b, "b", 2, 2, 100, 1, 0);
	build_stop_at(&b, 60);
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 a run, 25 b run, 50 a run");
	play_end(&p);
}

/*
 * a and c are one context and have their turns together, 0 to 10 and from 20 on; b, with a block
 * for each SM, takes all three between.
 */
static void a_turn_gives_the_whole_gpu_to_a_context(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 3);
	(void)build_one(&b, "a", 0, 1, 25, 1, 0);
	(void)build_one(&b, "b", 1, 3, 10, 1, 0);
	build_one(&b, "c", 0, 1, 25, 1, 0)->context = 0;
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 1-20, a 0-35, c 0-35");
	assert_string_equal(p.sm[0].text, "0 a run, 10 b run, 20 a run, 35 idle");
	assert_string_equal(p.sm[1].text, "0 c run, 10 b run, 20 c run, 35 idle");
	assert_string_equal(p.sm[2].text, "10 b run, 20 idle");
	play_end(&p);
}

/* b has one block: it leaves SM 1 idle in its turn, which a may not use. */
static void nobody_else_runs_in_a_turn(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_one(&b, "a", 0, 8, 6, 1, 0);
	(void)build_one(&b, "b", 1, 1, 30, 1, 0);
	build_stop_at(&b, 25);
	play(&p, &b);
	/* a's second blocks are cut at 10, with 2 left, and go on at 20 */
	assert_string_equal(p.sm[0].text, "0 a run, 10 b run, 20 a run");
	assert_string_equal(p.sm[1].text, "0 a run, 10 idle, 20 a run");
	play_end(&p);
}

/*
 * By draining: a's turn is over at 10, but its second blocks run until 16. b's turn, 16 to 26, is
 * overrun by its second blocks until 32. a's third ones end at 40.
 */
static void draining_overruns_the_quantum(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	b.sc.preempt = COT_PREEMPT_DRAIN;
	(void)build_one(&b, "a", 0, 6, 8, 1, 1);
	(void)build_one(&b, "b", 1, 4, 8, 1, 1);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 1-32, a 0-40");
	assert_string_equal(p.sm[0].text,
			    "0 a run, 10 a drain, 16 b run, 26 b drain, 32 a run, 40 idle");
	assert_int_equal(p.result.preemptions, 2 * 2);
	assert_int_equal(p.result.latency_max_ps, 6000000);
	play_end(&p);
}

/* Alone, a context is never preempted, however many quanta go by. */
static void a_lone_context_is_left_alone(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_one(&b, "a", 0, 40, 7, 2, 5);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "a 0-70");
	assert_int_equal(p.result.preemptions, 0);
	play_end(&p);
}

/* a's kernels follow each other without a pause: they have one turn together, until 10. */
static void a_turn_outlasts_a_kernel(void **state)
{
	struct sim_build b;
	struct play p;
	int i;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_app(&b, "a");
	for (i = 0; i < 4; i++)
		build_kernel(&b, 2, 4, 1, 0);
	(void)build_one(&b, "b", 1, 2, 7, 1, 0);
	build_stop_at(&b, 22);
	play(&p, &b);
	assert_string_equal(p.sm[0].text,
			    "0 a run, 4 a run, 8 a run, 10 b run, 17 a run, 19 a run");
	assert_string_equal(p.kernels.text, "a 0-4, a 4-8, b 1-17, a 8-19");
	play_end(&p);
}

/* It computes before the next: its turn is over. */
static void a_pause_ends_a_turn(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	(void)build_app(&b, "a");
	build_kernel(&b, 2, 4, 1, 0);
	build_sync(&b);
	build_cpu(&b, 1);
	build_kernel(&b, 2, 4, 1, 0);
	(void)build_one(&b, "b", 1, 2, 7, 1, 0);
	build_stop_at(&b, 14);
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 a run, 4 b run, 11 a run");
	play_end(&p);
}

/*
 * 2 us to interrupt a; then b, which ends by itself at 17. The SM has been another's, so a goes on
 * 3 us later. Between its own kernels, at 28 and for the first of all, nothing is lost.
 */
static void the_way_back_costs(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "timeslice", 2);
	b.sc.gpu.switch_ps = 2000000;
	b.sc.gpu.resume_ps = 3000000;
	(void)build_app(&b, "a");
	build_kernel(&b, 2, 18, 1, 0);
	build_kernel(&b, 2, 5, 1, 0);
	(void)build_one(&b, "b", 1, 2, 5, 1, 0);
	build_stop_at(&b, 34);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 1-17, a 0-28, a 28-33");
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_last_a_quantum_or_less),
		cmocka_unit_test(turns_go_round),
		cmocka_unit_test(a_quantum_may_be_shorter_than_a_restore),
		cmocka_unit_test(the_first_turn_is_the_first_programs),
		cmocka_unit_test(the_quantum_can_be_set),
		cmocka_unit_test(a_turn_gives_the_whole_gpu_to_a_context),
		cmocka_unit_test(nobody_else_runs_in_a_turn),
		cmocka_unit_test(draining_overruns_the_quantum),
		cmocka_unit_test(a_lone_context_is_left_alone),
		cmocka_unit_test(a_turn_outlasts_a_kernel),
		cmocka_unit_test(a_pause_ends_a_turn),
		cmocka_unit_test(the_way_back_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
