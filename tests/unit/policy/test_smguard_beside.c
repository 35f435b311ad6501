/*
 * What a latency work has beside long batch tasks under smguard, on a GPU of 132 SMs, by hand:
 * where workers of both may fit an SM together, for how long, and who gets it back.
 */
#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_smguard);
}

/* 975 blocks of one warp, 24 to an SM: all run at once, and lie on all SMs. */
static void few_blocks(struct bench *b, uint32_t id, uint32_t tenant)
{
	(void)bench_work(b, id, tenant, 975, 24, LONG_NS, false);
}

static void request(struct bench *b, uint32_t id, uint32_t tenant)
{
	(void)bench_work(b, id, tenant, MANY, 8, SHORT_NS, false);
}

/* The program's own number of blocks takes nothing from the request, nor is it made to leave. */
static void test_all_tasks_at_once(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	few_blocks(b, 1, BATCH);
	expect(b, 1, 41, 0);
	request(b, 2, LATENCY);
	expect(b, 1, 41, 0);
	expect(b, 2, 132, 0);
	(void)bench_work_done(b, 2, 0);
	(void)bench_work(b, 3, LATENCY, 100 * 8, 8, SHORT_NS, false); /* no more than it can use */
	expect(b, 3, 100, 0);
	end(b);
}

/* A quota does not change where such blocks lie. */
static void test_all_tasks_within_a_quota(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, SMS(45));
	few_blocks(b, 1, BATCH);
	request(b, 2, LATENCY);
	expect(b, 2, 132, 0);
	end(b);
}

/* Workers that are fewer only because of the reservation lie on all SMs, too. */
static void test_spread_workers(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 12, LONG_NS, true);
	expect(b, 1, 51, 0);
	request(b, 2, LATENCY);
	expect(b, 1, 51, 0);
	expect(b, 2, 132, 0);
	end(b);
}

/* A kernel that fills SMs has them for itself: all that it ever has, or what others have left. */
static void test_whole_sms(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, SMS(30));
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	request(b, 2, LATENCY);
	expect(b, 1, 30, 0);
	expect(b, 2, 102, 0);
	end(b);
	b = begin();
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	latency(b, LATENCY, SMS(81));
	expect(b, 1, 132, 81);
	(void)bench_work_evicted(b, 1, 81);
	request(b, 2, LATENCY);
	expect(b, 2, 81, 0);
	end(b);
}

/* Short tasks leave. */
static void test_short_tasks_leave(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	few_blocks(b, 1, BATCH);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, true);
	expect(b, 2, 91, 0);
	request(b, 3, LATENCY);
	expect(b, 1, 41, 0);
	expect(b, 2, 91, 91);
	expect(b, 3, 132, 0);
	end(b);
}

/* What is reserved is evicted as it was: nobody counts on what fits beside others. */
static void test_reservation_goes_before(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	few_blocks(b, 1, BATCH);
	latency(b, LATENCY, SMS(100));
	expect(b, 1, 41, 9);
	request(b, 2, LATENCY);
	expect(b, 1, 41, 9);
	expect(b, 2, 100, 0);
	end(b);
}

/* A second request takes it away, and gets what it would get without. */
static void test_another_request(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(40));
	latency(b, LATENCY2, SMS(30));
	batch(b, BATCH, NONE);
	few_blocks(b, 1, BATCH);
	request(b, 2, LATENCY);
	expect(b, 2, 132, 0);
	request(b, 3, LATENCY2);
	expect(b, 1, 41,
	       30); /* a batch work gives what is reserved before another reservation does */
	expect(b, 2, 132, 41);
	expect(b, 3, 30, 0);
	end(b);
}

/* A work that wants little leaves as much free, but what is beside others is for the only one. */
static void test_beside_a_small_request(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(40));
	latency(b, LATENCY2, SMS(30));
	batch(b, BATCH, NONE);
	few_blocks(b, 1, BATCH);
	(void)bench_work(b, 2, LATENCY, 10 * 8, 8, SHORT_NS, false);
	expect(b, 2, 10, 0);
	request(b, 3, LATENCY2);
	expect(b, 1, 41, 0);
	expect(b, 2, 10, 0);
	expect(b, 3, 81, 0);
	end(b);
}

/* Batch works 1 to 10, of one CapSM each, which can leave as a whole or not at all. */
static void ten_works(struct bench *b, bool can_settle)
{
	uint32_t id;

	batch(b, BATCH, NONE);
	for (id = 1; id <= 10; id++) {
		(void)bench_work(b, id, BATCH, 8, 8, LONG_NS, can_settle);
		expect(b, id, 1, 0);
		assert_int_equal(b->works[id].settled, can_settle);
	}
}

static uint32_t ten_evicted(const struct bench *b)
{
	uint32_t id, n = 0;

	for (id = 1; id <= 10; id++)
		n += b->works[id].evicted;
	return n;
}

/* Nothing beside others for a work that others have to leave for. */
static void test_works_leave(void **state)
{
	struct bench *b = begin();

	(void)state;
	ten_works(b, true);
	latency(b, LATENCY, SMS(125));
	request(b, 11, LATENCY);
	assert_int_equal(ten_evicted(b), 3);
	expect(b, 11, 125, 0);
	end(b);
}

/* Two reservations, of 40 and 30, and these; the first has all beside them. */
static struct bench *begin_beside_ten(bool can_settle)
{
	struct bench *b = begin();

	latency(b, LATENCY, SMS(40));
	latency(b, LATENCY2, SMS(30));
	ten_works(b, can_settle);
	request(b, 11, LATENCY);
	expect(b, 11, 132, 0);
	return b;
}

/*
 * What a work has beside others becomes what is reserved for it. The next request takes from the
 * batch works what no longer fits the GPU, and then what it is to get: that is what they have left.
 */
static void test_reservation_raised(void **state)
{
	struct bench *b = begin_beside_ten(true);

	(void)state;
	latency(b, LATENCY, SMS(125));
	assert_int_equal(ten_evicted(b), 0); /* each keeps one, to do the rest */
	expect(b, 11, 132, 0);
	request(b, 12, LATENCY2);
	assert_int_equal(ten_evicted(b), 10);
	expect(b, 11, 132, 7);
	expect(b, 12, 7, 0);
	end(b);
}

/* The same where batch works have just what does not fit: nothing is left for the next request. */
static void test_all_is_reserved(void **state)
{
	struct bench *b = begin_beside_ten(true);

	(void)state;
	latency(b, LATENCY, SMS(132));
	request(b, 12, LATENCY2);
	assert_int_equal(ten_evicted(b), 10);
	expect(b, 11, 132, 0);
	expect(b, 12, 0, 0);
	(void)bench_work_done(b, 11, 0);
	expect(b, 12, 132, 0);
	end(b);
}

/* And where they have one that does not fit and that they have to keep. */
static void test_works_cannot_leave(void **state)
{
	struct bench *b = begin_beside_ten(false);

	(void)state;
	latency(b, LATENCY, SMS(125));
	request(b, 12, LATENCY2);
	assert_int_equal(ten_evicted(b), 0);
	expect(b, 11, 132, 7);
	expect(b, 12, 0, 0);
	(void)bench_work_done(b, 11, 0);
	expect(b, 12, 132, 0);
	end(b);
}

/*
 * A second work of the same program takes away what the first one has beside others. What the
 * program is missing then of its raised reservation, the batch works give.
 */
static void test_second_work_of_a_raised_reservation(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(40));
	ten_works(b, true);
	request(b, 11, LATENCY);
	expect(b, 11, 132, 0);
	latency(b, LATENCY, SMS(125));
	request(b, 12, LATENCY);
	assert_int_equal(ten_evicted(b), 3);
	expect(b, 11, 132, 132 - 63);
	expect(b, 12, 62, 0); /* half of the 125 */
	end(b);
}

/* After 20 ms; after 5 ms if a batch work waits. */
static void test_given_back(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	few_blocks(b, 1, BATCH);
	request(b, 2, LATENCY);
	bench_run(b, 19 * MS);
	expect(b, 2, 132, 0);
	bench_run(b, 1 * MS);
	expect(b, 2, 132, 41);
	(void)bench_work_done(b, 2, 0);
	request(b, 3, LATENCY);
	expect(b, 3, 132, 0);
	(void)bench_work(b, 4, BATCH2, MANY, 8, LONG_NS, false);
	expect(b, 4, 0, 0);
	bench_run(b, 5 * MS);
	expect(b, 3, 132, 51);
	(void)bench_work_evicted(b, 3, 51);
	expect(b, 4, 10, 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_tasks_at_once),
		cmocka_unit_test(test_all_tasks_within_a_quota),
		cmocka_unit_test(test_spread_workers),
		cmocka_unit_test(test_whole_sms),
		cmocka_unit_test(test_short_tasks_leave),
		cmocka_unit_test(test_reservation_goes_before),
		cmocka_unit_test(test_another_request),
		cmocka_unit_test(test_beside_a_small_request),
		cmocka_unit_test(test_reservation_raised),
		cmocka_unit_test(test_all_is_reserved),
		cmocka_unit_test(test_works_cannot_leave),
		cmocka_unit_test(test_works_leave),
		cmocka_unit_test(test_second_work_of_a_raised_reservation),
		cmocka_unit_test(test_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
