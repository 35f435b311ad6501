/* What `laius` decides about queries that are known beforehand. */
#include <string.h>

#include "policy/queries.h"

#define QUOTAS 7
#define TASKS  6

/* The paper's Figure 14: tasks of 10 ms on the planned part, and what they take on larger ones. */
static const uint32_t sms[QUOTAS] = {64, 72, 80, 88, 96, 104, 112};
static const uint64_t query_ns[QUOTAS] = {60 * MS,	 36 * MS * 140 / 100, 42 * MS,
					  372 * MS / 10, 336 * MS / 10,	      312 * MS / 10,
					  30 * MS};
static uint64_t task_ns[TASKS][QUOTAS], rates[TASKS][QUOTAS];

static struct cot_plan the_plan(void)
{
	static const uint64_t ms_10[QUOTAS] = {100, 84, 70, 62, 56, 52, 50};
	unsigned i, x;

	for (i = 0; i < TASKS; i++)
		for (x = 0; x < QUOTAS; x++)
			task_ns[i][x] = ms_10[x] * MS / 10;
	return (struct cot_plan){.n_quotas = QUOTAS,
				 .n_tasks = TASKS,
				 .sms = sms,
				 .query_ns = query_ns,
				 .task_ns = task_ns[0]};
}

/* ---- just enough ---- */

static void test_just_enough(void **state)
{
	/* A matrix product of 4096 x 4096 on an H200. */
	static const uint32_t sizes[] = {8, 32, 64, 112, 128, 132};
	static const uint64_t ns[] = {2492 * US, 658 * US, 364 * US, 264 * US, 229 * US, 191 * US};
	static const struct {
		uint64_t target_us, ago_us;
		uint32_t n;
	} cases[] = {
		{370, 0, 68},  {300, 0, 116}, {200, 0, 0},  {180, 0, 0},
		{3000, 0, 12}, {664, 0, 36},  {664, 5, 36}, {664, 7, 68}, /* it has waited */
		{664, 600, 0}, {664, 700, 0},
	};
	const struct cot_plan plan = {6, 1, sizes, ns, ns, NULL};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

		service(b, SERVICE, cases[i].target_us);
		batch(b, BATCH);
		expect_part(b, BATCH, 0, 0);
		query(b, 1, SERVICE, cases[i].ago_us * US, &plan);
		if (cases[i].n) {
			expect_part(b, SERVICE, 132 - cases[i].n, cases[i].n);
			expect_part(b, BATCH, 0, 132 - cases[i].n);
		} else {
			expect_part(b, SERVICE, 0, 0);
			EXPECT_HELD(b, BATCH);
		}
		query_ends(b, 1);
		expect_part(b, BATCH, 0, 0);
		queries_end(b);
	}
}

/* A factor of what it takes alone is a target, too; transfers count. */
static void test_slowdown(void **state)
{
	struct cot_plan plan = the_plan();
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = SERVICE,
			       .tenant = {.cls = COT_CLASS_LATENCY,
					  .weight = COT_WEIGHT_DEFAULT,
					  .gpu_mask = GPU0,
					  .ready = true,
					  .target = {COT_TARGET_SLOWDOWN, 1400}}};

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(bench_parts(b, SERVICE, true), 0);
	query(b, 1, SERVICE, 0, &plan); /* 42 ms */
	expect_part(b, SERVICE, 48, 84);
	query_ends(b, 1);
	ev = (struct cot_event){.type = COT_EV_QUERY,
				.id = 2,
				.query = {.tenant = SERVICE, .plan = &plan, .out_ns = 10 * MS}};
	assert_int_equal(bench_event(b, ev), 0); /* 56 ms, of which 10 for the way back */
	bench_run(b, 0);
	expect_part(b, SERVICE, 48, 84);
	queries_end(b);
}

/* Nothing is known of the query, or nothing is wanted of it: it has all, and others nothing. */
static void test_unknown(void **state)
{
	struct cot_plan plan = the_plan();
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

	(void)state;
	service(b, SERVICE, 60000);
	service(b, SERVICE2, 0);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, NULL);
	expect_part(b, SERVICE, 0, 0);
	EXPECT_HELD(b, BATCH);
	tasks(b, 1, 1);
	query_ends(b, 1);
	expect_part(b, BATCH, 0, 0);
	query(b, 2, SERVICE2, 0, &plan);
	expect_part(b, SERVICE2, 0, 0);
	EXPECT_HELD(b, BATCH);
	queries_end(b);
}

/* ---- lag ---- */

static void play_figure_14(const struct cot_policy_ops *ops, uint64_t target_us,
			   const uint32_t *first)
{
	static const uint64_t takes_ms[TASKS] = {19, 7, 7, 7, 10, 10};
	struct cot_plan plan = the_plan();
	struct bench *b = queries_begin(ops, 0);
	unsigned i;

	service(b, SERVICE, target_us);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, &plan);
	for (i = 0; i < TASKS; i++) {
		expect_part(b, SERVICE, first[i], 132 - first[i]);
		expect_part(b, BATCH, 0, first[i]);
		bench_run(b, takes_ms[i] * MS);
		tasks(b, 1, i + 1);
	}
	query_ends(b, 1);
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* 40 %, 60 % three times, 40 %: what the query gets, batch programs give. */
static void test_figure_14(void **state)
{
	static const uint32_t follows[TASKS] = {64, 48, 48, 48, 64, 64};
	static const uint32_t stays[TASKS] = {64, 64, 64, 64, 64, 64};

	(void)state;
	play_figure_14(&cot_policy_laius_paper, 60000, follows);
	play_figure_14(&cot_policy_laius_nb, 60000, follows);
	play_figure_14(&cot_policy_laius_nc, 60000, stays);
	/* As published it is compared with its plan, whatever its target leaves. */
	play_figure_14(&cot_policy_laius_paper, 200000, follows);
}

/* ---- several queries ---- */

static void test_queries_take_turns(void **state)
{
	struct cot_plan plan = the_plan();
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

	(void)state;
	service(b, SERVICE, 60000);
	service(b, SERVICE2, 42000);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, &plan);
	query(b, 2, SERVICE2, 0, &plan);
	/* 64 and 80 SMs are too many. */
	expect_part(b, SERVICE, 64, 68);
	EXPECT_HELD(b, SERVICE2);
	expect_part(b, BATCH, 0, 64);
	bench_run(b, 5 * MS);
	query_ends(b, 1);
	/* 5 ms of its time are gone. */
	expect_part(b, SERVICE2, 32, 100);
	expect_part(b, BATCH, 0, 32);
	query(b, 3, SERVICE, 0, &plan);
	EXPECT_HELD(b, SERVICE);
	query_ends(b, 2);
	expect_part(b, SERVICE, 64, 68);
	queries_end(b);
}

static void test_queries_beside_each_other(void **state)
{
	static const uint32_t sizes[] = {32, 132};
	static const uint64_t ns[] = {10 * MS, 5 * MS};
	const struct cot_plan plan = {2, 1, sizes, ns, ns, NULL};
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

	(void)state;
	service(b, SERVICE, 10000);
	service(b, SERVICE2, 10000);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, &plan);
	query(b, 2, SERVICE2, 0, &plan);
	query(b, 3, SERVICE2, 0, &plan);
	expect_part(b, SERVICE, 96, 36);
	expect_part(b, SERVICE2, 32, 64);
	expect_part(b, BATCH, 0, 32);
	/* What the oldest gets besides lies over the others: they are not held for it. */
	bench_run(b, 11 * MS);
	query_ends(b, 2);
	expect_part(b, SERVICE2, 64, 32);
	query_ends(b, 1);
	expect_part(b, SERVICE2, 96, 36);
	expect_part(b, SERVICE, 96, 36);
	expect_part(b, BATCH, 0, 96);
	queries_end(b);
}

/* ---- batch programs ---- */

/* In parts of 1000 of its rate alone, and GB/s, on 8, 16, 24 and 32 SMs. */
static void predict_four(struct bench *b, uint32_t id, const uint32_t *f, const uint32_t *g)
{
	struct cot_prediction rows[5];
	unsigned i;

	for (i = 0; i < 4; i++)
		rows[i] = (struct cot_prediction){.sms = 8 * (i + 1),
						  .duration_ns = 1000000 * MS / f[i],
						  .bytes_per_s = (uint64_t)g[i] * GB};
	rows[4] = (struct cot_prediction){
		.sms = 132, .duration_ns = 1000 * MS, .bytes_per_s = 200ull * GB};
	predict(b, id, rows, 5);
}

static const uint32_t f1[] = {400, 600, 700, 750}, g1[] = {40, 70, 90, 100};
static const uint32_t f2[] = {300, 500, 600, 650}, g2[] = {10, 15, 18, 20};

/* Four units are left, and so many GB/s. */
static struct bench *four_units(const struct cot_policy_ops *ops, uint32_t left)
{
	static const uint32_t sizes[] = {100, 132};
	static const uint64_t ns[] = {10 * MS, 5 * MS};
	static uint64_t bytes[2];
	static const struct cot_plan plan = {2, 1, sizes, ns, ns, bytes};
	struct bench *b = queries_begin(ops, 1000ull * GB);

	bytes[0] = (uint64_t)(900 - left) * GB;
	service(b, SERVICE, 10000);
	batch(b, BATCH);
	batch(b, BATCH2);
	predict_four(b, BATCH, f1, g1);
	predict_four(b, BATCH2, f2, g2);
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 32, 100);
	return b;
}

static void expect_four(const struct cot_policy_ops *ops, uint32_t left, uint32_t one, uint32_t two)
{
	struct bench *b = four_units(ops, left);

	if (one)
		expect_part(b, BATCH, 0, 8 * one);
	else
		EXPECT_HELD(b, BATCH);
	if (two)
		expect_part(b, BATCH2, 8 * one, 8 * two);
	else
		EXPECT_HELD(b, BATCH2);
	query_ends(b, 1);
	assert_false(b->part[BATCH].hold);
	assert_false(b->part[BATCH2].hold);
	queries_end(b);
}

static void test_the_rest_is_divided(void **state)
{
	(void)state;
	expect_four(&cot_policy_laius_paper, 85, 2, 2);
	expect_four(&cot_policy_laius_paper, 60, 1, 3);
	expect_four(&cot_policy_laius_paper, 45, 0, 4);
	expect_four(&cot_policy_laius_paper, 10, 0, 1);
	expect_four(&cot_policy_laius_paper, 9, 0, 0);
	expect_four(&cot_policy_laius_paper, 0, 0, 0);
	expect_four(&cot_policy_laius_nb, 0, 2, 2);
	expect_four(&cot_policy_laius_nc, 60, 1, 3);
}

/* A query of a short task that fills the memory and a long one that hardly uses it. */
static void play_peak(const struct cot_policy_ops *ops, bool held, uint32_t after)
{
	static const uint32_t sizes[] = {100, 132};
	static const uint64_t all_ns[] = {10 * MS, 5 * MS};
	static const uint64_t ns[] = {9 * MS, 4 * MS, 1 * MS, 1 * MS};
	static const uint64_t bytes[] = {10ull * GB, 0, 910ull * GB, 0};
	static const struct cot_plan plan = {2, 2, sizes, all_ns, ns, bytes};
	struct bench *b = queries_begin(ops, 1000ull * GB);

	service(b, SERVICE, 10000);
	batch(b, BATCH);
	predict_four(b, BATCH, f1, g1);
	query(b, 1, SERVICE, 0, &plan); /* 100 GB/s in the mean */
	if (held)
		EXPECT_HELD(b, BATCH);
	else
		expect_part(b, BATCH, 0, 32);
	/* It is divided anew for another reason: the second task alone is left. */
	tasks(b, 1, 1);
	batch(b, BATCH2);
	if (after)
		expect_part(b, BATCH, 0, after);
	else
		EXPECT_HELD(b, BATCH);
	queries_end(b);
}

static void test_mean_or_peak(void **state)
{
	(void)state;
	play_peak(&cot_policy_laius_paper, false, 0);
	play_peak(&cot_policy_laius_peak, true, 0);
	play_peak(&cot_policy_laius_nb, false, 24);
}

/* Others that asked for SMs have them, and what they move is not left. */
static void test_asked(void **state)
{
	static const uint32_t sizes[] = {100, 132};
	static const uint64_t ns[] = {10 * MS, 5 * MS};
	static uint64_t bytes[2] = {815ull * GB, 0};
	static const struct cot_plan plan = {2, 1, sizes, ns, ns, bytes};
	static const struct cot_prediction row = {
		.sms = 8, .duration_ns = MS, .bytes_per_s = 75ull * GB};
	struct bench *b = queries_begin(&cot_policy_laius_paper, 1000ull * GB);

	(void)state;
	service(b, SERVICE, 10000);
	assert_int_equal(bench_sms(b, BATCH2, COT_CLASS_BATCH, (struct cot_share){.sms = 8}), 0);
	assert_int_equal(bench_parts(b, BATCH2, true), 0);
	predict(b, BATCH2, &row, 1);
	batch(b, BATCH);
	predict_four(b, BATCH, f2, g2);
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, BATCH2, 0, 8);
	expect_part(b, SERVICE, 32, 100);
	expect_part(b, BATCH, 8, 8); /* 10 GB/s are left */
	queries_end(b);
}

/* Nothing is predicted: each has its part, and SMs stand for bandwidth. */
static void test_nothing_predicted(void **state)
{
	static const uint32_t sizes[] = {64, 132};
	static const uint64_t ns[] = {10 * MS, 5 * MS};
	const struct cot_plan plan = {2, 1, sizes, ns, ns, NULL};
	struct bench *b = queries_begin(&cot_policy_laius_paper, 1000ull * GB);

	(void)state;
	service(b, SERVICE, 10000);
	batch(b, BATCH);
	batch(b, BATCH2);
	expect_part(b, BATCH, 0, 64);
	expect_part(b, BATCH2, 64, 68);
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 64, 68);
	/* What moves nobody knows how much is no reason to leave SMs idle. */
	expect_part(b, BATCH, 0, 32);
	expect_part(b, BATCH2, 32, 32);
	queries_end(b);
}

/* There is always a query: who is held for it launches now and then, and the core is content. */
static void test_nobody_starves(void **state)
{
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);
	unsigned i, n_free = 0;

	(void)state;
	service(b, SERVICE, 60000);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, NULL);
	for (i = 0; i < 6000; i++) {
		if (i && i % 900 == 0) {
			query(b, i / 900 + 1, SERVICE, 0, NULL);
			query_ends(b, i / 900);
		}
		bench_run(b, 10 * MS);
		n_free += !b->part[BATCH].hold;
	}
	assert_in_range(n_free, 11 * 4, 12 * 6);
	assert_ptr_equal(cot_sched_policy(b->sched)->ops, &cot_policy_laius_paper);
	queries_end(b);
}

/* ---- what users are told ---- */

static const char *told(struct bench *b, uint32_t id, const char *name, uint64_t *ret_value)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(b->sched, id, facts);

	for (i = 0; i < n; i++) {
		if (strcmp(facts[i].name, name) != 0)
			continue;
		*ret_value = facts[i].value;
		return facts[i].text ? facts[i].text : "";
	}
	fail_msg("nothing is said about '%s'", name);
	return NULL;
}

#define TOLD(b, id, name, is)                    \
	do {                                     \
		uint64_t value;                  \
		(void)told(b, id, name, &value); \
		assert_int_equal(value, is);     \
	} while (0)
#define BECAUSE(b, id, text)                                                   \
	do {                                                                   \
		uint64_t value;                                                \
		assert_non_null(strstr(told(b, id, "because", &value), text)); \
	} while (0)

/* ---- queries that do not end ---- */

/* A query whose end is never told: after twice its target others have its SMs, at 10 s at the
 * earliest and after a minute at the latest. */
static void test_lost(void **state)
{
	static const struct {
		uint64_t target_s, for_s;
	} cases[] = {{0, 10}, {1, 10}, {5, 10}, {6, 12}, {29, 58}, {30, 60}, {300, 60}};
	struct cot_plan plan = the_plan();
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

		service(b, SERVICE, cases[i].target_s * 1000000);
		service(b, SERVICE2, 60000);
		batch(b, BATCH);
		query(b, 1, SERVICE, 0, NULL);
		query(b, 2, SERVICE2, 0, &plan);
		bench_run(b, cases[i].for_s * COT_NS_PER_S - 30 * MS);
		EXPECT_HELD(b, SERVICE2);
		EXPECT_HELD(b, BATCH);
		bench_run(b, 60 * MS);
		/* The younger one has waited for too long: it has the largest part of its plan. */
		expect_part(b, SERVICE2, 16, 116);
		query_ends(b, 2);
		expect_part(b, BATCH, 0, 0);
		TOLD(b, SERVICE, "without an end", 1);
		BECAUSE(b, SERVICE, "no request");
		/* What comes of it after all changes nothing; the next one is as every other. */
		tasks(b, 1, 3);
		query_ends(b, 1);
		expect_part(b, BATCH, 0, 0);
		query(b, 3, SERVICE, 0, NULL);
		EXPECT_HELD(b, BATCH);
		queries_end(b);
	}
}

/* One of several that are known: the others keep what they have. */
static void test_one_is_lost(void **state)
{
	static const uint32_t sizes[] = {32, 132};
	static const uint64_t ns[] = {10 * MS, 5 * MS};
	const struct cot_plan plan = {2, 1, sizes, ns, ns, NULL};
	struct bench *b = queries_begin(&cot_policy_laius_paper, 0);

	(void)state;
	service(b, SERVICE, 10000);
	service(b, SERVICE2, 10000);
	batch(b, BATCH);
	query(b, 1, SERVICE, 0, &plan);
	bench_run(b, 9 * COT_NS_PER_S);
	query(b, 2, SERVICE, 0, &plan);
	query(b, 3, SERVICE2, 0, &plan);
	expect_part(b, SERVICE, 64, 68);
	expect_part(b, SERVICE2, 32, 32);
	bench_run(b, COT_NS_PER_S + 30 * MS);
	expect_part(b, SERVICE, 96, 36);
	expect_part(b, SERVICE2, 64, 32);
	expect_part(b, BATCH, 0, 64);
	queries_end(b);
}

static void test_it_explains(void **state)
{
	struct cot_plan plan = the_plan();
	struct bench *b = queries_begin(&cot_policy_laius_paper, 1000ull * GB);

	(void)state;
	plan.task_bytes_per_s = rates[0];
	service(b, SERVICE, 60000);
	service(b, SERVICE2, 42000);
	batch(b, BATCH);
	BECAUSE(b, SERVICE, "no request");
	BECAUSE(b, BATCH, "no request");
	query(b, 1, SERVICE, 0, &plan);
	query(b, 2, SERVICE2, 0, &plan);
	BECAUSE(b, SERVICE, "just enough");
	BECAUSE(b, SERVICE2, "waits for SMs");
	BECAUSE(b, BATCH, "greatest sum");
	TOLD(b, SERVICE, "planned", 64);
	TOLD(b, SERVICE, "its target left it", 60 * MS);
	TOLD(b, BATCH, "has", 64);
	bench_run(b, 19 * MS);
	tasks(b, 1, 1);
	BECAUSE(b, SERVICE, "behind its plan");
	TOLD(b, SERVICE, "has", 80);
	TOLD(b, SERVICE, "behind its plan", 9 * MS);
	TOLD(b, SERVICE, "raised", 1);
	query_ends(b, 1);
	query_ends(b, 2);
	query(b, 3, SERVICE, 0, NULL);
	BECAUSE(b, SERVICE, "nothing is known");
	BECAUSE(b, BATCH, "requests have all SMs");
	TOLD(b, SERVICE, "not known", 1);
	queries_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_just_enough),
		cmocka_unit_test(test_slowdown),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_figure_14),
		cmocka_unit_test(test_queries_take_turns),
		cmocka_unit_test(test_queries_beside_each_other),
		cmocka_unit_test(test_the_rest_is_divided),
		cmocka_unit_test(test_mean_or_peak),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_nothing_predicted),
		cmocka_unit_test(test_nobody_starves),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_one_is_lost),
		cmocka_unit_test(test_it_explains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
