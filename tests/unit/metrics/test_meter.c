/* Counts per second: what is counted, over which span, and when it is told. */
#include "base/rng.h"
#include "metrics/meter.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

static void expect(struct cot_meter *m, uint64_t now_ns, uint64_t n, uint64_t span_ns)
{
	uint64_t got_n, got_span_ns;

	assert_true(cot_meter_take(m, now_ns, &got_n, &got_span_ns));
	assert_int_equal(got_n, n);
	assert_int_equal(got_span_ns, span_ns);
	assert_false(cot_meter_take(m, now_ns, &got_n, &got_span_ns));
}

static void seconds_are_counted_and_silence_is_told_once(void **state)
{
	struct cot_meter m;
	uint64_t n, span_ns;

	(void)state;
	cot_meter_init(&m);
	assert_false(cot_meter_take(&m, 100 * S, &n, &span_ns));
	cot_meter_add(&m, 100 * S + 300 * MS, 2);
	cot_meter_add(&m, 100 * S + 400 * MS, 3);
	assert_int_equal(m.due_ns, 101 * S);
	assert_false(cot_meter_take(&m, 101 * S - 1, &n, &span_ns));
	expect(&m, 101 * S, 5, S);
	assert_int_equal(m.due_ns, 102 * S);
	cot_meter_add(&m, 102 * S - 1, 7);
	expect(&m, 102 * S, 7, S);
	expect(&m, 103 * S, 0, S);
	assert_true(m.due_ns == COT_NEVER);
	/* A long pause is not part of the next second. */
	cot_meter_add(&m, 200 * S + 1, 1);
	expect(&m, 201 * S, 1, S);
}

static void who_is_late_tells_the_span(void **state)
{
	struct cot_meter m;

	(void)state;
	cot_meter_init(&m);
	cot_meter_add(&m, 0, 9);
	expect(&m, 1499 * MS, 9, 1499 * MS);
	assert_int_equal(m.due_ns, 2 * S);
	cot_meter_add(&m, 1600 * MS, 4);
	expect(&m, 2501 * MS, 4, 1002 * MS);
	assert_int_equal(m.due_ns, 4 * S); /* not half a second later */
	cot_meter_add(&m, 2600 * MS, 1);
	expect(&m, 4 * S, 1, 1499 * MS);
	expect(&m, 5700 * MS, 0, 1700 * MS);
	/* Something happens in the second in which silence was told. */
	cot_meter_add(&m, 5800 * MS, 2);
	assert_int_equal(m.due_ns, 7 * S);
	expect(&m, 7 * S, 2, 1300 * MS);
}

static void the_end_of_time_is_no_overflow(void **state)
{
	struct cot_meter m;
	uint64_t n, span_ns;

	(void)state;
	cot_meter_init(&m);
	cot_meter_add(&m, UINT64_MAX, 1);
	assert_true(m.due_ns > UINT64_MAX / 2);
	assert_false(cot_meter_take(&m, UINT64_MAX, &n, &span_ns));
}

/* Nothing is lost, no span counts twice, and counts come at least half a second apart. */
static void everything_is_told(void **state)
{
	struct cot_rng rng = {11};
	uint64_t now_ns = 0, added = 0, told = 0, last_ns = 0, n, span_ns;
	struct cot_meter m;
	unsigned i;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)rng.state);
	cot_meter_init(&m);
	for (i = 0; i < 100000; i++) {
		now_ns += cot_rng_below(&rng, cot_rng_below(&rng, 50) ? 300 * MS : 9 * S);
		if (cot_rng_below(&rng, 3)) {
			n = cot_rng_below(&rng, 5);
			cot_meter_add(&m, now_ns, n);
			added += n;
		}
		if (!cot_rng_below(&rng, 2) || !cot_meter_take(&m, now_ns, &n, &span_ns))
			continue;
		assert_true(span_ns >= S / 2 && span_ns <= now_ns - last_ns);
		told += n;
		last_ns = now_ns;
		assert_true(m.due_ns > now_ns);
	}
	assert_int_equal(told + m.n, added);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_counted_and_silence_is_told_once),
		cmocka_unit_test(who_is_late_tells_the_span),
		cmocka_unit_test(the_end_of_time_is_no_overflow),
		cmocka_unit_test(everything_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
