/* A program is told to leave SMs for which others wait: the answer comes when what it launched
 * there is done, and not for ever later. */
#include <time.h>

#include "parts_stage.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t asked_ns;

static void ask_to_leave(unsigned first, unsigned n)
{
	struct cot_msg_place m = {
		.first = (uint16_t)first, .n = (uint16_t)n, .flags = COT_PLACE_LEAVE};

	asked_ns = now_ns();
	send_packet(&m, COT_MSG_PLACE, sizeof(m), ++last_seq);
}

/* Where the machine stood still for too long the shim may have given up. */
static void in_time(void)
{
	if (now_ns() - asked_ns > COT_PROTO_LEAVE_NS / 2)
		exit(SPOILT);
}

static void expect_no_answer(void)
{
	int got;

	do
		got = get(A_WHILE / 1000);
	while (got && got != COT_MSG_PLACED);
	in_time();
	assert_int_equal(got, 0);
}

static void expect_answer(uint32_t seq, unsigned first)
{
	expect(COT_MSG_PLACED);
	assert_int_equal(in.h.seq, seq);
	assert_int_equal(in.placed.status, 0);
	assert_int_equal(in.placed.first, first);
}

static void test_what_goes_on_is_waited_for(void **state)
{
	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	launch(2, 2, waits);
	ask_to_leave(96, 8);
	expect_no_answer();
	/* One stream moves, the other one does not. What comes after does not count. */
	launch(3, 3, plain);
	expect_no_answer();
	open_gate(1);
	expect_no_answer();
	open_gate(2);
	expect_answer(last_seq, 96);
	in_time();
	open_gate(3);
	expect_log(123);
	assert_in_range(host[LOG + 1], 96, 103);
}

/* At home the driver is not asked: a stream has to move, or is taken for idle. */
static void test_from_home(void **state)
{
	(void)state;
	placed(64, 8);
	assert_int_equal(place(0, 0), 0);
	launch(1, 1, plain);
	ask_to_leave(96, 8);
	launch(2, 2, plain);
	expect_no_answer();
	open_gate(1);
	expect_answer(last_seq, 96);
	in_time();
	open_gate(2);
	expect_log(12);
}

static void test_nothing_goes_on(void **state)
{
	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	ask_to_leave(96, 8);
	expect_answer(last_seq, 96);
	in_time();
	is_on(plain, 96, 8);
}

/* The next order comes first: each is answered, in their order. */
static void test_another_order(void **state)
{
	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	ask_to_leave(96, 8);
	expect_no_answer();
	ask(64, 8);
	expect_answer(last_seq - 1, 96);
	expect_answer(last_seq, 64);
	/* It goes back to where its work is: there is nothing to wait for. */
	ask_to_leave(96, 8);
	expect_no_answer();
	ask_to_leave(64, 8);
	expect_answer(last_seq - 1, 96);
	expect_answer(last_seq, 64);
	launch(0, 2, plain);
	open_gate(1);
	expect_log(12);
}

static void test_what_does_not_end(void **state)
{
	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	ask_to_leave(96, 8);
	expect_answer(last_seq, 96);
	assert_true(now_ns() - asked_ns >= COT_PROTO_LEAVE_NS);
	open_gate(1);
	is_on(plain, 96, 8);
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF(test_what_goes_on_is_waited_for),
		TEST_OF(test_from_home),
		TEST_OF(test_nothing_goes_on),
		TEST_OF(test_another_order),
		TEST_OF(test_what_does_not_end),
	};

	return parts_main("shim_leave", tests, sizeof(tests) / sizeof(tests[0]));
}
