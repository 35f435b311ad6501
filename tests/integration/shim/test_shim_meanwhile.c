/* A part that there is not yet, while the program has work queued: making it would hold the program
 * up, so the largest part within it stands in for it. */
#include "parts_stage.h"

/* So long is the shim silent before it says why a part is not made. */
#define WHY_MS 1500

static void expect_answer(int status, unsigned first, unsigned n)
{
	assert_int_equal(answer(), status);
	assert_int_equal(in.placed.first, first);
	assert_int_equal(in.placed.n, n);
}

static void expect_silence(void)
{
	int got;

	while ((got = get(WHY_MS)))
		assert_int_not_equal(got, COT_MSG_PLACED);
}

/* Of the parts below SM 88 only these are there, and the program is on the last one; its streams
 * have been used since. */
static void begin_on(unsigned first, unsigned n)
{
	unsigned i;

	for (i = 8; i < 15; i++)
		placed(8 * i, 8);
	placed(0, 32);
	placed(64, 8);
	placed(72, 16);
	placed(first, n);
	is_on(plain, first, n);
	is_on(waits, first, n);
	is_on(CU_STREAM_LEGACY, first, n);
}

/* What the program does in another stream is not held up. */
static void expect_free(CUstream stream, unsigned first, unsigned n)
{
	unsigned i;

	for (i = 0; i < 20; i++)
		is_on(stream, first, n);
}

/* While two streams have work; until then the part is not made. */
static void test_it_comes_when_the_work_is_done(void **state)
{
	(void)state;
	begin_on(64, 8);
	launch(1, 1, plain);
	ask(0, 40);
	expect_answer(0, 0, 32);
	expect_free(waits, 0, 32);
	open_gate(1);
	expect_answer(0, 0, 40);
	is_on(plain, 0, 40);
	is_on(waits, 0, 40);
}

/* The program is on some of these SMs: it stays there, and gets the others. */
static void test_it_grows(void **state)
{
	(void)state;
	begin_on(0, 32);
	launch(1, 1, plain);
	ask(0, 48);
	expect_answer(0, 0, 32);
	expect_free(waits, 0, 32);
	open_gate(1);
	expect_answer(0, 0, 48);
	is_on(plain, 0, 48);
}

/* It leaves what it has: nothing but what lies within the part will do, and the most of that. */
static void test_it_shrinks(void **state)
{
	(void)state;
	begin_on(0, 32);
	launch(1, 1, plain);
	ask(56, 32);
	expect_answer(0, 72, 16);
	expect_free(waits, 72, 16);
	open_gate(1);
	expect_answer(0, 56, 32);
	is_on(plain, 56, 32);
}

/* Then the part is made, late, as the driver does it: when all is done. */
static void test_nothing_lies_within(void **state)
{
	(void)state;
	begin_on(0, 32);
	launch(1, 1, plain);
	ask(40, 8);
	expect_nothing_yet();
	open_gate(1);
	expect_answer(0, 40, 8);
	is_on(plain, 40, 8);
}

/* From all of the GPU, where streams were not virtual or have not been used since. */
static void test_from_all_of_it(void **state)
{
	(void)state;
	begin_on(0, 32);
	assert_int_equal(place(0, 0), 0);
	launch(1, 1, CU_STREAM_LEGACY);
	launch(0, 1, plain);
	ask(0, 56);
	expect_answer(0, 0, 32);
	open_gate(1);
	expect_answer(0, 0, 56);
	is_on(CU_STREAM_LEGACY, 0, 56);
}

/* A wish that another one replaces is forgotten. */
static void test_another_order(void **state)
{
	(void)state;
	begin_on(64, 8);
	launch(1, 1, plain);
	ask(0, 88);
	expect_answer(0, 0, 32);
	ask(72, 16);
	expect_answer(0, 72, 16);
	open_gate(1);
	is_on(plain, 72, 16);
	expect_silence();
	is_on(plain, 72, 16);
}

/* It says why it does not come, once. A stream that goes with work in it changes nothing. */
static void test_it_says_why(void **state)
{
	CUstream stream;

	(void)state;
	begin_on(64, 8);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch(1, 1, plain);
	ask(0, 104);
	expect_answer(0, 0, 32);
	launch(1, 1, stream);
	expect_answer(-EAGAIN, 0, 32);
	is_on(waits, 0, 32);
	OK(cuStreamDestroy(stream));
	expect_silence();
	open_gate(1);
	expect_answer(0, 0, 104);
	is_on(plain, 0, 104);
}

/* One daemon goes, and the next one wants the program to be where it is. */
static void test_another_daemon(void **state)
{
	(void)state;
	begin_on(64, 8);
	launch(1, 1, plain);
	ask(0, 112);
	expect_answer(0, 0, 32);
	close(conn);
	welcome();
	expect(COT_MSG_PLACED);
	assert_int_equal(in.h.seq, 0);
	assert_int_equal(in.placed.n, 32);
	open_gate(1);
	OK(cuStreamSynchronize(plain));
	expect_silence();
	is_on(plain, 0, 32);
}

/* While a graph is recorded: the recording is not spoilt, and the part comes. */
static void test_a_graph_is_recorded(void **state)
{
	CUgraph graph;

	(void)state;
	begin_on(64, 8);
	OK(cuStreamBeginCapture(waits, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(0, 1, waits);
	ask(0, 120);
	expect_answer(0, 0, 32);
	launch(0, 2, waits);
	OK(cuStreamEndCapture(waits, &graph));
	OK(cuGraphDestroy(graph));
	expect_answer(0, 0, 120);
	is_on(waits, 0, 120);
}

/* Graphs are recorded one after another: none begins between a look at whether there is any, and
 * what would spoil it. */
static void test_graphs_are_recorded(void **state)
{
	CUgraph graph;
	unsigned i;

	(void)state;
	begin_on(64, 8);
	launch(1, 1, plain);
	let_be_slow("cuCtxRecordEvent");
	for (i = 0; i < 40; i++) {
		ask(0, i % 2 ? 40 : 48); /* it looks at what is queued anew */
		usleep(1000);
		OK(cuStreamBeginCapture(waits, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		usleep(3000);
		launch(0, 1, waits);
		OK(cuStreamEndCapture(waits, &graph));
		OK(cuGraphDestroy(graph));
		expect_answer(0, 0, 32);
	}
	let_be_slow(NULL);
	open_gate(1);
	expect_answer(0, 0, 40);
}

/* The driver makes no event for us: then it is not known what is queued. */
static void test_no_event(void **state)
{
	(void)state;
	begin_on(64, 8);
	let_fail("cuEventCreate");
	ask(8, 64);
	expect_answer(0, 64, 8);
	let_fail(NULL);
	expect_answer(0, 8, 64);
	is_on(plain, 8, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_comes_when_the_work_is_done),
		TEST(test_it_grows),
		TEST(test_it_shrinks),
		TEST(test_nothing_lies_within),
		TEST(test_from_all_of_it),
		TEST(test_another_order),
		TEST(test_it_says_why),
		TEST(test_another_daemon),
		TEST(test_a_graph_is_recorded),
		TEST(test_graphs_are_recorded),
		TEST(test_no_event),
	};

	return parts_main("shim_meanwhile", tests, sizeof(tests) / sizeof(tests[0]));
}
