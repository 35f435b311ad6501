/*
 * How the shim waits for the end of a launch, and what it learns from its time. The unit is in a
 * shared library, so its source is here; the driver is played.
 */
#include "guest/shim/end.c"
#include "test.h"

void *cot_real_cuEventCreate, *cot_real_cuEventDestroy_v2, *cot_real_cuEventElapsedTime,
	*cot_real_cuEventSynchronize;

#define N_EVENTS 8u

static unsigned event_flags[N_EVENTS], n_events, n_destroyed;
static cot_shim_handle synchronized;
static float elapsed_ms;
static unsigned n_may_create;
static int elapsed_result;

static unsigned number_of(CUevent event)
{
	return (unsigned)(uintptr_t)event - 1;
}

static int event_create(CUevent *event, unsigned flags)
{
	if (n_events == n_may_create)
		return 2;
	assert_true(n_events < N_EVENTS);
	event_flags[n_events++] = flags;
	*event = (cot_shim_handle)(uintptr_t)n_events;
	return 0;
}

static int event_destroy(CUevent event)
{
	assert_true(number_of(event) < n_events);
	n_destroyed++;
	return 0;
}

static int event_elapsed(float *ms, cot_shim_handle from, cot_shim_handle to)
{
	assert_ptr_not_equal(from, to);
	*ms = elapsed_ms;
	return elapsed_result;
}

static int event_synchronize(CUevent event)
{
	synchronized = event;
	return 0;
}

static struct cot_shim_context context;
static struct cot_shim_ref ref;
static struct cot_shim_slot slot;

static int set_up(void **state)
{
	(void)state;
	cot_real_cuEventCreate = (void *)(uintptr_t)event_create;
	cot_real_cuEventDestroy_v2 = (void *)(uintptr_t)event_destroy;
	cot_real_cuEventElapsedTime = (void *)(uintptr_t)event_elapsed;
	cot_real_cuEventSynchronize = (void *)(uintptr_t)event_synchronize;
	n_events = n_destroyed = 0;
	n_may_create = N_EVENTS;
	elapsed_result = 0;
	synchronized = NULL;
	context = (struct cot_shim_context){.sleeps = false};
	ref = (struct cot_shim_ref){.handle = &context};
	slot = (struct cot_shim_slot){
		.context = &context,
		.ref = &ref,
		.handle = &context,
		.args = {.n_tasks = 10000, .n_workers = 100},
	};
	return 0;
}

/* ---- waiting ---- */

/* Of the event that is waited for: whether the thread sleeps. */
static bool sleeps_for(bool settled)
{
	slot.settled = settled;
	assert_int_equal(cot_shim_end_make(&slot), 0);
	cot_shim_end_wait(&slot);
	assert_ptr_equal(synchronized, slot.end);
	return event_flags[number_of(slot.end)] == CU_EVENT_BLOCKING_SYNC;
}

/* A settled launch is waited for as the program waits for its stream; by default, awake. */
static void waits_awake(void **state)
{
	(void)state;
	assert_true(sleeps_for(false));
	assert_false(sleeps_for(true));
	assert_true(sleeps_for(false));
	assert_false(sleeps_for(true));
	assert_int_equal(n_events, 3); /* both kinds, and the beginning, made once */
	assert_int_equal(event_flags[number_of(slot.begin)], CU_EVENT_BLOCKING_SYNC);
	cot_shim_end_unmake(&slot);
	assert_int_equal(n_destroyed, 3);
	assert_true(!slot.begin && !slot.end && !slot.ends[0] && !slot.ends[1]);
	cot_shim_end_unmake(&slot);
	assert_int_equal(n_destroyed, 3);
}

/* What cannot be made is told, and made the next time. */
static void cannot_be_made(void **state)
{
	(void)state;
	n_may_create = 0;
	assert_int_equal(cot_shim_end_make(&slot), 2);
	n_may_create = 1;
	assert_int_equal(cot_shim_end_make(&slot), 2);
	assert_non_null(slot.end);
	assert_null(slot.begin);
	n_may_create = 2;
	assert_int_equal(cot_shim_end_make(&slot), 0);
	assert_non_null(slot.begin);
	assert_int_equal(n_events, 2);
}

static void waits_asleep_where_asked(void **state)
{
	(void)state;
	context.sleeps = true;
	assert_true(sleeps_for(true));
	assert_true(sleeps_for(false));
	assert_int_equal(n_events, 2);
	cot_shim_end_unmake(&slot);
}

/* ---- learning ---- */

/* One launch of that duration; whether it was timed. */
static bool launch_of(double ms)
{
	slot.timed = cot_shim_end_is_timed(&slot);
	elapsed_ms = (float)ms;
	cot_shim_end_learn(&slot);
	return slot.timed;
}

static void make_launch_events(void)
{
	slot.settled = false;
	assert_int_equal(cot_shim_end_make(&slot), 0);
}

/* 100 workers do 10000 tasks: 1 ms is 10 us a task. */
static void first_is_no_example(void **state)
{
	(void)state;
	make_launch_events();
	assert_true(launch_of(4));
	assert_int_equal(ref.task_ns, 40000);
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 10000);
}

/* Later one short launch changes little, and a change that stays is followed. */
static void follows(void **state)
{
	unsigned i;

	(void)state;
	make_launch_events();
	for (i = 0; i < 10; i++)
		assert_true(launch_of(4)); /* so long that it costs nothing to look */
	assert_int_equal(ref.task_ns, 40000);
	assert_true(launch_of(2));
	assert_int_equal(ref.task_ns, 35000);
	for (i = 0; i < 20; i++)
		assert_true(launch_of(2));
	assert_in_range(ref.task_ns, 20000, 20100);
}

/* Of short launches, which an event more would slow down, few are timed; at first more. */
static void few_are_timed(void **state)
{
	unsigned i, n = 0;

	(void)state;
	make_launch_events();
	for (i = 0; i < 64; i++)
		n += launch_of(0.01);
	assert_int_equal(n, 7); /* 0, 1, 2, 4, ... 32 */
	for (n = 0; i < 64 + 256; i++)
		n += launch_of(0.01);
	assert_int_equal(n, 4); /* 64, 128, 192, 256 */
}

/* From 1 ms on every launch is; what others have done before counts for nothing. */
static void long_ones_are_timed(void **state)
{
	static const struct {
		uint32_t task_ns, first;
		bool timed;
	} rows[] = {{10000, 0, true},	  {9999, 0, false},	{20000, 5000, true},
		    {19999, 5000, false}, {100000, 9000, true}, {4000000000u, 9999, true}};
	unsigned i;

	(void)state;
	make_launch_events();
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		ref.n_launched = 3;
		ref.task_ns = rows[i].task_ns;
		slot.first = rows[i].first;
		assert_int_equal(cot_shim_end_is_timed(&slot), rows[i].timed);
		assert_int_equal(ref.n_launched, 4);
	}
}

/* Of the first four the shortest counts; a longer one is no better than later. */
static void the_first_few(void **state)
{
	(void)state;
	make_launch_events();
	(void)launch_of(4);
	(void)launch_of(8);
	assert_int_equal(ref.task_ns, 50000);
	(void)launch_of(3);
	assert_int_equal(ref.task_ns, 30000);
	(void)launch_of(2);
	assert_int_equal(ref.task_ns, 20000);
	(void)launch_of(1);
	assert_int_equal(ref.task_ns, 17500);
	assert_int_equal(ref.n_timed, 5);
}

/* The least and the most that is believed; and nothing where the driver does not know. */
static void no_time_at_all(void **state)
{
	(void)state;
	make_launch_events();
	elapsed_result = 2;
	(void)launch_of(4);
	assert_int_equal(ref.task_ns + ref.n_timed, 0);
	elapsed_result = 0;
	slot.timed = false;
	elapsed_ms = 4;
	cot_shim_end_learn(&slot);
	assert_int_equal(ref.task_ns + ref.n_timed, 0);
	(void)launch_of(1e12);
	assert_int_equal(ref.task_ns, UINT32_MAX / 2);
	ref.task_ns = 0;
	(void)launch_of(300000); /* three seconds a task */
	assert_int_equal(ref.task_ns, UINT32_MAX / 2);
	ref.task_ns = 0;
	(void)launch_of(0);
	assert_int_equal(ref.task_ns, 1);
	ref.task_ns = 0;
	(void)launch_of(0.00025);
	assert_int_equal(ref.task_ns, 2);
}

/* A launch whose workers were told to leave says nothing; the next one is timed instead. */
static void evicted_tells_nothing(void **state)
{
	unsigned i;

	(void)state;
	make_launch_events();
	for (i = 0; i < 4; i++) {
		slot.flag = 3;
		assert_true(launch_of(1));
		assert_int_equal(ref.task_ns, 0);
	}
	slot.flag = 0;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 10000);
}

/* What is launched for the rest did only that. */
static void rest_counts_as_rest(void **state)
{
	(void)state;
	make_launch_events();
	slot.first = 7500;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 40000);
}

/* 60 of 100 workers left at once: 40 do the tasks. More that leave later make its time no example.
 */
static void gathered_ones(void **state)
{
	(void)state;
	make_launch_events();
	slot.args.per_sm = 20;
	slot.args.first = 10000;
	slot.surplus = slot.flag = 3;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 4000);
	assert_int_equal(cot_shim_end_expected_ns(&slot), COT_NS_PER_MS);
	slot.flag = 4;
	(void)launch_of(2);
	assert_int_equal(ref.task_ns, 4000);
	slot.flag = 3;
	(void)launch_of(2);
	assert_int_equal(ref.task_ns, 5000); /* (3 * 4000 + 8000) / 4 */
}

/*
 * Not all of 100 workers may have had a place, so a task takes no longer than it seems: better than
 * nothing, and later only if it is less. It is none of the first few.
 */
static void crowded_ones(void **state)
{
	(void)state;
	make_launch_events();
	slot.args.first = 10000;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 10000);
	(void)launch_of(4);
	assert_int_equal(ref.task_ns, 10000);
	(void)launch_of(0.5);
	assert_int_equal(ref.task_ns, 5000);
	ref.n_launched = TIME_EVERY;
	(void)launch_of(0.4);
	assert_int_equal(ref.task_ns, 4000);
	assert_int_equal(ref.n_timed, 1);
	slot.args.first = 0;
	ref.n_launched = TIME_EVERY;
	(void)launch_of(0.8);
	assert_int_equal(ref.task_ns, 5000); /* (3 * 4000 + 8000) / 4 */
	assert_int_equal(ref.n_timed, 2);
}

/* The entry stands for another function by now. */
static void other_function(void **state)
{
	(void)state;
	make_launch_events();
	ref.handle = &ref;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(waits_awake, set_up),
		cmocka_unit_test_setup(gathered_ones, set_up),
		cmocka_unit_test_setup(crowded_ones, set_up),
		cmocka_unit_test_setup(waits_asleep_where_asked, set_up),
		cmocka_unit_test_setup(first_is_no_example, set_up),
		cmocka_unit_test_setup(follows, set_up),
		cmocka_unit_test_setup(cannot_be_made, set_up),
		cmocka_unit_test_setup(long_ones_are_timed, set_up),
		cmocka_unit_test_setup(the_first_few, set_up),
		cmocka_unit_test_setup(no_time_at_all, set_up),
		cmocka_unit_test_setup(few_are_timed, set_up),
		cmocka_unit_test_setup(evicted_tells_nothing, set_up),
		cmocka_unit_test_setup(rest_counts_as_rest, set_up),
		cmocka_unit_test_setup(other_function, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
