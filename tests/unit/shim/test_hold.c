/*
 * Launches that wait for the daemon. The unit is in a shared library, so its source is here; the
 * time is played, and the listener acts while a thread waits.
 */
#include <errno.h>

#include "guest/shim/hold.c"
#include "test.h"

#define MS COT_NS_PER_MS

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cot_shim_parts parts;
static struct cot_shim_stream stream;
static uint64_t now_ns, act_ns, then_ns, held_ns;
static unsigned n_held, n_lapsed, n_rings;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

void cot_shim_changed(void)
{
	n_rings++;
}

/* At `act_ns` the daemon says until when the program waits. */
bool cot_shim_changed_wait(uint64_t until_ns)
{
	assert_int_equal(pthread_mutex_trylock(&cot_shim_lock), EBUSY);
	if (now_ns >= until_ns)
		return false;
	if (now_ns < act_ns && act_ns < until_ns) {
		now_ns = act_ns;
		cot_shim_hold_set(&parts, then_ns);
	} else {
		now_ns = until_ns;
	}
	return true;
}

void cot_shim_count_held(uint64_t ns, bool lapsed)
{
	n_held++;
	n_lapsed += lapsed;
	held_ns += ns;
}

static int set_up(void **state)
{
	(void)state;
	parts = (struct cot_shim_parts){0};
	stream = (struct cot_shim_stream){.parts = &parts};
	now_ns = COT_NS_PER_S;
	act_ns = then_ns = held_ns = 0;
	n_held = n_lapsed = n_rings = 0;
	return 0;
}

static void launch(void)
{
	cot_shim_hold_wait(&stream);
	assert_int_equal(pthread_mutex_trylock(&cot_shim_lock), 0);
	pthread_mutex_unlock(&cot_shim_lock);
}

static void test_no_hold(void **state)
{
	(void)state;
	launch();
	assert_int_equal(n_held, 0);
}

static void test_until_it_ends(void **state)
{
	(void)state;
	cot_shim_hold_set(&parts, now_ns + 50 * MS);
	act_ns = now_ns + 7 * MS;
	launch();
	assert_int_equal(now_ns, act_ns);
	assert_int_equal(n_held, 1);
	assert_int_equal(held_ns, 7 * MS);
	assert_int_equal(n_lapsed, 0);
	launch();
	assert_int_equal(n_held, 1);
}

/* The daemon says it again: the launch waits on, until the new end. */
static void test_goes_on(void **state)
{
	uint64_t began_ns = now_ns;

	(void)state;
	cot_shim_hold_set(&parts, now_ns + 50 * MS);
	act_ns = now_ns + 40 * MS;
	then_ns = act_ns + 50 * MS;
	launch();
	assert_int_equal(now_ns, began_ns + 90 * MS);
	assert_int_equal(n_lapsed, 1);
}

/* Nobody ends it: the launch goes on, and so do all that follow. It is counted once. */
static void test_lapses(void **state)
{
	uint64_t began_ns = now_ns;

	(void)state;
	cot_shim_hold_set(&parts, now_ns + COT_PROTO_HOLD_NS);
	launch();
	assert_int_equal(now_ns, began_ns + COT_PROTO_HOLD_NS);
	assert_int_equal(n_lapsed, 1);
	assert_int_equal(n_rings, 1);
	launch();
	assert_int_equal(n_held, 1);
}

static void test_not_here(void **state)
{
	(void)state;
	cot_shim_hold_set(&parts, now_ns + 50 * MS);
	cot_shim_hold_wait(NULL);
	atomic_store(&stream.capturing, true);
	launch();
	assert_int_equal(n_held, 0);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_hold), TEST(until_it_ends), TEST(goes_on), TEST(lapses), TEST(not_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
