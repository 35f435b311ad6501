/*
 * The shim when its daemon dies, is silent or speaks nonsense, and when the program forks or ends:
 * the program goes on, and its results are right.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stage.h"

/* The daemon dies while a launch waits for it: the launch is made without it. */
static void test_death_waiting(void **state)
{
	(void)state;
	load("data");
	say("launch params 300 %u", SHORT);
	accept_tenant();
	expect_request(300);
	close(conn);
	conn = -1;
	expect_line("0");
	expect_right();
}

/* It dies while workers run: they finish. The next daemon is asked again. */
static void test_death_running(void **state)
{
	(void)state;
	load("data");
	say("launch params 2000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(2000), 4, 0);
	expect_line("0");
	close(conn);
	conn = -1;
	say("launch params 100 %u", SHORT);
	expect_line("0");
	expect_right();
	sleep_ms(1100);
	say("launch params 100 %u", SHORT);
	accept_tenant();
	grant(expect_request(100), 4, 0);
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
	expect_right();
}

/* It dies when all workers have left: the rest is launched without it. */
static void test_death_settled(void **state)
{
	(void)state;
	load("data");
	say("launch params 4000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(4000), 6, COT_WORK_SETTLED);
	sleep_ms(30);
	evict(1, 6);
	expect_rest(1);
	close(conn);
	conn = -1;
	expect_line("0");
	expect_right();
}

/* It does not answer: the launch waits no longer than it is told to, and a late grant goes back. */
static void test_silence(void **state)
{
	uint64_t work;

	(void)state;
	load("data");
	say("launch params 300 %u", SHORT);
	accept_tenant();
	work = expect_request(300);
	expect_line("0");
	expect_right();
	grant(work, 5, 0);
	expect_done(work, 0, 0);
}

static int start_impatient(void **state)
{
	int rc;

	setenv("COTENANT_SHIM_WAIT_MS", "300", 1);
	rc = start(state);
	unsetenv("COTENANT_SHIM_WAIT_MS");
	return rc;
}

/* It speaks nonsense, or wants nothing to do with the program. */
static void test_nonsense(void **state)
{
	struct cot_msg_work_grant m = {.work = 1, .capsms = 4};

	(void)state;
	load("data");
	say("launch params 300 %u", SHORT);
	accept_tenant();
	expect_request(300);
	cot_proto_header(&m.h, COT_MSG_WORK_GRANT, sizeof(m), 0);
	m.h.length--;
	assert_int_equal(send(conn, &m, sizeof(m), MSG_NOSIGNAL), (ssize_t)sizeof(m));
	expect_line("0");
	expect_right();
}

static void test_refused(void **state)
{
	struct cot_msg_text m = {.h = {0}};

	(void)state;
	load("data");
	say("launch params 300 %u", SHORT);
	assert_int_equal(poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, WAIT_MS), 1);
	conn = accept(listener, NULL, NULL);
	expect_packet(COT_MSG_WORK_HELLO);
	send_packet(&m, COT_MSG_REFUSED, sizeof(m));
	expect_line("0");
	expect_right();
}

/* A child has no part in its parent's works. */
static void test_fork(void **state)
{
	(void)state;
	load("data");
	say("launch params 2000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(2000), 4, 0);
	expect_line("0");
	say("fork");
	assert_true(atoi(hear()) > 0);
	expect_done(1, 2000, 1);
	say("launch params 100 %u", SHORT);
	grant(expect_request(100), 4, 0);
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
	expect_right();
}

/* The program ends while its workers run. */
static void test_end(void **state)
{
	(void)state;
	load("data");
	say("launch params 2000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(2000), 4, 0);
	expect_line("0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_death_waiting),
		TEST(test_death_running),
		TEST(test_death_settled),
		cmocka_unit_test_setup_teardown(test_silence, start_impatient, end),
		TEST(test_nonsense),
		TEST(test_refused),
		TEST(test_fork),
		TEST(test_end),
	};

	return stage_main("shim, deaths", tests, sizeof(tests) / sizeof(tests[0]));
}
