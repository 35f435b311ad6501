/* What the library does with the daemon's orders; and the program's threads meanwhile. */
#include "control_stage.h"

/* ---- orders ---- */

static void set_order(uint64_t slice_us, uint32_t mode)
{
	struct cot_msg_set m = {.slice_us = slice_us, .mode = mode};

	say(0, COT_MSG_SET, &m, sizeof(m));
	run_for(MS);
}

static void sets(void **state)
{
	(void)state;
	be_served();
	set_order(500, COT_MODE_DRIVER);
	expect_done("sync;slice 500;ack 71: 0, 0 failed, 500, 0 ns;");
	assert_int_equal(atomic_load(&page.slice_us), 500);
	set_order(600, COT_MODE_DRAIN);
	expect_done("sync;slice 600;mode 1;ack 72: 0, 0 failed, 600, 0 ns;");
	mode_status = -ENODEV;
	set_order(600, COT_MODE_SWITCH);
	expect_done("sync;slice 600;mode 2;ack 73: -19, 2 failed, 600, 0 ns;");
	slice_status = -EAGAIN;
	set_order(600, COT_MODE_SWITCH);
	expect_done("sync;slice 600;mode 2;ack 74: -11, 3 failed, 600, 0 ns;");
	slice_status = mode_status = 0;
	set_order(UINT32_MAX, COT_MODE_DRIVER);
	expect_done("sync;slice 4294967295;ack 75: 0, 0 failed, 4294967295, 0 ns;");
	set_order(1ull << 32, COT_MODE_DRIVER);
	expect_done("sync;ack 76: -22, 0 failed, 0, 0 ns;");
	set_order(5, 3);
	expect_done("sync;ack 77: -22, 0 failed, 0, 0 ns;");
}

static void preempts(void **state)
{
	(void)state;
	be_served();
	order(0, COT_MSG_PREEMPT);
	order(0, 99); /* of a newer daemon */
	run_for(MS);
	expect_done("sync;preempt;ack 71: 0, 0 failed, 0, 0 ns;");
}

static void freezes_and_thaws(void **state)
{
	(void)state;
	be_served();
	lease(S / 2);
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;freeze;ack 71: 0, 0 failed, 0, 3000 ns;");
	assert_int_equal(atomic_load(&page.n_freezes), 1);
	assert_int_equal(atomic_load(&page.freeze_last_ns), 3000);
	assert_int_equal(atomic_load(&page.freeze_max_ns), 3000);
	atomic_store(&page.thaw_max_ns, 9000);
	order(0, COT_MSG_THAW);
	run_for(MS);
	expect_done("sync;thaw;ack 72: 0, 0 failed, 0, 2000 ns;");
	assert_int_equal(atomic_load(&page.n_thaws), 1);
	assert_int_equal(atomic_load(&page.thaw_last_ns), 2000);
	assert_int_equal(atomic_load(&page.thaw_max_ns), 9000);
	assert_int_equal(atomic_load(&page.n_lease_expired), 0);
}

/* A freeze needs a lease that has not ended, and that can be believed. */
static void freezes_need_a_lease(void **state)
{
	(void)state;
	be_served();
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;ack 71: -62, 0 failed, 0, 0 ns;");
	atomic_store(&page.lease_until_ns, now_ns);
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;ack 72: -62, 0 failed, 0, 0 ns;");
	lease(S + 1);
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;ack 73: -62, 0 failed, 0, 0 ns;");
	lease(S);
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;freeze;ack 74: 0, 0 failed, 0, 3000 ns;");
	assert_int_equal(atomic_load(&page.n_freezes), 1);
}

static void freezes_need_a_page(void **state)
{
	(void)state;
	welcome(0, 100, COT_MODE_DRIVER);
	says[0].with_page = false;
	order(MS, COT_MSG_FREEZE);
	run_for(2 * MS);
	assert_non_null(strstr(done, "ack 71: -95, 0 failed, 0, 0 ns;"));
	assert_null(strstr(done, "freeze;"));
}

/* A freeze that fails in part is undone; one that did nothing is not. */
static void freezes_that_fail(void **state)
{
	(void)state;
	be_served();
	lease(S / 2);
	freeze_status = -ENODEV;
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;freeze;thaw;ack 71: -19, 0 failed, 0, 5000 ns;");
	assert_int_equal(atomic_load(&page.n_freezes), 1);
	freeze_status = -EAGAIN;
	n_frozen = 0;
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;freeze;ack 72: -11, 0 failed, 0, 3000 ns;");
	assert_int_equal(atomic_load(&page.n_freezes), 1);
	n_frozen = 1;
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	expect_done("sync;freeze;thaw;ack 73: -11, 0 failed, 0, 5000 ns;");
}

/* When the lease ends, it thaws by itself, and counts it. */
static void leases_end(void **state)
{
	uint64_t end;

	(void)state;
	be_served();
	lease(90 * MS);
	end = now_ns + 90 * MS;
	order(0, COT_MSG_FREEZE);
	run_for(89 * MS);
	expect_done("sync;freeze;ack 71: 0, 0 failed, 0, 3000 ns;");
	atomic_store(&page.lease_until_ns, end + 50 * MS); /* renewed */
	run_for(20 * MS);
	expect_done("sync;");
	run_for(50 * MS);
	expect_done("sync;thaw;");
	assert_int_equal(atomic_load(&page.n_lease_expired), 1);
	assert_true(n_sleeps < 12);
	run_for(S);
	expect_done("sync;");
}

/* The daemon is gone: at once, whatever the lease says. */
static void thaws_when_lost(void **state)
{
	(void)state;
	be_served();
	lease(900 * MS);
	order(0, COT_MSG_FREEZE);
	hang_up(MS, -ECONNRESET);
	run_for(2 * MS);
	expect_done("sync;freeze;ack 71: 0, 0 failed, 0, 3000 ns;thaw;close;");
}

/* A thaw that fails is tried again, every 10 ms, a hundred times. */
static void thaws_that_fail(void **state)
{
	(void)state;
	be_served();
	n_thaws_that_fail = 3;
	order(0, COT_MSG_THAW);
	run_for(5 * MS);
	expect_done("sync;thaw;ack 71: -5, 0 failed, 0, 2000 ns;");
	run_for(4 * MS);
	expect_done("sync;");
	run_for(2 * MS);
	expect_done("sync;thaw;");
	run_for(S);
	expect_done("sync;thaw;thaw;");
	assert_int_equal(n_errors, 3);

	thaw_status = -EIO;
	n_thawed = 0;
	order(0, COT_MSG_THAW);
	run_for(2 * S);
	assert_int_equal(n_thawed, THAW_TRIES_MAX + 1);
	assert_true(n_sleeps < 150);
	/* Another order begins anew. */
	n_thawed = 0;
	order(0, COT_MSG_THAW);
	run_for(500 * MS);
	assert_in_range(n_thawed, 40, 51);
	/* What is frozen again is not thawed by old tries. */
	done[0] = '\0';
	lease(900 * MS);
	order(0, COT_MSG_FREEZE);
	run_for(100 * MS);
	expect_done("sync;freeze;ack 74: 0, 0 failed, 0, 3000 ns;");
}

/* ---- the program's threads ---- */

/* Threads that set channels up wait while the lease holds, and half a second more. */
static void waits_for_the_thaw(void **state)
{
	uint64_t end;

	(void)state;
	assert_false(cot_control_wait());
	be_served();
	lease(100 * MS);
	end = now_ns + 100 * MS;
	order(0, COT_MSG_FREEZE);
	run_for(MS);
	atomic_store(&self.stage, STAGE_RUNNING);
	assert_true(cot_control_wait());
	now_ns = end + 500 * MS;
	assert_true(cot_control_wait());
	now_ns++;
	assert_false(cot_control_wait());
}

static void starts_once(void **state)
{
	(void)state;
	thread_result = -EAGAIN;
	cot_control_notify();
	cot_control_notify();
	assert_int_equal(n_started, 2);
	assert_int_equal(n_errors, 1); /* said once */
	bell_result = -EMFILE;
	cot_control_notify();
	assert_int_equal(n_started, 2);
	bell_result = thread_result = 0;
	cot_control_notify();
	assert_int_equal(n_started, 3);
	assert_int_equal(n_rings, 0);
	cot_control_notify();
	assert_int_equal(n_started, 3);
	assert_int_equal(n_rings, 1);
}

static void without_a_socket(void **state)
{
	(void)state;
	settings.socket[0] = '\0';
	cot_control_notify();
	assert_int_equal(n_started + n_rings, 0);
}

/* In a child nothing of the parent's is left, and it may start its own thread. */
static void forgets(void **state)
{
	(void)state;
	be_served();
	atomic_store(&self.stage, STAGE_RUNNING);
	atomic_store(&self.wake.pending, true);
	self.thaw_ns = self.keep_until_ns = 5;
	cot_control_forget();
	assert_int_equal(self.link.sock.fd, -1);
	assert_null(self.link.page);
	assert_int_equal(self.wake.listen.fd, -1);
	assert_false(atomic_load(&self.wake.pending));
	assert_int_equal(self.tenant, 42);
	assert_true(self.thaw_ns == COT_NEVER && self.keep_until_ns == COT_NEVER);
	assert_int_equal(self.told.n_groups, 0);
	assert_int_equal(self.retry_after_ns, COT_RETRY_MIN_NS);
	assert_int_equal(self.retry_ns, 0);
	expect_done("");
	cot_control_notify();
	assert_int_equal(n_started, 1);
}

/* The program closed the bell: another one is made, and what was rung meanwhile is looked at. */
static void the_bell_is_renewed(void **state)
{
	(void)state;
	be_served();
	n_bells = 0;
	ring_at_ns = now_ns + MS;
	run_for(2 * MS);
	assert_int_equal(n_bells, 0);
	done[0] = '\0';
	descriptors_are_there = false;
	ring_at_ns = now_ns + MS;
	run_for(2 * MS);
	assert_int_equal(n_bells, 1);
	expect_done("sync;sync;");
	hang_up(0, -ECONNRESET);
	run_for(MS);
	assert_int_equal(n_bells, 2);
	expect_done("sync;close;sync;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(sets, set_up),
		cmocka_unit_test_setup(preempts, set_up),
		cmocka_unit_test_setup(freezes_and_thaws, set_up),
		cmocka_unit_test_setup(freezes_need_a_lease, set_up),
		cmocka_unit_test_setup(freezes_need_a_page, set_up),
		cmocka_unit_test_setup(freezes_that_fail, set_up),
		cmocka_unit_test_setup(leases_end, set_up),
		cmocka_unit_test_setup(thaws_when_lost, set_up),
		cmocka_unit_test_setup(thaws_that_fail, set_up),
		cmocka_unit_test_setup(waits_for_the_thaw, set_up),
		cmocka_unit_test_setup(starts_once, set_up),
		cmocka_unit_test_setup(without_a_socket, set_up),
		cmocka_unit_test_setup(forgets, set_up),
		cmocka_unit_test_setup(the_bell_is_renewed, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
