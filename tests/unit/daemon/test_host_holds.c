/* The daemon's host on a busy machine: what a user holds, when leases end and answers come late. */
#include <errno.h>

#include "host_world.h"

static void hold_and_confirm(uint32_t id)
{
	world_hold(id, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(id)->run, COT_RUN_FROZEN);
	w.n_sent = 0;
}

/* The daemon had no processor meanwhile. */
static void come_late(uint64_t ns)
{
	w.now_ns += ns;
	cot_host_tick(w.host, w.now_ns);
}

/* Nobody has let it go, so it is frozen, sooner or later. */
static void expect_frozen_within(uint32_t id, uint64_t ns)
{
	uint64_t until_ns = w.now_ns + ns;

	while (world_entity(id)->run != COT_RUN_FROZEN && w.now_ns < until_ns) {
		world_pass(10 * MS);
		if (w.n_sent)
			world_answer_all(w.n_sent - 1);
	}
	assert_int_equal(world_entity(id)->run, COT_RUN_FROZEN);
	assert_true(world_entity(id)->held);
	assert_true(w.library[0].frozen);
	assert_null(world_last(COT_MSG_THAW));
}

static void start_pool(void)
{
	world_pool(1, COT_CLASS_BATCH, true);
	world_tenant(2, COT_CLASS_BATCH, 1, true);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_join(1, 1, COT_CLASS_BATCH, true);
	world_answer_all(0);
	w.n_sent = 0;
	world_hold(1, true);
}

/* As libraries answer that have nothing against it. */
static void pass_with_answers(uint64_t ns)
{
	uint64_t until_ns = w.now_ns + ns;
	unsigned answered = 0;

	do {
		for (; answered < w.n_sent; answered++)
			if (w.sent[answered].seq)
				world_answer(&w.sent[answered], 0, w.sent[answered].slice_us);
		world_pass(10 * MS);
	} while (w.now_ns < until_ns);
}

static void expect_both_frozen_within(uint64_t ns)
{
	pass_with_answers(ns);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
	assert_true(w.library[0].frozen && w.library[1].frozen);
}

/* The server could be frozen, but a program of its pool makes its context. */
static void test_no_freeze_while_channels_are_set_up(void **state)
{
	(void)state;
	w.setting_up = true;
	start_pool();
	pass_with_answers(3000 * MS);
	assert_null(world_last(COT_MSG_FREEZE));
	assert_int_equal(world_stats(1).freeze_status, -EAGAIN);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	w.setting_up = false;
	expect_both_frozen_within(1200 * MS);
}

/* And one that begins while all are frozen lets them run. */
static void test_a_set_up_ends_a_freeze(void **state)
{
	(void)state;
	start_pool();
	expect_both_frozen_within(0);
	w.setting_up = true;
	w.n_sent = 0;
	cot_host_release(w.host, 1, w.now_ns);
	assert_int_equal(world_count(COT_MSG_THAW, 0, 0), 1);
	assert_int_equal(world_count(COT_MSG_THAW, 1, 0), 1);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	pass_with_answers(3000 * MS);
	assert_false(w.library[0].frozen || w.library[1].frozen);
	cot_host_release(w.host, 1, w.now_ns);
	assert_int_equal(world_count(COT_MSG_THAW, 0, 0), 1);
	w.setting_up = false;
	expect_both_frozen_within(1200 * MS);
}

/* Its lease ended, and by the time that the daemon asked again it was setting channels up. */
static void test_a_hold_outlives_a_refusal(void **state)
{
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	hold_and_confirm(1);
	come_late(200 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 1);
	for (i = 0; i < 5; i++) {
		assert_non_null(world_last(COT_MSG_FREEZE));
		w.library[0].frozen = false;
		world_answer(world_last(COT_MSG_FREEZE), -EAGAIN, 0);
		assert_true(world_entity(1)->held);
		assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
		w.n_sent = 0;
		world_pass_until_sent(1100 * MS);
	}
	expect_frozen_within(1, 10 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 1);
}

static void test_a_hold_outlives_late_answers(void **state)
{
	unsigned n;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	hold_and_confirm(1);
	come_late(200 * MS);
	/* Its library gets no processor for ten seconds, and is not flooded. */
	world_pass(10000 * MS);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	assert_true(world_entity(1)->held);
	n = world_count(COT_MSG_FREEZE, 0, 0);
	assert_in_range(n, 9, 20);
	assert_int_equal(world_stats(1).freeze_status, -ETIMEDOUT);
	expect_frozen_within(1, 1200 * MS);
}

/* The first answer is late, too. */
static void test_a_hold_whose_first_answer_is_late(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	w.n_sent = 0;
	world_hold(1, true);
	world_pass(150 * MS);
	expect_frozen_within(1, 200 * MS);
	assert_int_equal(world_stats(1).n_freezes, 1);
}

/* What the daemon does first when it comes late is a packet, and that packet leads to a freeze. */
static void test_a_lapse_is_found_whatever_comes_first(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_start(2, COT_CLASS_BATCH, 1);
	hold_and_confirm(1);
	w.now_ns += 200 * MS;
	world_hold(2, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	w.n_sent = 0;
	world_pass(30 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 1);
	assert_int_equal(world_stats(2).n_lapsed, 0);
	assert_int_equal(world_count(COT_MSG_FREEZE, 1, 0), 0);
	expect_frozen_within(1, 10 * MS);
}

/* It was frozen, the answer was not read in time, and the lease ended before that. */
static void come_late_for_the_answer(bool packets_first)
{
	struct sent freeze;

	world_start(1, COT_CLASS_BATCH, 0);
	world_hold(1, true);
	freeze = *world_last(COT_MSG_FREEZE);
	w.n_sent = 0;
	w.now_ns += 90 * MS;
	if (packets_first)
		world_answer(&freeze, 0, 0);
	cot_host_tick(w.host, w.now_ns);
	if (!packets_first)
		world_answer(&freeze, 0, 0);
	assert_false(w.library[0].frozen && !w.n_sent);
	world_pass(30 * MS);
	expect_frozen_within(1, 10 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 1);
}

static void test_an_answer_older_than_its_lease(void **state)
{
	(void)state;
	come_late_for_the_answer(true);
}

static void test_an_answer_that_is_read_after_its_lease(void **state)
{
	(void)state;
	come_late_for_the_answer(false);
}

/* The clock was read, then the processor was lost, then the lease was written: only the library
 * knows. */
static void test_a_lapse_that_no_clock_shows(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	hold_and_confirm(1);
	world_pass(60 * MS);
	w.library[0].frozen = false;
	w.library[0].n_ended++;
	world_pass(30 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 1);
	expect_frozen_within(1, 10 * MS);
}

/* A process of it that came late is asked again, and until then it is not shown as frozen. */
static void test_a_newcomer_that_is_late(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	hold_and_confirm(1);
	world_join(4, 1, COT_CLASS_BATCH, false);
	assert_int_equal(world_count(COT_MSG_FREEZE, 4, 0), 1);
	world_pass(130 * MS);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	assert_true(world_entity(1)->held);
	assert_int_equal(world_count(COT_MSG_FREEZE, 4, 0), 2);
	world_answer_all(w.n_sent - 2);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
	assert_int_equal(world_stats(1).n_lapsed, 0);
}

/* The library of a program in a pool does not decide: it alone is told again. */
static void test_a_guest_whose_lease_ended(void **state)
{
	(void)state;
	world_pool(100, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 100, false);
	world_join(0, 100, COT_CLASS_BATCH, false);
	world_pool(100, COT_CLASS_BATCH, true);
	world_join(7, 100, COT_CLASS_BATCH, true);
	world_answer_all(0);
	world_hold(100, true);
	world_answer_all(w.n_sent - 2);
	w.n_sent = 0;
	w.library[7].n_ended++;
	world_pass(30 * MS);
	assert_int_equal(world_count(COT_MSG_FREEZE, 7, 0), 1);
	assert_int_equal(world_count(COT_MSG_FREEZE, 0, 0), 0);
	assert_int_equal(world_entity(100)->run, COT_RUN_FROZEN);
	assert_int_equal(world_stats(100).n_lapsed, 1);
	world_answer_all(0);
	world_pass(1000 * MS);
	assert_int_equal(w.n_sent, 1);
}

/* A library that was there before knows of leases that ended long ago. */
static void test_old_lapses_do_not_count(void **state)
{
	(void)state;
	w.library[0].n_ended = 5;
	world_start(1, COT_CLASS_BATCH, 0);
	w.library[0].n_ended = 9;
	cot_host_leave(w.host, 0, w.now_ns);
	cot_host_join(w.host, 0, 1, false, w.now_ns);
	hold_and_confirm(1);
	world_pass(1000 * MS);
	assert_int_equal(world_stats(1).n_lapsed, 0);
	assert_int_equal(w.n_sent, 0);
}

/* What cannot be sent because nothing is read there is not "setting channels up". */
static void test_a_full_socket(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	w.send_rc = -EAGAIN;
	world_hold(1, true);
	assert_int_equal(world_stats(1).freeze_status, -ENOBUFS);
	assert_int_equal(world_stats(1).freeze.n, 1);
	w.send_rc = 0;
	w.n_sent = 0;
	expect_frozen_within(1, 200 * MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(no_freeze_while_channels_are_set_up),
		TEST(a_set_up_ends_a_freeze),
		TEST(a_hold_outlives_a_refusal),
		TEST(a_hold_outlives_late_answers),
		TEST(a_hold_whose_first_answer_is_late),
		TEST(a_lapse_is_found_whatever_comes_first),
		TEST(an_answer_older_than_its_lease),
		TEST(an_answer_that_is_read_after_its_lease),
		TEST(a_lapse_that_no_clock_shows),
		TEST(a_newcomer_that_is_late),
		TEST(a_guest_whose_lease_ended),
		TEST(old_lapses_do_not_count),
		TEST(a_full_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
