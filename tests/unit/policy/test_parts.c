/* Who has which SMs under `parts`, and under a policy that leaves that to the core. */
#include "base/rng.h"
#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_parts);
}

static void program(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share sms)
{
	assert_int_equal(bench_sms(b, id, cls, sms), 0);
	assert_int_equal(bench_parts(b, id, true), 0);
}

static void has(struct bench *b, uint32_t id, uint32_t first, uint32_t n)
{
	bench_run(b, 2 * MS);
	assert_int_equal(b->part[id].first, first);
	assert_int_equal(b->part[id].n, n);
}

static void test_batch_alone_has_all(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	has(b, BATCH, 0, 0);
	end(b);
}

/* Otherwise one with large kernels would starve the others. */
static void test_batch_programs_are_apart(void **state)
{
	struct bench *b = begin();

	(void)state;
	assert_int_equal(bench_solo(b, BATCH, COT_CLASS_BATCH, 300), 0);
	assert_int_equal(bench_parts(b, BATCH, true), 0);
	program(b, BATCH2, COT_CLASS_BATCH, NONE);
	has(b, BATCH, 0, 96);
	has(b, BATCH2, 96, 36);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, BATCH, 0, 48);
	has(b, BATCH2, 48, 16);
	(void)bench_leave(b, BATCH);
	has(b, BATCH2, 0, 64);
	end(b);
}

/* One latency program may use what batch programs leave idle, too. */
static void test_one_latency_program(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, BATCH2, COT_CLASS_BATCH, NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, LATENCY, 0, 0);
	has(b, BATCH, 0, 32);
	has(b, BATCH2, 32, 32);
	(void)bench_leave(b, LATENCY);
	has(b, BATCH, 0, 64);
	has(b, BATCH2, 64, 68);
	end(b);
}

/* The pace of the configuration is that of batch programs, wherever they are. */
static void test_pace(void **state)
{
	struct cot_policy_config config;
	struct cot_error err;
	struct bench *b = bench_begin(&cot_policy_parts);

	(void)state;
	cot_policy_config_init(&config);
	config.pace_us = 500;
	assert_int_equal(
		cot_sched_set_policy(b->sched, &cot_policy_parts, &config, b->now_ns, &err), 0);
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, BATCH2, COT_CLASS_BATCH, (struct cot_share){.sms = 32});
	has(b, BATCH, 0, 0);
	has(b, BATCH2, 0, 32);
	assert_int_equal(b->part[BATCH].pace_us, 500);
	assert_int_equal(b->part[BATCH2].pace_us, 500);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, LATENCY, 0, 0);
	assert_int_equal(b->part[LATENCY].pace_us, 0);
	has(b, BATCH, 32, 32);
	assert_int_equal(b->part[BATCH].pace_us, 500);
	end(b);
}

/* Also beside one that cannot be placed. */
static void test_latency_program_without_parts(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	assert_int_equal(bench_solo(b, LATENCY, COT_CLASS_LATENCY, 100), 0);
	has(b, BATCH, 0, 64);
	end(b);
}

static void test_all_of_it_while_no_latency_program_is_active(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, BATCH, 0, 64);
	bench_run(b, 5000 * MS); /* it counts from when it is idle, not from an earlier change */
	(void)bench_activity(b, LATENCY, COT_ACTIVITY_IDLE);
	bench_run(b, 990 * MS);
	has(b, BATCH, 0, 64);
	bench_run(b, 20 * MS);
	has(b, BATCH, 0, 0);
	(void)bench_activity(b, LATENCY, COT_ACTIVITY_ACTIVE);
	has(b, BATCH, 0, 64);
	end(b);
}

static void test_latency_programs_are_apart(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	program(b, LATENCY2, COT_CLASS_LATENCY, NONE);
	has(b, LATENCY, 0, 64);
	has(b, LATENCY2, 64, 68);
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	has(b, BATCH, 0, 64);
	has(b, LATENCY, 64, 32);
	has(b, LATENCY2, 96, 36);
	/* By weight. */
	(void)bench_solo(b, LATENCY, COT_CLASS_LATENCY, 300);
	has(b, LATENCY, 64, 48);
	has(b, LATENCY2, 112, 20);
	(void)bench_leave(b, LATENCY);
	has(b, LATENCY2, 0, 0);
	has(b, BATCH, 0, 64);
	end(b);
}

static void test_more_latency_programs_than_units(void **state)
{
	struct bench *b = begin();
	uint32_t id;

	(void)state;
	program(b, 1, COT_CLASS_BATCH, NONE);
	for (id = 2; id < 10; id++)
		program(b, id, COT_CLASS_LATENCY, NONE);
	for (id = 2; id < 10; id++)
		has(b, id, 64 + 8 * (id - 2), id == 9 ? 12 : 8);
	program(b, 10, COT_CLASS_LATENCY, NONE);
	for (id = 2; id < 11; id++)
		has(b, id, 0, 0);
	has(b, 1, 0, 64);
	end(b);
}

static void test_who_asked_goes_first(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, BATCH2, COT_CLASS_BATCH, SMS(30));
	program(b, LATENCY, COT_CLASS_LATENCY, PERCENT(25));
	program(b, LATENCY2, COT_CLASS_LATENCY, NONE);
	has(b, BATCH2, 0, 32);
	has(b, LATENCY, 96, 36);
	/* Of the 64 in between batch programs keep a unit. */
	has(b, LATENCY2, 40, 56);
	has(b, BATCH, 32, 8);
	/* It asks for less. */
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(1));
	has(b, LATENCY, 128, 4);
	has(b, LATENCY2, 64, 64);
	has(b, BATCH, 32, 32);
	end(b);
}

/* Nobody is left without SMs, and who asked has what he asked for. */
static void test_too_much_asked_for(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(96));
	program(b, LATENCY2, COT_CLASS_LATENCY, SMS(64));
	program(b, BATCH, COT_CLASS_BATCH, SMS(64));
	program(b, BATCH2, COT_CLASS_BATCH, PERCENT(100));
	program(b, BATCH3, COT_CLASS_BATCH, NONE);
	has(b, LATENCY, 32, 100);
	has(b, LATENCY2, 64, 68);
	has(b, BATCH, 0, 64);
	has(b, BATCH2, 0, 0);
	has(b, BATCH3, 0, 32);
	program(b, LATENCY, COT_CLASS_LATENCY, PERCENT(100));
	has(b, LATENCY, 0, 0);
	has(b, BATCH3, 0, 8);
	end(b);
}

/* One that lies about the GPU is not placed, and the others are. */
static void test_who_says_otherwise(void **state)
{
	struct bench *b = begin();
	struct cot_event lie = {
		.type = COT_EV_PARTS, .id = BATCH3, .parts = {.n_sms = 1000, .unit = 1}};

	(void)state;
	assert_int_equal(bench_sms(b, BATCH3, COT_CLASS_BATCH, SMS(64)), 0);
	assert_int_equal(bench_event(b, lie), 0);
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, BATCH, 0, 64);
	end(b);
}

/* Nor if it comes after two that agree. */
static void test_who_says_otherwise_later(void **state)
{
	struct bench *b = begin();
	struct cot_event lie = {
		.type = COT_EV_PARTS, .id = BATCH3, .parts = {.n_sms = 1000, .unit = 1}};

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, BATCH, 0, 64);
	assert_int_equal(bench_sms(b, BATCH3, COT_CLASS_BATCH, SMS(64)), 0);
	assert_int_equal(bench_event(b, lie), 0);
	has(b, BATCH, 0, 64);
	assert_int_equal(bench_sms(b, BATCH, COT_CLASS_BATCH, SMS(32)), 0);
	has(b, BATCH, 0, 32);
	end(b);
}

static void test_each_gpu_by_itself(void **state)
{
	struct bench *b = begin();

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE);
	assert_int_equal(bench_solo_on(b, BATCH2, COT_CLASS_BATCH, 100, GPU1), 0);
	assert_int_equal(bench_parts(b, BATCH2, true), 0);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE);
	has(b, BATCH, 0, 64);
	has(b, BATCH2, 0, 0);
	/* One on both keeps batch programs off on both. */
	assert_int_equal(bench_solo_on(b, LATENCY, COT_CLASS_LATENCY, 100, GPU0 | GPU1), 0);
	has(b, BATCH2, 0, 64);
	end(b);
}

/* ---- the core's own ---- */

static void test_other_policies(void **state)
{
	struct bench *b = bench_begin(&cot_policy_pools);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, SMS(64));
	program(b, BATCH2, COT_CLASS_BATCH, SMS(64));
	program(b, BATCH3, COT_CLASS_BATCH, NONE);
	has(b, BATCH, 0, 64);
	has(b, BATCH2, 64, 64);
	has(b, BATCH3, 0, 0);
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(36));
	has(b, LATENCY, 96, 36);
	has(b, BATCH2, 0, 64);
	end(b);
}

/* ---- chance ---- */

static bool are_apart(struct cot_part a, struct cot_part b)
{
	return a.n && b.n && (a.first >= b.first + b.n || b.first >= a.first + a.n);
}

/* Up to four latency programs and two batch programs that said nothing: each has its own, and the
 * batch programs have half of the GPU between them. */
static void test_laws(void **state)
{
	struct cot_rng rng = {20221122};
	unsigned round;

	(void)state;
	for (round = 0; round < 300; round++) {
		uint32_t n_latency = 2 + (uint32_t)cot_rng_below(&rng, 3), i, j;
		struct bench *b = begin();

		for (i = 1; i <= n_latency + 2; i++) {
			enum cot_class cls = i <= n_latency ? COT_CLASS_LATENCY : COT_CLASS_BATCH;

			assert_int_equal(
				bench_solo(b, i, cls, 1 + (uint32_t)cot_rng_below(&rng, 1000)), 0);
			assert_int_equal(bench_parts(b, i, true), 0);
		}
		bench_run(b, 5 * MS);
		for (i = 1; i < n_latency + 2; i++)
			for (j = i + 1; j <= n_latency + 2; j++)
				assert_true(are_apart(b->part[i], b->part[j]));
		assert_int_equal(b->part[n_latency + 1].n + b->part[n_latency + 2].n, 64);
		end(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch_alone_has_all),
		cmocka_unit_test(test_batch_programs_are_apart),
		cmocka_unit_test(test_one_latency_program),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_latency_program_without_parts),
		cmocka_unit_test(test_all_of_it_while_no_latency_program_is_active),
		cmocka_unit_test(test_latency_programs_are_apart),
		cmocka_unit_test(test_more_latency_programs_than_units),
		cmocka_unit_test(test_who_asked_goes_first),
		cmocka_unit_test(test_too_much_asked_for),
		cmocka_unit_test(test_who_says_otherwise),
		cmocka_unit_test(test_who_says_otherwise_later),
		cmocka_unit_test(test_each_gpu_by_itself),
		cmocka_unit_test(test_other_policies),
		cmocka_unit_test(test_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
