/*
 * How the shim waits for the end of a launch, and what it learns from its time. The unit is in a
 * shared library, so its source is here; the driver is played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shim/end.c"

void *cot_real_cuEventCreate, *cot_real_cuEventDestroy_v2, *cot_real_cuEventElapsedTime,
	*cot_real_cuEventSynchronize;

#define N_EVENTS 8u

static unsigned event_flags[N_EVENTS], n_events, n_destroyed;
static cot_cu_handle synchronized;
static float elapsed_ms;

static unsigned number_of(cot_cu_handle event)
{
	return (unsigned)(uintptr_t)event - 1;
}

static int event_create(cot_cu_handle *event, unsigned flags)
{
	assert_true(n_events < N_EVENTS);
	event_flags[n_events++] = flags;
	*event = (cot_cu_handle)(uintptr_t)n_events;
	return 0;
}

static int event_destroy(cot_cu_handle event)
{
	assert_true(number_of(event) < n_events);
	n_destroyed++;
	return 0;
}

static int event_elapsed(float *ms, cot_cu_handle from, cot_cu_handle to)
{
	assert_ptr_not_equal(from, to);
	*ms = elapsed_ms;
	return 0;
}

static int event_synchronize(cot_cu_handle event)
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
	return event_flags[number_of(slot.end)] == COT_CU_EVENT_BLOCKING_SYNC;
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
	cot_shim_end_unmake(&slot);
	assert_int_equal(n_destroyed, 3);
	cot_shim_end_unmake(&slot);
	assert_int_equal(n_destroyed, 3);
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
	assert_in_range(n, 6, 8);
	for (n = 0; i < 64 + 256; i++)
		n += launch_of(0.01);
	assert_in_range(n, 4, 6);
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
	slot.args.first = 7500;
	assert_true(launch_of(1));
	assert_int_equal(ref.task_ns, 40000);
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
		cmocka_unit_test_setup(waits_asleep_where_asked, set_up),
		cmocka_unit_test_setup(first_is_no_example, set_up),
		cmocka_unit_test_setup(follows, set_up),
		cmocka_unit_test_setup(few_are_timed, set_up),
		cmocka_unit_test_setup(evicted_tells_nothing, set_up),
		cmocka_unit_test_setup(rest_counts_as_rest, set_up),
		cmocka_unit_test_setup(other_function, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
