/*
 * How long launches take, as the library in a profiled program finds out. The unit is in a shared
 * library, so its source is here; the driver and the rest of the shim are played.
 */
#include <stdio.h>
#include <stdlib.h>

#include "guest/shim/timed.c"
#include "test.h"

struct cot_settings cot_shim_settings;

static struct cot_timed *mapped;
static struct cot_shim_parts parts;
static struct cot_shim_stream stream = {.parts = &parts};
static const struct cot_shim_turn turn = {.stream = &stream, .live = true},
				  nowhere = {.stream = NULL};
static bool captures, is_lost, is_told;
static double now_ms, done_ms; /* when an event is recorded; until when they have passed */
static unsigned n_events, n_destroyed;

/* ---- the driver: an event is where it is recorded ---- */

struct event {
	double at_ms;
};

static CUresult record(CUevent event, CUstream to)
{
	assert_ptr_equal(to, CU_STREAM_LEGACY);
	((struct event *)event)->at_ms = now_ms;
	return is_lost ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult query(CUevent event)
{
	return ((struct event *)event)->at_ms > done_ms ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult elapsed(float *ret_ms, CUevent from, CUevent to)
{
	*ret_ms = (float)(((struct event *)to)->at_ms - ((struct event *)from)->at_ms);
	return CUDA_SUCCESS;
}

static CUresult destroy(CUevent event)
{
	n_destroyed++;
	free(event);
	return CUDA_SUCCESS;
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
	(void)mode;
	return CUDA_SUCCESS;
}

void *cot_real_cuEventRecord = (void *)(uintptr_t)record,
     *cot_real_cuEventQuery = (void *)(uintptr_t)query,
     *cot_real_cuEventElapsedTime = (void *)(uintptr_t)elapsed,
     *cot_real_cuEventDestroy_v2 = (void *)(uintptr_t)destroy,
     *cot_real_cuThreadExchangeStreamCaptureMode = (void *)(uintptr_t)exchange;

/* ---- the shim ---- */

/* Two functions are of one kernel. */
const char *cot_shim_name_of(CUfunction function)
{
	return function == (CUfunction)2 ? "other" : "one";
}

CUevent cot_shim_parts_timed_event(const struct cot_shim_parts *p)
{
	struct event *event = calloc(1, sizeof(*event));

	assert_ptr_equal(p, &parts);
	n_events++;
	return (CUevent)event;
}

bool cot_shim_is_captured(CUstream at, bool per_thread)
{
	assert_ptr_equal(at, CU_STREAM_LEGACY);
	assert_false(per_thread);
	return captures;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	assert_int_equal(level, COT_LOG_WARN);
	assert_non_null(strstr(fmt, "kernels are not timed"));
	is_told = true;
}

/* ---- a program ---- */

static char path[] = P_tmpdir "/cotenant.XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)sizeof(*mapped)), 0);
	mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	close(fd);
	mapped->magic = COT_TIMED_MAGIC;
	assert_true(strlen(path) < sizeof(cot_shim_settings.timed));
	(void)strcpy(cot_shim_settings.timed, path);
	atomic_store(&stream.handle, CU_STREAM_LEGACY);
	captures = is_lost = false;
	now_ms = done_ms = 0;
	n_events = n_destroyed = 0;
	cot_shim_timed_start();
	assert_true(cot_shim_is_timed());
	atomic_store(&first, true);
	atomic_store(&marks, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (page)
		(void)munmap(page, sizeof(*page));
	cot_shim_timed_drop(&parts);
	assert_int_equal(n_destroyed, n_events);
	cot_shim_timed_forget();
	skipped = gap = false;
	(void)munmap(mapped, sizeof(*mapped));
	(void)unlink(path);
	(void)strcpy(path + strlen(path) - 6, "XXXXXX");
	return 0;
}

/* One that takes so long; `graph`: of that number. */
static void launch_in(const struct cot_shim_turn *where, uintptr_t function, double ms,
		      uint64_t graph)
{
	const CUlaunchConfig config = {.grid = {7, 1, 1}, .block = {32, 1, 1}};
	const struct cot_shim_original o = {.function = (CUfunction)function, .config = &config};
	struct cot_shim_timed t;

	cot_shim_timed_begin(&t, COT_SHIM_WATCHED, where, graph ? NULL : &o, graph);
	now_ms += ms;
	cot_shim_timed_end(&t, where, CUDA_SUCCESS);
}

static void launch(uintptr_t function, double ms)
{
	launch_in(&turn, function, ms, 0);
}

/* The GPU is done with all, and the next launch sees it. */
static void catch_up(void)
{
	done_ms = now_ms;
	atomic_store(&mapped->on, 0);
	launch(1, 0);
}

static const struct cot_timed_launch *put(uint32_t round, uint32_t i)
{
	return &mapped->rounds[round - 1].launches[i];
}

static void expect(uint32_t round, uint32_t i, uint32_t kernel, double ms, unsigned flags)
{
	assert_int_equal(put(round, i)->kernel, kernel);
	assert_in_range(put(round, i)->ns, (uint64_t)(ms * 1e6) - 100, (uint64_t)(ms * 1e6) + 100);
	assert_int_equal(put(round, i)->flags, flags);
}

static void test_launches(void **state)
{
	char name[COT_TIMED_NAME_MAX];

	(void)state;
	launch(1, 1); /* nothing is on */
	assert_int_equal(n_events, 0);
	atomic_store(&mapped->on, 2);
	cot_shim_timed_burst();
	launch(1, 1);
	launch(2, 0.5);
	launch(3, 2);
	launch_in(&turn, 0, 4, 0x123456789abcull);
	assert_int_equal(cot_timed_count(mapped, 2), 0); /* none has ended */
	done_ms = 1.5;
	cot_shim_timed_burst();
	launch(1, 3);
	assert_int_equal(cot_timed_count(mapped, 2), 0);
	done_ms = 2.5;
	launch(1, 1);
	assert_int_equal(cot_timed_count(mapped, 2), 2);
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 2), 6);
	expect(2, 0, 0, 1, COT_TIMED_FIRST);
	expect(2, 1, 1, 0.5, 0);
	expect(2, 2, 0, 2, 0);
	expect(2, 3, 2, 4, 0);
	expect(2, 4, 0, 3, COT_TIMED_FIRST);
	expect(2, 5, 0, 1, 0);
	cot_timed_name(mapped, 2, name);
	assert_string_equal(name, "graph");
	assert_int_equal(mapped->kernels[0].shape[0], 7);
	assert_int_equal(mapped->kernels[0].shape[3], 32);
}

/* The program's own marks count, and nothing else from the first one on. */
static void test_marks(void **state)
{
	(void)state;
	atomic_store(&mapped->on, 1);
	cot_shim_timed_mark();
	launch(1, 1);
	cot_shim_timed_burst();
	launch(1, 1);
	cot_shim_timed_mark();
	launch(1, 1);
	catch_up();
	expect(1, 0, 0, 1, COT_TIMED_FIRST);
	expect(1, 1, 0, 1, 0);
	expect(1, 2, 0, 1, COT_TIMED_FIRST);
}

/* In the middle of a request. */
static void test_a_round_begins(void **state)
{
	(void)state;
	cot_shim_timed_burst();
	launch(1, 1);
	atomic_store(&mapped->on, 1);
	launch(1, 1);
	catch_up();
	expect(1, 0, 0, 1, 0);
}

/* What is not timed leaves a gap before the next one: a recorded graph does not. */
static void test_gaps(void **state)
{
	(void)state;
	atomic_store(&mapped->on, 1);
	launch(1, 1);
	captures = true;
	launch(1, 1);
	captures = false;
	launch(1, 1);
	launch_in(&nowhere, 1, 1, 0);
	launch(1, 1);
	is_lost = true;
	launch(1, 1);
	is_lost = false;
	launch(1, 1);
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 1), 4);
	expect(1, 1, 0, 1, 0);
	expect(1, 2, 0, 1, COT_TIMED_GAP);
	expect(1, 3, 0, 1, COT_TIMED_GAP);
}

/* So many are not timed at once, and a round has an end. */
static void test_many(void **state)
{
	uint32_t i;

	(void)state;
	atomic_store(&mapped->on, 1);
	for (i = 0; i < UNDER_WAY + 5; i++)
		launch(1, 1);
	assert_int_equal(n_events, 2 * UNDER_WAY);
	done_ms = now_ms;
	launch(1, 1);
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 1), UNDER_WAY + 1);
	expect(1, UNDER_WAY, 0, 1, COT_TIMED_GAP);
	atomic_store(&mapped->on, 3);
	for (i = 0; i < COT_TIMED_LAUNCHES + 100; i++) {
		done_ms = now_ms;
		launch(1, 1);
	}
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 3), COT_TIMED_LAUNCHES);
	assert_int_equal(n_events, 2 * UNDER_WAY);
}

/* Its events go with it, and what was under way is not known. */
static void test_a_context_ends(void **state)
{
	(void)state;
	atomic_store(&mapped->on, 1);
	launch(1, 1);
	launch(1, 1);
	cot_shim_timed_drop(&parts);
	assert_int_equal(n_destroyed, 4);
	launch(1, 1);
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 1), 1);
	expect(1, 0, 0, 1, COT_TIMED_GAP);
}

/* One process writes, and a round that cannot be is none. */
static void test_others(void **state)
{
	(void)state;
	atomic_store(&mapped->on, COT_TIMED_ROUNDS + 1);
	launch(1, 1);
	assert_int_equal(atomic_load(&mapped->writer), 0);
	atomic_store(&mapped->writer, (uint32_t)getpid() + 1);
	atomic_store(&mapped->on, 1);
	launch(1, 1);
	catch_up();
	assert_int_equal(cot_timed_count(mapped, 1), 0);
	assert_int_equal(n_events, 0);
}

/* What is no such mapping is left alone. */
static void test_wrong_files(void **state)
{
	(void)state;
	assert_null(map("/nowhere"));
	mapped->magic++;
	assert_null(map(path));
	mapped->magic--;
	assert_int_equal(truncate(path, (off_t)sizeof(*mapped) + 1), 0);
	assert_null(map(path));
	(void)munmap(page, sizeof(*page));
	cot_shim_timed_forget();
	cot_shim_timed_start();
	assert_false(cot_shim_is_timed());
	assert_true(is_told);
	page = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_launches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_marks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_round_begins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_context_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_files, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
