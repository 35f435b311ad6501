/* The daemon's host: orders that are not answered, answers that do not count, and what is told of
 * freezes that fail. */
#include <errno.h>

#include "host_world.h"

/* ---- orders that nobody answers ---- */

/* One user's flood of orders that nobody answers pushed the freezes of others out of the table. */
static void test_a_flood_disturbs_nobody(void **state)
{
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_start(2, COT_CLASS_BATCH, 1);
	world_hold(2, true);
	for (i = 0; i < 2000; i++)
		cot_host_override_slice(w.host, 1, 1000 + i % 100, w.now_ns);
	world_pass(60 * MS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(2)->run, COT_RUN_FROZEN);
	assert_true(world_entity(2)->held);
}

static void test_one_set_at_a_time_and_the_newest_wins(void **state)
{
	unsigned from, i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	from = w.n_sent;
	for (i = 0; i < 100; i++)
		cot_host_override_slice(w.host, 1, 1000 + i, w.now_ns);
	assert_int_equal(w.n_sent - from, 1);
	assert_int_equal(world_stats(1).n_waiting, 1);
	world_answer(world_last(COT_MSG_SET), 0, 1000);
	assert_int_equal(w.n_sent - from, 2);
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 1099);
	world_answer(world_last(COT_MSG_SET), 0, 1099);
	assert_int_equal(w.n_sent - from, 2);
	assert_int_equal(world_stats(1).n_waiting, 0);
	/* What a user asks for a second time is sent a second time. */
	cot_host_override_slice(w.host, 1, 1099, w.now_ns);
	assert_int_equal(w.n_sent - from, 3);
}

/* What came while one was on its way is sent after it, whatever else was decided in between. */
static void test_the_newest_is_not_forgotten(void **state)
{
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	for (i = 0; i < 2; i++) {
		cot_host_override_slice(w.host, 1, 700 + i, w.now_ns);
		world_pass(1 * MS);
		world_tenant(2, COT_CLASS_BATCH, 0, false);
		cot_host_override_slice(w.host, 1, 800 + i, w.now_ns);
		world_tenant(2, COT_CLASS_BATCH, 0, false);
		assert_int_equal(world_last(COT_MSG_SET)->slice_us, 700 + i);
		world_answer(world_last(COT_MSG_SET), 0, 700 + i);
		assert_int_equal(world_last(COT_MSG_SET)->slice_us, 800 + i);
		world_answer(world_last(COT_MSG_SET), 0, 800 + i);
		assert_int_equal(world_stats(1).n_waiting, 0);
	}
}

/* Nobody is waited for who could not be told. */
static void test_an_own_order_that_cannot_be_sent(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	w.deaf = 1;
	cot_host_override_slice(w.host, 1, 700, w.now_ns);
	assert_int_equal(world_stats(1).n_waiting, 0);
	assert_int_equal(world_stats(1).set_status, -EPIPE);
	assert_int_equal(world_stats(1).n_failed, 1);
	w.deaf = 0;
	cot_host_override_slice(w.host, 1, 800, w.now_ns);
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 800);
	world_answer(world_last(COT_MSG_SET), 0, 800);
	assert_int_equal(world_stats(1).set_status, 0);
	world_pass(1000 * MS);
	assert_int_equal(w.n_late[0], 0);
}

static void test_own_orders_end(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	cot_host_override_slice(w.host, 1, 700, w.now_ns);
	cot_host_override_slice(w.host, 1, 800, w.now_ns);
	world_pass(COT_HOST_ACK_NS - 1);
	assert_int_equal(world_stats(1).n_waiting, 1);
	assert_int_equal(world_stats(1).n_failed, 0);
	assert_int_equal(w.n_late[0], 0);
	world_pass(1);
	assert_int_equal(w.n_late[0], 1);
	assert_int_equal(world_stats(1).n_failed, 1);
	assert_int_equal(world_stats(1).set_status, -ETIMEDOUT);
	/* Now the newest has its turn. */
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 800);
	world_answer(world_last(COT_MSG_SET), 0, 800);
	assert_int_equal(world_stats(1).n_waiting, 0);
	assert_int_equal(world_stats(1).set_status, 0);
	assert_int_equal(world_pass(10000 * MS), 0);
}

/* The answer to an order that another one has replaced counts for nothing. */
static void test_answers_to_replaced_orders(void **state)
{
	struct sent freeze;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_hold(1, true);
	freeze = *world_last(COT_MSG_FREEZE);
	world_hold(1, false);
	world_answer(&freeze, -EIO, 0);
	assert_int_equal(world_stats(1).n_failed, 0);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
	assert_int_equal(world_stats(1).n_freezes, 0);
	assert_int_equal(world_stats(1).n_thaws, 1);
	world_pass(1000 * MS);
	assert_int_equal(w.n_late[0], 0);
}

/* An order that came after the one that is late ends at its own time. */
static void test_every_order_has_its_time(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_start(2, COT_CLASS_BATCH, 1);
	cot_host_override_slice(w.host, 1, 700, w.now_ns);
	world_pass(40 * MS);
	cot_host_override_slice(w.host, 2, 700, w.now_ns);
	world_pass(60 * MS);
	assert_int_equal(w.n_late[0], 1);
	assert_int_equal(w.n_late[1], 0);
	world_pass(40 * MS);
	assert_int_equal(w.n_late[1], 1);
	assert_int_equal(world_pass(1000 * MS), 0);
}

/* Also when the one that was due first is answered: then the next one's time counts. */
static void test_the_next_one_is_due(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++)
		world_start(i + 1, COT_CLASS_BATCH, i);
	w.n_sent = 0;
	for (i = 0; i < 3; i++) {
		cot_host_override_slice(w.host, i + 1, 700, w.now_ns);
		world_pass(10 * MS);
	}
	world_answer(&w.sent[0], 0, 700);
	world_pass(80 * MS);
	assert_int_equal(w.n_late[1], 1);
	assert_int_equal(w.n_late[2], 0);
	world_pass(10 * MS);
	assert_int_equal(w.n_late[2], 1);
	assert_int_equal(w.n_late[0], 0);
}

static void test_times_are_kept(void **state)
{
	static const unsigned took_ms[] = {3, 9, 5};
	struct cot_host_entity_stats stats;
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	for (i = 0; i < 3; i++) {
		world_hold(1, true);
		world_pass(took_ms[i] * MS);
		world_answer(world_last(COT_MSG_FREEZE), 0, 0);
		world_hold(1, false);
		world_pass(2 * took_ms[i] * MS);
		world_answer(world_last(COT_MSG_THAW), 0, 0);
	}
	stats = world_stats(1);
	assert_int_equal(stats.n_freezes, 3);
	assert_int_equal(stats.freeze_last_ns, 5 * MS);
	assert_int_equal(stats.freeze_max_ns, 9 * MS);
	assert_int_equal(stats.n_thaws, 3);
	assert_int_equal(stats.thaw_last_ns, 10 * MS);
	assert_int_equal(stats.thaw_max_ns, 18 * MS);
	assert_int_equal(stats.freeze_status, 0);
}

/* One process that fails is a failure, whoever answers after it. */
static void test_a_failure_counts(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_join(1, 1, COT_CLASS_BATCH, false);
	world_answer_all(0);
	w.n_sent = 0;
	world_hold(1, true);
	assert_int_equal(w.n_sent, 2);
	world_answer(&w.sent[0], -EIO, 0);
	world_answer(&w.sent[1], 0, 0);
	assert_int_equal(world_stats(1).freeze_status, -EIO);
	assert_int_equal(world_stats(1).n_failed, 1);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	/* And one that cannot be told is one that fails. */
	world_hold(1, false);
	world_answer_all(2);
	w.n_sent = 0;
	w.deaf = 1;
	world_hold(1, true);
	assert_int_equal(w.n_sent, 1);
	world_answer(&w.sent[0], 0, 0);
	assert_int_equal(world_stats(1).freeze_status, -EPIPE);
}

/* ---- guests of a pool ---- */

#define POOL   100u
#define SERVER 0u
#define GUEST  7u

static void make_pool(void)
{
	world_pool(POOL, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, POOL, false);
	world_join(SERVER, POOL, COT_CLASS_BATCH, false);
	world_pool(POOL, COT_CLASS_BATCH, true);
	world_join(GUEST, POOL, COT_CLASS_BATCH, true);
	world_answer_all(0);
}

static void answer_of(unsigned member, unsigned type, int status)
{
	unsigned i;

	for (i = w.n_sent; i > 0; i--) {
		if (w.sent[i - 1].member != member || w.sent[i - 1].type != type)
			continue;
		world_answer(&w.sent[i - 1], status, w.sent[i - 1].slice_us);
		return;
	}
	fail_msg("member %u was not sent a message of type %u", member, type);
}

static void test_a_guest_has_no_veto(void **state)
{
	(void)state;
	make_pool();
	assert_int_equal(world_stats(POOL).n_guests, 1);
	world_hold(POOL, true);
	answer_of(GUEST, COT_MSG_FREEZE, -EIO);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FREEZING);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FROZEN);
	assert_true(world_entity(POOL)->held);
	assert_int_equal(world_stats(POOL).n_failed, 0);
	assert_int_equal(world_stats(POOL).n_guests, 0);
	assert_int_equal(world_stats(POOL).n_guests_left, 1);
	/* It gets no more orders, and its lease is renewed no more. */
	w.n_leases_of[GUEST] = w.n_leases_of[SERVER] = 0;
	world_pass(200 * MS);
	assert_int_equal(w.n_leases_of[GUEST], 0);
	assert_true(w.n_leases_of[SERVER] > 0);
	world_hold(POOL, false);
	assert_int_equal(world_count(COT_MSG_THAW, GUEST, 0), 0);
	assert_int_equal(world_count(COT_MSG_THAW, SERVER, 0), 1);
}

static void test_a_guest_need_not_answer(void **state)
{
	(void)state;
	make_pool();
	world_hold(POOL, true);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FROZEN);
	assert_int_equal(world_stats(POOL).n_waiting, 0);
	assert_int_equal(world_stats(POOL).n_guests, 1);
	world_pass(COT_HOST_ACK_NS);
	assert_int_equal(world_stats(POOL).n_guests, 0);
	assert_int_equal(world_stats(POOL).n_guests_left, 1);
	assert_int_equal(world_stats(POOL).n_failed, 0);
	assert_int_equal(w.n_late[GUEST], 0);
	assert_int_equal(w.n_late[SERVER], 0);
}

static void test_a_guest_that_obeys_stays(void **state)
{
	(void)state;
	make_pool();
	world_hold(POOL, true);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	answer_of(GUEST, COT_MSG_FREEZE, 0);
	world_pass(1000 * MS);
	assert_int_equal(world_stats(POOL).n_guests, 1);
	assert_int_equal(world_stats(POOL).n_freezes, 1);
	assert_int_equal(w.n_leases_of[GUEST], w.n_leases_of[SERVER]);
	cot_host_leave(w.host, GUEST, w.now_ns);
	assert_int_equal(world_stats(POOL).n_guests, 0);
	assert_int_equal(world_stats(POOL).n_guests_left, 0);
}

/* It sets channels up: it is frozen when it is done with that. */
static void test_a_guest_that_asks_for_time_stays(void **state)
{
	(void)state;
	make_pool();
	world_hold(POOL, true);
	answer_of(GUEST, COT_MSG_FREEZE, -EAGAIN);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	w.n_sent = 0;
	world_pass(30 * MS);
	assert_int_equal(world_count(COT_MSG_FREEZE, GUEST, 0), 1);
	assert_int_equal(world_count(COT_MSG_FREEZE, SERVER, 0), 0);
	answer_of(GUEST, COT_MSG_FREEZE, 0);
	assert_int_equal(world_stats(POOL).n_guests, 1);
}

/* Asking for time is no failure of the pool's, whoever answers last. */
static void test_time_for_a_guest_is_no_failure(void **state)
{
	(void)state;
	make_pool();
	world_join(1, POOL, COT_CLASS_BATCH, false); /* a second server */
	world_answer_all(0);
	w.n_sent = 0;
	world_hold(POOL, true);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	answer_of(GUEST, COT_MSG_FREEZE, -EAGAIN);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FREEZING);
	answer_of(1, COT_MSG_FREEZE, 0);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FROZEN);
	assert_int_equal(world_stats(POOL).n_failed, 0);
}

static void test_the_server_decides(void **state)
{
	(void)state;
	make_pool();
	world_hold(POOL, true);
	answer_of(GUEST, COT_MSG_FREEZE, 0);
	answer_of(SERVER, COT_MSG_FREEZE, -EIO);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FREEZING);
	assert_int_equal(world_stats(POOL).n_failed, 1);
	assert_int_equal(world_stats(POOL).n_guests, 1);
}

/* It cannot be written to: that fails nothing but itself. */
static void test_a_guest_that_cannot_be_told(void **state)
{
	(void)state;
	make_pool();
	w.deaf = 1ull << GUEST;
	world_hold(POOL, true);
	answer_of(SERVER, COT_MSG_FREEZE, 0);
	assert_int_equal(world_entity(POOL)->run, COT_RUN_FROZEN);
	assert_int_equal(world_stats(POOL).n_guests_left, 1);
	assert_int_equal(world_stats(POOL).n_failed, 0);
}

/* ---- what is told ---- */

static const struct cot_host_news *news(unsigned i)
{
	assert_true(i < w.n_news);
	return &w.news[i];
}

static void fail_a_freeze(int status)
{
	world_hold(1, true);
	world_pass(4 * MS);
	world_answer(world_last(COT_MSG_FREEZE), status, 0);
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	world_pass(1000 * MS);
}

static void test_a_failed_freeze_is_told_once(void **state)
{
	uint64_t first_ns, last_ns;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	first_ns = w.now_ns;
	fail_a_freeze(-EIO);
	assert_int_equal(w.n_news, 1);
	assert_int_equal(news(0)->kind, COT_HOST_STUCK);
	assert_int_equal(news(0)->entity, 1);
	assert_int_equal(news(0)->action, COT_ACTION_FREEZE);
	assert_int_equal(news(0)->status, -EIO);
	assert_int_equal(news(0)->for_ns, 4 * MS);
	last_ns = w.now_ns;
	fail_a_freeze(-EPERM);
	assert_int_equal(w.n_news, 1);
	assert_int_equal(world_stats(1).freeze.n, 2);
	assert_int_equal(world_stats(1).freeze.since_ns, first_ns);
	assert_int_equal(world_stats(1).freeze.last_ns, last_ns);
	assert_int_equal(world_stats(1).freeze.status, -EPERM);
	assert_int_equal(world_stats(1).thaw.n, 0);
	/* And once when it is over. */
	world_hold(1, true);
	world_pass(2 * MS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(w.n_news, 2);
	assert_int_equal(news(1)->kind, COT_HOST_FREED);
	assert_int_equal(news(1)->action, COT_ACTION_FREEZE);
	assert_int_equal(news(1)->n, 2);
	assert_int_equal(news(1)->for_ns, w.now_ns - first_ns);
	assert_int_equal(world_stats(1).freeze.n, 0);
}

static void test_a_stuck_thaw_is_told_once(void **state)
{
	uint64_t since_ns;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	since_ns = w.now_ns;
	world_hold(1, false);
	world_pass(17000 * MS);
	assert_int_equal(w.n_news, 1);
	assert_int_equal(news(0)->kind, COT_HOST_STUCK);
	assert_int_equal(news(0)->action, COT_ACTION_THAW);
	assert_int_equal(news(0)->status, -ETIMEDOUT);
	assert_int_equal(news(0)->for_ns, COT_HOST_ACK_NS);
	assert_int_equal(world_entity(1)->run, COT_RUN_THAWING);
	assert_int_equal(world_stats(1).thaw.since_ns, since_ns);
	assert_true(world_stats(1).thaw.n > 10);
	world_pass_until_sent(2000 * MS);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
	assert_int_equal(w.n_news, 2);
	assert_int_equal(news(1)->kind, COT_HOST_FREED);
	assert_int_equal(news(1)->action, COT_ACTION_THAW);
	assert_int_equal(world_stats(1).thaw.n, 0);
}

/* Neither setting channels up nor leaving is a failure that somebody should hear of. */
static void test_what_is_not_told(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	fail_a_freeze(-EAGAIN);
	assert_int_equal(world_stats(1).freeze_status, -EAGAIN);
	world_hold(1, true);
	cot_host_leave(w.host, 0, w.now_ns);
	assert_int_equal(world_stats(1).freeze_status, -ENOTCONN);
	assert_int_equal(w.n_news, 0);
	assert_int_equal(world_stats(1).n_failed, 2);
}

static void test_who_leaves_has_no_trouble(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), -EIO, 0);
	assert_int_equal(world_stats(1).freeze.n, 1);
	cot_host_leave(w.host, 0, w.now_ns);
	assert_int_equal(world_stats(1).freeze.n, 0);
}

/* A policy that goes wrong is told of, and that it is at work again. */
static void test_a_fallback_is_told(void **state)
{
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	/* As a policy that sends without end. */
	for (i = 0; i < 5000 && !w.n_news; i++) {
		world_hold(1, i % 2 == 0);
		world_answer_all(w.n_sent - 1);
	}
	assert_int_equal(w.n_news, 1);
	assert_int_equal(news(0)->kind, COT_HOST_FELL_BACK);
	world_hold(1, false);
	world_answer_all(w.n_sent - 1);
	for (i = 0; i < 1000 && w.n_news == 1; i++)
		world_pass(1000 * MS);
	assert_int_equal(w.n_news, 2);
	assert_int_equal(news(1)->kind, COT_HOST_RECOVERED);
	for (i = 0; i < 10; i++)
		world_tenant(1, COT_CLASS_BATCH, 0, true);
	assert_int_equal(w.n_news, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_flood_disturbs_nobody),
		TEST(one_set_at_a_time_and_the_newest_wins),
		TEST(the_newest_is_not_forgotten),
		TEST(an_own_order_that_cannot_be_sent),
		TEST(own_orders_end),
		TEST(answers_to_replaced_orders),
		TEST(every_order_has_its_time),
		TEST(the_next_one_is_due),
		TEST(times_are_kept),
		TEST(a_failure_counts),
		TEST(a_guest_has_no_veto),
		TEST(a_guest_need_not_answer),
		TEST(a_guest_that_obeys_stays),
		TEST(a_guest_that_asks_for_time_stays),
		TEST(time_for_a_guest_is_no_failure),
		TEST(the_server_decides),
		TEST(a_guest_that_cannot_be_told),
		TEST(a_failed_freeze_is_told_once),
		TEST(a_stuck_thaw_is_told_once),
		TEST(what_is_not_told),
		TEST(who_leaves_has_no_trouble),
		TEST(a_fallback_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
