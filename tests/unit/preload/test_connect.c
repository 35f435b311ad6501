/* When the library connects, what it tells, and what it does without a daemon. */
#include "control_stage.h"

/* ---- connecting ---- */

/* Without a daemon it is looked for once a second, later less often; and it sleeps meanwhile. */
static void without_a_daemon(void **state)
{
	static const uint64_t at_s[] = {0, 1, 2, 3, 4, 5, 6, 8, 12, 20, 28, 36};
	unsigned i;

	(void)state;
	open_result = -ENOENT;
	run_for(37 * S);
	assert_int_equal(n_opened, COT_ARRAY_LEN(at_s));
	for (i = 0; i < n_opened; i++)
		assert_int_equal(opened_s[i], at_s[i]);
	assert_true(n_sleeps <= n_opened + 2);
	expect_done("sync;");
}

/* A program that has no groups any more has nobody to connect for. */
static void without_groups(void **state)
{
	(void)state;
	groups = (struct cot_rm_counts){.n_groups = 0};
	run_for(100 * S);
	assert_int_equal(n_opened, 0);
	assert_int_equal(n_sleeps, 1);
}

static void introduces_itself(void **state)
{
	(void)state;
	welcome(3 * MS, 100, COT_MODE_SWITCH);
	run_for(10 * MS);
	expect_done("sync;hello 42 of it on 0, role 0, class 1, weight 7, block 99;"
		    "groups 2,5 on 0x3;slice 100;mode 2;");
	assert_int_equal(self.tenant, 43);
	assert_int_equal(atomic_load(&page.slice_us), 100);
	assert_int_equal(atomic_load(&page.n_groups), 2);
	assert_int_equal(atomic_load(&page.n_channels), 5);
	assert_int_equal(atomic_load(&page.n_doubts), 1);
	assert_true(n_sleeps <= 3);
}

static void one_more_group(void)
{
	groups.n_groups++;
}

static void one_more_channel(void)
{
	groups.n_channels++;
}

static void another_gpu(void)
{
	groups.gpus = 7;
}

/* What changes among the groups is told; what stays is not. */
static void tells_of_groups(void **state)
{
	(void)state;
	be_served();
	ring_at_ns = now_ns + MS;
	run_for(2 * MS);
	expect_done("sync;sync;");
	ring_at_ns = now_ns + MS;
	at_ring = one_more_group;
	synced_us = 77;
	run_for(2 * MS);
	expect_done("sync;sync;groups 3,5 on 0x3;");
	assert_int_equal(atomic_load(&page.slice_us), 77);
	ring_at_ns = now_ns + MS;
	at_ring = one_more_channel;
	synced_us = 0;
	run_for(2 * MS);
	expect_done("sync;sync;groups 3,6 on 0x3;");
	assert_int_equal(atomic_load(&page.slice_us), 77);
	ring_at_ns = now_ns + MS;
	at_ring = another_gpu;
	run_for(2 * MS);
	expect_done("sync;sync;groups 3,6 on 0x7;");
	sync_status = -EAGAIN;
	ring_at_ns = now_ns + MS;
	at_ring = NULL;
	run_for(2 * MS);
	assert_non_null(
		strstr(logged, "1 new groups or channels could not be set as ordered (11)"));
}

/* A daemon that was lost: its settings are kept for a while, and it is looked for again. */
static void loses_the_daemon(void **state)
{
	(void)state;
	be_served();
	hang_up(0, -ECONNRESET);
	open_result = -ENOENT;
	run_for(4 * S + 900 * MS);
	expect_done("sync;close;");
	assert_string_equal(logged, "the socket: no daemon (2); the program runs without");
	run_for(200 * MS);
	expect_done("sync;slice 250;mode 1;");
	run_for(10 * S);
	expect_done("sync;");
	assert_true(n_sleeps < 40);
}

/* It is back before that: nothing changes but what it says. */
static void finds_the_daemon_again(void **state)
{
	(void)state;
	be_served();
	hang_up(0, -ECONNRESET);
	welcome(3 * S, 300, COT_MODE_DRIVER);
	run_for(20 * S);
	expect_done("sync;close;hello 43 of it on 0, role 0, class 1, weight 7, block 99;"
		    "groups 2,5 on 0x3;slice 300;mode 0;");
	assert_int_equal(n_opened, 2);
}

/* After a long time without one, and some time with one, it is looked for once a second again. */
static void retries_begin_anew(void **state)
{
	(void)state;
	open_result = -ENOENT;
	run_for(30 * S);
	open_result = 0;
	welcome(0, 100, COT_MODE_DRIVER);
	run_for(20 * S);
	assert_true(self.link.welcomed);
	n_opened = 0;
	open_result = -ENOENT;
	hang_up(0, -ECONNRESET);
	run_for(5 * S + S / 2);
	assert_int_equal(n_opened, 6);
}

static void says_why_it_was_lost(void **state)
{
	static const struct {
		int rc;
		const char *words;
	} rows[] = {{-ECONNRESET, "lost the daemon: it hung up"},
		    {-EBADMSG, "lost the daemon: it sent a malformed packet"},
		    {-EIO, "lost the daemon: its socket failed"}};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		be_served();
		hang_up(0, rows[i].rc);
		run_for(MS);
		assert_string_equal(logged, rows[i].words);
	}
	set_up(state);
	send_result = -EAGAIN;
	run_for(MS);
	assert_string_equal(logged, "lost the daemon: it does not read its socket");
	set_up(state);
	send_result = -EPIPE;
	run_for(MS);
	assert_string_equal(logged, "lost the daemon: its socket failed");
	assert_true(self.keep_until_ns == COT_NEVER);
}

/* Refused is refused: the driver's ways come back, and the thread ends. */
static void refused(void **state)
{
	(void)state;
	be_served();
	refuse(0, COT_MSG_REFUSED, "not you");
	run_for(100 * S);
	assert_int_equal(now_ns, START + MS);
	expect_done("sync;close;slice 250;mode 1;");
	assert_int_equal(atomic_load(&self.stage), STAGE_RETIRED);
	assert_string_equal(said, "the daemon refuses this program: not you");
	assert_false(cot_control_wait());
	cot_control_notify();
	assert_int_equal(n_started + n_rings, 0);
}

/* No place now: later. */
static void later(void **state)
{
	(void)state;
	refuse(0, COT_MSG_LATER, "too many");
	welcome(S, 100, COT_MODE_DRIVER);
	run_for(3 * S);
	assert_int_equal(n_opened, 2);
	assert_true(self.link.welcomed);
	assert_string_equal(logged, "lost the daemon: it has no place");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_a_daemon, set_up),
		cmocka_unit_test_setup(without_groups, set_up),
		cmocka_unit_test_setup(introduces_itself, set_up),
		cmocka_unit_test_setup(tells_of_groups, set_up),
		cmocka_unit_test_setup(loses_the_daemon, set_up),
		cmocka_unit_test_setup(finds_the_daemon_again, set_up),
		cmocka_unit_test_setup(retries_begin_anew, set_up),
		cmocka_unit_test_setup(says_why_it_was_lost, set_up),
		cmocka_unit_test_setup(refused, set_up),
		cmocka_unit_test_setup(later, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
