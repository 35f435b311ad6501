/* What the daemon hears of requests while they run: where they begin, what has ended of them, and
 * on which part they are does not matter. This program marks some, as libcotenant.so does. */
#include "guest/marks.h"
#include "parts_stage.h"

#define EXPORT __attribute__((visibility("default")))

static const struct cot_request_watch *marks_to;

EXPORT bool cotenant_request_watch(const struct cot_request_watch *w);
EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);

EXPORT bool cotenant_request_watch(const struct cot_request_watch *w)
{
	marks_to = w;
	return false;
}

EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns)
{
	assert_true(begin_ns <= end_ns);
}

static const struct cot_msg_query_begin *begun = (const void *)in.bytes;
static const struct cot_msg_query_tasks *tasks = (const void *)in.bytes;
static const struct cot_msg_query_end *ended = (const void *)in.bytes;
static CUdeviceptr memory;
static const struct cot_msg_query_copy *copied = (const void *)in.bytes;
static char bytes[2 << 20];

/* Counts come at any time. */
static int next(int ms)
{
	int type;

	do
		type = get(ms);
	while (type == COT_MSG_WORK_COUNTS || type == COT_MSG_PART_COUNTS ||
	       type == COT_MSG_PACE_COUNTS);
	return type;
}

/* The shim has taken it when it has answered what came after it. */
static void want(uint32_t wanted)
{
	struct cot_msg_queries m = {.wanted = wanted};

	send_packet(&m, COT_MSG_QUERIES, sizeof(m), 0);
	ask(0, 0);
	while (next(LONG_MS) != COT_MSG_PLACED)
		;
}

static int set_up(void **state)
{
	(void)state;
	OK(cuCtxSynchronize());
	usleep(A_WHILE); /* one that begins just after another one is left out */
	make_streams();
	placed(96, 8); /* so that it is there */
	placed(64, 8);
	want(1);
	return 0;
}

static int tear_down(void **state)
{
	int rc = end(state);

	want(0);
	return rc;
}

static void expect_begin(uint64_t size)
{
	assert_int_equal(next(LONG_MS), COT_MSG_QUERY_BEGIN);
	assert_int_equal(begun->size, size);
}

/* Those that are done may be told before, in any steps. */
static void expect_end(uint32_t query, uint32_t n)
{
	int type;

	while ((type = next(LONG_MS)) == COT_MSG_QUERY_TASKS)
		assert_int_equal(tasks->query, query);
	assert_int_equal(type, COT_MSG_QUERY_END);
	assert_int_equal(ended->query, query);
	assert_int_equal(ended->n_tasks, n);
}

static void expect_tasks(uint32_t n)
{
	do
		assert_int_equal(next(LONG_MS), COT_MSG_QUERY_TASKS);
	while (tasks->n_done < n);
	assert_int_equal(tasks->n_done, n);
}

/* The first test: the shim does not know yet how long its launches take. */
static void test_tasks(void **state)
{
	uint64_t began_ns;
	unsigned i;

	(void)state;
	OK(cuMemcpyHtoDAsync_v2(memory, bytes, 4096, plain));
	for (i = 1; i < GATES; i++)
		launch(i, i, plain);
	expect_begin(4096);
	assert_int_equal(begun->query, 1);
	assert_true(begun->began_ns && begun->in_ns && !begun->arrived_ns);
	began_ns = begun->began_ns;
	for (i = 1; i < GATES; i++) {
		open_gate(i);
		expect_tasks(i);
		assert_true(tasks->done_ns > began_ns);
	}
	OK(cuMemcpyDtoHAsync_v2(bytes, memory, 100, plain));
	OK(cuStreamSynchronize(plain));
	expect_end(1, GATES - 1);
	assert_int_equal(ended->out_bytes, 100);
	assert_int_equal(host[LOG], 123);
}

/* The part changes in the middle, for the launches that follow. */
static void test_part_changes(void **state)
{
	uint32_t query;

	(void)state;
	launch(1, 1, plain);
	expect_begin(0);
	query = begun->query;
	ask(96, 8);
	while (next(LONG_MS) != COT_MSG_PLACED)
		;
	launch(2, 2, plain);
	launch(0, 3, plain);
	open_gate(1);
	open_gate(2);
	OK(cuStreamSynchronize(plain));
	assert_int_equal(host[LOG], 123);
	assert_in_range(host[LOG + 1], 96, 96 + 8 - 1);
	expect_end(query, 3);
}

/* It is one task, however many kernels it has; and what is recorded is none. */
static void test_graphs(void **state)
{
	CUgraphExec exec;
	CUgraph graph;
	uint32_t query;

	(void)state;
	OK(cuStreamBeginCapture_v2(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(0, 1, plain);
	launch(0, 2, plain);
	OK(cuStreamEndCapture(plain, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, plain));
	OK(cuStreamSynchronize(plain));
	expect_begin(0);
	query = begun->query;
	expect_end(query, 1);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	assert_int_equal(host[LOG], 12);
}

/* Those that are large are told, in each direction. */
static void test_copies(void **state)
{
	uint32_t query;
	int type;

	(void)state;
	OK(cuMemcpyHtoDAsync_v2(memory, bytes, COT_PROTO_COPY_MIN - 1, plain));
	OK(cuMemcpyHtoDAsync_v2(memory, bytes, sizeof(bytes), plain));
	launch(0, 1, plain);
	assert_int_equal(next(LONG_MS), COT_MSG_QUERY_COPY);
	assert_int_equal(copied->way, COT_WAY_IN);
	assert_in_range(copied->for_ns, sizeof(bytes) / 16, COT_PROTO_COPIES_NS);
	expect_begin(sizeof(bytes) + COT_PROTO_COPY_MIN - 1);
	query = begun->query;
	OK(cuMemcpyDtoHAsync_v2(bytes, memory, COT_PROTO_COPY_MIN - 1, plain));
	OK(cuMemcpyDtoHAsync_v2(bytes, memory, sizeof(bytes), plain));
	do
		type = next(LONG_MS);
	while (type == COT_MSG_QUERY_TASKS);
	assert_int_equal(type, COT_MSG_QUERY_COPY);
	assert_int_equal(copied->way, COT_WAY_OUT);
	assert_int_equal(copied->query, query);
	OK(cuStreamSynchronize(plain));
	expect_end(query, 1);
	/* Not while nobody wants to hear of queries. */
	want(0);
	OK(cuMemcpyHtoD_v2(memory, bytes, sizeof(bytes)));
	assert_int_equal(next(A_WHILE / 1000), 0);
}

/* Not before it is wanted, nor after. */
static void test_not_wanted(void **state)
{
	(void)state;
	want(0);
	launch(0, 1, plain);
	OK(cuStreamSynchronize(plain));
	assert_int_equal(next(A_WHILE / 1000), 0);
	want(1);
	launch(0, 2, plain);
	OK(cuStreamSynchronize(plain));
	expect_begin(0);
}

/* The last test: from the first mark on nothing else counts. */
static void test_marks(void **state)
{
	uint32_t query;

	(void)state;
	marks_to->begin(5, 40, 50);
	marks_to->size(5, 32);
	OK(cuMemcpyHtoDAsync_v2(memory, bytes, 4096, plain));
	launch(0, 1, plain);
	OK(cuStreamSynchronize(plain));
	launch(0, 2, plain);
	OK(cuStreamSynchronize(plain));
	expect_begin(32);
	query = begun->query;
	assert_int_equal(begun->arrived_ns, 40);
	marks_to->end(5, 1000);
	expect_end(query, 2);
	assert_int_equal(ended->ended_ns, 1000);
	launch(0, 3, plain);
	OK(cuStreamSynchronize(plain));
	assert_int_equal(next(A_WHILE / 1000), 0);
}

static int load_memory(void **state)
{
	(void)state;
	OK(cuMemAlloc_v2(&memory, sizeof(bytes)));
	return set_up(state);
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tasks, load_memory, tear_down),
		TEST_OF(test_part_changes),
		TEST_OF(test_graphs),
		TEST_OF(test_copies),
		TEST_OF(test_not_wanted),
		TEST_OF(test_marks),
	};

	setenv("COTENANT_REQUESTS", "1", 1);
	return parts_main("shim_queries", tests, sizeof(tests) / sizeof(tests[0]));
}
