/* Which SMs programs have by their quotas and reservations, under policies that leave that to the
 * core, and under `parts`. */
#include "base/rng.h"
#include "policy/shares.h"

#define N_SMS 132u
#define UNIT  8u

static void program(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share quota,
		    struct cot_share reserve)
{
	assert_int_equal(bench_shares(b, id, cls, quota, reserve), 0);
	assert_int_equal(bench_parts(b, id, true), 0);
}

static void has(struct bench *b, uint32_t id, uint32_t first, uint32_t n)
{
	bench_run(b, 2 * MS);
	assert_int_equal(b->part[id].first, first);
	assert_int_equal(b->part[id].n, n);
}

/* A quota is a part of that size for all that does not run as workers. */
static void test_quotas(void **state)
{
	struct bench *b = bench_begin(&cot_policy_smguard);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, SMS(32), NONE);
	program(b, BATCH2, COT_CLASS_BATCH, PERCENT(50), NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(16), NONE);
	program(b, BATCH3, COT_CLASS_BATCH, NONE, NONE);
	has(b, BATCH, 0, 32);
	has(b, BATCH2, 32, 64);
	has(b, LATENCY, 112, 16);
	has(b, BATCH3, 0, 0);
	/* While it runs. */
	program(b, BATCH, COT_CLASS_BATCH, SMS(48), NONE);
	has(b, BATCH, 0, 48);
	has(b, BATCH2, 48, 64);
	program(b, BATCH, COT_CLASS_BATCH, NONE, NONE);
	has(b, BATCH, 0, 0);
	has(b, BATCH2, 0, 64);
	end(b);
}

static void test_quotas_under_pools(void **state)
{
	struct bench *b = bench_begin(&cot_policy_pools);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, SMS(32), NONE);
	program(b, BATCH2, COT_CLASS_BATCH, NONE, NONE);
	/* The hardware switches between the pools: nobody need stay away. */
	program(b, LATENCY, COT_CLASS_LATENCY, NONE, PERCENT(90));
	has(b, BATCH, 0, 32);
	has(b, BATCH2, 0, 0);
	has(b, LATENCY, 0, 0);
	end(b);
}

/* Of --quota and --sms the smaller counts, for its works too. */
static void test_both_limits(void **state)
{
	struct bench *b = bench_begin(&cot_policy_static);
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = BATCH,
			       .tenant = {.cls = COT_CLASS_BATCH,
					  .weight = COT_WEIGHT_DEFAULT,
					  .gpu_mask = GPU0,
					  .ready = true,
					  .quota = PERCENT(50),
					  .sms = SMS(40)}};

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(bench_parts(b, BATCH, true), 0);
	has(b, BATCH, 0, 40);
	batch_work(b, 0, 1, BATCH);
	bench_run(b, MS);
	expect(b, 1, 40, 0);
	ev.tenant.quota = SMS(24);
	assert_int_equal(bench_event(b, ev), 0);
	has(b, BATCH, 0, 24);
	end(b);
}

static void test_a_reservation(void **state)
{
	struct bench *b = bench_begin(&cot_policy_smguard);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE, NONE);
	program(b, BATCH2, COT_CLASS_BATCH, SMS(96), NONE);
	has(b, BATCH, 0, 0);
	has(b, BATCH2, 0, 96);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE, PERCENT(60));
	/* 79 of 132, so 53 are left: six units. */
	has(b, LATENCY, 0, 0);
	has(b, BATCH, 0, 48);
	has(b, BATCH2, 0, 48);
	/* One more, that cannot be placed itself. */
	latency(b, LATENCY2, SMS(16));
	has(b, BATCH, 0, 32);
	(void)bench_leave(b, LATENCY2);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE, PERCENT(100));
	has(b, BATCH, 0, 8);
	(void)bench_leave(b, LATENCY);
	has(b, BATCH, 0, 0);
	has(b, BATCH2, 0, 96);
	end(b);
}

/* What it may use at most lies where it finds SMs free. */
static void test_a_reservation_within_a_quota(void **state)
{
	struct bench *b = bench_begin(&cot_policy_smguard);

	(void)state;
	program(b, LATENCY2, COT_CLASS_LATENCY, SMS(16), NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(64), SMS(32));
	program(b, BATCH, COT_CLASS_BATCH, PERCENT(100), NONE);
	has(b, LATENCY, 64, 64);
	has(b, LATENCY2, 80, 16);
	has(b, BATCH, 0, 96);
	/* More than it may use is not reserved. */
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(16), SMS(100));
	has(b, LATENCY, 112, 16);
	has(b, BATCH, 0, 112);
	end(b);
}

static void test_reservations_under_parts(void **state)
{
	struct bench *b = bench_begin(&cot_policy_parts);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, NONE, NONE);
	program(b, LATENCY, COT_CLASS_LATENCY, NONE, SMS(32));
	has(b, LATENCY, 0, 0);
	has(b, BATCH, 0, 96);
	/* With others each has its own; those that said nothing have their half below. */
	program(b, LATENCY2, COT_CLASS_LATENCY, NONE, NONE);
	has(b, LATENCY, 96, 36);
	has(b, LATENCY2, 32, 64);
	has(b, BATCH, 0, 32);
	/* It stays reserved while nobody uses it. */
	(void)bench_leave(b, LATENCY2);
	(void)bench_activity(b, LATENCY, COT_ACTIVITY_IDLE);
	bench_run(b, 2000 * MS);
	has(b, BATCH, 0, 96);
	end(b);
}

/* ---- chance ---- */

#define PROGRAMS 10u

struct said {
	enum cot_class cls;
	struct cot_share quota, reserve;
};

static struct cot_share some_share(struct cot_rng *rng)
{
	switch (cot_rng_below(rng, 3)) {
	case 0:
		return NONE;
	case 1:
		return SMS((uint16_t)(1 + cot_rng_below(rng, N_SMS)));
	default:
		return PERCENT((uint16_t)(1 + cot_rng_below(rng, 100)));
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What it reserves, of what it may use. */
static uint32_t reserves(const struct said *s)
{
	uint32_t n = cot_share_sms(s->reserve, N_SMS), most = cot_share_sms(s->quota, N_SMS);

	return most ? least(n, most) : n;
}

static bool is_on(struct cot_part part, uint32_t sm)
{
	return !part.n || (sm >= part.first && sm < part.first + part.n);
}

static bool any_batch_on(const struct bench *b, const struct said *said, uint32_t sm)
{
	uint32_t i;

	for (i = 1; i <= PROGRAMS; i++)
		if (said[i].cls == COT_CLASS_BATCH && is_on(b->part[i], sm))
			return true;
	return false;
}

static uint32_t free_of_batch(const struct bench *b, const struct said *said, uint32_t id)
{
	uint32_t sm, n = 0;

	for (sm = 0; sm < N_SMS; sm++)
		n += is_on(b->part[id], sm) && !any_batch_on(b, said, sm);
	return n;
}

static void expect_laws(const struct bench *b, const struct said *said)
{
	uint32_t i, all = 0, n = 0;

	for (i = 1; i <= PROGRAMS; i++) {
		all += reserves(&said[i]);
		n += said[i].reserve.sms || said[i].reserve.pct;
	}
	for (i = 1; i <= PROGRAMS; i++) {
		uint32_t quota = cot_share_sms(said[i].quota, N_SMS);
		uint32_t size = b->part[i].n ? b->part[i].n : N_SMS;

		if (quota)
			assert_true(size <= quota + UNIT);
		if (said[i].cls == COT_CLASS_BATCH && all)
			assert_true(b->part[i].n &&
				    b->part[i].first + size <=
					    (all + UNIT < N_SMS ? N_SMS - all : UNIT));
		/* As long as there is room for all in whole units. */
		if (all + (n + 1) * UNIT <= N_SMS)
			assert_true(free_of_batch(b, said, i) >= least(reserves(&said[i]), size));
	}
}

static void test_laws_of(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct said said[PROGRAMS + 1] = {{0}};
	struct cot_rng rng = {seed};
	struct bench *b = bench_begin(ops);
	uint32_t i, round;

	for (i = 1; i <= PROGRAMS; i++) {
		said[i].cls = i % 2 ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
		program(b, i, said[i].cls, NONE, NONE);
	}
	for (round = 0; round < 40; round++) {
		struct said *s = &said[i = 1 + (uint32_t)cot_rng_below(&rng, PROGRAMS)];

		s->quota = some_share(&rng);
		s->reserve = NONE;
		if (s->cls == COT_CLASS_LATENCY && cot_rng_below(&rng, 2))
			s->reserve = SMS((uint16_t)(1 + cot_rng_below(&rng, 40)));
		assert_int_equal(bench_shares(b, i, s->cls, s->quota, s->reserve), 0);
		bench_run(b, 3 * MS);
		expect_laws(b, said);
	}
	end(b);
}

static void test_laws(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 100; seed++) {
		test_laws_of(&cot_policy_smguard, seed);
		test_laws_of(&cot_policy_static, seed);
		test_laws_of(&cot_policy_parts, seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quotas),
		cmocka_unit_test(test_quotas_under_pools),
		cmocka_unit_test(test_both_limits),
		cmocka_unit_test(test_a_reservation),
		cmocka_unit_test(test_a_reservation_within_a_quota),
		cmocka_unit_test(test_reservations_under_parts),
		cmocka_unit_test(test_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
