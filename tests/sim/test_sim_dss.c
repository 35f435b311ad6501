/* Hand-computed schedules of DSS: who holds how many SMs, and how they move. */
#include "support/sim_build.h"
#include "test.h"

static void assert_share(struct cot_sim *sim, uint32_t app, uint32_t n_sms, int32_t tokens)
{
	const struct hw_kernel *k = play_kernel_of(sim, app);

	assert_non_null(k);
	assert_int_equal(k->n_sms, n_sms);
	assert_int_equal(k->priv.tokens, tokens);
}

/* Equal sharing: floor(N / Np) SMs each, one more for the first N mod Np; no token is left. */
static void split_is(uint32_t n_sms, uint32_t n_apps, const uint32_t *want)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct sim_build b;
	struct play p;
	uint32_t i;

	build_init(&b, "dss", n_sms);
	for (i = 0; i < n_apps; i++)
		(void)build_one(&b, names[i], 0, 1000, 100, 2, 1);
	build_stop_at(&b, 1);
	play(&p, &b);
	for (i = 0; i < n_apps; i++)
		assert_share(p.sim, i, want[i], 0);
	assert_int_equal(p.result.preemptions, 0);
	play_end(&p);
}

static void equal_sharing_splits_the_sms(void **state)
{
	static const uint32_t two[] = {7, 6}, four[] = {4, 3, 3, 3}, six[] = {3, 2, 2, 2, 2, 2},
			      eight[] = {2, 2, 2, 2, 2, 1, 1, 1}, even[] = {4, 4, 4};

	(void)state;
	split_is(13, 2, two);
	split_is(13, 4, four);
	split_is(13, 6, six);
	split_is(13, 8, eight);
	split_is(12, 3, even);
}

/* Of two programs only one is there: it has 7 tokens, takes all 13 SMs and owes 6. */
static void a_lone_kernel_gets_all(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 13);
	(void)build_one(&b, "a", 0, 1000, 100, 2, 1);
	(void)build_one(&b, "b", 500, 1000, 100, 2, 1);
	build_stop_at(&b, 1);
	play(&p, &b);
	assert_share(p.sim, 0, 13, -6);
	play_end(&p);
}

/*
 * b comes with 6 tokens to a's -6. Each SM that moves changes the difference of 12 by two: six
 * move. Saving two blocks takes 2 us.
 */
static void an_arrival_moves_sms_until_balance(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 13);
	(void)build_one(&b, "a", 0, 1000, 100, 2, 1);
	(void)build_one(&b, "b", 5, 1000, 100, 2, 1);
	build_stop_at(&b, 8);
	play(&p, &b);
	assert_share(p.sim, 0, 7, 0);
	assert_share(p.sim, 1, 6, 0);
	assert_string_equal(p.sm[0].text, "0 a run, 5 a save, 7 b run");
	assert_string_equal(p.sm[5].text, "0 a run, 5 a save, 7 b run");
	assert_string_equal(p.sm[6].text, "0 a run");
	assert_int_equal(p.result.preemptions, 6);
	assert_int_equal(p.result.latency_max_ps, 2000000);
	play_end(&p);
}

/* The same by draining: the blocks of a end at 20. */
static void an_arrival_waits_for_draining_sms(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 13);
	b.sc.preempt = COT_PREEMPT_DRAIN;
	(void)build_one(&b, "a", 0, 1000, 20, 2, 1);
	(void)build_one(&b, "b", 5, 1000, 20, 2, 1);
	build_stop_at(&b, 21);
	play(&p, &b);
	assert_share(p.sim, 0, 7, 0);
	assert_share(p.sim, 1, 6, 0);
	assert_string_equal(p.sm[0].text, "0 a run, 5 a drain, 20 b run");
	assert_int_equal(p.result.preemptions, 6);
	assert_int_equal(p.result.latency_max_ps, 15000000);
	play_end(&p);
}

/*
 * Two SMs, a token each. a (4 blocks of 10) holds both and owes 1; b (2 blocks of 4) takes SM 0:
 * saved 5 to 6, b until 14. SM 1 goes on with a: the saved block from 10, restored at 11, 5 left,
 * 16; then the last one until 26. At 14 SM 0 returns to a, for one block.
 */
static void a_leaving_kernel_gives_its_sms_back(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 2);
	(void)build_one(&b, "a", 0, 4, 10, 1, 1);
	(void)build_one(&b, "b", 5, 2, 4, 1, 0);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 5-14, a 0-26");
	assert_string_equal(p.sm[0].text, "0 a run, 5 a save, 6 b run, 14 a run, 24 idle");
	assert_string_equal(p.sm[1].text, "0 a run, 10 a restore, 11 a run, 26 idle");
	play_end(&p);
}

/* a can fill one SM of its two; b takes the other three on credit, and a keeps a token. */
static void what_a_small_kernel_leaves_is_used(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 4);
	(void)build_one(&b, "a", 0, 2, 100, 2, 1);
	(void)build_one(&b, "b", 0, 100, 100, 2, 1);
	build_stop_at(&b, 1);
	play(&p, &b);
	assert_share(p.sim, 0, 1, 1);
	assert_share(p.sim, 1, 3, -1);
	play_end(&p);
}

static void explicit_tokens_are_shares(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 4);
	build_one(&b, "a", 0, 100, 100, 2, 1)->tokens = 3;
	build_one(&b, "b", 0, 100, 100, 2, 1)->tokens = 1;
	build_stop_at(&b, 1);
	play(&p, &b);
	assert_share(p.sim, 0, 3, 0);
	assert_share(p.sim, 1, 1, 0);
	play_end(&p);
	b.sc.apps[0].tokens = 1; /* 2 tokens for 4 SMs: in turns into debt */
	play(&p, &b);
	assert_share(p.sim, 0, 2, -1);
	assert_share(p.sim, 1, 2, -1);
	play_end(&p);
}

/*
 * d (2 tokens) holds SMs 0 and 2, c (1 token) SM 1. b (10 tokens, 2 blocks of 1 us) has SM 1 and
 * SM 0 drained for it. SM 1 is there at 10 and does all of b by 12. SM 0, still draining for b, is
 * redirected to the richest, c (1 token, as d, but earlier); d takes the idle SM 1. SM 0 is empty
 * at 100.
 */
static void a_reservation_nobody_needs_is_redirected(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 3);
	b.sc.preempt = COT_PREEMPT_DRAIN;
	build_one(&b, "c", 0, 50, 10, 1, 1)->tokens = 1;
	build_one(&b, "d", 0, 50, 100, 1, 1)->tokens = 2;
	build_one(&b, "b", 5, 2, 1, 1, 1)->tokens = 10;
	build_stop_at(&b, 101);
	play(&p, &b);
	assert_string_equal(p.kernels.text, "b 5-12");
	assert_string_equal(p.sm[0].text, "0 d run, 5 d drain, 100 c run");
	assert_string_equal(p.sm[1].text, "0 c run, 5 c drain, 10 b run, 12 d run");
	assert_string_equal(p.sm[2].text, "0 d run");
	assert_share(p.sim, 0, 1, 0);
	assert_share(p.sim, 1, 2, 0);
	play_end(&p);
}

/*
 * b's two blocks fill both SMs; a takes SM 0 at 5, 20 us to save. SM 1 ends its block at 10, when
 * nobody has anything to issue. At 25 a starts, and b's saved block can go on: on SM 1, restored at
 * 45, done at 50.
 */
static void saved_blocks_go_to_an_idle_sm(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 2);
	(void)build_one(&b, "b", 0, 2, 10, 1, 20);
	(void)build_one(&b, "a", 5, 1, 100, 1, 20);
	play(&p, &b);
	assert_string_equal(p.sm[1].text, "0 b run, 10 idle, 25 b restore, 45 b run, 50 idle");
	assert_string_equal(p.kernels.text, "b 0-50, a 5-125");
	play_end(&p);
}

/* Two entries in the active queue: c and d enter, with the two tokens, when a and b leave. */
static void launches_wait_for_a_full_active_queue(void **state)
{
	struct sim_build b;

	(void)state;
	build_init(&b, "dss", 2);
	(void)build_one(&b, "a", 0, 2, 10, 1, 1);
	(void)build_one(&b, "b", 0, 2, 10, 1, 1);
	(void)build_one(&b, "c", 0, 2, 10, 1, 1);
	(void)build_one(&b, "d", 0, 2, 10, 1, 1);
	play_expect_kernels(&b, "a 0-20, b 0-20, c 20-40, d 20-40");
}

/* Tokens belong to a program: the second kernel of one context brings none. 4 SMs, 2 contexts. */
static void a_second_kernel_of_a_context_has_no_tokens(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_init(&b, "dss", 4);
	(void)build_one(&b, "a", 0, 100, 100, 1, 1);
	(void)build_one(&b, "b", 0, 100, 100, 1, 1);
	build_one(&b, "c", 0, 100, 100, 1, 1)->context = 0;
	build_stop_at(&b, 1);
	play(&p, &b);
	/* c arrives when a's launch has left the command buffer: SMs are already divided 2 / 2 */
	assert_share(p.sim, 0, 2, 0);
	assert_share(p.sim, 1, 2, 0);
	assert_share(p.sim, 2, 0, 0);
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sharing_splits_the_sms),
		cmocka_unit_test(a_lone_kernel_gets_all),
		cmocka_unit_test(an_arrival_moves_sms_until_balance),
		cmocka_unit_test(an_arrival_waits_for_draining_sms),
		cmocka_unit_test(a_leaving_kernel_gives_its_sms_back),
		cmocka_unit_test(what_a_small_kernel_leaves_is_used),
		cmocka_unit_test(explicit_tokens_are_shares),
		cmocka_unit_test(a_reservation_nobody_needs_is_redirected),
		cmocka_unit_test(saved_blocks_go_to_an_idle_sm),
		cmocka_unit_test(launches_wait_for_a_full_active_queue),
		cmocka_unit_test(a_second_kernel_of_a_context_has_no_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
