/* The daemon's host: orders, answers, leases. The libraries are played by the test, and so is the
 * clock. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/host.h"

#define MAX_SENT 4096
#define MS	 COT_NS_PER_MS

struct sent {
	unsigned member;
	unsigned type;
	uint32_t seq;
	uint64_t slice_us;
	uint32_t mode;
	uint64_t lease_ns; /* of the member when it was sent */
};

static struct world {
	struct cot_host *host;
	uint64_t now_ns;
	struct sent sent[MAX_SENT];
	unsigned n_sent;
	uint64_t lease_ns[COT_HOST_MAX_MEMBERS];
	unsigned n_leases;
	unsigned n_late[COT_HOST_MAX_MEMBERS];
	int send_rc;
} w;

static int record(void *arg, unsigned member, const void *packet, size_t size)
{
	const struct cot_msg_set *m = packet;
	struct sent *s = &w.sent[w.n_sent];

	assert_ptr_equal(arg, &w);
	assert_int_equal(cot_proto_check(packet, size), m->h.type);
	if (w.send_rc < 0)
		return w.send_rc;
	assert_true(w.n_sent < MAX_SENT);
	*s = (struct sent){.member = member,
			   .type = m->h.type,
			   .seq = m->h.seq,
			   .lease_ns = w.lease_ns[member]};
	if (m->h.type == COT_MSG_SET) {
		s->slice_us = m->slice_us;
		s->mode = m->mode;
	}
	w.n_sent++;
	return 0;
}

static void lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	w.lease_ns[member] = until_ns;
	w.n_leases++;
}

static void late(void *arg, unsigned member)
{
	(void)arg;
	w.n_late[member]++;
}

static const struct cot_host_ops ops = {.send = record, .lease = lease, .late = late};

static int setup(void **state)
{
	struct cot_policy_config config;

	(void)state;
	memset(&w, 0, sizeof(w));
	w.now_ns = 1000 * MS;
	cot_policy_config_init(&config);
	return cot_host_create(&ops, &w, cot_policy_find("pools"), &config, w.now_ns, &w.host,
			       NULL);
}

static int teardown(void **state)
{
	(void)state;
	cot_host_destroy(w.host);
	return 0;
}

/* ---- what the test does ---- */

static void tenant(uint32_t id, enum cot_class cls, bool ready)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = id,
		.now_ns = w.now_ns,
		.tenant = {.cls = cls, .weight = 100, .gpu_mask = 1, .ready = ready}};

	assert_int_equal(cot_host_event(w.host, &ev), 0);
}

static void hold(uint32_t id, bool on)
{
	struct cot_event ev = {.type = COT_EV_HOLD, .id = id, .now_ns = w.now_ns, .hold = on};

	assert_int_equal(cot_host_event(w.host, &ev), 0);
}

static void answer(const struct sent *s, int status, uint64_t value)
{
	struct cot_msg_ack ack = {.status = status, .value = value};

	cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack), s->seq);
	cot_host_ack(w.host, s->member, &ack, w.now_ns);
}

/* Answers everything from `from` on as a good library does; also what comes of the answers. */
static void answer_all(unsigned from)
{
	unsigned i;

	for (i = from; i < w.n_sent; i++)
		answer(&w.sent[i], 0, w.sent[i].slice_us);
}

static const struct sent *last(unsigned type)
{
	unsigned i;

	for (i = w.n_sent; i > 0; i--)
		if (w.sent[i - 1].type == type)
			return &w.sent[i - 1];
	return NULL;
}

/* Lets time pass, with all ticks on the way; counts them. */
static unsigned pass(uint64_t ns)
{
	uint64_t until_ns = w.now_ns + ns;
	unsigned n = 0;

	while (cot_host_wake_ns(w.host) <= until_ns) {
		w.now_ns = cot_host_wake_ns(w.host);
		cot_host_tick(w.host, w.now_ns);
		n++;
	}
	w.now_ns = until_ns;
	return n;
}

/* Until the host has said something new. */
static void pass_until_sent(uint64_t most_ns)
{
	uint64_t until_ns = w.now_ns + most_ns;
	unsigned from = w.n_sent;

	while (w.n_sent == from && w.now_ns < until_ns)
		pass(1 * MS);
	assert_true(w.n_sent > from);
}

static const struct cot_entity *entity(uint32_t id)
{
	return cot_sched_entity(cot_host_sched(w.host), id);
}

/* A program that stands alone with one process. */
static void start(uint32_t id, enum cot_class cls, unsigned member)
{
	unsigned from = w.n_sent;

	tenant(id, cls, false);
	cot_host_join(w.host, member, id, w.now_ns);
	tenant(id, cls, true);
	answer_all(from);
}

/* ---- slices ---- */

static void test_slices_follow_the_policy(void **state)
{
	struct cot_host_settings settings;

	(void)state;
	start(1, COT_CLASS_BATCH, 10);
	assert_int_equal(last(COT_MSG_SET)->slice_us, 2000);
	assert_int_equal(last(COT_MSG_SET)->member, 10);
	start(2, COT_CLASS_LATENCY, 20);
	assert_int_equal(entity(1)->slice_us, 20);
	assert_int_equal(entity(2)->slice_us, 10000);
	cot_host_settings(w.host, 1, &settings);
	assert_int_equal(settings.slice_us, 20);
	assert_false(settings.frozen);
}

static void test_a_wrong_read_back_is_a_failure(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	answer(last(COT_MSG_SET), 0, 2048);
	assert_int_equal(entity(1)->slice_us, COT_SLICE_DRIVER);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_failed, 1);
	/* It is tried again. */
	pass_until_sent(200 * MS);
	answer(last(COT_MSG_SET), 0, 2000);
	assert_int_equal(entity(1)->slice_us, 2000);
}

static void test_every_process_must_answer(void **state)
{
	unsigned from = w.n_sent;

	(void)state;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	cot_host_join(w.host, 1, 1, w.now_ns);
	cot_host_join(w.host, 255, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	assert_int_equal(w.n_sent - from, 3);
	answer(&w.sent[from], 0, 2000);
	answer(&w.sent[from + 1], 0, 2000);
	assert_int_equal(entity(1)->slice_us, COT_SLICE_DRIVER);
	answer(&w.sent[from + 2], 0, 2000);
	assert_int_equal(entity(1)->slice_us, 2000);
	/* Twice the same answer, or one from nowhere, changes nothing. */
	answer(&w.sent[from + 2], -EIO, 0);
	assert_int_equal(entity(1)->slice_us, 2000);
}

static void test_one_that_is_late_is_told_of(void **state)
{
	(void)state;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	cot_host_join(w.host, 1, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	answer(&w.sent[0], 0, 2000);
	pass(COT_HOST_ACK_NS - 1);
	assert_int_equal(w.n_late[1], 0);
	pass(1 * MS);
	assert_int_equal(w.n_late[1], 1);
	assert_int_equal(w.n_late[0], 0); /* it has answered */
	/* Once for each order. */
	cot_host_tick(w.host, w.now_ns);
	assert_int_equal(w.n_late[1], 1);
}

static void test_one_that_leaves_need_not_answer(void **state)
{
	(void)state;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	cot_host_join(w.host, 1, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	answer(&w.sent[0], 0, 2000);
	cot_host_leave(w.host, 1, w.now_ns);
	assert_int_equal(entity(1)->slice_us, 2000);
}

static void test_send_failure_is_an_answer(void **state)
{
	struct cot_sched_stats stats;

	(void)state;
	w.send_rc = -EAGAIN;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	cot_sched_stats(cot_host_sched(w.host), &stats);
	assert_int_equal(stats.failed[COT_ACTION_SLICE], 1);
	w.send_rc = 0;
	pass_until_sent(200 * MS);
	answer_all(0);
	assert_int_equal(entity(1)->slice_us, 2000);
}

static void test_the_users_slice_goes_first(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	start(1, COT_CLASS_BATCH, 0);
	cot_host_override_slice(w.host, 1, 500, w.now_ns);
	assert_int_equal(last(COT_MSG_SET)->slice_us, 500);
	answer_all(0);
	start(2, COT_CLASS_LATENCY, 1);
	/* The policy's new wish is answered with the user's slice, and counts as carried out. */
	assert_int_equal(entity(1)->slice_us, 20);
	assert_int_equal(w.sent[w.n_sent - 1].type, COT_MSG_SET);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.slice_override_us, 500);
	assert_int_equal(stats.n_failed, 0);
	cot_host_override_slice(w.host, 1, 0, w.now_ns);
	assert_int_equal(last(COT_MSG_SET)->member, 0);
	assert_int_equal(last(COT_MSG_SET)->slice_us, 20);
}

static void test_the_users_mode_is_taken_back(void **state)
{
	(void)state;
	start(1, COT_CLASS_BATCH, 0);
	cot_host_override_mode(w.host, 1, COT_PROTO_DRAIN, w.now_ns);
	assert_int_equal(last(COT_MSG_SET)->mode, COT_PROTO_DRAIN);
	cot_host_override_mode(w.host, 1, COT_PROTO_KEEP, w.now_ns);
	assert_int_equal(last(COT_MSG_SET)->mode, COT_PROTO_SWITCH);
}

/* ---- freezing ---- */

static void test_freeze_and_thaw(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	hold(1, true);
	assert_non_null(last(COT_MSG_FREEZE));
	/* The lease was there before the order. */
	assert_int_equal(last(COT_MSG_FREEZE)->lease_ns, w.now_ns + COT_HOST_LEASE_NS);
	assert_int_equal(entity(1)->run, COT_RUN_FREEZING);
	w.now_ns += 1 * MS;
	answer(last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FROZEN);
	hold(1, false);
	answer(last(COT_MSG_THAW), 0, 0);
	assert_int_equal(entity(1)->run, COT_RUN_RUNNING);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_freezes, 1);
	assert_int_equal(stats.n_thaws, 1);
	assert_int_equal(stats.freeze_last_ns, 1 * MS);
}

static void test_leases_are_renewed_only_while_frozen(void **state)
{
	unsigned from = w.n_leases, n;

	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	assert_int_equal(pass(10000 * MS), 0);
	assert_int_equal(w.n_leases, from);
	hold(1, true);
	answer(last(COT_MSG_FREEZE), 0, 0);
	for (n = 0; n < 1000; n++) {
		pass(1 * MS);
		assert_true(w.lease_ns[3] > w.now_ns);
		assert_true(w.lease_ns[3] <= w.now_ns + COT_HOST_LEASE_NS);
	}
	hold(1, false);
	answer(last(COT_MSG_THAW), 0, 0);
	pass(100 * MS);
	from = w.n_leases;
	assert_int_equal(pass(10000 * MS), 0);
	assert_int_equal(w.n_leases, from);
}

/* The daemon was stopped for a second: the program has thawed itself; a user's freeze is done
 * again. */
static void test_lapsed_lease(void **state)
{
	struct cot_host_entity_stats stats;

	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	hold(1, true);
	answer(last(COT_MSG_FREEZE), 0, 0);
	w.n_sent = 0;
	w.now_ns += 1000 * MS;
	cot_host_tick(w.host, w.now_ns);
	cot_host_entity_stats(w.host, 1, &stats);
	assert_int_equal(stats.n_lapsed, 1);
	assert_non_null(last(COT_MSG_FREEZE));
	assert_true(last(COT_MSG_FREEZE)->lease_ns > w.now_ns);
	answer(last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FROZEN);
}

static void test_a_late_process_is_frozen_too(void **state)
{
	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	hold(1, true);
	answer_all(0);
	w.n_sent = 0;
	cot_host_join(w.host, 4, 1, w.now_ns);
	assert_int_equal(w.n_sent, 1);
	assert_int_equal(w.sent[0].member, 4);
	assert_int_equal(w.sent[0].type, COT_MSG_FREEZE);
	assert_true(w.sent[0].lease_ns > w.now_ns);
	answer_all(0);
	hold(1, false);
	assert_int_equal(w.n_sent, 3); /* a thaw for both */
}

/* It sets channels up at that moment, and is frozen when it is done with it. */
static void test_a_late_process_is_frozen_later(void **state)
{
	unsigned i;

	(void)state;
	start(1, COT_CLASS_BATCH, 0);
	hold(1, true);
	answer_all(0);
	w.n_sent = 0;
	cot_host_join(w.host, 4, 1, w.now_ns);
	for (i = 0; i < 3; i++) {
		assert_int_equal(w.n_sent, 1);
		assert_int_equal(w.sent[0].type, COT_MSG_FREEZE);
		assert_int_equal(w.sent[0].member, 4);
		answer(last(COT_MSG_FREEZE), i < 2 ? -EAGAIN : 0, 0);
		w.n_sent = 0;
		pass(30 * MS);
	}
	assert_int_equal(w.n_sent, 0);
}

static void test_failed_freeze_is_undone(void **state)
{
	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	hold(1, true);
	answer(last(COT_MSG_FREEZE), -EIO, 0);
	assert_non_null(last(COT_MSG_THAW));
	assert_false(entity(1)->held);
	answer(last(COT_MSG_THAW), 0, 0);
	assert_int_equal(entity(1)->run, COT_RUN_RUNNING);
}

/* A library that never answers: orders are given up, the table does not run full. */
static void test_silent_library(void **state)
{
	struct cot_sched_stats stats;
	unsigned i;

	(void)state;
	tenant(1, COT_CLASS_BATCH, false);
	cot_host_join(w.host, 0, 1, w.now_ns);
	tenant(1, COT_CLASS_BATCH, true);
	for (i = 0; i < 1500; i++) {
		pass(100 * MS);
		w.n_sent = 0;
		cot_host_override_slice(w.host, 1, 200 + i % 2, w.now_ns);
	}
	cot_sched_stats(cot_host_sched(w.host), &stats);
	assert_true(stats.timed_out[COT_ACTION_SLICE] > 0);
	/* Somebody else is not hurt. */
	start(2, COT_CLASS_LATENCY, 1);
	assert_int_equal(entity(2)->slice_us, 10000);
}

static void test_stop_thaws(void **state)
{
	(void)state;
	start(1, COT_CLASS_BATCH, 3);
	cot_host_override_slice(w.host, 1, 300, w.now_ns);
	hold(1, true);
	answer_all(0);
	w.n_sent = 0;
	cot_host_stop(w.host, w.now_ns);
	answer_all(0);
	assert_non_null(last(COT_MSG_THAW));
	assert_int_equal(last(COT_MSG_SET)->slice_us, 0);
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
		start(id, COT_CLASS_BATCH, id % 256);
		assert_int_equal(entity(id)->slice_us, 2000);
		cot_host_leave(w.host, id % 256, w.now_ns);
		tenant(id, COT_CLASS_BATCH, false);
		left.now_ns = w.now_ns;
		assert_int_equal(cot_host_event(w.host, &left), 0);
		cot_host_forget(w.host, id);
		cot_host_settings(w.host, id, &settings);
		assert_int_equal(settings.slice_us, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
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
		TEST(a_late_process_is_frozen_too),
		TEST(a_late_process_is_frozen_later),
		TEST(failed_freeze_is_undone),
		TEST(silent_library),
		TEST(stop_thaws),
		TEST(ids_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
