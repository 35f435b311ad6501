/* Predictions in the policy core: a table arrives whole or not at all. */
#include <errno.h>

#include "policy/policy_bench.h"
#include "test.h"

static unsigned n_told;

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	assert_int_equal(t->id, 1);
	assert_int_equal(what, COT_CHANGED_PREDICTIONS);
	n_told++;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_policy_ops listener = {
	.name = "listener",
	.summary = "counts what it is told",
	.abi = COT_POLICY_ABI,
	.tenant_changed = tenant_changed,
	.tick = tick,
};

static struct bench *begin(void)
{
	struct bench *b = bench_begin(&listener);

	(void)bench_solo(b, 1, COT_CLASS_LATENCY, 100);
	n_told = 0;
	return b;
}

static int row(struct bench *b, uint32_t i, uint32_t n, uint32_t sms, uint64_t duration_ns)
{
	return bench_event(
		b, (struct cot_event){.type = COT_EV_PREDICTION,
				      .id = 1,
				      .prediction = {i, n, {sms, duration_ns, 7, 1500, 0}, {0}}});
}

/* The table has these sizes; the durations are ten times as many. */
static void expect_table(const struct bench *b, uint32_t n, uint32_t first_sms, uint32_t last_sms)
{
	const struct cot_tenant *t = cot_sched_tenant(b->sched, 1);

	assert_int_equal(t->n_predictions, n);
	if (!n) {
		assert_null(t->predictions);
		return;
	}
	assert_int_equal(t->predictions[0].sms, first_sms);
	assert_int_equal(t->predictions[n - 1].sms, last_sms);
	assert_int_equal(t->predictions[n - 1].duration_ns, 10 * last_sms);
	assert_int_equal(t->predictions[0].bytes_per_s, 7);
	assert_int_equal(t->predictions[0].ipc_milli, 1500);
}

static void test_a_table_arrives_whole(void **state)
{
	struct bench *b = begin();

	(void)state;
	expect_table(b, 0, 0, 0);
	assert_int_equal(row(b, 0, 3, 8, 80), 0);
	assert_int_equal(row(b, 1, 3, 16, 160), 0);
	expect_table(b, 0, 0, 0);
	assert_int_equal(n_told, 0);
	assert_int_equal(row(b, 2, 3, 132, 1320), 0);
	expect_table(b, 3, 8, 132);
	assert_int_equal(n_told, 1);
	/* The next one replaces it, when it is complete. */
	assert_int_equal(row(b, 0, 2, 64, 640), 0);
	expect_table(b, 3, 8, 132);
	assert_int_equal(row(b, 1, 2, 1024, 10240), 0);
	expect_table(b, 2, 64, 1024);
	assert_int_equal(n_told, 2);
	assert_int_equal(row(b, 0, 1, 1, 10), 0);
	expect_table(b, 1, 1, 1);
	assert_int_equal(row(b, 0, 0, 0, 0), 0);
	expect_table(b, 0, 0, 0);
	assert_int_equal(n_told, 4);
	bench_end(b);
}

static void test_a_table_may_begin_again(void **state)
{
	struct bench *b = begin();

	(void)state;
	assert_int_equal(row(b, 0, 3, 8, 80), 0);
	assert_int_equal(row(b, 1, 3, 16, 160), 0);
	assert_int_equal(row(b, 0, 2, 24, 240), 0);
	assert_int_equal(row(b, 1, 2, 32, 320), 0);
	expect_table(b, 2, 24, 32);
	/* It ends with its program. */
	(void)bench_leave(b, 1);
	(void)bench_solo(b, 1, COT_CLASS_LATENCY, 100);
	expect_table(b, 0, 0, 0);
	bench_end(b);
}

static void test_a_wrong_row_ends_a_table(void **state)
{
	static const struct {
		uint32_t i, n, sms;
		uint64_t duration_ns;
	} cases[] = {
		{2, 3, 24, 240}, /* one is missing */
		{0, 3, 0, 80},
		{1, 4, 16, 160}, /* of another table */
		{1, 3, 8, 160},	 /* no larger than the one before */
		{1, 3, 1025, 160},
		{1, 3, 16, 0},
		{3, 3, 16, 160},
		{1, 0, 16, 160},
		{0, COT_PREDICTIONS_MAX + 1, 8, 80},
	};
	struct bench *b = begin();
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(row(b, 0, 3, 8, 80), 0);
		if (row(b, cases[i].i, cases[i].n, cases[i].sms, cases[i].duration_ns) != -EINVAL)
			fail_msg("case %u was taken", i);
		assert_int_equal(row(b, 1, 3, 16, 160), -EINVAL);
		assert_int_equal(row(b, 2, 3, 132, 1320), -EINVAL);
	}
	assert_int_equal(
		bench_event(b, (struct cot_event){.type = COT_EV_PREDICTION,
						  .id = 1,
						  .prediction = {0,
								 1,
								 {8, 80, COT_BYTES_PER_S_MAX + 1,
								  1500, 0},
								 {0}}}),
		-EINVAL);
	/* The same one again. */
	assert_int_equal(row(b, 0, 3, 8, 80), 0);
	assert_int_equal(row(b, 1, 3, 16, 160), 0);
	assert_int_equal(row(b, 1, 3, 16, 160), -EINVAL);
	assert_int_equal(row(b, 2, 3, 132, 1320), -EINVAL);
	expect_table(b, 0, 0, 0);
	assert_int_equal(n_told, 0);
	/* As many as there may be. */
	for (i = 0; i < COT_PREDICTIONS_MAX; i++)
		assert_int_equal(row(b, i, COT_PREDICTIONS_MAX, i + 1, 10 * (i + 1)), 0);
	expect_table(b, COT_PREDICTIONS_MAX, 1, COT_PREDICTIONS_MAX);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_PREDICTION, .id = 2}),
			 -EINVAL);
	bench_end(b);
}

static int row_with(struct bench *b, uint32_t i, struct cot_cost cost)
{
	struct cot_event ev = {.type = COT_EV_PREDICTION, .id = 1};

	ev.prediction.row = i;
	ev.prediction.n = 2;
	ev.prediction.is = (struct cot_prediction){.sms = 8 + i, .duration_ns = 80};
	ev.prediction.cost = cost;
	return bench_event(b, ev);
}

/* What it costs comes with the last row, and goes with the table. */
static void test_costs(void **state)
{
	const struct cot_cost most = {COT_POWER_W_MAX, COT_POWER_W_MAX, COT_PLAN_NS_MAX};
	const struct cot_tenant *t;
	struct bench *b = begin();
	struct cot_cost wrong;
	unsigned i;

	(void)state;
	t = cot_sched_tenant(b->sched, 1);
	assert_int_equal(row_with(b, 0, most), 0);
	assert_int_equal(t->cost.power_w, 0);
	assert_int_equal(row_with(b, 1, most), 0);
	assert_memory_equal(&t->cost, &most, sizeof(most));
	for (i = 0; i < 3; i++) {
		wrong = most;
		wrong.power_w += i == 0;
		wrong.cpu_w += i == 1;
		wrong.cpu_ns += i == 2;
		assert_int_equal(row_with(b, 0, wrong), -EINVAL);
	}
	assert_int_equal(t->n_predictions, 2);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_PREDICTION, .id = 1}), 0);
	assert_int_equal(t->cost.power_w + t->cost.cpu_w + t->cost.cpu_ns, 0);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_arrives_whole),
		cmocka_unit_test(test_a_table_may_begin_again),
		cmocka_unit_test(test_a_wrong_row_ends_a_table),
		cmocka_unit_test(test_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
