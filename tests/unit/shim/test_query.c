/*
 * What the daemon hears of requests while they run. The unit is in a shared library, so its source
 * is here; the driver, the GPU, the daemon and the time are played: a launch takes as long as the
 * test says, on one stream.
 */
#include "guest/shim/query.c"
#include "not_timed.h"
#include "test.h"

#define US	  COT_NS_PER_US
#define MS	  COT_NS_PER_MS
#define LAUNCH_NS (5 * US) /* of the program's time */
#define STREAM	  ((CUstream)(uintptr_t)0x100)
#define CONTEXT	  ((CUcontext)(uintptr_t)0x200)

void *cot_real_cuCtxSetCurrent, *cot_real_cuEventDestroy_v2, *cot_real_cuEventQuery,
	*cot_real_cuEventRecord;
pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_settings cot_shim_settings;
struct cot_shim_bell cot_shim_to_watch;

static uint64_t now_ns, busy_until_ns, watch_ns;
static const struct cot_request_watch *marks_to;

struct event {
	uint64_t ends_ns;
	bool alive;
};

static struct event events[QUERIES * EVENTS];
static unsigned n_events, n_alive, n_records;
static bool may_create, may_record, may_send;

/* What the daemon was told. */
static struct cot_msg_query_begin begun;
static struct cot_msg_query_tasks tasks;
static struct cot_msg_query_end ended;
static struct cot_msg_query_copy copied;
static unsigned n_begun, n_tasks, n_ended, n_copied;

static struct cot_shim_gpu gpu;
static struct cot_shim_parts parts;
static struct cot_shim_stream stream;

static bool is_locked(void)
{
	if (pthread_mutex_trylock(&cot_shim_lock))
		return true;
	pthread_mutex_unlock(&cot_shim_lock);
	return false;
}

static bool has_marks;

bool cotenant_request_watch(const struct cot_request_watch *w)
{
	marks_to = w;
	return has_marks;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

struct cot_shim_gpu *cot_shim_gpus_first(void)
{
	return &gpu;
}

static bool captures;

bool cot_shim_any_capture(void)
{
	return captures;
}

void cot_shim_ring(struct cot_shim_bell *b)
{
	assert_ptr_equal(b, &cot_shim_to_watch);
	watch_ns = now_ns;
}

bool cot_shim_gpu_send(struct cot_shim_gpu *g, void *packet, enum cot_msg_type type, size_t size,
		       uint32_t seq)
{
	assert_true(is_locked());
	assert_ptr_equal(g, &gpu);
	assert_int_equal(seq, 0);
	cot_proto_header(packet, type, (uint32_t)size, seq);
	assert_int_equal(cot_proto_check(packet, size), type);
	if (!may_send) {
		gpu.queries = false;
		cot_shim_query_want(); /* the connection is lost */
		return false;
	}
	if (type == COT_MSG_QUERY_BEGIN) {
		begun = *(const struct cot_msg_query_begin *)packet;
		n_begun++;
	} else if (type == COT_MSG_QUERY_TASKS) {
		tasks = *(const struct cot_msg_query_tasks *)packet;
		n_tasks++;
	} else if (type == COT_MSG_QUERY_COPY) {
		copied = *(const struct cot_msg_query_copy *)packet;
		n_copied++;
	} else {
		assert_int_equal(type, COT_MSG_QUERY_END);
		ended = *(const struct cot_msg_query_end *)packet;
		n_ended++;
	}
	return true;
}

static struct cot_shim_parts *current;

struct cot_shim_parts *cot_shim_parts_current(void)
{
	assert_false(is_locked());
	return current;
}

CUevent cot_shim_parts_event(const struct cot_shim_parts *p)
{
	assert_ptr_equal(p, &parts);
	assert_false(is_locked());
	if (!may_create)
		return NULL;
	assert_true(n_events < COT_ARRAY_LEN(events));
	events[n_events].alive = true;
	n_alive++;
	return (CUevent)(void *)&events[n_events++];
}

static int destroy(CUevent event)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive);
	e->alive = false;
	n_alive--;
	return 0;
}

/* The driver may wait in there: for room in the stream. */
static int record(CUevent event, CUstream in)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive);
	assert_ptr_equal(in, STREAM);
	assert_false(is_locked());
	n_records++;
	e->ends_ns = busy_until_ns;
	return may_record ? 0 : CUDA_ERROR_INVALID_VALUE;
}

static int query(CUevent event)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive);
	return e->ends_ns <= now_ns ? 0 : CUDA_ERROR_NOT_READY;
}

static int set_current(CUcontext context)
{
	assert_ptr_equal(context, CONTEXT);
	return 0;
}

static void want(bool wanted)
{
	gpu.queries = wanted;
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_query_want();
	pthread_mutex_unlock(&cot_shim_lock);
}

static int set_up(void **state)
{
	(void)state;
	cot_real_cuCtxSetCurrent = (void *)(uintptr_t)set_current;
	cot_real_cuEventDestroy_v2 = (void *)(uintptr_t)destroy;
	cot_real_cuEventQuery = (void *)(uintptr_t)query;
	cot_real_cuEventRecord = (void *)(uintptr_t)record;
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* a test may have failed */
	cot_shim_query_forget();
	cot_shim_settings.requests = true;
	now_ns = COT_NS_PER_S;
	busy_until_ns = 0;
	watch_ns = 0; /* it has just started */
	n_events = n_alive = n_records = n_begun = n_tasks = n_ended = n_copied = 0;
	current = &parts;
	may_create = may_record = may_send = true;
	gpu = (struct cot_shim_gpu){.device = 0};
	parts = (struct cot_shim_parts){.gpu = &gpu};
	atomic_store(&parts.context, CONTEXT);
	stream = (struct cot_shim_stream){.parts = &parts};
	atomic_store(&stream.handle, STREAM);
	want(true);
	return 0;
}

/* The watcher looks whenever it is due, until then. */
static void pass_until(uint64_t until_ns)
{
	while (watch_ns <= until_ns) {
		now_ns = watch_ns > now_ns ? watch_ns : now_ns;
		pthread_mutex_lock(&cot_shim_lock);
		watch_ns = cot_shim_query_look(now_ns);
		pthread_mutex_unlock(&cot_shim_lock);
	}
	now_ns = until_ns;
}

static void launch(uint64_t ns)
{
	struct cot_shim_turn t = {.stream = &stream};

	cot_shim_query_begin(&stream, false);
	pass_until(now_ns + LAUNCH_NS);
	busy_until_ns = (busy_until_ns < now_ns ? now_ns : busy_until_ns) + ns;
	cot_shim_query_launched(&t);
	assert_false(is_locked());
}

/* The host waits for all that it has launched. */
static void wait_for_all(void)
{
	pass_until(busy_until_ns > now_ns ? busy_until_ns : now_ns);
	cot_shim_query_burst_over(now_ns);
}

static uint64_t run(unsigned n, uint64_t ns)
{
	uint64_t began_ns = now_ns;
	unsigned i;

	for (i = 0; i < n; i++)
		launch(ns);
	wait_for_all();
	return began_ns;
}

/* ---- copies ---- */

#define MIB (1u << 20)

static void expect_copied(unsigned n, uint32_t way, uint64_t for_ns)
{
	assert_int_equal(n_copied, n);
	assert_int_equal(copied.way, way);
	assert_int_equal(copied.for_ns, for_ns);
}

/* 16 bytes take a ns, one copy comes after the other, and 200 us more spare a message. */
static void test_copies_in(void **state)
{
	(void)state;
	cot_shim_query_copied(COT_PROTO_COPY_MIN - 1, COT_WAY_IN);
	assert_int_equal(n_copied, 0);
	cot_shim_query_copied(COT_PROTO_COPY_MIN, COT_WAY_IN);
	expect_copied(1, COT_WAY_IN, COT_PROTO_COPY_MIN / 16 + 200 * US);
	assert_int_equal(copied.query, 0);
	cot_shim_query_copied(3 * MIB, COT_WAY_IN);
	assert_int_equal(n_copied, 1); /* that is among the 200 us */
	cot_shim_query_copied(MIB, COT_WAY_IN);
	expect_copied(2, COT_WAY_IN, COT_PROTO_COPY_MIN / 16 + MIB / 4 + 200 * US);
	now_ns += 5 * MS;
	cot_shim_query_copied(MIB, COT_WAY_IN);
	expect_copied(3, COT_WAY_IN, MIB / 16 + 200 * US);
	cot_shim_query_copied(1024u * MIB, COT_WAY_IN);
	expect_copied(4, COT_WAY_IN, COT_PROTO_COPIES_NS);
	cot_shim_query_copied(1024u * MIB, COT_WAY_IN);
	assert_int_equal(n_copied, 4);
}

/* Only of a query of which the daemon knows; for as long as may be, and seldom. */
static void test_copies_out(void **state)
{
	(void)state;
	cot_shim_query_copied(MIB, COT_WAY_OUT);
	assert_int_equal(n_copied, 0);
	launch(1 * MS);
	cot_shim_query_copied(COT_PROTO_COPY_MIN - 1, COT_WAY_OUT);
	assert_int_equal(n_copied, 0);
	cot_shim_query_copied(MIB, COT_WAY_OUT);
	expect_copied(1, COT_WAY_OUT, COT_PROTO_COPIES_NS);
	assert_int_equal(copied.query, begun.query);
	now_ns += COT_PROTO_COPIES_NS / 2 - 1;
	cot_shim_query_copied(MIB, COT_WAY_OUT);
	assert_int_equal(n_copied, 1);
	now_ns++;
	cot_shim_query_copied(MIB, COT_WAY_OUT);
	assert_int_equal(n_copied, 2);
	wait_for_all();
	now_ns += 1 * MS;
	launch(1 * MS);
	cot_shim_query_copied(MIB, COT_WAY_OUT);
	expect_copied(3, COT_WAY_OUT, COT_PROTO_COPIES_NS);
	assert_int_equal(copied.query, begun.query);
}

/* In another context, and when the connection is lost, nobody is told. */
static void test_copies_nobody_hears_of(void **state)
{
	(void)state;
	current = NULL;
	cot_shim_query_copied(MIB, COT_WAY_IN);
	assert_int_equal(n_copied, 0);
	current = &parts;
	may_send = false;
	cot_shim_query_copied(MIB, COT_WAY_IN);
	may_send = true;
	cot_shim_query_copied(MIB, COT_WAY_IN);
	assert_int_equal(n_copied, 0);
	assert_false(is_locked());
}

/* ---- queries of programs without marks ---- */

static void test_a_query(void **state)
{
	uint64_t began_ns = now_ns;

	(void)state;
	cot_shim_query_copied(4096, COT_WAY_IN);
	cot_shim_query_copied(1000, COT_WAY_IN);
	assert_int_equal(n_begun, 0);
	now_ns += 30 * US;
	launch(1 * MS);
	assert_int_equal(n_begun, 1);
	assert_int_equal(begun.query, 1);
	assert_int_equal(begun.size, 5096);
	assert_int_equal(begun.began_ns, began_ns);
	assert_int_equal(begun.in_ns, 30 * US);
	assert_int_equal(begun.arrived_ns, 0);
	launch(1 * MS);
	cot_shim_query_copied(77, COT_WAY_OUT);
	cot_shim_query_copied(5, COT_WAY_IN); /* its size is told already */
	wait_for_all();
	assert_int_equal(n_ended, 1);
	assert_int_equal(ended.query, 1);
	assert_int_equal(ended.n_tasks, 2);
	assert_int_equal(ended.out_bytes, 77);
	assert_int_equal(ended.ended_ns, now_ns);
	now_ns += 1 * MS;
	(void)run(1, 1 * MS);
	assert_int_equal(begun.query, 2);
	assert_int_equal(begun.in_ns, 0);
	assert_int_equal(ended.out_bytes, 0);
}

/* Long tasks are told one by one, soon after their ends. */
static void test_long_tasks(void **state)
{
	uint64_t end_ns;
	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++)
		launch(3 * MS);
	end_ns = busy_until_ns;
	for (i = 1; i < 8; i++) {
		uint64_t task_ns = end_ns - (8 - i) * 3 * MS;

		pass_until(task_ns + LOOK_NS);
		assert_int_equal(tasks.n_done, i);
		assert_in_range(tasks.done_ns, task_ns, task_ns + LOOK_NS);
	}
	wait_for_all();
	assert_int_equal(n_ended, 1);
	assert_in_range(n_tasks, 7, 8);
}

/* Short ones together: no more messages than so many a second, and few events. */
static void test_short_tasks(void **state)
{
	uint64_t began_ns;
	unsigned i;

	(void)state;
	for (i = 0; i < 20; i++)
		(void)run(200, 20 * US);
	n_tasks = n_records = 0;
	began_ns = run(500, 20 * US);
	assert_in_range(n_tasks, 10, (now_ns - began_ns) / COT_PROTO_QUERY_NS + 1);
	assert_in_range(n_records, 20, 120);
	assert_in_range(tasks.n_done, 400, 500);
	assert_int_equal(n_begun, 21);
	assert_int_equal(n_ended, 21);
	assert_true(n_alive <= EVENTS);
}

/* Long ones after short ones are noticed. */
static void test_longer_ones(void **state)
{
	(void)state;
	(void)run(1000, 2 * US);
	n_tasks = 0;
	(void)run(200, 1 * MS);
	assert_true(n_tasks >= 14);
	n_tasks = 0;
	(void)run(200, 1 * MS);
	assert_in_range(n_tasks, 30, 45);
	assert_in_range(tasks.n_done, 160, 200);
	n_tasks = 0;
	(void)run(1500, 1 * MS);
	assert_in_range(tasks.n_done, 1200, 1500);
}

/* Queries that follow each other closely: some are not told, and none of those is told to end. */
static void test_many(void **state)
{
	uint64_t began_ns = now_ns;
	unsigned i;

	(void)state;
	for (i = 0; i < 1000; i++)
		(void)run(1, 10 * US);
	assert_in_range(n_begun, 60, (now_ns - began_ns) / COT_PROTO_QUERY_NS + 1);
	assert_int_equal(n_begun, n_ended);
}

/* ---- marks ---- */

static void test_marks(void **state)
{
	(void)state;
	(void)run(1, 1 * MS);
	assert_int_equal(n_ended, 1);
	marks_to->begin(7, now_ns - 3 * MS, now_ns);
	marks_to->size(7, 16);
	assert_int_equal(n_begun, 1);
	(void)run(3, 1 * MS); /* the wait is not its end */
	(void)run(2, 1 * MS);
	assert_int_equal(n_begun, 2);
	assert_int_equal(begun.size, 16);
	assert_true(begun.arrived_ns == begun.began_ns - 3 * MS);
	assert_int_equal(n_ended, 1);
	marks_to->end(7, now_ns);
	assert_int_equal(n_ended, 2);
	assert_int_equal(ended.n_tasks, 5);
	/* What is outside of them is none, from now on; and so is an end without a begin. */
	now_ns += 1 * MS;
	(void)run(1, 1 * MS);
	marks_to->end(7, now_ns);
	marks_to->size(7, 3);
	assert_int_equal(n_begun, 2);
	/* A mark without a launch is none either, and an impossible arrival is not known. */
	marks_to->begin(8, 0, now_ns);
	marks_to->end(8, now_ns);
	assert_int_equal(n_ended, 2);
	marks_to->begin(9, now_ns + 60 * MS, now_ns);
	(void)run(1, 1 * MS);
	assert_int_equal(begun.arrived_ns, 0);
}

/* The same id again: the first one is over. */
static void test_begun_again(void **state)
{
	(void)state;
	marks_to->begin(7, 0, now_ns);
	(void)run(1, 1 * MS);
	marks_to->begin(7, 0, now_ns);
	assert_int_equal(n_ended, 1);
	(void)run(1, 1 * MS);
	assert_int_equal(n_begun, 2);
}

struct other {
	uint64_t id;
	bool begins;
};

static void *other_thread(void *arg)
{
	const struct other *o = arg;

	if (o->begins)
		marks_to->begin(o->id, 0, now_ns);
	launch(1 * MS);
	return NULL;
}

static void on_another(uint64_t id, bool begins)
{
	struct other o = {id, begins};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, other_thread, &o), 0);
	pthread_join(thread, NULL);
}

/* Each thread's launches are of its own query; those of others of the only one there is. */
static void test_threads(void **state)
{
	(void)state;
	marks_to->begin(1, 0, now_ns);
	launch(1 * MS);
	on_another(0, false);
	now_ns += 1 * MS;
	on_another(2, true);
	launch(1 * MS);
	marks_to->end(1, now_ns);
	assert_int_equal(ended.n_tasks, 3);
	marks_to->end(2, now_ns);
	assert_int_equal(ended.n_tasks, 1);
	assert_int_equal(n_begun, 2);
}

static void test_too_many(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < QUERIES + 5; i++)
		marks_to->begin(i, 0, now_ns);
	launch(1 * MS);
	for (i = 0; i < QUERIES + 5; i++)
		marks_to->end(i, now_ns);
	assert_int_equal(n_begun, 1);
	assert_int_equal(n_ended, 1);
	assert_int_equal(atomic_load(&n_open), 0);
}

/* It has marked some before the daemon asked: the rest of one is none. */
static void test_marked_before(void **state)
{
	(void)state;
	want(false);
	has_marks = true;
	want(true);
	has_marks = false;
	(void)run(2, 1 * MS);
	assert_int_equal(n_begun, 0);
	marks_to->begin(1, 0, now_ns);
	(void)run(2, 1 * MS);
	assert_int_equal(n_begun, 1);
}

/* ---- when not ---- */

static void test_not_wanted(void **state)
{
	(void)state;
	launch(1 * MS);
	want(false);
	wait_for_all();
	marks_to->begin(1, 0, now_ns);
	cot_shim_query_copy(5, COT_WAY_IN);
	(void)run(3, 1 * MS);
	marks_to->end(1, now_ns);
	assert_int_equal(n_begun, 1);
	assert_int_equal(n_ended, 0);
	want(true);
	now_ns += 1 * MS;
	marks_to->begin(2, 0, now_ns);
	(void)run(1, 1 * MS);
	marks_to->end(2, now_ns);
	assert_int_equal(n_begun, 2);
	assert_int_equal(n_ended, 1);
}

/* Without a measured program nobody would see the end. */
static void test_not_measured(void **state)
{
	(void)state;
	cot_shim_settings.requests = false;
	(void)run(3, 1 * MS);
	cot_shim_query_begin(NULL, false);
	assert_int_equal(n_begun, 0);
}

static void test_capture(void **state)
{
	(void)state;
	atomic_store(&stream.capturing, true);
	captures = true;
	(void)run(3, 1 * MS);
	assert_int_equal(n_begun, 0);
	captures = false;
	cot_shim_query_begin(&stream, true); /* the mark is an old one */
	assert_int_equal(n_begun, 1);
	atomic_store(&stream.capturing, false);
	launch(1 * MS);
	atomic_store(&stream.capturing, true);
	launch(1 * MS);
	wait_for_all();
	assert_int_equal(ended.n_tasks, 1);
}

static void test_daemon_goes(void **state)
{
	(void)state;
	may_send = false;
	(void)run(3, 1 * MS);
	assert_false(is_on());
	assert_int_equal(atomic_load(&n_open), 0);
	may_send = true;
	want(true);
	launch(1 * MS);
	may_send = false;
	(void)run(3, 1 * MS);
	assert_int_equal(atomic_load(&n_open), 0);
}

/* What the driver refuses is not told; the query is. */
static void test_refused(void **state)
{
	(void)state;
	may_create = false;
	(void)run(100, 1 * MS);
	may_create = true;
	may_record = false;
	(void)run(100, 1 * MS);
	assert_int_equal(n_tasks, 0);
	assert_int_equal(n_ended, 2);
	assert_int_equal(ended.n_tasks, 100);
	assert_true(n_alive <= EVENTS);
}

static void test_context_ends(void **state)
{
	struct cot_shim_parts none = {0};
	unsigned i;

	(void)state;
	for (i = 0; i < 10; i++)
		launch(1 * MS);
	cot_shim_query_drop(&none);
	assert_int_equal(n_ended, 0);
	cot_shim_query_drop(&parts);
	assert_int_equal(n_ended, 1);
	assert_int_equal(n_alive, 0);
	(void)run(10, 1 * MS);
	assert_int_equal(n_tasks, 0);
	(void)run(10, 1 * MS);
	assert_int_equal(n_begun, 2);
	assert_true(n_tasks > 0);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_query),
		TEST(long_tasks),
		TEST(short_tasks),
		TEST(longer_ones),
		TEST(many),
		TEST(marks),
		TEST(begun_again),
		TEST(threads),
		TEST(marked_before),
		TEST(too_many),
		TEST(not_wanted),
		TEST(not_measured),
		TEST(capture),
		TEST(daemon_goes),
		TEST(refused),
		TEST(context_ends),
		TEST(copies_in),
		TEST(copies_out),
		TEST(copies_nobody_hears_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
