/*
 * Hand-computed schedules of PPQ, exclusive and shared, and of both preemption mechanisms. A GPU of
 * n SMs has n active kernels at most: two kernels need two SMs, which then often do the same.
 */
#include "support/sim_build.h"
#include "test.h"

/* l fills two SMs with 2 + 2 of its 8 blocks; h, at 3, has work for both. */
static void build_two_sms(struct sim_build *b, const char *scheduler)
{
	build_init(b, scheduler, 2);
	(void)build_one(b, "l", 0, 8, 10, 2, 1);
	build_one(b, "h", 3, 4, 5, 2, 0)->priority = 1;
}

/*
 * Saving 2 blocks of 1 us each takes until 5, h until 10, restoring until 12. The blocks had run
 * for 3: they end at 12 + 7 = 19, and the last 4 of l at 29.
 */
static void switching_keeps_the_remaining_time(void **state)
{
	struct sim_build b;
	struct play p;
	uint32_t i;

	(void)state;
	build_two_sms(&b, "ppq");
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 3-10, l 0-29");
	for (i = 0; i < 2; i++)
		assert_string_equal(p.sm[i].text, "0 l run, 3 l save, 5 h run, 10 l restore, "
						  "12 l run, 29 idle");
	assert_int_equal(p.result.preemptions, 2);
	assert_int_equal(p.result.saved_bytes, 4000);
	assert_int_equal(p.result.restored_bytes, 4000);
	assert_int_equal(p.result.latency_max_ps, 2000000);
	assert_true(p.result.latency_p50_ps == 2e6);
	play_end(&p);
}

/* The blocks on the SMs end at 10, h at 15, the other 4 blocks of l at 25. */
static void draining_waits_for_the_blocks(void **state)
{
	struct sim_build b;
	struct play p;
	uint32_t i;

	(void)state;
	build_two_sms(&b, "ppq");
	b.sc.preempt = COT_PREEMPT_DRAIN;
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 3-15, l 0-25");
	for (i = 0; i < 2; i++)
		assert_string_equal(p.sm[i].text,
				    "0 l run, 3 l drain, 10 h run, 15 l run, 25 idle");
	assert_int_equal(p.result.preemptions, 2);
	assert_int_equal(p.result.saved_bytes, 0);
	assert_int_equal(p.result.latency_max_ps, 7000000);
	play_end(&p);
}

/* Three SMs; h needs one of them, for 20 us. */
static void build_three_sms(struct sim_build *b, const char *scheduler)
{
	build_init(b, scheduler, 3);
	(void)build_one(b, "l", 0, 12, 10, 2, 1);
	build_one(b, "h", 3, 2, 20, 2, 0)->priority = 1;
}

/*
 * h has SM 0 from 5 to 25. The others get no new block of l and are empty at 10. At 25 SM 0 takes
 * the saved blocks (27 + 7 = 34) and then the last 2 (44); SMs 1 and 2 take 2 fresh ones each.
 */
static void exclusive_empties_the_sms_that_are_not_needed(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_three_sms(&b, "ppq");
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 3-25, l 0-44");
	assert_string_equal(p.sm[0].text, "0 l run, 3 l save, 5 h run, 25 l restore, 27 l run, "
					  "44 idle");
	assert_string_equal(p.sm[1].text, "0 l run, 10 idle, 25 l run, 35 idle");
	assert_string_equal(p.sm[2].text, "0 l run, 10 idle, 25 l run, 35 idle");
	play_end(&p);
}

/*
 * SMs 1 and 2 go on with l. At 10 SM 1 takes the two saved blocks first: 2 us to restore, 7 left,
 * so 19, and 2 fresh ones until 29. SM 2 takes fresh ones at 10 and 20.
 */
static void shared_leaves_the_rest_to_others(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_three_sms(&b, "ppq-shared");
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 3-25, l 0-30");
	assert_string_equal(p.sm[0].text, "0 l run, 3 l save, 5 h run, 25 idle");
	assert_string_equal(p.sm[1].text, "0 l run, 10 l restore, 12 l run, 29 idle");
	assert_string_equal(p.sm[2].text, "0 l run, 30 idle");
	play_end(&p);
}

/* a's second wave (2 blocks from 10) leaves SM 1 to b. Nobody is preempted. */
static void equal_priorities_share_by_leftover(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq", 2);
	(void)build_one(&b, "a", 0, 6, 10, 2, 1);
	(void)build_one(&b, "b", 1, 2, 5, 2, 1);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 1-15, a 0-20");
	assert_int_equal(p.result.preemptions, 0);
	play_end(&p);
}

/*
 * l holds all three SMs. SM 0 is being saved for m (10 to 14) when h arrives at 12 and takes the
 * reservation over: h 14 to 19, m 19 to 24, l restored until 28 with 90 left. One preemption in
 * all.
 */
static void a_reservation_moves_to_the_more_important(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq", 3);
	(void)build_one(&b, "l", 0, 3, 100, 1, 4);
	build_one(&b, "m", 10, 1, 5, 1, 4)->priority = 1;
	build_one(&b, "h", 12, 1, 5, 1, 4)->priority = 2;
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 12-19, m 10-24, l 0-118");
	assert_int_equal(p.result.preemptions, 1);
	play_end(&p);
}

/* Of SMs with equally important kernels the one with the fewest blocks goes: SM 1 holds one. */
static void the_emptiest_sm_is_taken(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq-shared", 2);
	(void)build_one(&b, "l", 0, 3, 50, 2, 1);
	build_one(&b, "h", 3, 1, 5, 1, 0)->priority = 1;
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 l run, 50 idle");
	/* saved 3 to 4, h 4 to 9, restored until 10, 47 left */
	assert_string_equal(p.sm[1].text, "0 l run, 3 l save, 4 h run, 9 l restore, 10 l run, "
					  "57 idle");
	play_end(&p);
}

/* Less important kernels lose their SMs first: m keeps SM 0, l gives SM 1. */
static void the_least_important_is_taken(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq-shared", 3);
	build_one(&b, "m", 0, 1, 50, 1, 1)->priority = 1;
	(void)build_one(&b, "l", 0, 2, 50, 1, 1);
	build_one(&b, "h", 3, 1, 5, 1, 0)->priority = 2;
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 m run, 50 idle");
	assert_string_equal(p.kernels.text, "h 3-9, m 0-50, l 0-57");
	play_end(&p);
}

/*
 * Set-up takes 0.5, the trap 1. l has run for 2.5 when h comes; it is saved until 3 + 1 + 2 = 6, h
 * runs from 6.5 to 11.5, l is set up and restored until 11.5 + 0.5 + 2 = 14 and has 7.5 left.
 */
static void trap_and_set_up_take_time(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq", 2);
	b.sc.gpu.trap_ps = 1000000;
	b.sc.gpu.setup_ps = 500000;
	(void)build_one(&b, "l", 0, 4, 10, 2, 1);
	build_one(&b, "h", 3, 2, 5, 1, 0)->priority = 1;
	play(&p, &b);
	assert_string_equal(p.sm[0].text,
			    "0 l restore, 0.5 l run, 3 l save, 6 h restore, 6.5 h run, "
			    "11.5 l restore, 14 l run, 21.5 idle");
	assert_int_equal(p.result.latency_max_ps, 3000000);
	play_end(&p);
}

/* A block that would have ended at 10, while the SM is saved (8 to 12), still has 2 to do. */
static void no_block_ends_while_it_is_saved(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "ppq", 2);
	(void)build_one(&b, "l", 0, 2, 10, 1, 4);
	build_one(&b, "h", 8, 2, 5, 1, 0)->priority = 1;
	play_expect_kernels(&b, "h 8-17, l 0-23");
}

/*
 * l is restored from 9 to 13 when i comes at 11: the whole context is saved again (11 to 15), and
 * restored again after i (17 to 21). Its 7 us are untouched.
 */
static void a_block_can_be_preempted_while_it_is_restored(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq", 2);
	(void)build_one(&b, "l", 0, 2, 10, 1, 4);
	build_one(&b, "h", 3, 2, 2, 1, 0)->priority = 1;
	build_one(&b, "i", 11, 2, 2, 1, 0)->priority = 1;
	play(&p, &b);
	assert_string_equal(p.kernels.text, "h 3-9, i 11-17, l 0-28");
	assert_string_equal(p.sm[0].text, "0 l run, 3 l save, 7 h run, 9 l restore, 11 l save, "
					  "15 i run, 17 l restore, 21 l run, 28 idle");
	assert_int_equal(p.result.saved_bytes, 2 * 8000);
	assert_int_equal(p.result.restored_bytes, 2 * 8000);
	play_end(&p);
}

/*
 * Saved blocks are restored one batch after the other on an SM. h takes SM 0 from 2 to 100; its two
 * blocks of l (8 left, 3 us each to restore) go on on SM 1, whose own blocks end at 10: both are
 * there at 16, and end at 24.
 */
static void a_running_sm_restores_what_fits(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "ppq-shared", 2);
	(void)build_one(&b, "l", 0, 4, 10, 2, 3);
	build_one(&b, "h", 2, 1, 92, 1, 0)->priority = 1;
	play(&p, &b);
	assert_string_equal(p.sm[0].text, "0 l run, 2 l save, 8 h run, 100 idle");
	assert_string_equal(p.sm[1].text, "0 l run, 10 l restore, 16 l run, 24 idle");
	play_end(&p);
}

/*
 * Two SMs, so two entries in the active queue: h waits until a leaves at 10, and is taken before c,
 * which came first. c enters when h leaves at 15.
 */
static void a_full_active_queue_delays_even_the_important(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "ppq", 2);
	(void)build_one(&b, "a", 0, 1, 10, 1, 1);
	(void)build_one(&b, "b", 0, 1, 30, 1, 1);
	(void)build_one(&b, "c", 1, 1, 10, 1, 1);
	build_one(&b, "h", 2, 1, 5, 1, 1)->priority = 9;
	play_expect_kernels(&b, "a 0-10, h 10-15, c 15-25, b 0-30");
}

/*
 * ppq-shared, context switch, 4 us to save a block, 3 SMs of one block. l holds all; m comes at 5
 * and reserves all three; h, a single block, comes at 6 and takes one of them. So m has two at 9
 * and works through its 4 blocks of 10 us by 29: it does not wait behind l while h runs.
 */
static void nobody_waits_behind_the_less_important(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "ppq-shared", 3);
	(void)build_one(&b, "l", 0, 1000, 10, 1, 4);
	build_one(&b, "m", 5, 4, 10, 1, 4)->priority = 1;
	build_one(&b, "h", 6, 1, 200, 1, 4)->priority = 2;
	build_stop_at(&b, 100);
	play_expect_kernels(&b, "m 5-29");
}

/*
 * ppq, context switch, 1 us to save a block, 3 SMs of one block. l holds all with blocks of 100 us.
 * h (one block of 10 us) comes at 1, takes one SM and runs from 2 to 12, while l's other blocks run
 * on without successors. m comes at 5 and may not run beside h. When h leaves at 12, m has its SM
 * at once, until 22, and takes the other two from l at 13, until 23.
 */
static void the_next_in_line_preempts_when_the_first_leaves(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "ppq", 3);
	b.sc.preempt = COT_PREEMPT_SWITCH;
	(void)build_one(&b, "l", 0, 30, 100, 1, 1);
	build_one(&b, "h", 1, 1, 10, 1, 1)->priority = 2;
	build_one(&b, "m", 5, 3, 10, 1, 1)->priority = 1;
	build_stop_at(&b, 50);
	play_expect_kernels(&b, "h 1-12, m 5-23");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_behind_the_less_important),
		cmocka_unit_test(the_next_in_line_preempts_when_the_first_leaves),
		cmocka_unit_test(switching_keeps_the_remaining_time),
		cmocka_unit_test(draining_waits_for_the_blocks),
		cmocka_unit_test(exclusive_empties_the_sms_that_are_not_needed),
		cmocka_unit_test(shared_leaves_the_rest_to_others),
		cmocka_unit_test(equal_priorities_share_by_leftover),
		cmocka_unit_test(a_reservation_moves_to_the_more_important),
		cmocka_unit_test(the_emptiest_sm_is_taken),
		cmocka_unit_test(the_least_important_is_taken),
		cmocka_unit_test(trap_and_set_up_take_time),
		cmocka_unit_test(no_block_ends_while_it_is_saved),
		cmocka_unit_test(a_block_can_be_preempted_while_it_is_restored),
		cmocka_unit_test(a_running_sm_restores_what_fits),
		cmocka_unit_test(a_full_active_queue_delays_even_the_important),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
