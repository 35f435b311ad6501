/* Graphs and launches of a program whose part changes: what follows, in which order, and what
 * stays. */
#include "parts_stage.h"

/* ---- captures and graphs ---- */

static void capture(CUgraphExec *ret_exec, CUstream in_stream, unsigned gate, unsigned digit)
{
	CUgraph graph;

	OK(cuStreamBeginCapture(in_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch(gate, digit, in_stream);
	OK(cuStreamEndCapture(in_stream, &graph));
	OK(cuGraphInstantiateWithFlags(ret_exec, graph, 0));
	OK(cuGraphDestroy(graph));
}

static void test_a_graph_runs_where_it_is_launched(void **state)
{
	CUgraphExec exec;

	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	capture(&exec, plain, 0, 1);
	is_on(plain, 64, 8); /* it follows again */
	host[LOG] = 0;
	OK(cuGraphLaunch(exec, waits));
	expect_log(1);
	assert_in_range(host[LOG + 1], 64, 71);
	placed(96, 8);
	OK(cuGraphLaunch(exec, plain));
	expect_log(11);
	assert_in_range(host[LOG + 1], 96, 103);
	assert_int_equal(place(0, 0), 0);
	OK(cuGraphLaunch(exec, plain));
	expect_log(111);
	assert_in_range(host[LOG + 1], 0, 7);
	OK(cuGraphExecDestroy(exec));
}

/* What is changed in it changes on the part, and it goes on there. */
static void test_a_node_that_changes(void **state)
{
	void *at = host_at(0), *log = host_at(LOG), *args[] = {&at, &log, &(unsigned){1}};
	CUDA_KERNEL_NODE_PARAMS params = {note, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	placed(64, 8);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, plain));
	expect_log(1);
	args[2] = &(unsigned){2};
	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
	OK(cuGraphLaunch(exec, plain));
	expect_log(12);
	assert_in_range(host[LOG + 1], 64, 71);
	OK(cuGraphNodeSetEnabled(exec, node, 0));
	OK(cuGraphLaunch(exec, plain));
	expect_log(12);
	OK(cuGraphNodeSetEnabled(exec, node, 1));
	host[LOG + 1] = 0;
	OK(cuGraphLaunch(exec, plain));
	expect_log(122);
	assert_in_range(host[LOG + 1], 64, 71);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* A graph does not run beside itself, nor before what its stream had. */
static void test_a_graph_keeps_its_order(void **state)
{
	static const unsigned parts[] = {64, 96, 0, 64};
	CUgraphExec exec;
	unsigned i;

	(void)state;
	capture(&exec, plain, 1, 1);
	OK(cuGraphLaunch(exec, plain));
	for (i = 0; i < 4; i++) {
		assert_int_equal(place(parts[i], parts[i] ? 8 : 0), 0);
		OK(cuGraphLaunch(exec, i % 2 ? CU_STREAM_PER_THREAD : plain));
	}
	launch(0, 2, CU_STREAM_PER_THREAD);
	expect_nothing_yet();
	open_gate(1);
	OK(cuCtxSynchronize());
	launch(0, 3, plain);
	expect_log(1111123);
	OK(cuGraphExecDestroy(exec));
}

/* Its last launch has not begun yet, and the next one is on another part. */
static void test_a_graph_waits_for_itself(void **state)
{
	CUgraphExec exec;

	(void)state;
	capture(&exec, plain, 0, 2);
	placed(64, 8);
	launch(1, 1, plain);
	OK(cuGraphLaunch(exec, plain));
	placed(96, 8);
	OK(cuGraphLaunch(exec, CU_STREAM_PER_THREAD));
	expect_nothing_yet();
	assert_int_equal(place(0, 0), 0);
	OK(cuGraphLaunch(exec, waits));
	expect_nothing_yet();
	open_gate(1);
	expect_log(1222);
	OK(cuGraphExecDestroy(exec));
}

/* The program is told what the driver says. */
static void test_errors(void **state)
{
	CUgraph graph;

	(void)state;
	placed(64, 8);
	assert_int_equal(cuStreamWaitEvent(plain, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuStreamEndCapture(plain, &graph), CUDA_ERROR_ILLEGAL_STATE);
	is_on(plain, 64, 8);
}

/* The stream of its last launch, at home, goes before the part comes. */
static void test_a_graph_outlives_its_stream(void **state)
{
	CUgraphExec exec;
	CUstream s;

	(void)state;
	capture(&exec, plain, 1, 1);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamDestroy(s));
	placed(64, 8);
	OK(cuGraphLaunch(exec, plain));
	launch(0, 2, plain);
	expect_nothing_yet();
	open_gate(1);
	expect_log(112);
	OK(cuGraphExecDestroy(exec));
}

/* While a graph is recorded in a stream that waits for it, the default stream must not be touched.
 */
static void test_a_capture_is_left_alone(void **state)
{
	CUgraphExec exec, other;
	CUgraph graph;

	(void)state;
	capture(&other, plain, 0, 5);
	placed(64, 8);
	is_on(NULL, 64, 8);
	is_on(waits, 64, 8);
	OK(cuStreamBeginCapture(waits, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(0, 1, waits);
	is_on(plain, 64, 8);
	placed(96, 8);
	is_on(plain, 96, 8);
	host[LOG] = 0;
	OK(cuGraphLaunch(other, plain));
	OK(cuStreamSynchronize(plain));
	assert_int_equal(host[LOG], 5);
	launch(0, 2, waits);
	OK(cuStreamEndCapture(waits, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	host[LOG] = 0;
	OK(cuGraphLaunch(exec, waits));
	launch(0, 3, NULL);
	expect_log(123);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphExecDestroy(other));
	OK(cuGraphDestroy(graph));
}

/* A stream in which a graph is recorded keeps its part, however many others come. */
static void test_a_capture_keeps_its_part(void **state)
{
	CUgraph graph;
	unsigned i;

	(void)state;
	placed(8, 8);
	is_on(plain, 8, 8);
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(0, 1, plain);
	for (i = 2; i <= 12; i++)
		placed(8 * i, 8);
	OK(cuStreamEndCapture(plain, &graph));
	is_on(plain, 96, 8);
	OK(cuGraphDestroy(graph));
}

/* An event brings another stream into the capture. */
static void test_a_capture_of_two(void **state)
{
	CUgraphExec exec;
	CUgraph graph;
	CUevent e;

	(void)state;
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	placed(64, 8);
	is_on(plain, 64, 8);
	is_on(waits, 64, 8);
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch(0, 1, plain);
	OK(cuEventRecord(e, plain));
	OK(cuStreamWaitEvent(waits, e, 0));
	launch(0, 2, waits);
	OK(cuEventRecord(e, waits));
	OK(cuStreamWaitEvent(plain, e, 0));
	launch(0, 3, plain);
	OK(cuStreamEndCapture(plain, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	host[LOG] = 0;
	OK(cuGraphLaunch(exec, plain));
	expect_log(123);
	assert_in_range(host[LOG + 1], 64, 71);
	is_on(waits, 64, 8);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuEventDestroy(e));
}

/* Into a graph that there is already: after its node, at home, and it follows. */
static void test_a_capture_to_a_graph(void **state)
{
	void *at = host_at(1), *log = host_at(LOG), *args[] = {&at, &log, &(unsigned){1}};
	CUDA_KERNEL_NODE_PARAMS params = {note, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraph graph, same = NULL;
	CUgraphNode node;
	CUgraphExec exec;

	(void)state;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	placed(64, 8);
	is_on(plain, 64, 8);
	OK(cuStreamBeginCaptureToGraph(plain, graph, &node, NULL, 1,
				       CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(0, 2, plain);
	placed(96, 8);
	launch(0, 3, plain);
	OK(cuStreamEndCapture(plain, &same));
	assert_ptr_equal(same, graph);
	is_on(plain, 96, 8);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	host[LOG] = 0;
	OK(cuGraphLaunch(exec, plain));
	expect_nothing_yet();
	open_gate(1);
	expect_log(123);
	assert_in_range(host[LOG + 1], 96, 103);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* ---- what stays ---- */

static void expect_counts(uint64_t followed, const char *reason)
{
	struct cot_msg_part_counts before, *now = &in.counts;
	uint32_t i;

	expect(COT_MSG_PART_COUNTS);
	before = *now;
	launch(0, 1, plain); /* so that there is something to tell */
	expect(COT_MSG_PART_COUNTS);
	assert_int_equal(now->n_followed - before.n_followed, followed);
	for (i = 0; reason && i < now->n_reasons; i++)
		if (!strcmp(now->reasons[i].name, reason))
			return;
	assert_null(reason);
}

static void test_what_stays_is_counted(void **state)
{
	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	OK(launch_as(nccl, 0, 1, plain));
	OK(cuStreamSynchronize(plain));
	assert_in_range(host[LOG + 1], 0, 7);
	is_on(plain, 64, 8);
	expect_counts(1, "launch-peers");
}

/* The driver does not clone graphs with conditional nodes, for one. */
static void test_a_graph_that_cannot_be_cloned(void **state)
{
	CUgraphExec exec;

	(void)state;
	placed(64, 8);
	let_fail("cuGraphClone");
	capture(&exec, plain, 0, 1);
	let_fail(NULL);
	launch(1, 2, plain);
	OK(cuGraphLaunch(exec, plain));
	launch(0, 3, plain);
	expect_nothing_yet();
	open_gate(1);
	expect_log(213);
	OK(cuGraphLaunch(exec, plain));
	OK(cuStreamSynchronize(plain));
	assert_in_range(host[LOG + 1], 0, 7);
	expect_counts(1, "launch-graph");
	OK(cuGraphExecDestroy(exec));
}

/* A cooperative launch of more blocks than fit the part is at home, in order. */
static void test_what_does_not_fit(void **state)
{
	unsigned digit = 2;
	void *gate = host_at(0), *log = host_at(LOG), *params[] = {&gate, &log, &digit};

	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	OK(cuLaunchCooperativeKernel(note, 900, 1, 1, 1, 1, 1, 0, plain, params));
	launch(0, 3, plain);
	expect_nothing_yet();
	open_gate(1);
	expect_log(123);
	is_on(plain, 64, 8);
	expect_counts(1, "launch-cooperative");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_graph_runs_where_it_is_launched),
		TEST(test_a_node_that_changes),
		TEST(test_a_graph_keeps_its_order),
		TEST(test_a_graph_waits_for_itself),
		TEST(test_errors),
		TEST(test_a_graph_outlives_its_stream),
		TEST(test_a_capture_is_left_alone),
		TEST(test_a_capture_keeps_its_part),
		TEST(test_a_capture_of_two),
		TEST(test_a_capture_to_a_graph),
		TEST(test_what_stays_is_counted),
		TEST(test_a_graph_that_cannot_be_cloned),
		TEST(test_what_does_not_fit),
	};

	return parts_main("shim_graphs", tests, sizeof(tests) / sizeof(tests[0]));
}
