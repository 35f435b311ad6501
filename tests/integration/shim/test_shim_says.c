/*
 * What a program says of its launches reaches the daemon: by stream, by thread, and what it is
 * answered. The program is started as a batch program; this program is the daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "stage.h"

#define PERCENT(n) (n)
#define SMS(n)	   (0x8000u | (n)) /* as words.h packs it */

static void launch(const char *how, unsigned method, unsigned share)
{
	say("launch %s 300 %u", how, SHORT);
	grant(expect_request(300), 2, 0);
	assert_int_equal(in.request.method, method);
	assert_int_equal(in.request.share, share);
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
}

static void say_share(const char *what, int method, const char *share, int expected)
{
	char text[16];

	say("say %s %d %s", what, method, share);
	snprintf(text, sizeof(text), "%d", expected);
	expect_line(text);
}

/* The program's first launch, of which nothing is said. */
static void first_launch(void)
{
	load("data");
	say("launch params 300 %u", SHORT);
	accept_tenant();
	grant(expect_request(300), 2, 0);
	assert_int_equal(in.request.method, COT_PROTO_WORK_DEFAULT);
	assert_int_equal(in.request.share, 0);
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
}

static void test_streams(void **state)
{
	(void)state;
	first_launch();
	say_share("stream", COT_PROTO_WORK_QUOTA, "3sm", 0);
	launch("params", COT_PROTO_WORK_QUOTA, SMS(3));
	launch("legacy", COT_PROTO_WORK_DEFAULT, 0);
	say_share("legacy", COT_PROTO_WORK_QUOTA, "10%", 0);
	launch("legacy", COT_PROTO_WORK_QUOTA, PERCENT(10));
	launch("params", COT_PROTO_WORK_QUOTA, SMS(3));
	say("new");
	expect_line("made");
	launch("ex", COT_PROTO_WORK_DEFAULT, 0);
	say_share("thread", COT_PROTO_WORK_QUOTA, "20%", 0);
	launch("ex", COT_PROTO_WORK_QUOTA, PERCENT(20));
	launch("thread", COT_PROTO_WORK_QUOTA, PERCENT(20));
	launch("legacy", COT_PROTO_WORK_QUOTA, PERCENT(10));
	say_share("legacy", COT_PROTO_WORK_DEFAULT, "-", 0);
	say_share("thread", COT_PROTO_WORK_DEFAULT, "-", 0);
	launch("legacy", COT_PROTO_WORK_DEFAULT, 0);
	launch("thread", COT_PROTO_WORK_DEFAULT, 0);
	expect_right();
}

/* A launch under a grant of the old kind ends with it; the next one asks anew at once. */
static void test_says_something_else(void **state)
{
	(void)state;
	load("data");
	say("launch params 2000 %u", LONG);
	accept_tenant();
	grant(expect_request(2000), 2, 0);
	expect_line("0");
	say_share("stream", COT_PROTO_WORK_QUOTA, "1sm", 0);
	say("launch params 300 %u", SHORT);
	grant(expect_request(300), 1, 0);
	assert_int_equal(in.request.share, SMS(1));
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
	assert_int_equal(in.done.work, 1);
	expect_packet(COT_MSG_WORK_DONE);
	expect_right();
}

static void test_answers(void **state)
{
	(void)state;
	first_launch();
	say_share("stream", COT_PROTO_WORK_QUOTA, "0%", -EINVAL);
	say_share("thread", 3, "5%", -EINVAL);
	launch("params", COT_PROTO_WORK_DEFAULT, 0);
	say_share("stream", COT_PROTO_WORK_RESERVE, "40%", -EPERM);
	launch("params", COT_PROTO_WORK_RESERVE, PERCENT(40)); /* the daemon decides */
	close(conn);
	conn = -1;
	say("launch params 300 %u", SHORT); /* it sees that the daemon is gone */
	expect_line("0");
	say_share("stream", COT_PROTO_WORK_QUOTA, "3sm", -ENOTCONN);
	expect_right();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_streams),
		TEST(test_says_something_else),
		TEST(test_answers),
	};

	return stage_main("shim_says", tests, sizeof(tests) / sizeof(tests[0]));
}
