/* Whether launches should be one, and verdicts that are kept. */
#include "model/merge.h"
#include "test.h"

/* Nine small launches on 132 SMs. */
static struct cot_merge_set nine(void)
{
	return (struct cot_merge_set){.n = 9,
				      .blocks = 27,
				      .n_sms = 132,
				      .per_sm = 8,
				      .merged_per_sm = 8,
				      .launch_ns = 2500,
				      .event_ns = 500,
				      .n_events = 9};
}

static void judged(void **state)
{
	struct cot_merge_set set = nine();

	(void)state;
	assert_true(cot_merge_judge(&set)); /* 2.5 + 4.5 us instead of 22.5 */
	set.event_ns = 2222;		    /* 22.498 us */
	assert_true(cot_merge_judge(&set));
	set.event_ns = 2223;
	assert_false(cot_merge_judge(&set));
	set = nine();
	set.n = 1;
	assert_false(cot_merge_judge(&set));
	set = nine();
	set.merged_per_sm = 0;
	assert_false(cot_merge_judge(&set));
}

/* Of several programs: each makes its launches beside the others. */
static void handed_over(void **state)
{
	struct cot_merge_set set = nine();

	(void)state;
	set.n_longest = 1;
	assert_false(cot_merge_judge(&set));
	set.n_longest = 3; /* 7.5 us */
	assert_true(cot_merge_judge(&set));
	/* Where launching is slow for programs, and not for who launches for them: 7 us. */
	set.n_longest = 1;
	set.merged_ns = 2500;
	set.launch_ns = 7001;
	assert_true(cot_merge_judge(&set));
	set.launch_ns = 7000;
	assert_false(cot_merge_judge(&set));
}

/* Fewer blocks at a time: only where that is a wave more. */
static void waves(void **state)
{
	struct cot_merge_set set = nine();

	(void)state;
	set.merged_per_sm = 4;
	set.blocks = 528;
	assert_true(cot_merge_judge(&set));
	set.blocks = 529;
	assert_false(cot_merge_judge(&set));
}

static void kept(void **state)
{
	static struct cot_merge_verdicts v;
	uint64_t key = cot_merge_key(0x7f0000001000, 256, 9, 27), i;
	bool merge = true;

	(void)state;
	assert_false(cot_merge_verdict_find(&v, key, &merge));
	cot_merge_verdict_put(&v, key, false);
	assert_true(cot_merge_verdict_find(&v, key, &merge));
	assert_false(merge);
	cot_merge_verdict_put(&v, key, true);
	assert_true(cot_merge_verdict_find(&v, key, &merge));
	assert_true(merge);
	/* A bucket is from a power of two to the next. */
	assert_true(key == cot_merge_key(0x7f0000001000, 256, 9, 16));
	assert_true(key == cot_merge_key(0x7f0000001000, 256, 9, 31));
	assert_true(key != cot_merge_key(0x7f0000001000, 256, 9, 32));
	assert_true(key != cot_merge_key(0x7f0000001000, 256, 8, 27));
	assert_true(key != cot_merge_key(0x7f0000001000, 128, 9, 27));
	assert_true(key != cot_merge_key(0x7f0000001040, 256, 9, 27));
	/* A full table keeps the newest. */
	for (i = 0; i < 10000; i++) {
		key = cot_merge_key(i << 4, 64, 2, i);
		cot_merge_verdict_put(&v, key, i & 1);
		assert_true(cot_merge_verdict_find(&v, key, &merge));
		assert_int_equal(merge, i & 1);
	}
}

/* Two threads, each every 20 us, half a gap apart. */
static void threads_to_come(void **state)
{
	struct cot_merge_threads t = {0};
	uint64_t ns;

	(void)state;
	assert_int_equal(cot_merge_threads_due(&t, 1, 1000000, 1000000, 1050000), 0);
	for (ns = 1000000; ns < 1100000; ns += 20000) {
		cot_merge_thread_launched(&t, 2, ns);
		cot_merge_thread_launched(&t, 1, ns + 10000);
	}
	/* The first one's launch at 1090000 waits: the second is to come at 1100000. */
	assert_int_equal(cot_merge_threads_due(&t, 1, 1090000, 1090000, 1140000), 1110000);
	assert_int_equal(cot_merge_threads_due(&t, 1, 1109999, 1090000, 1140000), 1110000);
	/* It is late; not within the window; it has come. */
	assert_int_equal(cot_merge_threads_due(&t, 1, 1110000, 1090000, 1140000), 0);
	assert_int_equal(cot_merge_threads_due(&t, 1, 1090000, 1090000, 1099999), 0);
	assert_int_equal(cot_merge_threads_due(&t, 1, 1090000, 1090000, 1100000), 1100000);
	cot_merge_thread_launched(&t, 2, 1095000);
	assert_int_equal(cot_merge_threads_due(&t, 1, 1096000, 1090000, 1140000), 0);
	/* Not for itself. */
	assert_int_equal(cot_merge_threads_due(&t, 2, 1100000, 1100000, 1150000), 1120000);
	assert_int_equal(cot_merge_threads_due(&t, 1, 1100000, 1100000, 1150000), 1123125);
}

/* More than there is room for: those that launched last are known. One launch says nothing of the
 * next. */
static void many_threads(void **state)
{
	struct cot_merge_threads t = {0};
	uintptr_t id;
	uint64_t ns;

	(void)state;
	for (id = 1; id <= 20; id++)
		cot_merge_thread_launched(&t, id, 1000000 + id);
	assert_int_equal(cot_merge_threads_due(&t, 99, 1000100, 1000100, 1050000), 0);
	for (ns = 1010000; ns <= 1020000; ns += 10000)
		for (id = 5; id <= 20; id++)
			cot_merge_thread_launched(&t, id, ns + id);
	assert_true(cot_merge_threads_due(&t, 20, 1020100, 1020100, 1100000) > 1030000);
	/* One that launches after a long while. */
	cot_merge_thread_launched(&t, 21, 9000000);
	assert_int_equal(cot_merge_threads_due(&t, 99, 9000001, 9000001, 9050000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judged),	   cmocka_unit_test(handed_over),
		cmocka_unit_test(waves),	   cmocka_unit_test(kept),
		cmocka_unit_test(threads_to_come), cmocka_unit_test(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
