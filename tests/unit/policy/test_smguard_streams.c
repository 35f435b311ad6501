/*
 * Several works of one program at a time under smguard, on a GPU of 132 SMs, by hand: they share
 * the program's reservation and its quota, and latency and batch works of one program are told
 * apart.
 */
#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_smguard);
}

/* A work in a stream of a latency program, for which the program has said something; 0 = nothing.
 */
static void stream_work(struct bench *b, uint32_t id, uint32_t tenant, enum cot_work_method method,
			uint32_t asked, uint32_t reserve)
{
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_WORK,
							   .id = id,
							   .work = {.tenant = tenant,
								    .n_sms = 132,
								    .method = method,
								    .can_grow = true,
								    .n_tasks = MANY,
								    .per_sm = 8,
								    .asked = asked,
								    .reserve = reserve,
								    .task_ns = LONG_NS}}),
			 0);
}

static void reserved_work(struct bench *b, uint32_t id, uint32_t tenant, uint32_t reserve)
{
	stream_work(b, id, tenant, COT_WORK_RESERVE, 0, reserve);
}

/* Long tasks hold 92: the second stream gets half of the 40 from the first one, not 40 more. What
 * the first one has beside the 92 no stream has then. */
static void test_two_streams_share_a_reservation(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(40));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 92, 0);
	reserved_work(b, 2, LATENCY, 0);
	expect(b, 2, 40 + 92, 0);
	reserved_work(b, 3, LATENCY, 0);
	expect(b, 1, 92, 0);
	expect(b, 2, 40 + 92, 20 + 92);
	expect(b, 3, 20, 0);
	reserved_work(b, 4, LATENCY, 0);
	expect(b, 1, 92, 0);
	assert_int_equal(b->works[2].evicted + b->works[3].evicted, 92 + 20 + 13);
	expect(b, 4, 13, 0);
	end(b);
}

/* Others give up only what the program's works do not have together. */
static void test_reservation_is_taken_once(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 132, 0);
	latency(b, LATENCY, SMS(40));
	expect(b, 1, 132, 40); /* the reserve, which is not there yet */
	reserved_work(b, 2, LATENCY, 10);
	reserved_work(b, 3, LATENCY, 0);
	expect(b, 1, 132, 40);
	expect(b, 2, 40, 32); /* 10 of 50, in proportion, are 8 of 40 */
	expect(b, 3, 32, 0);
	end(b);
}

/* A stream that says more than its program has reserved gets what its program has. */
static void test_no_stream_reserves_more(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(40));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	reserved_work(b, 2, LATENCY, 132);
	expect(b, 1, 92, 0);
	expect(b, 2, 40 + 92, 0);
	reserved_work(b, 3, LATENCY, 132);
	expect(b, 1, 92, 0);
	expect(b, 2, 40 + 92, 20 + 92);
	expect(b, 3, 20, 0);
	end(b);
}

/* More streams than reserved SMs: each gets one, from the program's own; one more waits, and others
 * do not. */
static void test_more_streams_than_reserved(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(1));
	latency(b, LATENCY2, SMS(40));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 91, 0);
	reserved_work(b, 2, LATENCY2, 20);
	expect(b, 2, 41 + 91, 0);
	reserved_work(b, 3, LATENCY, 0);
	expect(b, 1, 91, 1);
	expect(b, 3, 1, 0);
	reserved_work(b, 4, LATENCY, 0); /* its program has its one SM */
	expect(b, 4, 0, 0);
	reserved_work(b, 5, LATENCY2, 0);
	expect(b, 1, 91, 1);
	expect(b, 2, 41 + 91, 26 + 91);
	expect(b, 5, 26, 0); /* of 40, as 40 to 20 */
	expect(b, 4, 0, 0);
	end(b);
}

/* A batch stream of a latency program is bounded, leaves for the latency stream, and comes back. */
static void test_batch_stream_leaves(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(60));
	stream_work(b, 1, LATENCY, COT_WORK_QUOTA, 33, 0);
	expect(b, 1, 33, 0);
	stream_work(b, 2, LATENCY, COT_WORK_QUOTA, 0, 0);
	expect(b, 2, 39, 0); /* long tasks stay off the 60 */
	reserved_work(b, 3, LATENCY, 0);
	expect(b, 1, 33, 0);
	expect(b, 2, 39, 0);
	expect(b, 3, 60 + 39, 0); /* the 33 are on whole SMs */
	latency(b, LATENCY, SMS(100));
	assert_int_equal(b->works[1].evicted + b->works[2].evicted, 40);
	end(b);
}

/* With a quota the latency stream and the batch stream have it together. */
static void test_quota_of_both_kinds(void **state)
{
	struct bench *b = begin();

	(void)state;
	assert_int_equal(bench_shares(b, LATENCY, COT_CLASS_LATENCY, SMS(60), SMS(40)), 0);
	latency(b, LATENCY2, SMS(1));
	reserved_work(b, 1, LATENCY, 0);
	expect(b, 1, 60, 0);
	stream_work(b, 2, LATENCY, COT_WORK_QUOTA, 0, 0);
	expect(b, 2, 0, 0);
	reserved_work(b, 3, LATENCY, 0); /* nor has a second latency stream anything left */
	expect(b, 3, 0, 0);
	reserved_work(b, 4, LATENCY2, 0); /* it does not wait behind that */
	expect(b, 4, 72, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 3, 60, 0);
	expect(b, 2, 0, 0);
	end(b);
}

/* Where nothing is evicted the works of a program have its shares together; none waits. */
static void test_fixed_shares_are_of_the_program(void **state)
{
	struct bench *b = bench_begin(&cot_policy_static);

	(void)state;
	latency(b, LATENCY, SMS(40));
	batch(b, BATCH, SMS(30));
	reserved_work(b, 1, LATENCY, 0);
	reserved_work(b, 2, LATENCY, 0);
	expect(b, 1, 40, 0);
	expect(b, 2, 1, 0);
	stream_work(b, 3, BATCH, COT_WORK_QUOTA, 20, 0);
	stream_work(b, 4, BATCH, COT_WORK_QUOTA, 0, 0);
	expect(b, 3, 20, 0);
	expect(b, 4, 10, 0);
	(void)bench_work_done(b, 1, 0);
	reserved_work(b, 5, LATENCY, 0);
	expect(b, 5, 39, 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_streams_share_a_reservation),
		cmocka_unit_test(test_reservation_is_taken_once),
		cmocka_unit_test(test_no_stream_reserves_more),
		cmocka_unit_test(test_more_streams_than_reserved),
		cmocka_unit_test(test_batch_stream_leaves),
		cmocka_unit_test(test_quota_of_both_kinds),
		cmocka_unit_test(test_fixed_shares_are_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
