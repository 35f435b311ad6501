/* The latch, and bursts of several threads at once: under it all but where a wait begins. */
#include <pthread.h>

#include "guest/shim/burst.c"
#include "guest/shim/wait.c"
#include "test.h"

#define THREADS	 4u
#define REQUESTS 3000u
#define CONTEXT	 0x1000u
#define SHARED	 0x8000u

/* ---- what wait.c calls ---- */

uint64_t cot_now_ns(void)
{
	return 0;
}

void cot_wake_ring(struct cot_wake *w)
{
	(void)w;
}

void cot_wake_close(struct cot_wake *w)
{
	(void)w;
}

/* ---- threads ---- */

static struct cot_shim_latch latch;
static struct cot_bursts bursts;
static _Atomic uint64_t now; /* each look is one later */
static uint64_t n_seen, n_counted;

static void run(void *(*body)(void *), unsigned n)
{
	static char names[THREADS][64];
	pthread_t threads[THREADS];
	unsigned i;

	for (i = 0; i < n; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, body, names[i]), 0);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void *count(void *unused)
{
	unsigned i;

	for (i = 0; i < REQUESTS; i++) {
		cot_shim_latch_take(&latch);
		n_counted++;
		if (i % 1000 == 0) /* so long that the others sleep */
			cot_shim_pause(1000000);
		cot_shim_latch_give(&latch);
	}
	return unused;
}

static void one_at_a_time(void **state)
{
	(void)state;
	run(count, THREADS);
	assert_int_equal(n_counted, THREADS * REQUESTS);
}

static void note(uint64_t begin_ns, uint64_t end_ns)
{
	assert_true(begin_ns < end_ns);
	n_seen++;
}

static void request(struct cot_burst_id id, uint64_t thread)
{
	struct cot_burst_stream *s;
	struct cot_burst_point point;

	cot_shim_latch_take(&latch);
	s = cot_burst_get(&bursts, id, CONTEXT, false);
	cot_burst_put(&bursts, s, thread, COT_BURST_WORK, ++now);
	cot_shim_latch_give(&latch);
	point = cot_burst_point(&bursts, id);
	cot_shim_latch_take(&latch);
	cot_burst_covered(&bursts, point, ++now);
	cot_shim_latch_give(&latch);
}

static void *play_own(void *me)
{
	const struct cot_burst_id own = {.home = (uintptr_t)me};
	unsigned i;

	for (i = 0; i < REQUESTS; i++)
		request(own, own.home);
	return NULL;
}

static void *play_shared(void *me)
{
	const struct cot_burst_id shared = {.home = SHARED};
	unsigned i;

	for (i = 0; i < REQUESTS; i++)
		request(shared, (uintptr_t)me);
	return NULL;
}

static int start(void **state)
{
	(void)state;
	memset(&bursts, 0, sizeof(bursts));
	bursts.seen = note;
	n_seen = 0;
	return 0;
}

/* None is lost, and none runs into another thread's. */
static void streams_of_their_own(void **state)
{
	(void)state;
	run(play_own, THREADS);
	assert_int_equal(n_seen, THREADS * REQUESTS);
	assert_int_equal(bursts.n_unclear, 0);
	assert_int_equal(bursts.n_busy, 0);
}

/* Whatever runs into each other there: the next one that is alone is seen. */
static void one_stream(void **state)
{
	struct cot_burst_point point;
	uint64_t before;

	(void)state;
	run(play_shared, THREADS);
	point = cot_burst_point_of_context(&bursts, CONTEXT);
	cot_burst_covered_context(&bursts, CONTEXT, point, ++now);
	assert_int_equal(bursts.n_busy, 0);
	before = n_seen;
	assert_true(before <= THREADS * REQUESTS);
	(void)play_shared(state);
	assert_int_equal(n_seen, before + REQUESTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test_setup(streams_of_their_own, start),
		cmocka_unit_test_setup(one_stream, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
