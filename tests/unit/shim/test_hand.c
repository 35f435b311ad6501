/* Kernels that a program has written as workers: launched as they are, on what was granted. */
#include "guest/shim/hand.c"
#include "notes.h"
#include "test.h"

void cot_shim_seen_operation(CUstream stream, bool per_thread, enum cot_burst_kind kind)
{
	assert_false(per_thread);
	assert_int_equal(kind, COT_BURST_WORK);
	note("operation in %p;", (void *)stream);
}

#include "shim_launch_stage.h"

_Atomic int cot_shim_state;

void cot_shim_driver_load(void)
{
	atomic_store(&cot_shim_state, COT_SHIM_ON);
}

bool cot_shim_begin(void)
{
	return true;
}

static int first = 11, second = 22;
static void *own[] = {&first, &second};

static struct cot_share_workers hand(void)
{
	return (struct cot_share_workers){.function = WORKERS,
					  .stream = STREAM,
					  .grid = {10, 10, 1},
					  .block = {512, 1, 1},
					  .n_params = 2,
					  .params = own};
}

static int launch_by_hand(void)
{
	struct cot_share_workers w = hand();

	cot_shim_settings.rewrites = true;
	return cotenant_share_workers(&w, sizeof(w));
}

static void launches(void **state)
{
	(void)state;
	assert_int_equal(launch_by_hand(), 0);
	expect_done("slot for 0;to evict 7;7 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(launched.grid[0], 10);
	assert_int_equal(launched.n_tasks, 100);
	assert_int_equal(launched.per_sm, 4);
	assert_int_equal(n_counted_workers, 1);
	assert_int_equal(needed.n_tasks, 100);
	assert_string_equal(needed.name, "by hand");
	assert_ptr_equal(needed.kernel, &ref);
	/* A program that is measured has launched something. */
	cot_shim_settings.requests = true;
	assert_int_equal(launch_by_hand(), 0);
	assert_memory_equal(written, "operation in 0x310;", 19);
	written[0] = '\0';
}

/* With room for a worker a task: there is no other kernel that could do as well. */
static void one_task_each(void **state)
{
	(void)state;
	work.capsms = 9;
	config.grid[0] = 36;
	assert_int_equal(launch(), 0);
	assert_true(slot.original);
	work.capsms = N_SMS * 3;
	gpu.n_sms = N_SMS * 3;
	assert_int_equal(launch_by_hand(), 0);
	assert_int_equal(launched.n_workers, 100);
	assert_false(slot.original);
	written[0] = '\0';
}

/* Nothing is launched in its place: the program does that. */
static void not_launched(void **state)
{
	struct cot_share_workers w = hand();

	(void)state;
	has_work = false;
	why_not = COT_SHIM_WHY_NO_DAEMON;
	assert_int_equal(launch_by_hand(), -EAGAIN);
	has_work = true;
	capturing = 1;
	assert_int_equal(launch_by_hand(), -EAGAIN);
	capturing = 0;
	w.grid[0] = w.grid[1] = 1; /* no more than fits an SM */
	assert_int_equal(cotenant_share_workers(&w, sizeof(w)), -EAGAIN);
	w.function = HANDLE(0x777); /* nobody knows it */
	assert_int_equal(cotenant_share_workers(&w, sizeof(w)), -EAGAIN);
	assert_int_equal(cotenant_share_workers(&w, sizeof(w) - 1), -EINVAL);
	cot_shim_settings.rewrites = false;
	assert_int_equal(cotenant_share_workers(&w, sizeof(w)), -ENOSYS);
	expect_done("");
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
	assert_int_equal(n_counted_workers, 0);
}

/* The driver's result, and what may be in the stream by now is not used at once. */
static void refused(void **state)
{
	(void)state;
	launch_result = 7;
	assert_int_equal(launch_by_hand(), 7);
	expect_done("slot for 0;to evict 7;7 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;give used slot;put;");
	assert_false(atomic_load(&ref.broken));
}

/* How many fit is remembered, but not of one kernel for another. */
static void how_many_fit(void **state)
{
	(void)state;
	assert_int_equal(launch_by_hand(), 0);
	assert_int_equal(launch_by_hand(), 0);
	assert_int_equal(n_asked, 2);
	assert_int_equal(atomic_load(&ref.fit), 0);
	atomic_store(&ref.kernel, NULL); /* it was not rewritten */
	assert_int_equal(launch_by_hand(), 0);
	assert_int_equal(launch_by_hand(), 0);
	assert_int_equal(n_asked, 3);
	written[0] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(launches, set_up),
		cmocka_unit_test_setup(one_task_each, set_up),
		cmocka_unit_test_setup(not_launched, set_up),
		cmocka_unit_test_setup(refused, set_up),
		cmocka_unit_test_setup(how_many_fit, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
