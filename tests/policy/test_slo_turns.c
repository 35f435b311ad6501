/* Parts: batch programs that are more than the pieces left to them have these in turn; and what is
 * left for latency programs. */
#include "policy/slo_suite.h"

enum { SECOND = TRAIN + 1, HEAVY = TRAIN + 2, N_BATCH = 3 };

/* Only the least that batch programs can have keeps the target of 1.5 times. */
static double one_piece(const struct slo_bench *of)
{
	return slo_bench_batch_end(of) <= 8 ? 1.2 : 2;
}

static void serve(double (*slowdown)(const struct slo_bench *of))
{
	sb->slowdown = slowdown;
	slo_bench_server(sb, 1500);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	slo_bench_batch(sb, SECOND, LATENCY_POOL, 100);
	slo_bench_batch(sb, HEAVY, LATENCY_POOL, 200);
	slo_bench_load(sb, 300, 1000);
}

static unsigned n_held(void)
{
	unsigned i, n = 0;

	for (i = 0; i < N_BATCH; i++)
		n += sb->b->part[TRAIN + i].hold;
	return n;
}

static void assert_lie_apart(void)
{
	uint32_t i, begin = 0;

	for (i = 0; i < N_BATCH; i++) {
		const struct cot_part *part = &sb->b->part[TRAIN + i];

		assert_true(part->n >= 8);
		assert_true(part->first >= begin);
		begin = part->first + part->n;
	}
}

static void test_one_at_a_time(void **state)
{
	unsigned i, n_changes = 0, holder = 0;

	(void)state;
	serve(one_piece);
	slo_bench_run(sb, 60 * S);
	assert_int_equal(slo_bench_batch_end(sb), 8);
	assert_non_null(slo_bench_text(sb, TRAIN, "batch programs"));
	bench_reset_times(sb->b);
	for (i = 0; i < 400; i++) {
		slo_bench_run(sb, 100 * MS);
		assert_int_equal(n_held(), N_BATCH - 1);
		assert_false(sb->b->part[SERVER].hold);
		n_changes += holder != 0 && sb->b->part[holder].hold;
		for (holder = TRAIN; sb->b->part[holder].hold; holder++)
			continue;
	}
	/* By weight, within a turn; and a turn is a second. */
	assert_in_range(sb->b->held_ns[TRAIN], 29 * S, 31 * S);
	assert_in_range(sb->b->held_ns[SECOND], 29 * S, 31 * S);
	assert_in_range(sb->b->held_ns[HEAVY], 19 * S, 21 * S);
	assert_in_range(n_changes, 20, 41);
}

/* What batch programs give back latency programs have at once; not in a quiet moment for a guess.
 */
static void test_latency_programs_have_the_rest(void **state)
{
	const struct cot_part *part = &sb->b->part[SERVER];

	(void)state;
	serve(one_piece);
	slo_bench_run(sb, 1 * S);
	assert_int_equal(part->first, 32);
	while (slo_bench_batch_end(sb) > 8)
		slo_bench_run(sb, 100 * MS);
	assert_int_equal(part->first, 8);
	slo_bench_target(sb, SERVER, COT_TARGET_P99, 10000);
	sb->target_ns = 10 * MS;
	while (slo_bench_batch_end(sb) == 8)
		slo_bench_run(sb, 100 * MS);
	assert_int_equal(part->first, slo_bench_batch_end(sb));
}

static void test_quiet_moments_move_batch_programs_only(void **state)
{
	const struct cot_part *part = &sb->b->part[SERVER];

	(void)state;
	serve(slo_bench_parts);
	sb->load = 2;
	while (!slo_bench_fact(sb, SERVER, "quiet moments"))
		slo_bench_run(sb, 50 * MS);
	slo_bench_run(sb, 50 * MS);
	assert_int_equal(sb->b->part[TRAIN].n, 8);
	assert_true(part->first > 8);
	begin_anew();
	part = &sb->b->part[SERVER];
	serve(slo_bench_parts);
	sb->load = 2;
	sb->kernels[0] = sb->kernels[1] = sb->kernels[2] = 100;
	slo_bench_target(sb, SERVER, COT_TARGET_SLOWDOWN, 2000);
	while (!slo_bench_fact(sb, SERVER, "quiet moments"))
		slo_bench_run(sb, 50 * MS);
	slo_bench_run(sb, 50 * MS);
	assert_int_equal(part->first, 8);
}

static void test_who_leaves_gives_its_turn(void **state)
{
	(void)state;
	serve(one_piece);
	slo_bench_run(sb, 60 * S);
	assert_int_equal(n_held(), 2);
	assert_int_equal(bench_leave(sb->b, HEAVY), 0);
	assert_int_equal(bench_leave(sb->b, SECOND), 0);
	bench_run(sb->b, 100 * MS);
	assert_false(sb->b->part[TRAIN].hold);
}

/* With a piece for each nobody waits; what they launch is paced, so that a change acts soon. */
static void test_no_turns_with_pieces_enough(void **state)
{
	unsigned i;

	(void)state;
	serve(slo_bench_parts);
	sb->load = 0.3;
	slo_bench_run(sb, 60 * S);
	assert_true(slo_bench_batch_end(sb) >= 24);
	bench_reset_times(sb->b);
	slo_bench_run(sb, 10 * S);
	assert_lie_apart();
	for (i = 0; i < N_BATCH; i++) {
		assert_int_equal(sb->b->held_ns[TRAIN + i], 0);
		assert_int_equal(sb->b->part[TRAIN + i].pace_us, 20000);
	}
	assert_int_equal(sb->b->part[SERVER].pace_us, 0);
	assert_null(slo_bench_text(sb, TRAIN, "batch programs"));
}

/* Nobody waits for a target that nobody has. */
static void test_no_turns_without_requests(void **state)
{
	(void)state;
	serve(one_piece);
	slo_bench_run(sb, 60 * S);
	assert_int_equal(n_held(), 2);
	assert_int_equal(bench_leave(sb->b, SERVER), 0);
	slo_bench_run(sb, 1 * S);
	assert_int_equal(n_held(), 0);
	assert_int_equal(sb->b->part[TRAIN].pace_us, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SLO_TEST(test_one_at_a_time),
		SLO_TEST(test_latency_programs_have_the_rest),
		SLO_TEST(test_quiet_moments_move_batch_programs_only),
		SLO_TEST(test_who_leaves_gives_its_turn),
		SLO_TEST(test_no_turns_with_pieces_enough),
		SLO_TEST(test_no_turns_without_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
