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

static void expect_part(uint32_t seq, unsigned first, unsigned n)
{
	expect(COT_MSG_PLACED);
	assert_int_equal(in.h.seq, seq);
	assert_int_equal(in.placed.status, 0);
	assert_int_equal(in.placed.first, first);
	assert_int_equal(in.placed.n, n);
}

static void expect_answer(uint32_t seq, unsigned first)
{
	expect_part(seq, first, 8);
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

/* ---- where a smaller part stands in for one that is not made while work is queued ---- */

/* The program is on SM 64 to 71. SM 0 to 31 are a part that was used before, and the only one of
 * those below; seven others take the places of older ones. */
static void begin_with_work(void)
{
	unsigned i;

	for (i = 8; i < 15; i++)
		placed(8 * i, 8);
	placed(0, 32);
	placed(64, 8);
	is_on(waits, 64, 8);
	launch(1, 1, plain);
}

/* On a slow machine another part does not stand in at once. */
static void goes_to(CUstream stream, unsigned first, unsigned n)
{
	unsigned sm = sm_of(stream);

	while (sm < first || sm >= first + n) {
		in_time();
		sm = sm_of(stream);
	}
}

static void expect_no_more(void)
{
	int got;

	while ((got = get(A_WHILE / 1000)))
		assert_int_not_equal(got, COT_MSG_PLACED);
}

/* It is taken at once, and answered when the program has left what it had; then the exact one
 * comes, which is answered, too: once, for it leaves nothing for which others wait. */
static void test_stands_in_and_leaves(void **state)
{
	(void)state;
	begin_with_work();
	ask_to_leave(0, 40);
	expect_no_answer();
	goes_to(waits, 0, 32);
	launch(2, 2, waits); /* in what stands in */
	launch(3, 3, plain); /* behind what is not done: in order */
	expect_no_answer();
	open_gate(3);
	expect_no_answer();
	open_gate(1);
	expect_part(last_seq, 0, 32);
	in_time();
	reaches_log(13); /* before 2 runs: both write the same number */
	open_gate(2);
	expect_part(last_seq, 0, 40);
	expect_log(132);
	is_on(plain, 0, 40);
	expect_no_more();
}

/* The program is there already: nothing is left. */
static void test_stands_in_where_it_is(void **state)
{
	(void)state;
	begin_with_work();
	open_gate(1);
	placed(0, 32);
	is_on(plain, 0, 32);
	launch(2, 2, plain);
	ask_to_leave(0, 48);
	expect_part(last_seq, 0, 32);
	in_time();
	is_on(waits, 0, 32);
	open_gate(2);
	expect_part(last_seq, 0, 48);
	is_on(plain, 0, 48);
	expect_no_more();
}

/* The next order comes while another part stands in and the first is not left: each is answered
 * once, in their order, and what the first one asked for is forgotten. */
static void test_stands_in_and_another_order(void **state)
{
	(void)state;
	begin_with_work();
	ask_to_leave(0, 56);
	expect_no_answer();
	goes_to(waits, 0, 32);
	ask(96, 8);
	expect_part(last_seq - 1, 0, 32);
	expect_part(last_seq, 96, 8);
	is_on(waits, 96, 8);
	open_gate(1);
	is_on(plain, 96, 8);
	expect_no_more();
	is_on(plain, 96, 8);
}

/* What was launched there does not end: the answer comes in the end, and the exact part with its.
 */
static void test_stands_in_and_stays(void **state)
{
	(void)state;
	begin_with_work();
	ask_to_leave(0, 72);
	expect_part(last_seq, 0, 32);
	assert_true(now_ns() - asked_ns >= COT_PROTO_LEAVE_NS);
	is_on(waits, 0, 32);
	open_gate(1);
	do {
		expect(COT_MSG_PLACED);
		assert_int_equal(in.h.seq, last_seq);
	} while (in.placed.status == -EAGAIN); /* it may have said why */
	assert_int_equal(in.placed.n, 72);
	is_on(plain, 0, 72);
	expect_no_more();
}

/* The daemon goes meanwhile: the next one hears where the program is, and no answer that is not its
 * own. */
static void test_stands_in_and_another_daemon(void **state)
{
	(void)state;
	begin_with_work();
	ask_to_leave(0, 80);
	expect_no_answer();
	goes_to(waits, 0, 32);
	close(conn);
	welcome();
	expect_part(0, 0, 32);
	open_gate(1);
	OK(cuStreamSynchronize(plain));
	expect_no_more();
	is_on(plain, 0, 32);
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
		TEST_OF(test_stands_in_and_leaves),
		TEST_OF(test_stands_in_where_it_is),
		TEST_OF(test_stands_in_and_another_order),
		TEST_OF(test_stands_in_and_stays),
		TEST_OF(test_stands_in_and_another_daemon),
	};

	return parts_main("shim_leave", tests, sizeof(tests) / sizeof(tests[0]));
}
