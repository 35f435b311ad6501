/* Bursts: what is seen as a request of a program that marks none. */
#include "burst_stage.h"

#include "base/rng.h"

/* ---- one stream ---- */

static void many_operations_one_wait(void **state)
{
	uint64_t begin, i;

	(void)state;
	begin = put(A);
	for (i = 0; i < 1000; i++)
		(void)put(A);
	expect(1, begin, wait_for(A));
	(void)wait_for(A); /* nothing is left */
	begin = put(A);
	expect(2, begin, wait_for(A));
	expect_rest(0);
}

static void questions(void **state)
{
	struct cot_burst_point asked;
	uint64_t begin = put(A);
	unsigned i;

	(void)state;
	for (i = 0; i < 10; i++)
		asked = ask(A); /* it is not ready */
	expect(1, begin, done(asked));
	expect_rest(0);
}

static void events(void **state)
{
	uint64_t begin = put(A);

	(void)state;
	record(E, A);
	expect(1, begin, wait_for_event(E));
	begin = put(A);
	(void)wait_for_event(E); /* of the last one */
	assert_int_equal(n_seen, 1);
	record(E, A);
	expect(2, begin, wait_for_event(E));
	expect_rest(0);
}

/* What another thread puts into the stream during the wait is not covered. */
static void put_while_waiting(void **state)
{
	struct cot_burst_point asked;
	uint64_t begin = put(A);

	(void)state;
	asked = ask(A);
	(void)put_by(YOU, A);
	(void)done(asked);
	assert_int_equal(n_seen, 0);
	expect(1, begin, wait_for(A));
	expect_rest(0);
}

/* The next request is put before the last one is waited for: nobody can tell where one ends. */
static void one_ahead(void **state)
{
	unsigned i;

	(void)state;
	(void)put(A);
	record(E, A);
	for (i = 0; i < 8; i++) {
		(void)put(A);
		record(i % 2 ? E : F, A);
		(void)wait_for_event(i % 2 ? F : E);
	}
	assert_int_equal(bursts.n_unclear, 7);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect_rest(7);
}

/* ---- several streams ---- */

static void all_streams_of_a_thread(void **state)
{
	uint64_t begin = put(A);

	(void)state;
	(void)put(C);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect(1, begin, wait_for(C));
	begin = put(C);
	(void)put(A);
	expect(2, begin, wait_for_context(CONTEXT));
	expect_rest(0);
}

static void threads_side_by_side(void **state)
{
	uint64_t mine = put_by(ME, A), yours = put_by(YOU, C);

	(void)state;
	expect(1, mine, wait_for(A));
	mine = put_by(ME, A);
	expect(2, yours, wait_for(C));
	yours = put_by(YOU, C);
	expect(3, mine, wait_for(A));
	expect(4, yours, wait_for(C));
	expect_rest(0);
}

/* A fork and a join by events; the last wait is for one stream. */
static void joined(void **state)
{
	uint64_t begin = put(A);

	(void)state;
	record(E, A);
	order(C, E);
	(void)put(C);
	record(F, C);
	(void)put(A);
	order(A, F);
	expect(1, begin, wait_for(A));
	expect_rest(0);
}

/* That a stream waits is in it, too, though nothing follows. */
static void joined_last(void **state)
{
	uint64_t begin = put(C);

	(void)state;
	record(E, C);
	(void)put(B);
	order(B, E);
	(void)put(LEGACY); /* waits for B */
	expect(1, begin, wait_for(LEGACY));
	expect_rest(0);
}

/* All that was put before the event is known to be over: the order is of nothing. */
static void joined_with_what_is_over(void **state)
{
	uint64_t mine = put_by(ME, A), yours;

	(void)state;
	expect(1, mine, wait_for(A));
	record(E, A);
	mine = put_by(ME, A);
	yours = put_by(YOU, C);
	order(C, E);
	expect(2, mine, wait_for(A));
	expect(3, yours, wait_for(C));
	expect_rest(0);
}

/* Two wait for the same: what the second one finds over is no news. */
static void waited_for_twice(void **state)
{
	struct cot_burst_point mine, yours;

	(void)state;
	(void)put(A);
	(void)put(C);
	mine = ask(A);
	yours = ask(A);
	(void)done(mine);
	(void)put(A); /* unclear */
	(void)done(yours);
	(void)put(A);
	(void)wait_for_context(CONTEXT);
	assert_int_equal(n_seen, 0);
	expect_rest(1);
}

/* Not joined: what is in the other stream is not known to be done. */
static void not_joined(void **state)
{
	uint64_t begin = put(A);

	(void)state;
	record(E, A);
	order(C, E);
	(void)put(C);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect(1, begin, wait_for(C));
	expect_rest(0);
}

/* An event that was recorded before is not a join of what came after it. */
static void joined_too_early(void **state)
{
	(void)state;
	(void)put(C);
	record(F, C);
	(void)put(C);
	(void)put(A);
	order(A, F);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	(void)wait_for(C);
	assert_int_equal(n_seen, 1);
	expect_rest(0);
}

/* Copies in, kernels and copies out in streams of their own, by different threads. */
static void one_after_the_other(void **state)
{
	uint64_t begin = put_by(ME, A);

	(void)state;
	record(E, A);
	order(B, E);
	(void)put_by(YOU, B);
	record(F, B);
	order(C, F);
	(void)put_by(ME, C);
	record(G, C);
	expect(1, begin, wait_for_event(G));
	expect_rest(0);
}

/* A stream into which nothing is put hands on what it waits for. */
static void through_an_idle_stream(void **state)
{
	uint64_t begin = put(A);

	(void)state;
	record(E, A);
	order(B, E);
	record(F, B);
	order(C, F);
	record(G, C);
	expect(1, begin, wait_for_event(G));
	begin = put(A);
	record(E, A);
	order(C, E);
	expect(2, begin, wait_for(C));
	expect_rest(0);
}

/* One thread feeds two streams in turn, always one request ahead. */
static void two_streams_in_turn(void **state)
{
	unsigned i;

	(void)state;
	(void)put(A);
	(void)put(C);
	for (i = 0; i < 6; i++) {
		(void)wait_for(i % 2 ? C : A);
		(void)put(i % 2 ? C : A);
	}
	(void)wait_for(A);
	(void)wait_for(C);
	assert_int_equal(n_seen, 0);
	expect_rest(3); /* of the six */
}

/* What nobody ever waits for costs two requests, and no more. */
static void never_waited_for(void **state)
{
	uint64_t begin = 0, end = 0;
	unsigned i;

	(void)state;
	(void)put(C);
	for (i = 0; i < 10; i++) {
		begin = put(A);
		end = wait_for(A);
	}
	expect(8, begin, end);
	assert_int_equal(bursts.n_unclear, 1);
}

/* ---- what waits for what ---- */

/* Streams of two threads, busy both: from the first operation on. */
static void joined_across_threads(void **state)
{
	uint64_t begin = put_by(YOU, C);

	(void)state;
	(void)put_by(ME, A);
	record(E, A);
	order(C, E);
	expect(1, begin, wait_for(C));
	begin = put_by(ME, A);
	record(E, A);
	order(B, E);
	record(F, B);
	(void)put_by(YOU, C);
	order(C, F);
	expect(2, begin, wait_for(C));
	expect_rest(0);
}

/* A thread that goes on with what another has begun: that and its own. */
static void taken_over(void **state)
{
	uint64_t begin = put_by(YOU, B);

	(void)state;
	record(E, B);
	(void)put_by(ME, A);
	order(C, E);
	(void)put_by(ME, C);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect(1, begin, wait_for(C));
	expect_rest(0);
}

/* What is known to be done already joins nothing, nor does a stream that another one has become. */
static void joined_with_nothing(void **state)
{
	uint64_t yours;

	(void)state;
	(void)put_by(ME, A);
	record(E, A);
	order(B, E);
	record(F, B);
	(void)put_by(ME, A);
	(void)wait_for_event(E);
	yours = put_by(YOU, C);
	order(C, E);
	order(C, F);
	expect(1, yours, wait_for(C));
	(void)wait_for(A);
	assert_int_equal(n_seen, 2);
	(void)put_by(ME, A);
	record(E, A);
	cot_burst_drop(&bursts, stream(A));
	(void)put_by(ME, A);
	yours = put_by(YOU, C);
	order(C, E);
	expect(3, yours, wait_for(C));
}

/* Waits that began, and events that were recorded, before it was waited for. */
static void joined_too_late(void **state)
{
	struct cot_burst_point asked;

	(void)state;
	(void)put_by(YOU, C);
	asked = ask(C);
	(void)put_by(ME, A);
	record(E, A);
	order(C, E);
	(void)done(asked);
	assert_int_equal(n_seen, 0);
	(void)wait_for(A);
	assert_int_equal(n_seen, 1);
	(void)put_by(ME, A);
	record(E, A);
	record(F, B);
	order(B, E);
	order(C, F);
	(void)wait_for(C);
	assert_int_equal(n_seen, 1);
	(void)wait_for(A);
	assert_int_equal(n_seen, 2);
	expect_rest(0);
}

static void joined_to_one_that_ended(void **state)
{
	uint64_t yours;

	(void)state;
	(void)put_by(ME, A);
	record(E, A);
	order(C, E);
	cot_burst_drop(&bursts, stream(C));
	yours = put_by(YOU, C);
	expect(1, yours, wait_for(C));
	(void)wait_for(A);
	assert_int_equal(n_seen, 2);
	expect_rest(0);
}

/* ---- when it is unclear ---- */

/* Once for each time that something follows. */
static void unclear_once(void **state)
{
	(void)state;
	(void)put(A);
	(void)put(C);
	(void)wait_for(A);
	(void)put(A);
	assert_int_equal(bursts.n_unclear, 1);
	(void)put(C);
	(void)put_by(YOU, B);
	(void)wait_for(B);
	record(E, C);
	(void)put(C);
	assert_int_equal(bursts.n_unclear, 1);
	(void)wait_for_context(CONTEXT);
	assert_int_equal(n_seen, 1); /* B's */
	expect_rest(1);
}

static void unclear_in_one_stream(void **state)
{
	(void)state;
	(void)put(A);
	record(E, A);
	(void)put(A);
	(void)wait_for_event(E);
	(void)put(A);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect_rest(1);
}

/* An event of before the burst covers nothing of it. */
static void not_unclear(void **state)
{
	uint64_t begin;

	(void)state;
	(void)put_by(YOU, C);
	(void)ask(A);
	record(E, A);
	begin = put(A);
	(void)wait_for_event(E);
	record(F, A);
	(void)put(A);
	expect(1, begin, wait_for(A));
	(void)wait_for(C);
	expect_rest(0);
}

/* It stays so when it is joined. */
static void unclear_when_joined(void **state)
{
	(void)state;
	(void)put_by(YOU, C);
	(void)put_by(ME, A);
	(void)put_by(ME, B);
	record(E, B);
	(void)wait_for(A);
	order(C, E);
	(void)put_by(YOU, C);
	assert_int_equal(bursts.n_unclear, 1);
	(void)wait_for(C);
	(void)put_by(YOU, C);
	(void)put_by(ME, A);
	(void)put_by(ME, B);
	(void)wait_for(A);
	(void)put_by(ME, A); /* that of B is unclear */
	record(E, B);
	order(C, E);
	(void)wait_for(C);
	(void)wait_for(A);
	assert_int_equal(n_seen, 0);
	expect_rest(2);
}

/* ---- the default stream ---- */

static void default_stream(void **state)
{
	uint64_t begin = put(B);

	(void)state;
	(void)put(LEGACY); /* waits for B, as B does for it */
	expect(1, begin, wait_for(LEGACY));
	begin = put(LEGACY);
	(void)put(B);
	expect(2, begin, wait_for(B));
	begin = put(B);
	(void)put(LEGACY);
	(void)put(B);
	(void)put(LEGACY);
	(void)put(LEGACY);
	expect(3, begin, wait_for(LEGACY));
	(void)put(A);
	(void)put(LEGACY); /* does not wait for A */
	(void)wait_for(LEGACY);
	assert_int_equal(n_seen, 3);
	(void)wait_for(A);
	assert_int_equal(n_seen, 4);
	(void)put_by(ME, A);
	begin = put_by(YOU, B); /* does not wait for A either */
	expect(5, begin, wait_for(B));
	(void)wait_for(A);
	assert_int_equal(n_seen, 6);
	expect_rest(0);
}

static void default_streams_of_two_contexts(void **state)
{
	struct cot_burst_id id = {OTHER, COT_BURST_LEGACY};
	struct cot_burst_stream *other = cot_burst_get(&bursts, id, OTHER, true);
	uint64_t mine = put(LEGACY), yours = ++now;

	(void)state;
	cot_burst_put(&bursts, other, YOU, COT_BURST_WORK, yours);
	expect(1, yours, wait_for_context(OTHER));
	expect(2, mine, wait_for_context(CONTEXT));
	expect_rest(0);
}

/* ---- ends, and bounds ---- */

static void streams_end(void **state)
{
	uint64_t begin;

	(void)state;
	(void)put(A);
	record(E, A);
	cot_burst_drop(&bursts, stream(A));
	(void)wait_for_event(E);
	expect_rest(1);
	begin = put(A); /* another one of that name */
	(void)wait_for_event(E);
	assert_int_equal(n_seen, 0);
	expect(1, begin, wait_for(A));
	(void)put(A);
	(void)put(C);
	cot_burst_drop_context(&bursts, CONTEXT);
	assert_int_equal(bursts.n_busy, 0);
	assert_int_equal(n_seen, 1);
}

static void forgotten_events(void **state)
{
	uint64_t begin = put(A), e;

	(void)state;
	record(E, A);
	cot_burst_forget(&bursts, E);
	(void)wait_for_event(E);
	assert_int_equal(n_seen, 0);
	for (e = 0; e < 10 * COT_BURST_EVENTS; e++)
		record(0x10000 + e * 64, A);
	expect(1, begin, wait_for_event(0x10000 + (e - 1) * 64));
	expect_rest(0);
}

static void too_many_streams(void **state)
{
	unsigned i, n = 0;

	(void)state;
	for (i = 0; i < 4 * COT_BURST_STREAMS; i++) {
		struct cot_burst_id id = {.home = 0x10000 + i * 0x150};
		struct cot_burst_stream *s = cot_burst_get(&bursts, id, CONTEXT, false);

		if (!s)
			n++;
		else
			cot_burst_put(&bursts, s, ME + i, COT_BURST_WORK, ++now);
	}
	assert_true(n >= 3 * COT_BURST_STREAMS);
	assert_int_equal(bursts.n_unclear, n);
	(void)wait_for_context(CONTEXT);
	expect_rest(n);
	assert_int_equal(n_seen, 0);
}

/* What was put where nobody knows may be of any request, until all has been waited for. */
static void unknown_streams(void **state)
{
	uint64_t begin;

	(void)state;
	(void)put(A);
	cot_burst_confuse(&bursts);
	(void)wait_for(A);
	(void)put(A);
	(void)wait_for(A);
	(void)put(A);
	(void)wait_for_context(OTHER);
	(void)wait_for_context(CONTEXT);
	assert_int_equal(n_seen, 0);
	begin = put(A);
	expect(1, begin, wait_for(A));
	expect_rest(1);
}

/*
 * Whatever a program does: what is seen is over, began with an operation, is not counted twice, and
 * nothing stays open when all has been waited for.
 */
static void anything(void **state)
{
	static const uint64_t handles[] = {A, B, C, LEGACY};
	struct cot_rng rng = {1};
	unsigned i, k;

	for (k = 0; k < 2000; k++) {
		(void)start(state);
		bursts.streams[0].life = k;
		for (i = 0; i < 60 && n_seen < COT_ARRAY_LEN(seen) - 8; i++) {
			uint64_t handle = handles[cot_rng_below(&rng, 4)];
			uint64_t event = E + cot_rng_below(&rng, 3);

			switch (cot_rng_below(&rng, 7)) {
			case 0:
				(void)copy_in_by(ME + cot_rng_below(&rng, 2), handle);
				break;
			case 1:
			case 6:
				(void)put_by(ME + cot_rng_below(&rng, 2), handle);
				break;
			case 2:
				record(event, handle);
				break;
			case 3:
				order(handle, event);
				break;
			case 4:
				(void)wait_for_event(event);
				break;
			default:
				(void)wait_for(handle);
			}
		}
		(void)wait_for_context(CONTEXT);
		assert_int_equal(bursts.n_busy, 0);
		for (i = 0; i < COT_BURST_STREAMS; i++)
			assert_int_equal(bursts.bursts[i].n_streams, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(many_operations_one_wait, start),
		cmocka_unit_test_setup(questions, start),
		cmocka_unit_test_setup(events, start),
		cmocka_unit_test_setup(put_while_waiting, start),
		cmocka_unit_test_setup(one_ahead, start),
		cmocka_unit_test_setup(all_streams_of_a_thread, start),
		cmocka_unit_test_setup(threads_side_by_side, start),
		cmocka_unit_test_setup(joined, start),
		cmocka_unit_test_setup(joined_last, start),
		cmocka_unit_test_setup(joined_with_what_is_over, start),
		cmocka_unit_test_setup(waited_for_twice, start),
		cmocka_unit_test_setup(not_joined, start),
		cmocka_unit_test_setup(joined_too_early, start),
		cmocka_unit_test_setup(one_after_the_other, start),
		cmocka_unit_test_setup(through_an_idle_stream, start),
		cmocka_unit_test_setup(two_streams_in_turn, start),
		cmocka_unit_test_setup(never_waited_for, start),
		cmocka_unit_test_setup(joined_across_threads, start),
		cmocka_unit_test_setup(taken_over, start),
		cmocka_unit_test_setup(joined_with_nothing, start),
		cmocka_unit_test_setup(joined_too_late, start),
		cmocka_unit_test_setup(joined_to_one_that_ended, start),
		cmocka_unit_test_setup(unclear_once, start),
		cmocka_unit_test_setup(unclear_in_one_stream, start),
		cmocka_unit_test_setup(not_unclear, start),
		cmocka_unit_test_setup(unclear_when_joined, start),
		cmocka_unit_test_setup(default_stream, start),
		cmocka_unit_test_setup(default_streams_of_two_contexts, start),
		cmocka_unit_test_setup(streams_end, start),
		cmocka_unit_test_setup(forgotten_events, start),
		cmocka_unit_test_setup(too_many_streams, start),
		cmocka_unit_test_setup(unknown_streams, start),
		cmocka_unit_test_setup(anything, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
