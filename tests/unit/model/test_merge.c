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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judged),
		cmocka_unit_test(waves),
		cmocka_unit_test(kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
