/*
 * How far launches may be ahead of the GPU. The unit is in a shared library, so its source is here;
 * the driver, the GPU and the time are played: a kernel takes as long as the test says, a launch
 * takes the program a while, and a thread that waits lets the time go on.
 */
#include "guest/shim/pace.c"
#include "test.h"

#define US	  COT_NS_PER_US
#define MS	  COT_NS_PER_MS
#define STREAMS	  2u
#define LAUNCH_NS (5 * US) /* of the program's time */

void *cot_real_cuEventDestroy_v2, *cot_real_cuEventQuery, *cot_real_cuEventRecord,
	*cot_real_cuThreadExchangeStreamCaptureMode;

static uint64_t now_ns;

/* When the GPU has done all that is in a stream; COT_NEVER: it waits for the program. */
static uint64_t busy_until_ns[STREAMS], idle_ns;

struct event {
	uint64_t ends_ns;
	bool alive;
};

static struct event events[8];
static unsigned n_events, n_calls, n_paced, n_waits, n_failed;
static bool relaxed, may_create, may_record;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

void cot_shim_pause(uint64_t ns)
{
	now_ns += ns + 5 * US;
}

int sched_yield(void)
{
	now_ns += 1 * US;
	return 0;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	assert_int_equal(level, COT_LOG_WARN);
	assert_non_null(fmt);
}

void cot_shim_count_paced(unsigned n)
{
	n_paced += n;
}

void cot_shim_count_pace_wait(uint64_t ns, bool failed)
{
	assert_true(ns > 0);
	n_waits++;
	n_failed += failed;
}

static int exchange(CUstreamCaptureMode *mode)
{
	bool was = relaxed;

	relaxed = *mode == CU_STREAM_CAPTURE_MODE_RELAXED;
	*mode = was ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL;
	return 0;
}

static int create(CUevent *event, unsigned flags)
{
	assert_true(relaxed);
	assert_int_equal(flags, CU_EVENT_DISABLE_TIMING);
	n_calls++;
	if (!may_create)
		return CUDA_ERROR_OUT_OF_MEMORY;
	assert_true(n_events < COT_ARRAY_LEN(events));
	events[n_events].alive = true;
	*event = (CUevent)(void *)&events[n_events++];
	return 0;
}

CUevent cot_shim_parts_event(const struct cot_shim_parts *p)
{
	CUevent event;

	assert_non_null(p);
	return create(&event, CU_EVENT_DISABLE_TIMING) ? NULL : event;
}

static int destroy(CUevent event)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive);
	e->alive = false;
	return 0;
}

static unsigned number_of(CUstream stream)
{
	return (unsigned)(uintptr_t)stream - 1;
}

static int record(CUevent event, CUstream stream)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive);
	n_calls++;
	if (!may_record)
		return CUDA_ERROR_INVALID_VALUE;
	e->ends_ns = busy_until_ns[number_of(stream)];
	return 0;
}

static int query(CUevent event)
{
	struct event *e = (struct event *)(void *)event;

	assert_true(e->alive && relaxed);
	n_calls++;
	now_ns += 1 * US;
	return e->ends_ns <= now_ns ? 0 : CUDA_ERROR_NOT_READY;
}

static struct cot_shim_parts parts;
static struct cot_shim_stream streams[STREAMS];

static int set_up(void **state)
{
	unsigned i;

	(void)state;
	cot_real_cuEventDestroy_v2 = (void *)(uintptr_t)destroy;
	cot_real_cuEventQuery = (void *)(uintptr_t)query;
	cot_real_cuEventRecord = (void *)(uintptr_t)record;
	cot_real_cuThreadExchangeStreamCaptureMode = (void *)(uintptr_t)exchange;
	now_ns = COT_NS_PER_S;
	memset(busy_until_ns, 0, sizeof(busy_until_ns));
	memset(events, 0, sizeof(events));
	idle_ns = 0;
	n_events = n_calls = n_paced = n_waits = n_failed = 0;
	relaxed = false;
	may_create = may_record = true;
	parts = (struct cot_shim_parts){0};
	for (i = 0; i < STREAMS; i++) {
		streams[i] = (struct cot_shim_stream){.parts = &parts};
		atomic_store(&streams[i].handle, (CUstream)(uintptr_t)(i + 1));
	}
	return 0;
}

/* The program launches a kernel of that length; how much the GPU has to do then. */
static uint64_t launch(unsigned stream, uint64_t ns)
{
	struct cot_shim_turn t = {.stream = &streams[stream]};
	uint64_t *until_ns = &busy_until_ns[stream];

	cot_shim_pace_wait(&streams[stream]);
	now_ns += LAUNCH_NS;
	if (*until_ns < now_ns) {
		idle_ns += now_ns - *until_ns;
		*until_ns = now_ns;
	}
	*until_ns = ns == COT_NEVER ? COT_NEVER : *until_ns + ns;
	cot_shim_pace_launched(&t);
	assert_false(relaxed);
	return *until_ns - now_ns;
}

/* The most that the GPU has to do after each of so many launches, the first ones left out. */
static uint64_t most_ahead(unsigned stream, unsigned n, uint64_t ns)
{
	uint64_t most = 0, ahead;
	unsigned i;

	for (i = 0; i < n; i++) {
		ahead = launch(stream, ns);
		if (i >= n / 4 && ahead > most)
			most = ahead;
	}
	return most;
}

/* ---- what it is for ---- */

/* Little is queued, and the GPU does not wait for the program. */
static void test_bound(void **state)
{
	static const uint64_t kernels[] = {8 * US, 30 * US, 100 * US, 240 * US};
	static const uint32_t paces[] = {500, 1000, 5000};
	unsigned k, p;

	for (k = 0; k < COT_ARRAY_LEN(kernels); k++) {
		for (p = 0; p < COT_ARRAY_LEN(paces); p++) {
			uint64_t pace_ns = paces[p] * US, most, begin_ns;

			set_up(state);
			cot_shim_pace_set(&parts, paces[p]);
			most = most_ahead(0, 4000, kernels[k]);
			assert_in_range(most, pace_ns / 4, pace_ns * 11 / 10 + kernels[k]);
			begin_ns = now_ns;
			idle_ns = 0;
			(void)most_ahead(0, 4000, kernels[k]);
			assert_true(idle_ns < (now_ns - begin_ns) / 100);
			assert_true(n_waits > 0);
			assert_in_range(n_paced, 7000, 8000);
		}
	}
}

/* A kernel cannot be divided: while one runs one more is queued. */
static void test_long_kernels(void **state)
{
	(void)state;
	cot_shim_pace_set(&parts, 500);
	assert_in_range(most_ahead(0, 100, 3 * MS), 3 * MS, 6 * MS);
	assert_int_equal(n_failed, 0);
}

/* Long ones after short ones are noticed. */
static void test_longer_ones(void **state)
{
	unsigned i;

	(void)state;
	cot_shim_pace_set(&parts, 500);
	(void)most_ahead(0, 1000, 10 * US);
	for (i = 0; i < 200; i++)
		(void)launch(0, 400 * US);
	assert_in_range(most_ahead(0, 100, 400 * US), 400 * US, 900 * US);
}

/* The GPU is faster than the program: nothing waits, and little is added. */
static void test_slow_program(void **state)
{
	(void)state;
	cot_shim_pace_set(&parts, 500);
	/* The first launch takes long, as it does where the driver loads code for it. */
	(void)launch(0, 2 * US);
	now_ns += 100 * MS;
	(void)most_ahead(0, 10000, 2 * US);
	assert_int_equal(n_waits, 0);
	assert_true(n_calls < 10000 / 10);
	/* A pause says nothing about kernels. */
	now_ns += 100 * MS;
	n_calls = 0;
	(void)most_ahead(0, 200, 2 * US);
	assert_int_equal(n_waits, 0);
	assert_true(n_calls <= 200 / 20);
}

static void test_streams(void **state)
{
	unsigned i;

	(void)state;
	cot_shim_pace_set(&parts, 500);
	/* One that does not end holds nobody else up. */
	(void)launch(0, COT_NEVER);
	(void)launch(0, 10 * US);
	for (i = 0; i < 1000; i++)
		(void)launch(1, 50 * US);
	assert_int_equal(n_failed, 0);
}

/* ---- when not ---- */

static void test_none(void **state)
{
	(void)state;
	cot_shim_pace_wait(NULL);
	(void)most_ahead(0, 100, 100 * US);
	assert_int_equal(n_calls, 0);
	assert_int_equal(n_paced, 0);
	/* It ends while launches are under way. */
	cot_shim_pace_set(&parts, 500);
	(void)most_ahead(0, 100, 100 * US);
	cot_shim_pace_set(&parts, 0);
	n_paced = n_calls = 0;
	(void)most_ahead(0, 1000, 100 * US);
	assert_true(n_calls <= 1 && n_paced <= 4);
}

static void test_capture(void **state)
{
	(void)state;
	cot_shim_pace_set(&parts, 500);
	atomic_store(&streams[0].capturing, true);
	cot_shim_pace_wait(&streams[0]);
	assert_int_equal(n_calls, 0);
}

/* The GPU waits for what the program does after its launches: once, for a while. */
static void test_gpu_waits(void **state)
{
	uint64_t begin_ns = now_ns;
	unsigned i;

	(void)state;
	cot_shim_pace_set(&parts, 500);
	for (i = 0; i < 100; i++)
		(void)launch(0, COT_NEVER);
	assert_int_equal(n_failed, 1);
	assert_in_range(now_ns - begin_ns, PATIENCE_NS, PATIENCE_NS + 100 * MS);
	assert_int_equal(atomic_load(&parts.pace_ns), 0);
	/* The same again changes nothing: the daemon says it with every part. */
	cot_shim_pace_set(&parts, 500);
	assert_int_equal(atomic_load(&parts.pace_ns), 0);
	cot_shim_pace_set(&parts, 400);
	assert_int_equal(atomic_load(&parts.pace_ns), 400 * US);
}

/* What the driver refuses is not waited for. */
static void test_refused(void **state)
{
	(void)state;
	cot_shim_pace_set(&parts, 500);
	may_create = false;
	assert_true(most_ahead(0, 1000, 100 * US) > 10 * MS);
	may_create = true;
	may_record = false;
	(void)most_ahead(0, 1000, 100 * US);
	assert_int_equal(n_waits, 0);
}

static void test_end(void **state)
{
	unsigned i;

	(void)state;
	cot_shim_pace_set(&parts, 500);
	(void)most_ahead(0, 100, 100 * US);
	cot_shim_pace_end(&streams[0]);
	for (i = 0; i < n_events; i++)
		assert_false(events[i].alive);
	cot_shim_pace_end(&streams[0]);
	/* Another stream with its place begins anew. */
	(void)launch(0, 100 * US);
	assert_int_equal(streams[0].pace.size[0], 1);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bound),   TEST(long_kernels), TEST(longer_ones), TEST(slow_program),
		TEST(streams), TEST(none),	   TEST(capture),     TEST(gpu_waits),
		TEST(refused), TEST(end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
