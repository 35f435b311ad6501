/* What a context has for workers: when it is made and when it ends, and which streams are its own.
 */
#include "no_merge.h"
#include "shim_context_stage.h"

/* A stream of the highest priority, and memory; made once. */
static void a_context_is_made_once(void **state)
{
	struct cot_shim_context *c;

	(void)state;
	c = cot_shim_context_current();
	assert_non_null(c);
	expect_done("write 0=0;sync;");
	assert_int_equal(n_made, 3);
	assert_int_equal(capture_mode, 7);
	assert_ptr_equal(c->handle, FIRST);
	assert_ptr_equal(c->stream, OURS);
	assert_ptr_equal(c->gpu, &gpus[0]);
	assert_string_equal(uuids[0], "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
	assert_true(c->mem_ops && c->usable);
	assert_false(c->sleeps || c->making || c->closing);
	assert_int_equal(n_changes, 1);
	assert_ptr_equal(cot_shim_contexts_first(), c);
	assert_ptr_equal(cot_shim_context_current(), c);
	assert_int_equal(n_made, 3);
	current = NULL;
	assert_null(cot_shim_context_current());
}

static void contexts_are_apart(void **state)
{
	struct cot_shim_context *first = make_context(FIRST), *second;

	(void)state;
	device = 1;
	has_uuid = false;
	flags = CU_CTX_SCHED_BLOCKING_SYNC;
	second = make_context(SECOND);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(second->gpu, &gpus[1]);
	assert_string_equal(uuids[1], "1");
	assert_true(second->sleeps);
	current = FIRST;
	assert_ptr_equal(cot_shim_context_current(), first);
}

/* How the program's own threads wait is how ours may. */
static void who_sleeps(void **state)
{
	static const struct {
		unsigned flags;
		const char *fails;
		bool sleeps;
	} rows[] = {{0, NULL, false},
		    {4, NULL, true},
		    {0xb, NULL, false},
		    {0xf, NULL, true},
		    {4, "flags", false}};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		flags = rows[i].flags;
		fails = rows[i].fails;
		n_sms = 1; /* the smallest GPU */
		assert_int_equal(make_context(FIRST)->sleeps, rows[i].sleeps);
	}
}

/* Whatever fails: nothing stays, and the context is not tried again. */
static void what_cannot_be_made(void **state)
{
	static const char *const calls[] = {"device", "sms",  "no sms", "stream",
					    "memory", "host", "memset", "sync"};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(calls); i++) {
		set_up(state);
		fails = calls[i];
		n_sms = strcmp(fails, "no sms") ? 132 : 0;
		assert_null(cot_shim_context_current());
		assert_int_equal(n_made, 0);
		assert_int_equal(capture_mode, 7);
		assert_int_equal(n_changes, 1);
		fails = NULL;
		assert_null(cot_shim_context_current());
		assert_int_equal(n_made, 0);
	}
	set_up(state);
	fails = "gpu";
	assert_null(cot_shim_context_current());
	set_up(state);
	fails = "current";
	assert_null(cot_shim_context_current());
	assert_null(contexts);
	set_up(state);
	has_memory = false;
	assert_null(cot_shim_context_current());
	assert_int_equal(n_made + n_changes, 0);
}

/* ---- ends ---- */

static struct cot_shim_slot *held;

static void give_back(void)
{
	if (held)
		cot_shim_slot_give(held, false);
	held = NULL;
}

/* What the program ends waits until nobody uses it; then all is given back, and can be made anew.
 */
static void contexts_end(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	c->slots[0].end = c->slots[COT_SHIM_SLOTS - 1].end = HANDLE(0x600);
	held = cot_shim_slot_take(c, &(struct cot_workers_control){.next = 5});
	at_wait = give_back;
	assert_int_equal(cuCtxDestroy_v2(FIRST), 4);
	assert_int_equal(n_unmade, COT_SHIM_SLOTS);
	assert_null(c->slots[0].end);
	assert_null(c->slots[COT_SHIM_SLOTS - 1].end);
	assert_ptr_equal(freed_in, FIRST);
	assert_true(!c->controls && !c->host && !c->stream);
	expect_done("context 0x100 ends;");
	assert_int_equal(now_ns, 2 * COT_NS_PER_S);
	assert_int_equal(n_closed_works, 1);
	assert_int_equal(n_made, 0);
	assert_null(pushed);
	assert_null(c->handle);
	assert_false(c->usable);
	assert_ptr_equal(make_context(SECOND), c);
	assert_int_equal(cuCtxDestroy(SECOND), 4);
	assert_int_equal(n_made, 0);
	(void)cuCtxDestroy(HANDLE(0x777));
	(void)cuCtxDestroy(NULL);
	assert_int_equal(n_closed_works, 2);
}

/* With a kernel that does not end, it does not wait for ever, and touches nothing. */
static void contexts_that_stay_busy(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	held = cot_shim_slot_take(c, &(struct cot_workers_control){.next = 5});
	cot_shim_context_close(FIRST);
	assert_int_equal(now_ns, 6 * COT_NS_PER_S);
	assert_int_equal(n_made, 3);
	assert_ptr_equal(c->handle, FIRST);
	assert_null(cot_shim_context_current());
}

/* One that the driver has ended already takes its memory with it. */
static void contexts_that_are_gone(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	fails = "push";
	cot_shim_context_close(FIRST);
	assert_int_equal(n_made, 3);
	assert_null(freed_in);
	assert_null(c->handle);
	fails = NULL;
	assert_ptr_equal(make_context(SECOND), c);
}

static void the_child_has_none(void **state)
{
	struct cot_shim_context *parents = make_context(FIRST);

	(void)state;
	cot_shim_contexts_forget();
	assert_null(cot_shim_contexts_first());
	free(parents);
}

/* A device's own context goes with it, and no other device's. */
static void devices_end(void **state)
{
	static CUresult (*const ends[])(CUdevice) = {
		cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxReset,
		cuDevicePrimaryCtxReset_v2};
	struct cot_shim_context *first, *second;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(ends); i++) {
		set_up(state);
		first = make_context(FIRST);
		device = 1;
		second = make_context(SECOND);
		assert_int_equal(ends[i](1), 5);
		expect_done("device 1 ends;");
		assert_true(first->usable);
		assert_ptr_equal(first->handle, FIRST);
		assert_false(second->usable);
		assert_null(second->handle);
		assert_int_equal(n_made, 3);
		assert_int_equal(ends[i](1), 5);
		assert_int_equal(n_closed_works, 1);
	}
}

/* Where nothing is asked for, nothing is done. */
static void switched_off(void **state)
{
	(void)state;
	make_context(FIRST);
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	assert_int_equal(cuCtxDestroy_v2(FIRST), 4);
	assert_int_equal(cuCtxDestroy(FIRST), 4);
	assert_int_equal(cuDevicePrimaryCtxRelease(0), 5);
	assert_int_equal(cuDevicePrimaryCtxReset(0), 5);
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 5);
	assert_int_equal(cuDevicePrimaryCtxReset_v2(0), 5);
	assert_int_equal(cuStreamDestroy(STREAM), 3);
	assert_int_equal(cuStreamDestroy_v2(STREAM), 3);
	assert_int_equal(n_closed_works, 0);
	atomic_store(&cot_shim_state, COT_SHIM_ON);
}

/* Another thread is making it: this one waits for that, with a bound. */
static struct cot_shim_context *other;

static void made_by_the_other(void)
{
	other->making = false;
	other->usable = true;
}

static void made_by_another_thread(void **state)
{
	(void)state;
	other = make_context(FIRST);
	other->making = true;
	other->usable = false;
	at_wait = made_by_the_other;
	assert_ptr_equal(cot_shim_context_current(), other);
	assert_int_equal(now_ns, 2 * COT_NS_PER_S);
	other->making = true;
	other->usable = false;
	at_wait = NULL;
	assert_null(cot_shim_context_current());
	assert_int_equal(now_ns, 12 * COT_NS_PER_S);
}

/* ---- streams ---- */

static struct cot_shim_context *knows;

static void expect_forgotten(CUstream stream)
{
	assert_ptr_equal(stream, STREAM);
	assert_null(atomic_load(&knows->streams[0]));
	assert_null(atomic_load(&knows->streams[COT_SHIM_STREAMS - 1]));
	assert_int_equal(atomic_load(&knows->small), 0);
}

/*
 * A stream that was destroyed is known no more when the driver destroys it: the next one, in
 * another context maybe, has the same handle.
 */
static void streams_are_forgotten(void **state)
{
	static CUresult (*const ends[])(CUstream) = {cuStreamDestroy, cuStreamDestroy_v2};
	unsigned i;

	for (i = 0; i < 2; i++) {
		set_up(state);
		make_context(FIRST);
		knows = make_context(SECOND);
		atomic_store(&knows->streams[0], STREAM);
		atomic_store(&knows->streams[1], HANDLE(0x320));
		atomic_store(&knows->streams[COT_SHIM_STREAMS - 1], STREAM);
		atomic_store(&knows->small, (uintptr_t)STREAM);
		assert_int_equal(ends[i](HANDLE(0x330)), 3);
		assert_ptr_equal(atomic_load(&knows->streams[0]), STREAM);
		assert_int_equal(atomic_load(&knows->small), (uintptr_t)STREAM);
		at_destroy = expect_forgotten;
		assert_int_equal(ends[i](STREAM), 3);
		expect_forgotten(STREAM);
		assert_ptr_equal(atomic_load(&knows->streams[1]), HANDLE(0x320));
		/* Several streams stay several. */
		at_destroy = NULL;
		atomic_store(&knows->small, COT_SHIM_SMALL_ASKS);
		(void)ends[i](STREAM);
		assert_true(atomic_load(&knows->small) == COT_SHIM_SMALL_ASKS);
	}
}

/* A context that is made anew knows no stream. */
static void a_new_context_knows_none(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	atomic_store(&c->streams[0], STREAM);
	atomic_store(&c->streams[COT_SHIM_STREAMS - 1], STREAM);
	atomic_store(&c->small, 5);
	cot_shim_context_close(FIRST);
	assert_ptr_equal(make_context(FIRST), c);
	assert_null(atomic_load(&c->streams[0]));
	assert_null(atomic_load(&c->streams[COT_SHIM_STREAMS - 1]));
	assert_int_equal(atomic_load(&c->small), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_context_is_made_once, set_up),
		cmocka_unit_test_setup(contexts_are_apart, set_up),
		cmocka_unit_test_setup(who_sleeps, set_up),
		cmocka_unit_test_setup(what_cannot_be_made, set_up),
		cmocka_unit_test_setup(contexts_end, set_up),
		cmocka_unit_test_setup(contexts_that_stay_busy, set_up),
		cmocka_unit_test_setup(contexts_that_are_gone, set_up),
		cmocka_unit_test_setup(the_child_has_none, set_up),
		cmocka_unit_test_setup(devices_end, set_up),
		cmocka_unit_test_setup(switched_off, set_up),
		cmocka_unit_test_setup(made_by_another_thread, set_up),
		cmocka_unit_test_setup(streams_are_forgotten, set_up),
		cmocka_unit_test_setup(a_new_context_knows_none, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, set_up);
}
