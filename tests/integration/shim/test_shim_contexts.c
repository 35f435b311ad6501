/* Streams of a program that has another context current, or a capture in a stream that is not
 * known: they keep their order, and follow. */
#include "parts_stage.h"

static CUcontext other;

static int start_other(void **state)
{
	int rc = start(state);

	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	return rc;
}

static int end_other(void **state)
{
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	return end(state);
}

#define TEST_OTHER(name) cmocka_unit_test_setup_teardown(name, start_other, end_other)

static void launch_from_other(unsigned gate, unsigned digit, CUstream stream)
{
	OK(cuCtxSetCurrent(other));
	launch(gate, digit, stream);
	OK(cuCtxSetCurrent(context));
}

/* A stream moves in a thread that has another context: its event is of its own. */
static void test_a_stream_moves(void **state)
{
	(void)state;
	placed(64, 8);
	launch_from_other(1, 1, plain);
	placed(96, 8);
	launch_from_other(0, 2, plain);
	assert_int_equal(cuStreamQuery(plain), CUDA_ERROR_NOT_READY);
	expect_nothing_yet();
	open_gate(1);
	expect_log(12);
	assert_in_range(host[LOG + 1], 96, 103);
}

/* It waits for the default stream of its own context, wherever both are. */
static void waits_for_default(unsigned from, unsigned to)
{
	host[LOG] = host[1] = 0;
	assert_int_equal(place(from, from ? 8 : 0), 0);
	launch(1, 1, NULL);
	assert_int_equal(place(to, to ? 8 : 0), 0);
	launch_from_other(0, 2, waits);
	expect_nothing_yet();
	open_gate(1);
	expect_log(12);
}

static void test_the_default_stream(void **state)
{
	static const unsigned froms[] = {0, 64, 0, 64, 64}, tos[] = {64, 0, 0, 64, 96};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(tos) / sizeof(tos[0]); i++)
		waits_for_default(froms[i], tos[i]);
}

/* No context can be made current for it: it waits all the same. */
static void test_a_context_that_cannot_be_had(void **state)
{
	static const unsigned froms[] = {64, 0, 64}, tos[] = {64, 64, 0};
	unsigned i;

	(void)state;
	let_fail("cuCtxPushCurrent_v2");
	for (i = 0; i < sizeof(tos) / sizeof(tos[0]); i++)
		waits_for_default(froms[i], tos[i]);
}

/* ---- captures of other threads ---- */

static CUstream recorded;

static void begin_global_capture(void)
{
	OK(cuStreamCreate(&recorded, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(recorded, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(0, 7, recorded);
}

static void end_global_capture(void)
{
	CUgraph graph;

	OK(cuStreamEndCapture(recorded, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy(recorded));
}

static void *launch_two(void *stream)
{
	OK(cuCtxSetCurrent(context));
	placed(96, 8);
	launch(0, 2, stream);
	return NULL;
}

static void in_a_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
	pthread_join(thread, NULL);
}

/* Where the driver has no event for a stream that moves, nothing moves; where an order must not be
 * lost, the shim waits. Neither spoils what another thread records. */
static void waits_beside_a_capture(CUstream first, CUstream then, const char *failing)
{
	pthread_t thread;

	host[LOG] = host[1] = 0;
	placed(64, 8);
	launch(1, 1, first);
	begin_global_capture();
	let_fail(failing);
	later(&thread, 1);
	in_a_thread(launch_two, then);
	let_fail(NULL);
	pthread_join(thread, NULL);
	end_global_capture();
	expect_log(12);
}

static void test_a_capture_goes_on(void **state)
{
	static const char *const failing[] = {NULL, "cuEventRecord", "cuStreamWaitEvent"};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		waits_beside_a_capture(plain, plain, failing[i]);
		waits_beside_a_capture(NULL, waits, failing[i]);
	}
}

static CUgraphExec graphs[2];

static void *launch_graphs(void *unused)
{
	OK(cuCtxSetCurrent(context));
	OK(cuGraphLaunch(graphs[0], plain));
	placed(96, 8);
	OK(cuGraphLaunch(graphs[0], waits));
	OK(cuGraphLaunch(graphs[1], waits));
	return unused;
}

/* The graph runs on two parts, one after the other; the shim may have to wait between. */
static void graphs_beside_a_capture(const char *failing)
{
	pthread_t thread;

	host[LOG] = host[1] = 0;
	placed(64, 8);
	begin_global_capture();
	let_fail(failing);
	later(&thread, 1);
	in_a_thread(launch_graphs, NULL);
	let_fail(NULL);
	pthread_join(thread, NULL);
	end_global_capture();
	expect_log(112);
}

static void record(CUgraphExec *ret_exec, unsigned gate, unsigned digit)
{
	CUgraph graph;

	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(gate, digit, plain);
	OK(cuStreamEndCapture(plain, &graph));
	OK(cuGraphInstantiateWithFlags(ret_exec, graph, 0));
	OK(cuGraphDestroy(graph));
}

static void test_graphs_beside_a_capture(void **state)
{
	(void)state;
	record(&graphs[0], 1, 1);
	record(&graphs[1], 0, 2);
	graphs_beside_a_capture(NULL);
	graphs_beside_a_capture("cuEventRecord");
	graphs_beside_a_capture("cuStreamWaitEvent");
	graphs_beside_a_capture("cuEventCreate");
	OK(cuGraphExecDestroy(graphs[0]));
	OK(cuGraphExecDestroy(graphs[1]));
}

/* Its stream is known, but not that the context has parts: it is when the capture goes on. */
static void test_a_capture_in_an_unknown_context(void **state)
{
	CUgraphExec exec;
	CUgraph graph;
	unsigned i;

	(void)state;
	placed(64, 8);
	OK(cuDevicePrimaryCtxRelease(0));
	load();
	make_streams();
	OK(cuStreamBeginCapture(waits, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch(0, 1, waits); /* only now is it known */
	placed(96, 8);
	for (i = 2; i <= 3; i++)
		launch(0, i, waits);
	OK(cuStreamEndCapture(waits, &graph));
	is_on(waits, 96, 8);
	host[LOG] = 0;
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, waits));
	expect_log(123);
	assert_in_range(host[LOG + 1], 96, 103);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* There is no memory to know a stream by: what is recorded in it is left alone, and when it is
 * known all is in order. */
static void test_a_capture_in_an_unknown_stream(void **state)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	(void)state;
	placed(64, 8);
	OK(cuStreamCreate(&s, 0));
	is_on(NULL, 64, 8);
	let_fail("cuStreamGetCtx");
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch(0, 1, s);
	launch(0, 0, waits);
	launch(0, 0, plain);
	let_fail(NULL);
	launch(0, 0, waits);
	launch(0, 2, s);
	OK(cuStreamEndCapture(s, &graph));
	OK(cuStreamSynchronize(plain)); /* it says where it was, too */
	is_on(waits, 64, 8);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	host[LOG] = 0;
	launch(1, 3, NULL);
	OK(cuGraphLaunch(exec, s));
	launch(0, 4, NULL);
	expect_nothing_yet();
	open_gate(1);
	OK(cuStreamSynchronize(s));
	expect_log(3124);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OTHER(test_a_stream_moves),
		TEST_OTHER(test_the_default_stream),
		TEST_OTHER(test_a_context_that_cannot_be_had),
		TEST(test_a_capture_goes_on),
		TEST(test_graphs_beside_a_capture),
		TEST(test_a_capture_in_an_unknown_stream),
		TEST(test_a_capture_in_an_unknown_context),
	};

	return parts_main("shim_contexts", tests, sizeof(tests) / sizeof(tests[0]));
}
