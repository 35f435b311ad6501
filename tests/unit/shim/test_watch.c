/*
 * The watcher: what runs, what has ended, and how it is waited for. The unit is in a shared
 * library, so its source is here; the driver, the rest of the shim and the clock are played.
 */
#include <string.h>

#include "guest/shim/watch.c"
#include "locked.h"
#include "notes.h"
#include "test.h"

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define N_SLOTS	  12u

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_shim_bell cot_shim_to_watch;
_Atomic bool cot_shim_stopping;
void *cot_real_cuCtxSetCurrent, *cot_real_cuEventQuery, *cot_real_cuEventSynchronize;

static struct cot_shim_context contexts[2];
static struct cot_shim_work works[2];
static struct cot_shim_slot slots[N_SLOTS];
static bool has_ended[N_SLOTS];
static unsigned n_rings, n_changes, n_expired;
static uint64_t now_ns, expires_ns, looks_ns;
static uint64_t expected_ns; /* of each launch of the first work */
static void (*at_wait)(void);
static unsigned n_idle, idle_passes;

/* ---- the driver; the event of slot i is 0x100 + i ---- */

static cot_shim_handle current;

static int set_current(cot_shim_handle handle)
{
	current = handle;
	return 0;
}

static unsigned slot_of(CUevent event)
{
	return (unsigned)(uintptr_t)event - 0x100;
}

static int query(CUevent event)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(current, slots[slot_of(event)].context->handle);
	note("query %u;", slot_of(event));
	return has_ended[slot_of(event)] ? 0 : CUDA_ERROR_NOT_READY;
}

static int synchronize(CUevent event)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(current, slots[slot_of(event)].context->handle);
	assert_int_equal(slots[slot_of(event)].context->n_busy, 1);
	note("wait for %u;", slot_of(event));
	if (at_wait)
		at_wait();
	return 0;
}

/* ---- the rest of the shim ---- */

void cot_shim_ring(struct cot_shim_bell *b)
{
	assert_ptr_equal(b, &cot_shim_to_watch);
	n_rings++;
}

void cot_shim_changed(void)
{
	n_changes++;
}

void cot_shim_pause(uint64_t ns)
{
	assert_false(is_locked(&cot_shim_lock));
	note("pause %u us;", (unsigned)(ns / 1000));
	if (at_wait)
		at_wait();
}

bool cot_shim_wait_for(struct cot_shim_bell *b, uint64_t until_ns, uint64_t spin_ns)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(b, &cot_shim_to_watch);
	assert_int_equal(spin_ns, 0);
	assert_true(until_ns == (looks_ns < expires_ns ? looks_ns : expires_ns));
	note("sleep;");
	if (++n_idle == idle_passes)
		atomic_store(&cot_shim_stopping, true);
	return true;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

uint64_t cot_shim_works_expire(uint64_t now)
{
	assert_int_equal(now, now_ns);
	n_expired++;
	return expires_ns;
}

uint64_t cot_shim_query_look(uint64_t now)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(now, now_ns);
	return looks_ns;
}

struct cot_shim_context *cot_shim_contexts_first(void)
{
	return &contexts[0];
}

void cot_shim_context_arm(struct cot_shim_context *c)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(current, c->handle);
	note("arm %td;", c - contexts);
	c->to_arm = NULL;
}

uint64_t cot_shim_end_expected_ns(const struct cot_shim_slot *s)
{
	return s->work == &works[0] ? expected_ns : COT_NEVER;
}

void cot_shim_end_learn(const struct cot_shim_slot *s)
{
	note("learn %u;", s->index);
}

void cot_shim_slot_give(struct cot_shim_slot *s, bool used)
{
	note("give %s %u;", used ? "used" : "unused", s->index);
}

void cot_shim_work_put(struct cot_shim_work *w)
{
	note("put %td;", w - works);
}

static int set_up(void **state)
{
	unsigned i;

	(void)state;
	cot_real_cuCtxSetCurrent = (void *)(uintptr_t)set_current;
	cot_real_cuEventQuery = (void *)(uintptr_t)query;
	cot_real_cuEventSynchronize = (void *)(uintptr_t)synchronize;
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cot_shim_watch_forget();
	for (i = 0; i < 2; i++) {
		contexts[i].handle = HANDLE(0x10 + i);
		contexts[i].next = i ? NULL : &contexts[1];
		contexts[i].to_arm = NULL;
		contexts[i].usable = true;
		contexts[i].n_busy = 0;
	}
	memset(works, 0, sizeof(works));
	memset(has_ended, 0, sizeof(has_ended));
	for (i = 0; i < N_SLOTS; i++)
		slots[i] = (struct cot_shim_slot){
			.context = &contexts[0],
			.work = &works[0],
			.index = i,
			.end = HANDLE(0x100 + i),
			.args = {.n_tasks = 100, .n_workers = 12, .chunk = 2},
		};
	n_rings = n_changes = n_expired = n_idle = 0;
	now_ns = 100 * COT_NS_PER_S;
	expires_ns = looks_ns = COT_NEVER;
	expected_ns = 100000;
	at_wait = NULL;
	written[0] = '\0';
	current = NULL;
	return 0;
}

static void watch(unsigned i)
{
	cot_shim_runtime_watch(&slots[i]);
}

/* ---- what runs ---- */

static void in_order(void **state)
{
	(void)state;
	assert_null(cot_shim_watch_first(&works[0]));
	slots[2].work = &works[1];
	slots[3].settled = true;
	watch(1);
	watch(2);
	watch(3);
	assert_int_equal(n_rings, 2); /* who waits itself needs no watcher */
	assert_int_equal(slots[1].state, COT_SHIM_SLOT_RUNNING);
	assert_ptr_equal(cot_shim_watch_first(&works[0]), &slots[1]);
	assert_ptr_equal(cot_shim_watch_first(&works[1]), &slots[2]);
	cot_shim_runtime_ended(&slots[1]);
	assert_ptr_equal(cot_shim_watch_first(&works[0]), &slots[3]);
	cot_shim_runtime_ended(&slots[3]); /* the last one: others still come behind */
	assert_null(cot_shim_watch_first(&works[0]));
	watch(4);
	assert_ptr_equal(cot_shim_watch_first(&works[0]), &slots[4]);
	assert_ptr_equal(running, &slots[2]);
	assert_ptr_equal(slots[2].next, &slots[4]);
	cot_shim_runtime_ended(&slots[2]);
	cot_shim_runtime_ended(&slots[4]);
	assert_null(running);
	watch(5);
	assert_ptr_equal(running, &slots[5]);
}

/* What has ended is counted, and what it used is given back. */
static void ends(void **state)
{
	(void)state;
	works[0].n_launches = 3;
	works[0].n_tasks = 50;
	slots[1].first = 40;
	watch(1);
	n_rings = 0;
	cot_shim_runtime_ended(&slots[1]);
	expect_done("learn 1;give used 1;put 0;");
	assert_int_equal(works[0].n_launches, 4);
	assert_int_equal(works[0].n_tasks, 110);
	assert_int_equal(slots[1].armed, 24);
	assert_int_equal(n_rings, 1);
	slots[2].original = true;
	slots[2].armed = 7;
	watch(2);
	cot_shim_runtime_ended(&slots[2]);
	expect_done("learn 2;give unused 2;put 0;");
	assert_int_equal(slots[2].armed, 7);
	/* One whose surplus leaves at once is made ready for another such. */
	slots[3].surplus = 5;
	slots[3].args.first = slots[3].args.n_tasks;
	watch(3);
	cot_shim_runtime_ended(&slots[3]);
	assert_int_equal(slots[3].armed, 0);
	assert_int_equal(slots[3].armed_flag, 5);
	/* Nor has a worker tasks of its own where not all of them may fit. */
	slots[3].surplus = 0;
	watch(3);
	cot_shim_runtime_ended(&slots[3]);
	assert_int_equal(slots[3].armed, 0);
	assert_int_equal(slots[3].armed_flag, 0);
	slots[3].args.first = 0;
	watch(3);
	cot_shim_runtime_ended(&slots[3]);
	assert_int_equal(slots[3].armed, 24);
	assert_int_equal(slots[3].armed_flag, 0);
}

/* What is to be launched again has done its part. */
static void pauses(void **state)
{
	(void)state;
	slots[1].first = 10;
	watch(1);
	watch(2);
	cot_shim_runtime_pause(&slots[1], 30);
	expect_done("");
	assert_int_equal(works[0].n_launches, 1);
	assert_int_equal(works[0].n_tasks, 60);
	assert_ptr_equal(cot_shim_watch_first(&works[0]), &slots[2]);
	cot_shim_runtime_ended(&slots[1]); /* it runs no more: only given back */
	assert_ptr_equal(cot_shim_watch_first(&works[0]), &slots[2]);
}

/* ---- the watcher ---- */

/* So many times it has nothing to do; then it stops. */
static void run_until_idle(unsigned times)
{
	n_idle = 0;
	idle_passes = times;
	atomic_store(&cot_shim_stopping, false);
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_watch();
	pthread_mutex_unlock(&cot_shim_lock);
	assert_int_equal(contexts[0].n_busy + contexts[1].n_busy, 0);
}

static void all_end(void)
{
	memset(has_ended, true, sizeof(has_ended));
}

static void nothing_runs(void **state)
{
	(void)state;
	expires_ns = now_ns + 5;
	run_until_idle(3);
	expect_done("sleep;sleep;sleep;");
	assert_int_equal(n_expired, 3);
	/* Whoever is to be looked at sooner. */
	looks_ns = now_ns + 3;
	run_until_idle(1);
	expect_done("sleep;");
	/* Those who wait for themselves are left alone. */
	slots[1].settled = true;
	watch(1);
	run_until_idle(1);
	expect_done("sleep;");
}

/* The first of a few; one in the middle of many, so that short ones do not wake it each time. */
static void one_stream(void **state)
{
	static const unsigned chosen[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4};
	char text[64];
	unsigned n, i;

	for (n = 1; n <= 10; n++) {
		set_up(state);
		for (i = 0; i < n; i++)
			watch(i);
		at_wait = all_end;
		run_until_idle(1);
		(void)snprintf(text, sizeof(text), "wait for %u;", chosen[n]);
		assert_memory_equal(written, text, strlen(text));
		assert_null(running);
		assert_non_null(strstr(written, "sleep;"));
	}
}

/* Those that somebody waits for are passed over. */
static void one_stream_and_settled(void **state)
{
	unsigned i;

	(void)state;
	slots[1].settled = true;
	for (i = 0; i < 8; i++)
		watch(i);
	at_wait = all_end;
	run_until_idle(1);
	assert_memory_equal(written, "wait for 3;", 11);
}

static void one_ends(void)
{
	unsigned i;

	for (i = 0; i < N_SLOTS && has_ended[i]; i++)
		;
	has_ended[i] = true;
}

/* In a stream none ends before the one in front of it: that is asked, and no more. */
static void one_after_the_other(void **state)
{
	(void)state;
	watch(0);
	watch(1);
	at_wait = one_ends;
	run_until_idle(1);
	expect_done("wait for 0;query 0;learn 0;give used 0;put 0;query 1;"
		    "wait for 1;query 1;learn 1;give used 1;put 0;sleep;");
}

/* Several streams: any may end first, so all first ones are asked, with pauses that grow. */
static void several_streams(void **state)
{
	uint64_t pause = PAUSE_MIN_NS;
	struct cot_shim_slot *s;
	enum how how;

	(void)state;
	slots[1].work = &works[1];
	slots[1].context = &contexts[1];
	slots[2].work = &works[1];
	slots[2].context = &contexts[1];
	has_ended[1] = true;
	watch(0);
	watch(1);
	watch(2);
	at_wait = NULL;
	pthread_mutex_lock(&cot_shim_lock);
	s = choose_watched(&how);
	assert_ptr_equal(s, &slots[0]);
	assert_int_equal(how, LOOKING_OFTEN);
	wait_for_end(s, how, &pause);
	expect_done("pause 20 us;query 0;query 1;learn 1;give used 1;put 1;query 2;");
	assert_int_equal(pause, PAUSE_MIN_NS);
	wait_for_end(s, how, &pause);
	expect_done("pause 20 us;query 0;query 2;");
	assert_int_equal(pause, PAUSE_MIN_NS + PAUSE_MIN_NS / 4);
	while (pause < PAUSE_MAX_NS)
		wait_for_end(s, how, &pause);
	assert_in_range(pause, PAUSE_MAX_NS, PAUSE_MAX_NS * 5 / 4);
	has_ended[2] = true;
	wait_for_end(s, how, &pause);
	assert_int_equal(pause, PAUSE_MIN_NS);
	pthread_mutex_unlock(&cot_shim_lock);
	assert_int_equal(contexts[0].n_busy, 0);
	assert_true(n_changes > 3);
	/* One stream is left: it is waited for. */
	written[0] = '\0';
	at_wait = all_end;
	run_until_idle(1);
	expect_done("wait for 0;query 0;learn 0;give used 0;put 0;sleep;");
}

/* It does not sleep for long: another stream's launch that comes meanwhile may end before. */
static void long_ones_are_looked_at(void **state)
{
	static const struct {
		uint64_t ns;
		unsigned n;
		uint32_t flag;
		bool asleep;
		uint32_t surplus;
	} rows[] = {
		{1000000, 1, 0, true, 0},    {1000001, 1, 0, false, 0},
		{250000, 4, 0, true, 0},     {250001, 4, 0, false, 0},
		{COT_NEVER, 2, 0, false, 0}, {COT_NEVER - 9, 2, 0, false, 0},
		{100, 1, 1, false, 0}, /* some of its workers leave: it takes longer */
		{100, 1, 4, true, 4},  /* those were never to stay */
		{100, 1, 5, false, 4},
	};
	unsigned i, k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_up(state);
		expected_ns = rows[i].ns;
		slots[0].flag = rows[i].flag;
		slots[0].surplus = rows[i].surplus;
		for (k = 0; k < rows[i].n; k++)
			watch(k);
		at_wait = all_end;
		run_until_idle(1);
		if (rows[i].asleep)
			assert_memory_equal(written, "wait for ", 9);
		else
			assert_memory_equal(written, "pause 500 us;", 13);
	}
}

/* One of ours and one that somebody waits for: the latter is nobody else's. */
static void beside_settled(void **state)
{
	(void)state;
	slots[0].settled = true;
	slots[0].work = &works[1];
	watch(0);
	watch(1);
	at_wait = one_ends;
	has_ended[0] = true;
	run_until_idle(1);
	expect_done("wait for 1;query 1;learn 1;give used 1;put 0;sleep;");
	assert_ptr_equal(running, &slots[0]);
}

/* Control blocks are made ready before anything is waited for. */
static void arms_first(void **state)
{
	(void)state;
	contexts[0].to_arm = &slots[5];
	contexts[1].to_arm = &slots[6];
	watch(0);
	at_wait = all_end;
	run_until_idle(1);
	expect_done("arm 0;arm 1;wait for 0;query 0;learn 0;give used 0;put 0;sleep;");
	assert_int_equal(n_expired, 3);
	contexts[1].to_arm = &slots[6];
	contexts[1].usable = false;
	run_until_idle(1);
	expect_done("sleep;");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(in_order),	       TEST(ends),
		TEST(pauses),	       TEST(nothing_runs),
		TEST(one_stream),      TEST(one_after_the_other),
		TEST(several_streams), TEST(long_ones_are_looked_at),
		TEST(beside_settled),  TEST(one_stream_and_settled),
		TEST(arms_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
