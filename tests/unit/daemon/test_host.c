/* The daemon's host: orders, answers, leases. The libraries are played by the test, and so is the
 * clock. */
#include <errno.h>

#include "host_world.h"

/* ---- slices ---- */

static void test_slices_follow_the_policy(void **state)
{
	struct cot_host_settings settings;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 10);
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 2000);
	assert_int_equal(world_last(COT_MSG_SET)->member, 10);
	world_start(2, COT_CLASS_LATENCY, 20);
	assert_int_equal(world_entity(1)->slice_us, 20);
	assert_int_equal(world_entity(2)->slice_us, 10000);
	cot_host_settings(w.host, 1, &settings);
	assert_int_equal(settings.slice_us, 20);
	assert_false(settings.frozen);
}

static void test_a_wrong_read_back_is_a_failure(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	world_answer(world_last(COT_MSG_SET), 0, 2048);
	assert_int_equal(world_entity(1)->slice_us, COT_SLICE_DRIVER);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_failed, 1);
	/* It is tried again. */
	world_pass_until_sent(200 * MS);
	world_answer(world_last(COT_MSG_SET), 0, 2000);
	assert_int_equal(world_entity(1)->slice_us, 2000);
}

static void test_every_process_must_answer(void **state)
{
	unsigned from = w.n_sent;

	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_join(1, 1, COT_CLASS_BATCH, false);
	world_join(255, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	assert_int_equal(w.n_sent - from, 3);
	world_answer(&w.sent[from], 0, 2000);
	world_answer(&w.sent[from + 1], 0, 2000);
	assert_int_equal(world_entity(1)->slice_us, COT_SLICE_DRIVER);
	world_answer(&w.sent[from + 2], 0, 2000);
	assert_int_equal(world_entity(1)->slice_us, 2000);
	/* Twice the same answer, or one from nowhere, changes nothing. */
	world_answer(&w.sent[from + 2], -EIO, 0);
	assert_int_equal(world_entity(1)->slice_us, 2000);
}

static void test_one_that_is_late_is_told_of(void **state)
{
	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_join(1, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	world_answer(&w.sent[0], 0, 2000);
	world_pass(COT_HOST_ACK_NS - 1);
	assert_int_equal(w.n_late[1], 0);
	world_pass(1 * MS);
	assert_int_equal(w.n_late[1], 1);
	assert_int_equal(w.n_late[0], 0); /* it has answered */
	/* Once for each order. */
	cot_host_tick(w.host, w.now_ns);
	assert_int_equal(w.n_late[1], 1);
}

static void test_one_that_leaves_need_not_answer(void **state)
{
	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_join(1, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	world_answer(&w.sent[0], 0, 2000);
	cot_host_leave(w.host, 1, w.now_ns);
	assert_int_equal(world_entity(1)->slice_us, 2000);
}

static void test_send_failure_is_an_answer(void **state)
{
	struct cot_sched_stats stats;

	(void)state;
	w.send_rc = -EAGAIN;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	cot_sched_stats(cot_host_sched(w.host), &stats);
	assert_int_equal(stats.failed[COT_ACTION_SLICE], 1);
	w.send_rc = 0;
	world_pass_until_sent(200 * MS);
	world_answer_all(0);
	assert_int_equal(world_entity(1)->slice_us, 2000);
}

static void test_the_users_slice_goes_first(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	cot_host_override_slice(w.host, 1, 500, w.now_ns);
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 500);
	world_answer_all(0);
	world_start(2, COT_CLASS_LATENCY, 1);
	/* The policy's new wish is answered with the user's slice, and counts as carried out. */
	assert_int_equal(world_entity(1)->slice_us, 20);
	assert_int_equal(w.sent[w.n_sent - 1].type, COT_MSG_SET);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.slice_override_us, 500);
	assert_int_equal(stats.n_failed, 0);
	cot_host_override_slice(w.host, 1, 0, w.now_ns);
	assert_int_equal(world_last(COT_MSG_SET)->member, 0);
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 20);
}

static void test_the_users_mode_is_taken_back(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	cot_host_override_mode(w.host, 1, COT_MODE_DRAIN, w.now_ns);
	assert_int_equal(world_last(COT_MSG_SET)->mode, COT_MODE_DRAIN);
	world_answer_all(0);
	cot_host_override_mode(w.host, 1, COT_MODE_DRIVER, w.now_ns);
	assert_int_equal(world_last(COT_MSG_SET)->mode, COT_MODE_SWITCH);
}

/* ---- freezing ---- */

static void test_freeze_and_thaw(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	world_hold(1, true);
	assert_non_null(world_last(COT_MSG_FREEZE));
	/* The lease was there before the order. */
	assert_int_equal(world_last(COT_MSG_FREEZE)->lease_ns, w.now_ns + COT_HOST_LEASE_NS);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	w.now_ns += 1 * MS;
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_freezes, 1);
	assert_int_equal(stats.n_thaws, 1);
	assert_int_equal(stats.freeze_last_ns, 1 * MS);
}

static void test_leases_are_renewed_only_while_frozen(void **state)
{
	unsigned from = w.n_leases, n;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	assert_int_equal(world_pass(10000 * MS), 0);
	assert_int_equal(w.n_leases, from);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	for (n = 0; n < 1000; n++) {
		world_pass(1 * MS);
		assert_true(w.lease_ns[3] > w.now_ns);
		assert_true(w.lease_ns[3] <= w.now_ns + COT_HOST_LEASE_NS);
	}
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	world_pass(100 * MS);
	from = w.n_leases;
	assert_int_equal(world_pass(10000 * MS), 0);
	assert_int_equal(w.n_leases, from);
}

/* The daemon was stopped for a second: the program has thawed itself; a user's freeze is done
 * again. */
static void test_lapsed_lease(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	w.n_sent = 0;
	w.now_ns += 1000 * MS;
	cot_host_tick(w.host, w.now_ns);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_lapsed, 1);
	assert_non_null(world_last(COT_MSG_FREEZE));
	assert_true(world_last(COT_MSG_FREEZE)->lease_ns > w.now_ns);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
}

/* Nobody freezes it again: its program is gone for the core, and its library not yet. */
static void test_lapsed_without_a_program(void **state)
{
	struct cot_event left = {.type = COT_EV_TENANT_LEFT, .id = 1};
	struct cot_host_settings settings;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	left.now_ns = w.now_ns;
	assert_int_equal(cot_host_event(w.host, &left), 0);
	world_pass(500 * MS);
	assert_true(w.lease_ns[3] > w.now_ns);
	w.now_ns += 1000 * MS;
	cot_host_tick(w.host, w.now_ns);
	assert_int_equal(world_stats(1).n_lapsed, 1);
	cot_host_settings(w.host, 1, &settings);
	assert_false(settings.frozen);
	w.n_leases = 0;
	world_pass(1000 * MS);
	assert_int_equal(w.n_leases, 0);
}

static void test_a_late_process_is_frozen_too(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	world_hold(1, true);
	world_answer_all(0);
	w.n_sent = 0;
	world_join(4, 1, COT_CLASS_BATCH, false);
	assert_int_equal(w.n_sent, 1);
	assert_int_equal(w.sent[0].member, 4);
	assert_int_equal(w.sent[0].type, COT_MSG_FREEZE);
	assert_true(w.sent[0].lease_ns > w.now_ns);
	world_answer_all(0);
	world_hold(1, false);
	assert_int_equal(w.n_sent, 3); /* a thaw for both */
}

/* It sets channels up at that moment, and is frozen when it is done with it. */
static void test_a_late_process_is_frozen_later(void **state)
{
	unsigned i;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_hold(1, true);
	world_answer_all(0);
	w.n_sent = 0;
	world_join(4, 1, COT_CLASS_BATCH, false);
	for (i = 0; i < 3; i++) {
		assert_int_equal(w.n_sent, 1);
		assert_int_equal(w.sent[0].type, COT_MSG_FREEZE);
		assert_int_equal(w.sent[0].member, 4);
		world_answer(world_last(COT_MSG_FREEZE), i < 2 ? -EAGAIN : 0, 0);
		w.n_sent = 0;
		world_pass(30 * MS);
	}
	assert_int_equal(w.n_sent, 0);
}

static void test_a_hold_that_fails_is_taken_back_by_the_user(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), -EIO, 0);
	assert_true(world_entity(1)->held);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
	w.n_sent = 0;
	world_pass(10000 * MS);
	assert_int_equal(w.n_sent, 0);
}

/* What cannot be is refused, and changes nothing. */
static void test_what_cannot_be(void **state)
{
	struct cot_event ev = {.type = COT_EV_TENANT_LEFT, .id = 77};
	const struct cot_policy_ops *pools = cot_policy_find("pools");
	struct cot_policy_ops bad = *pools;
	const struct cot_host_ops none = {
		.works = &cot_host_works_ops, .parts = &cot_host_parts_ops, .tell = NULL};
	struct cot_policy_config numbers;
	struct cot_host *host;
	struct cot_error err = {{0}};

	(void)state;
	ev.now_ns = w.now_ns;
	assert_int_equal(cot_host_event(w.host, &ev), -EINVAL);
	cot_policy_config_init(&numbers);
	bad.abi++;
	assert_int_equal(cot_host_set_policy(w.host, &bad, &numbers, w.now_ns, &err), -EINVAL);
	assert_ptr_equal(cot_sched_policy(cot_host_sched(w.host))->ops, pools);
	assert_int_equal(cot_host_create(&none, NULL, &bad, &numbers, 0, &host, &err), -EINVAL);
	/* One that is up without a library has no place here, and needs none. */
	world_tenant(5, COT_CLASS_BATCH, 0, true);
	world_tenant(5, COT_CLASS_BATCH, 0, false);
	world_start(1, COT_CLASS_BATCH, 0);
	cot_host_join(w.host, COT_HOST_MAX_MEMBERS, 1, false, w.now_ns);
	assert_int_equal(world_stats(1).n_guests, 0);
	world_hold(1, true);
	assert_int_equal(world_stats(1).n_waiting, 1);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
}

/* What its server was told under one policy is taken back when it comes up under another. */
static void test_a_pool_comes_up_anew(void **state)
{
	struct cot_policy_config numbers;
	struct cot_error err;

	(void)state;
	world_pool(100, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 100, false);
	world_join(0, 100, COT_CLASS_BATCH, false);
	world_pool(100, COT_CLASS_BATCH, true);
	world_answer_all(0);
	assert_true(w.library[0].slice_us > 0);
	world_pool(100, COT_CLASS_BATCH, false);
	cot_policy_config_init(&numbers);
	assert_int_equal(
		cot_host_set_policy(w.host, cot_policy_find("timeslice"), &numbers, w.now_ns, &err),
		0);
	w.n_sent = 0;
	world_pool(100, COT_CLASS_BATCH, true);
	assert_non_null(world_last(COT_MSG_SET));
	assert_int_equal(w.library[0].slice_us, 0);
}

/* A library that never answers: orders are given up, the table does not run full. */
static void test_silent_library(void **state)
{
	struct cot_sched_stats stats;
	unsigned i;

	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	world_join(0, 1, COT_CLASS_BATCH, false);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	for (i = 0; i < 1500; i++) {
		world_pass(100 * MS);
		w.n_sent = 0;
		cot_host_override_slice(w.host, 1, 200 + i % 2, w.now_ns);
	}
	cot_sched_stats(cot_host_sched(w.host), &stats);
	assert_true(stats.timed_out[COT_ACTION_SLICE] > 0);
	/* Somebody else is not hurt. */
	world_start(2, COT_CLASS_LATENCY, 1);
	assert_int_equal(world_entity(2)->slice_us, 10000);
}

static void test_stop_thaws(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 3);
	cot_host_override_slice(w.host, 1, 300, w.now_ns);
	world_hold(1, true);
	world_answer_all(0);
	w.n_sent = 0;
	cot_host_stop(w.host, w.now_ns);
	world_answer_all(0);
	assert_non_null(world_last(COT_MSG_THAW));
	assert_int_equal(world_last(COT_MSG_SET)->slice_us, 0);
	assert_true(cot_sched_is_quiet(cot_host_sched(w.host)));
}

static void test_ids_are_forgotten(void **state)
{
	struct cot_host_settings settings;
	uint32_t id;

	(void)state;
	for (id = 1; id < 3000; id++) {
		struct cot_event left = {.type = COT_EV_TENANT_LEFT, .id = id};

		w.n_sent = 0;
		world_start(id, COT_CLASS_BATCH, id % 256);
		assert_int_equal(world_entity(id)->slice_us, 2000);
		cot_host_leave(w.host, id % 256, w.now_ns);
		world_tenant(id, COT_CLASS_BATCH, 0, false);
		left.now_ns = w.now_ns;
		assert_int_equal(cot_host_event(w.host, &left), 0);
		cot_host_forget(w.host, id);
		cot_host_settings(w.host, id, &settings);
		assert_int_equal(settings.slice_us, 0);
	}
}

/* A program whose entity came up again begins as the driver made it, for the core too. */
static void test_what_comes_up_again(void **state)
{
	struct cot_host_settings settings;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	assert_int_equal(world_entity(1)->slice_us, 2000);
	cot_host_leave(w.host, 0, w.now_ns);
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	assert_null(world_entity(1));
	assert_int_equal(cot_host_set_policy(w.host, &cot_policy_timeslice, NULL, w.now_ns, NULL),
			 0);
	cot_host_join(w.host, 0, 1, false, w.now_ns);
	assert_int_equal(w.library[0].slice_us, 2000); /* the policy has not seen it yet */
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	assert_int_equal(w.library[0].slice_us, COT_SLICE_DRIVER);
	cot_host_settings(w.host, 1, &settings);
	assert_int_equal(settings.slice_us, COT_SLICE_DRIVER);
}

/* A library that connects while the policy has not seen its program, and one after that. */
static void test_the_first_slice(void **state)
{
	struct cot_host_settings settings;

	(void)state;
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	cot_host_welcome(w.host, 0, 1, COT_CLASS_BATCH, 1, &settings);
	assert_int_equal(settings.slice_us, 2000);
	world_tenant(2, COT_CLASS_LATENCY, 0, false);
	cot_host_welcome(w.host, 0, 1, COT_CLASS_BATCH, 1, &settings);
	assert_int_equal(settings.slice_us, 20);
	cot_host_welcome(w.host, 0, 1, COT_CLASS_BATCH, 2, &settings); /* on another GPU */
	assert_int_equal(settings.slice_us, 2000);
	cot_host_welcome(w.host, 1, 2, COT_CLASS_LATENCY, 1, &settings);
	assert_int_equal(settings.slice_us, 10000);
	cot_host_override_slice(w.host, 1, 300, w.now_ns);
	cot_host_override_mode(w.host, 1, COT_MODE_DRAIN, w.now_ns);
	cot_host_welcome(w.host, 0, 1, COT_CLASS_BATCH, 1, &settings);
	assert_int_equal(settings.slice_us, 300);
	assert_int_equal(settings.mode, COT_MODE_DRAIN);
	cot_host_welcome(w.host, COT_HOST_MAX_MEMBERS, 1, COT_CLASS_BATCH, 1, &settings);
	cot_host_join(w.host, COT_HOST_MAX_MEMBERS, 1, false, w.now_ns);
	cot_host_leave(w.host, COT_HOST_MAX_MEMBERS, w.now_ns);
	assert_int_equal(w.n_sent, 0);
}

/* Who has joined an entity joins no other one. */
static void test_one_entity_each(void **state)
{
	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_start(2, COT_CLASS_BATCH, 1);
	cot_host_join(w.host, 0, 2, false, w.now_ns);
	w.n_sent = 0;
	cot_host_override_slice(w.host, 2, 400, w.now_ns);
	assert_int_equal(w.n_sent, 1);
	assert_int_equal(w.sent[0].member, 1);
}

/* Two that are frozen have one deadline; when one of them is thawed the other one's goes on. */
static void test_leases_of_several(void **state)
{
	unsigned n;

	(void)state;
	world_start(1, COT_CLASS_BATCH, 0);
	world_start(2, COT_CLASS_BATCH, 255);
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	world_pass(10 * MS);
	world_hold(2, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(w.lease_ns[0], w.lease_ns[255]);
	world_pass(1000 * MS);
	assert_int_equal(w.lease_ns[0], w.lease_ns[255]);
	world_hold(1, false);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	n = w.n_leases_of[0];
	world_pass(1000 * MS);
	assert_int_equal(w.n_leases_of[0], n);
	assert_true(w.lease_ns[255] > w.now_ns);
	assert_int_equal(world_stats(2).n_lapsed, 0);
	assert_int_equal(world_entity(2)->run, COT_RUN_FROZEN);
	/* The last one leaves: nobody needs a lease. */
	cot_host_leave(w.host, 255, w.now_ns);
	world_tenant(2, COT_CLASS_BATCH, 0, false);
	world_pass(100 * MS);
	assert_int_equal(world_pass(10000 * MS), 0);
}

/* All places taken: one more program is not controlled, and the others do not notice. */
static void test_all_places(void **state)
{
	struct cot_host_settings settings;
	uint32_t id;

	(void)state;
	for (id = 1; id <= COT_SCHED_MAX_ENTITIES; id++) {
		cot_host_override_slice(w.host, id, 100 + id, w.now_ns);
		cot_host_settings(w.host, id, &settings);
		assert_int_equal(settings.slice_us, 100 + id);
	}
	cot_host_override_slice(w.host, id, 700, w.now_ns);
	cot_host_override_mode(w.host, id, COT_MODE_DRAIN, w.now_ns);
	cot_host_join(w.host, 0, id, false, w.now_ns);
	cot_host_settings(w.host, id, &settings);
	assert_int_equal(settings.slice_us, 0);
	for (id = 1; id <= COT_SCHED_MAX_ENTITIES; id++) {
		cot_host_settings(w.host, id, &settings);
		assert_int_equal(settings.slice_us, 100 + id);
		assert_int_equal(settings.mode, COT_MODE_DRIVER);
	}
	/* Who has members is not forgotten. */
	cot_host_join(w.host, 0, 7, false, w.now_ns);
	cot_host_forget(w.host, 7);
	cot_host_forget(w.host, 8);
	cot_host_settings(w.host, 7, &settings);
	assert_int_equal(settings.slice_us, 107);
	cot_host_settings(w.host, 8, &settings);
	assert_int_equal(settings.slice_us, 0);
	/* At the end the users' wishes are taken back. */
	cot_host_stop(w.host, w.now_ns);
	cot_host_settings(w.host, 7, &settings);
	assert_int_equal(settings.slice_us, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(slices_follow_the_policy),
		TEST(a_wrong_read_back_is_a_failure),
		TEST(every_process_must_answer),
		TEST(one_that_is_late_is_told_of),
		TEST(one_that_leaves_need_not_answer),
		TEST(send_failure_is_an_answer),
		TEST(the_users_slice_goes_first),
		TEST(the_users_mode_is_taken_back),
		TEST(freeze_and_thaw),
		TEST(leases_are_renewed_only_while_frozen),
		TEST(lapsed_lease),
		TEST(lapsed_without_a_program),
		TEST(a_late_process_is_frozen_too),
		TEST(a_late_process_is_frozen_later),
		TEST(a_hold_that_fails_is_taken_back_by_the_user),
		TEST(a_pool_comes_up_anew),
		TEST(what_cannot_be),
		TEST(silent_library),
		TEST(stop_thaws),
		TEST(ids_are_forgotten),
		TEST(what_comes_up_again),
		TEST(the_first_slice),
		TEST(one_entity_each),
		TEST(leases_of_several),
		TEST(all_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
