/* Launches before the daemon has said where the program is to be: which of them were on its part,
 * and that they are all counted. Each test has a program of its own. */
#include <time.h>

#include "parts_stage.h"

#define EARLY 3u

/* So long the first launch waits, and the shim makes parts for it. */
#define AWAIT_NS 30000000u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void expect_in_time(uint64_t since_ns)
{
	if (now_ns() - since_ns >= AWAIT_NS)
		_exit(SPOILT);
}

static void *launch_first(void *arg)
{
	OK(cuCtxSetCurrent(context));
	launch(0, 1, NULL);
	return arg;
}

/* The daemon hears of the program, and says nothing yet. */
static void begin(bool in_time)
{
	uint64_t since_ns = now_ns();
	pthread_t thread;
	unsigned i;

	assert_int_equal(pthread_create(&thread, NULL, launch_first, NULL), 0);
	welcome(); /* PARTS comes when the parts are made */
	if (in_time)
		expect_in_time(since_ns);
	pthread_join(thread, NULL);
	/* Else it may say where it was after those that follow. */
	OK(cuStreamSynchronize(CU_STREAM_LEGACY));
	make_streams();
	for (i = 1; i < EARLY; i++)
		launch(0, 1, plain);
}

static void expect_counts(uint64_t followed, uint64_t early)
{
	const struct cot_msg_part_counts *c = &in.counts;

	do
		expect(COT_MSG_PART_COUNTS);
	while (c->n_followed + c->n_stayed < followed + early || (early && c->n_stayed < early));
	assert_int_equal(c->n_followed, followed);
	assert_int_equal(c->n_stayed, early);
	assert_int_equal(c->n_reasons, early != 0);
	if (early) {
		assert_string_equal(c->reasons[0].name, "launch-no-part");
		assert_int_equal(c->reasons[0].n_kernels, early);
	}
}

static void then(unsigned first, unsigned n, uint64_t followed, uint64_t early)
{
	placed(first, n);
	is_on(plain, first, n ? n : 8);
	is_on(waits, first, n ? n : 8);
	expect_counts(followed, early);
}

static void test_a_part_that_comes_late(void **state)
{
	(void)state;
	begin(false);
	expect_counts(0, EARLY);
	then(64, 8, 2, EARLY);
}

static void test_all_of_it_comes_late(void **state)
{
	(void)state;
	begin(false);
	expect_counts(0, EARLY);
	then(0, 0, 2, EARLY);
}

/* Without a limit the program need not have a part; when it has one, it had been too early. */
static void test_a_part_that_nobody_asked_for(void **state)
{
	(void)state;
	begin(false);
	expect_counts(EARLY, 0);
	then(64, 8, 2, EARLY);
}

static void test_no_part(void **state)
{
	(void)state;
	begin(false);
	expect_counts(EARLY, 0);
	then(0, 0, EARLY + 2, 0);
	/* What comes later than the first order changes nothing of it. */
	then(64, 8, EARLY + 4, 0);
}

/* What was launched before there was a part is seen when another one is to be made: that would wait
 * for it, so a smaller one stands in. */
static void test_work_from_before(void **state)
{
	(void)state;
	begin(true);
	launch(1, 2, plain);
	placed(0, 64);
	ask(0, 40);
	assert_int_equal(answer(), 0);
	assert_int_equal(in.placed.n, 32);
	is_on(waits, 0, 32);
	open_gate(1);
	assert_int_equal(answer(), 0);
	assert_int_equal(in.placed.n, 40);
	is_on(plain, 0, 40);
}

/* A program that launches nothing but a graph that it has made itself. */
static void test_a_graph_alone(void **state)
{
	void *at = host_at(0), *log = host_at(LOG), *args[] = {&at, &log, &(unsigned){1}};
	CUDA_KERNEL_NODE_PARAMS params = {note, 1, 1, 1, 1, 1, 1, 0, args, NULL, NULL, NULL};
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	make_streams();
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, plain));
	welcome();
	placed(64, 8);
	OK(cuGraphLaunch(exec, plain));
	OK(cuStreamSynchronize(plain));
	assert_in_range(host[LOG + 1], 64, 71);
	expect_counts(1, 1);
}

static void *wait_first(void *stream)
{
	OK(cuCtxSetCurrent(context));
	OK(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)host_at(GATES), 1,
				  CU_STREAM_WAIT_VALUE_GEQ));
	return NULL;
}

/* A new part would wait for this wait, and what ends it for the part. */
static void test_a_wait_before_any_launch(void **state)
{
	pthread_t thread;

	(void)state;
	make_streams();
	assert_int_equal(pthread_create(&thread, NULL, wait_first, plain), 0);
	welcome();
	pthread_join(thread, NULL);
	assert_int_equal(place(64, 8), -EDEADLK);
	launch(0, 1, plain);
	OK(cuStreamWriteValue32_v2(waits, (CUdeviceptr)(uintptr_t)host_at(GATES), 1, 0));
	OK(cuStreamSynchronize(plain));
	placed(64, 8);
	is_on(plain, 64, 8);
}

/* It may be open whenever the graph is launched. */
static void test_a_wait_in_a_graph(void **state)
{
	CUgraph graph;

	(void)state;
	begin(false);
	placed(64, 8);
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	wait_first(plain);
	OK(cuStreamEndCapture(plain, &graph));
	assert_int_equal(place(96, 8), -EDEADLK);
	placed(64, 8);
	is_on(plain, 64, 8);
	OK(cuGraphDestroy(graph));
}

/* While the gate is shut no part can be made: these have been, before the first launch. */
static void are_there(const unsigned parts[3][2])
{
	unsigned i;

	begin(true);
	launch(1, 1, waits);
	for (i = 0; i < 3; i++) {
		placed(parts[i][0], parts[i][1]);
		is_on(plain, parts[i][0], parts[i][1]);
	}
	open_gate(1);
	placed(8, 8);
}

static void test_quarters_are_there(void **state)
{
	static const unsigned parts[3][2] = {{0, 96}, {0, 32}, {0, 64}};

	(void)state;
	are_there(parts);
}

static void test_quarters_of_a_latency_program(void **state)
{
	static const unsigned parts[3][2] = {{64, 68}, {32, 100}, {96, 36}};

	(void)state;
	are_there(parts);
}

/* A context of its own that comes after the first one: the daemon does not know of that. */
static void test_a_context_that_comes_again(void **state)
{
	uint64_t since_ns;

	(void)state;
	begin(false);
	placed(64, 8);
	OK(cuDevicePrimaryCtxRelease(0));
	load();
	make_streams();
	since_ns = now_ns();
	launch(0, 1, plain);
	expect_in_time(since_ns);
	is_on(plain, 64, 8);
	launch(1, 1, waits);
	placed(0, 64);
	is_on(plain, 0, 64);
	open_gate(1);
}

/* A GPU that cannot be divided: the daemon hears why, and launches do not wait. */
static void test_no_parts_at_all(void **state)
{
	int32_t status;

	(void)state;
	let_fail("cuDevSmResourceSplitByCount");
	begin(false);
	status = in.parts.status;
	assert_int_not_equal(status, 0);
	assert_int_equal(in.parts.n_sms, 0);
	assert_int_equal(in.parts.unit, 0);
	assert_int_equal(in.parts.n_units, 0);
	assert_int_equal(place(64, 8), status);
	is_on(plain, 0, 8);
}

static const struct {
	const char *name, *sms; /* NULL: without a limit */
	CMUnitTestFunction test;
	const char *class_;
} cases[] = {
	{"a part that comes late", "8", test_a_part_that_comes_late, "batch"},
	{"all of it comes late", "100%", test_all_of_it_comes_late, "batch"},
	{"a part that nobody asked for", NULL, test_a_part_that_nobody_asked_for, "batch"},
	{"no part", NULL, test_no_part, "batch"},
	{"work from before", "64", test_work_from_before, "batch"},
	{"a graph alone", "8", test_a_graph_alone, "batch"},
	{"a wait before any launch", "8", test_a_wait_before_any_launch, "batch"},
	{"a wait in a graph", NULL, test_a_wait_in_a_graph, "batch"},
	{"quarters are there", NULL, test_quarters_are_there, "batch"},
	{"... where there is a limit", "32", test_quarters_are_there, "batch"},
	{"quarters of a latency program", NULL, test_quarters_of_a_latency_program, "latency"},
	{"no parts at all", "8", test_no_parts_at_all, "batch"},
	{"a context that comes again", "8", test_a_context_that_comes_again, "batch"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static int run_case(unsigned i)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", i);
	setenv("EARLY_CASE", number, 1);
	setenv("COTENANT_SMS", cases[i].sms ? cases[i].sms : "", 1);
	setenv("COTENANT_CLASS", cases[i].class_, 1);
	return run_with_shim();
}

/* At the same time: each waits for counts, which come once a second. */
static int run_all(void)
{
	int status, n_failed = 0;
	unsigned i;

	for (i = 0; i < CASES; i++)
		if (fork() == 0)
			_exit(run_case(i));
	while (wait(&status) > 0)
		n_failed += status != 0;
	return n_failed != 0;
}

int main(void)
{
	const char *which = getenv("EARLY_CASE");
	struct CMUnitTest test = {0};
	unsigned i;

	if (!which)
		return run_all();
	listen_at(getenv("COTENANT_SOCKET"));
	OK(cuInit(0));
	load();
	i = (unsigned)atoi(which);
	test.name = cases[i].name;
	test.test_func = cases[i].test;
	return _cmocka_run_group_tests("shim_early", &test, 1, NULL, NULL) != 0;
}
