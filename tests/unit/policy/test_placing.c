/* Which SMs programs have by their quotas and reservations, under policies that leave that to the
 * core, and under `parts`. */
#include "base/rng.h"
#include "policy/shares.h"

#define UNIT 8u

/* How a GPU can be divided: whole units, and what is left of it. The one of 15 units is an H200. */
static const struct split {
	uint32_t n_sms, n_units;
} splits[] = {{132, 15}, {132, 16}, {144, 18}};

static struct bench *begin_split(const struct cot_policy_ops *ops, const struct split *split)
{
	struct bench *b = bench_begin(ops);

	b->n_sms = split->n_sms;
	b->n_units = split->n_units;
	return b;
}

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
	has(b, LATENCY, 112, 20);
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
	has(b, LATENCY, 64, 68);
	has(b, LATENCY2, 80, 16);
	has(b, BATCH, 0, 96);
	/* More than it may use is not reserved. */
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(16), SMS(100));
	has(b, LATENCY, 112, 20);
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

/* What is left over at the top is the first latency program's, in every split. */
static void test_sizes_at_the_top(void **state)
{
	static const uint32_t sizes[][6] = {
		/* asked for: 1, 12, 16, 40, 100, 129 */
		{12, 12, 20, 44, 100, 132},
		{4, 12, 20, 44, 100, 132},
		{8, 16, 16, 40, 104, 128},
	};
	static const uint16_t asked[] = {1, 12, 16, 40, 100, 129};
	uint32_t i, j;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(splits); i++) {
		struct bench *b = begin_split(&cot_policy_pools, &splits[i]);
		uint32_t n_sms = splits[i].n_sms;

		for (j = 0; j < COT_ARRAY_LEN(asked); j++) {
			uint32_t n = sizes[i][j];

			program(b, LATENCY, COT_CLASS_LATENCY, SMS(asked[j]), NONE);
			has(b, LATENCY, n == n_sms ? 0 : n_sms - n, n == n_sms ? 0 : n);
		}
		end(b);
	}
}

static void test_sizes_at_the_bottom(void **state)
{
	static const uint32_t sizes[][6] = {
		/* asked for: 1, 12, 36, 125, 126, 130 */
		{8, 16, 40, 120, 132, 132},
		{8, 16, 40, 128, 128, 132},
		{8, 16, 40, 128, 128, 128},
	};
	static const uint16_t asked[] = {1, 12, 36, 125, 126, 130};
	uint32_t i, j;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(splits); i++) {
		struct bench *b = begin_split(&cot_policy_pools, &splits[i]);

		for (j = 0; j < COT_ARRAY_LEN(asked); j++) {
			uint32_t n = sizes[i][j];

			program(b, BATCH, COT_CLASS_BATCH, SMS(asked[j]), NONE);
			has(b, BATCH, 0, n == splits[i].n_sms ? 0 : n);
		}
		end(b);
	}
}

/* Who comes last from below has what is left over, as long as nobody is at the top. */
static void test_the_last_piece_from_below(void **state)
{
	struct bench *b = begin_split(&cot_policy_pools, &splits[0]);

	(void)state;
	program(b, BATCH, COT_CLASS_BATCH, SMS(64), NONE);
	program(b, BATCH2, COT_CLASS_BATCH, SMS(64), NONE);
	has(b, BATCH, 0, 64);
	has(b, BATCH2, 64, 68);
	end(b);
}

/* Two latency programs with limits and two batch programs on an H200: nobody asks for SMs that he
 * cannot get, and none of them is idle. */
static void test_all_of_an_h200(void **state)
{
	struct bench *b = begin_split(&cot_policy_parts, &splits[0]);

	(void)state;
	program(b, LATENCY, COT_CLASS_LATENCY, SMS(40), NONE);
	program(b, LATENCY2, COT_CLASS_LATENCY, SMS(68), NONE);
	program(b, BATCH, COT_CLASS_BATCH, NONE, NONE);
	program(b, BATCH2, COT_CLASS_BATCH, NONE, NONE);
	has(b, LATENCY, 88, 44);
	has(b, LATENCY2, 16, 72);
	has(b, BATCH, 0, 8);
	has(b, BATCH2, 8, 8);
	/* A reservation, too. */
	program(b, LATENCY, COT_CLASS_LATENCY, NONE, SMS(4));
	program(b, LATENCY2, COT_CLASS_LATENCY, NONE, NONE);
	has(b, LATENCY, 120, 12);
	has(b, LATENCY2, 56, 64);
	has(b, BATCH, 0, 32);
	has(b, BATCH2, 32, 24);
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
		return SMS((uint16_t)(1 + cot_rng_below(rng, 132)));
	default:
		return PERCENT((uint16_t)(1 + cot_rng_below(rng, 100)));
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What it reserves, of what it may use. */
static uint32_t reserves(const struct said *s, uint32_t n_sms)
{
	uint32_t n = cot_share_sms(s->reserve, n_sms), most = cot_share_sms(s->quota, n_sms);

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

	for (sm = 0; sm < b->n_sms; sm++)
		n += is_on(b->part[id], sm) && !any_batch_on(b, said, sm);
	return n;
}

/* The largest piece that is had only in one. */
static uint32_t piece(const struct bench *b)
{
	uint32_t left = b->n_sms - b->n_units * UNIT;

	return left > UNIT ? left : UNIT;
}

static bool is_cut(const struct bench *b, uint32_t sm)
{
	return sm == b->n_sms || (sm % UNIT == 0 && sm / UNIT <= b->n_units);
}

static bool are_apart(struct cot_part a, struct cot_part b)
{
	return a.n && b.n && (a.first >= b.first + b.n || b.first >= a.first + a.n);
}

/* The driver can make each of them, and somebody has the top if a latency program asked. */
static void expect_ranges(const struct bench *b, const struct said *said)
{
	uint32_t i, highest = 0;
	bool asked = false;

	for (i = 1; i <= PROGRAMS; i++) {
		uint32_t end = b->part[i].n ? b->part[i].first + b->part[i].n : b->n_sms;

		assert_true(is_cut(b, b->part[i].first) && is_cut(b, end));
		if (end > highest)
			highest = end;
		asked |= said[i].cls == COT_CLASS_LATENCY &&
			 (said[i].quota.sms || said[i].quota.pct);
	}
	if (asked)
		assert_int_equal(highest, b->n_sms);
}

/* Where there is room for all limits, and nothing is reserved, nobody shares. */
static void expect_no_overlap(const struct bench *b, const struct said *said)
{
	uint32_t i, j, all = 0;

	for (i = 1; i <= PROGRAMS; i++) {
		if (said[i].reserve.sms || said[i].reserve.pct)
			return;
		if (said[i].quota.sms || said[i].quota.pct)
			all += cot_share_sms(said[i].quota, b->n_sms) + piece(b);
	}
	for (i = 1; i <= PROGRAMS && all <= b->n_sms; i++)
		for (j = i + 1; j <= PROGRAMS; j++)
			if (cot_share_sms(said[i].quota, b->n_sms) &&
			    cot_share_sms(said[j].quota, b->n_sms))
				assert_true(are_apart(b->part[i], b->part[j]));
}

static void expect_laws(const struct bench *b, const struct said *said)
{
	uint32_t i, all = 0, n = 0, n_sms = b->n_sms;

	for (i = 1; i <= PROGRAMS; i++) {
		all += reserves(&said[i], n_sms);
		n += said[i].reserve.sms || said[i].reserve.pct;
	}
	for (i = 1; i <= PROGRAMS; i++) {
		uint32_t quota = cot_share_sms(said[i].quota, n_sms);
		uint32_t size = b->part[i].n ? b->part[i].n : n_sms;

		if (quota)
			assert_true(size <= quota + piece(b));
		if (said[i].cls == COT_CLASS_BATCH && all)
			assert_true(b->part[i].n &&
				    b->part[i].first + size <=
					    (all + UNIT < n_sms ? n_sms - all : UNIT));
		/* As long as there is room for all in whole units. */
		if (all + n * UNIT + piece(b) <= n_sms)
			assert_true(free_of_batch(b, said, i) >=
				    least(reserves(&said[i], n_sms), size));
	}
	expect_ranges(b, said);
	expect_no_overlap(b, said);
}

static void test_laws_of(const struct cot_policy_ops *ops, uint64_t seed, const struct split *split)
{
	struct said said[PROGRAMS + 1] = {{0}};
	struct cot_rng rng = {seed};
	struct bench *b = begin_split(ops, split);
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
	for (seed = 1; seed <= 150; seed++) {
		const struct split *split = &splits[seed % COT_ARRAY_LEN(splits)];

		test_laws_of(&cot_policy_smguard, seed, split);
		test_laws_of(&cot_policy_static, seed, split);
		test_laws_of(&cot_policy_parts, seed, split);
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
		cmocka_unit_test(test_sizes_at_the_top),
		cmocka_unit_test(test_sizes_at_the_bottom),
		cmocka_unit_test(test_the_last_piece_from_below),
		cmocka_unit_test(test_all_of_an_h200),
		cmocka_unit_test(test_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
