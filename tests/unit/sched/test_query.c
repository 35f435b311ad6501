/* Queries in the policy core: what is told, what is refused, and whose they are. */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

enum { SERVICE = 1, OTHER = 2 };

static struct {
	unsigned n_begun, n_tasks, n_ended, n_left;
	struct cot_query last;
} told;

static void begin_told(struct cot_policy *p, struct cot_query *q)
{
	assert_int_equal(*(uint64_t *)q->own, 0);
	*(uint64_t *)q->own = 1000 + q->id;
	assert_true(p->n_queries > 0);
	told.n_begun++;
	told.last = *q;
}

static void task_told(struct cot_policy *p, struct cot_query *q)
{
	(void)p;
	assert_int_equal(*(uint64_t *)q->own, 1000 + q->id);
	told.n_tasks++;
	told.last = *q;
}

/* Out of the table, with all that it had. */
static void end_told(struct cot_policy *p, struct cot_query *q)
{
	const struct cot_query *r;

	cot_for_each_query(r, p) assert_ptr_not_equal(r, q);
	assert_int_equal(told.n_left, 0);
	told.n_ended++;
	told.last = *q;
}

static void tenant_left(struct cot_policy *p, struct cot_tenant *t)
{
	const struct cot_query *q;

	cot_for_each_query(q, p) assert_ptr_not_equal(q->tenant, t);
	told.n_left++;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_query_ops queries = {
	.begin = begin_told, .task = task_told, .end = end_told};

static const struct cot_policy_ops listener = {
	.name = "listener",
	.summary = "keeps what it is told",
	.abi = COT_POLICY_ABI,
	.tenant_left = tenant_left,
	.tick = tick,
	.queries = &queries,
	.query_bytes = sizeof(uint64_t),
};

static struct bench *start(void)
{
	struct bench *b = bench_begin(&listener);

	(void)bench_solo(b, SERVICE, COT_CLASS_LATENCY, 100);
	(void)bench_solo(b, OTHER, COT_CLASS_BATCH, 100);
	memset(&told, 0, sizeof(told));
	bench_run(b, 1000);
	return b;
}

static int begin(struct bench *b, uint32_t id, struct cot_query_desc d)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_QUERY, .id = id, .query = d});
}

static int tasks(struct bench *b, uint32_t id, uint32_t n_done, uint64_t at_ns)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_QUERY_TASKS,
						 .id = id,
						 .tasks = {.n_done = n_done, .at_ns = at_ns}});
}

/* ---- plans ---- */

static const uint32_t sms[] = {8, 64, 132};
static const uint64_t query_ns[] = {900, 300, 300};
static const uint64_t task_ns[] = {500, 100, 90, 400, 200, 210};

static const struct cot_plan good = {
	.n_quotas = 3, .n_tasks = 2, .sms = sms, .query_ns = query_ns, .task_ns = task_ns};

static void test_rates_of_a_plan(void **state)
{
	static const uint64_t fast[] = {0, 1, COT_BYTES_PER_S_MAX, 4, 5, 6};
	static const uint64_t too_fast[] = {1, 2, 3, 4, 5, COT_BYTES_PER_S_MAX + 1};
	struct cot_plan plan = good;

	(void)state;
	plan.task_bytes_per_s = fast;
	assert_true(cot_plan_is_valid(&plan));
	plan.task_bytes_per_s = too_fast;
	assert_false(cot_plan_is_valid(&plan));
	plan.n_tasks = 1; /* does not look further */
	assert_true(cot_plan_is_valid(&plan));
}

static void test_wrong_plans(void **state)
{
	static const uint32_t no_sms[] = {0, 64, 132}, same[] = {8, 64, 64}, many[] = {8, 64, 1025};
	static const uint64_t grows[] = {900, 300, 301}, zero[] = {900, 300, 0};
	static const uint64_t longer[] = {COT_PLAN_NS_MAX + 1, 300, 300};
	static const uint64_t longest[] = {COT_PLAN_NS_MAX, 300, 300};
	static const uint64_t last_zero[] = {500, 100, 90, 400, 200, 0};
	static const uint64_t last_long[] = {500, 100, 90, 400, 200, COT_PLAN_NS_MAX + 1};
	static const struct {
		uint32_t n_quotas, n_tasks;
		const uint32_t *sms;
		const uint64_t *query_ns, *task_ns;
		bool is_valid;
	} cases[] = {
		{3, 2, sms, query_ns, task_ns, true},
		{3, 2, sms, longest, task_ns, true},
		{3, 1, sms, query_ns, last_zero, true}, /* does not look further */
		{0, 2, sms, query_ns, task_ns, false},
		{COT_QUOTAS_MAX + 1, 2, sms, query_ns, task_ns, false},
		{3, 0, sms, query_ns, task_ns, false},
		{3, COT_QUERY_TASKS_MAX + 1, sms, query_ns, task_ns, false},
		{3, 2, no_sms, query_ns, task_ns, false},
		{3, 2, same, query_ns, task_ns, false},
		{3, 2, many, query_ns, task_ns, false},
		{3, 2, sms, grows, task_ns, false},
		{3, 2, sms, zero, task_ns, false},
		{3, 2, sms, longer, task_ns, false},
		{3, 2, sms, query_ns, last_zero, false},
		{3, 2, sms, query_ns, last_long, false},
	};
	struct bench *b = start();
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cot_plan plan = {.n_quotas = cases[i].n_quotas,
					      .n_tasks = cases[i].n_tasks,
					      .sms = cases[i].sms,
					      .query_ns = cases[i].query_ns,
					      .task_ns = cases[i].task_ns};

		if (cot_plan_is_valid(&plan) != cases[i].is_valid)
			fail_msg("case %u", i);
		assert_int_equal(bench_query(b, i + 1, SERVICE, 1, &plan),
				 cases[i].is_valid ? 0 : -EINVAL);
	}
	bench_end(b);
}

/* ---- a life ---- */

static void test_a_life(void **state)
{
	struct bench *b = start();

	(void)state;
	assert_int_equal(begin(b, 7,
			       (struct cot_query_desc){.tenant = SERVICE,
						       .size = 64,
						       .arrived_ns = 500,
						       .began_ns = 600,
						       .in_ns = 300,
						       .out_ns = 20,
						       .plan = &good}),
			 0);
	assert_int_equal(told.n_begun, 1);
	assert_int_equal(told.last.id, 7);
	assert_int_equal(told.last.tenant->id, SERVICE);
	assert_int_equal(told.last.size, 64);
	assert_int_equal(told.last.arrived_ns, 500);
	assert_int_equal(told.last.began_ns, 600);
	assert_int_equal(told.last.in_ns, 300);
	assert_int_equal(told.last.out_ns, 20);
	assert_ptr_equal(told.last.plan, &good);
	assert_int_equal(told.last.n_done, 0);
	assert_int_equal(told.last.done_ns, 0);
	/* Several tasks at once, and not back. */
	b->now_ns = 2000;
	assert_int_equal(tasks(b, 7, 2, 1900), 0);
	assert_int_equal(told.last.n_done, 2);
	assert_int_equal(told.last.done_ns, 1900);
	assert_int_equal(tasks(b, 7, 2, 1950), -EINVAL);
	assert_int_equal(tasks(b, 7, 1, 1950), -EINVAL);
	assert_int_equal(tasks(b, 7, 3, 1899), -EINVAL);
	assert_int_equal(tasks(b, 7, 3, 2001), -EINVAL);
	assert_int_equal(tasks(b, 8, 1, 2000), -EINVAL);
	assert_int_equal(told.n_tasks, 1);
	/* More than were planned, just now. */
	assert_int_equal(tasks(b, 7, 3, 0), 0);
	assert_int_equal(told.last.done_ns, 2000);
	assert_int_equal(bench_query_end(b, 7), 0);
	assert_int_equal(told.n_ended, 1);
	assert_int_equal(told.last.n_done, 3);
	assert_null(cot_sched_query(b->sched, 7));
	assert_int_equal(bench_query_end(b, 7), -EINVAL);
	assert_int_equal(cot_sched_policy(b->sched)->n_queries, 0);
	bench_end(b);
}

static void test_what_is_not_known(void **state)
{
	struct bench *b = start();

	(void)state;
	assert_int_equal(bench_query(b, 1, SERVICE, 0, NULL), 0);
	assert_int_equal(told.last.began_ns, 1000);
	assert_int_equal(told.last.arrived_ns, 1000);
	assert_null(told.last.plan);
	assert_int_equal(begin(b, 2, (struct cot_query_desc){.tenant = SERVICE, .began_ns = 300}),
			 0);
	assert_int_equal(told.last.arrived_ns, 300);
	/* Its first task cannot end before it began. */
	assert_int_equal(tasks(b, 2, 1, 299), -EINVAL);
	assert_int_equal(tasks(b, 2, 1, 300), 0);
	bench_end(b);
}

/* One of this size that takes so long. */
static void one(struct bench *b, uint64_t size, uint64_t ns)
{
	assert_int_equal(bench_query(b, 9, SERVICE, size, NULL), 0);
	b->now_ns += ns;
	assert_int_equal(bench_query_end(b, 9), 0);
}

/* The first ones do not count; then the longest of the next does, in proportion to the SMs. */
static void test_what_is_not_known_is_learned(void **state)
{
	static const uint32_t learned_sms[] = {17, 33, 66, 132};
	static const uint64_t learned_ns[] = {8 * 3000, 4 * 3000, 2 * 3000, 3000};
	struct bench *b = start();
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++)
		one(b, 100, 2000); /* how many SMs there are is not known */
	assert_null(told.last.plan);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_PARTS,
							   .id = SERVICE,
							   .parts = {.n_sms = 132, .unit = 8}}),
			 0);
	for (i = 0; i < 64; i++) {
		one(b, 100, i < 16 ? 1000000 : i == 40 ? 3000 : 2000);
		assert_null(told.last.plan);
	}
	one(b, 65, 5000); /* of 64 to 127 all count as one size */
	assert_non_null(told.last.plan);
	assert_true(cot_plan_is_valid(told.last.plan));
	assert_int_equal(told.last.plan->n_tasks, 1);
	assert_int_equal(told.last.plan->n_quotas, 4);
	assert_memory_equal(told.last.plan->sms, learned_sms, sizeof(learned_sms));
	assert_memory_equal(told.last.plan->query_ns, learned_ns, sizeof(learned_ns));
	assert_memory_equal(told.last.plan->task_ns, learned_ns, sizeof(learned_ns));
	one(b, 128, 2000);
	assert_null(told.last.plan);
	one(b, 0, 2000);
	assert_null(told.last.plan);
	/* What the host knows comes first. */
	assert_int_equal(bench_query(b, 9, SERVICE, 100, &good), 0);
	assert_ptr_equal(told.last.plan, &good);
	bench_end(b);
}

/* Of eight sizes, and of times of any length. */
static void test_what_is_too_much_to_learn(void **state)
{
	struct bench *b = start();
	unsigned i, size;

	(void)state;
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_PARTS,
							   .id = SERVICE,
							   .parts = {.n_sms = 132, .unit = 8}}),
			 0);
	for (size = 0; size < 9; size++)
		for (i = 0; i < 64; i++)
			one(b, 1u << size, size ? 1000 : COT_PLAN_NS_MAX / 3);
	one(b, 1, 1);
	assert_true(cot_plan_is_valid(told.last.plan));
	assert_int_equal(told.last.plan->query_ns[0], COT_PLAN_NS_MAX);
	assert_int_equal(told.last.plan->query_ns[2], COT_PLAN_NS_MAX / 3 * 2);
	one(b, 1u << 7, 1);
	assert_non_null(told.last.plan);
	one(b, 1u << 8, 1);
	assert_null(told.last.plan);
	bench_end(b);
}

static void test_what_cannot_be(void **state)
{
	static const struct cot_query_desc wrong[] = {
		{.tenant = 3},
		{.tenant = SERVICE, .began_ns = 1001},
		{.tenant = SERVICE, .arrived_ns = 701, .began_ns = 700},
		{.tenant = SERVICE, .arrived_ns = 1001},
		{.tenant = SERVICE, .in_ns = COT_PLAN_NS_MAX + 1},
		{.tenant = SERVICE, .out_ns = COT_PLAN_NS_MAX + 1},
	};
	struct bench *b = start();
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (begin(b, 1, wrong[i]) != -EINVAL)
			fail_msg("case %u was taken", i);
	assert_int_equal(begin(b, 0, (struct cot_query_desc){.tenant = SERVICE}), -EINVAL);
	assert_int_equal(begin(b, 1, (struct cot_query_desc){.tenant = SERVICE}), 0);
	assert_int_equal(begin(b, 1, (struct cot_query_desc){.tenant = SERVICE}), -EEXIST);
	/* One place for both. */
	assert_int_equal(
		begin(b, 1 + COT_SCHED_MAX_QUERIES, (struct cot_query_desc){.tenant = SERVICE}),
		-EEXIST);
	assert_int_equal(bench_query_end(b, 1 + COT_SCHED_MAX_QUERIES), -EINVAL);
	assert_null(cot_sched_query(b->sched, 1 + COT_SCHED_MAX_QUERIES));
	assert_int_equal(told.n_begun, 1);
	bench_end(b);
}

/* ---- several ---- */

static void expect_order(const struct bench *b, const uint32_t *ids, uint32_t n)
{
	const struct cot_policy *p = cot_sched_policy(b->sched);
	const struct cot_query *q;
	uint32_t i = 0;

	assert_int_equal(p->n_queries, n);
	cot_for_each_query(q, p) assert_int_equal(q->id, ids[i++]);
	assert_int_equal(i, n);
}

static void test_they_go_with_their_program(void **state)
{
	struct bench *b = start();

	(void)state;
	(void)bench_query(b, 5, SERVICE, 0, NULL);
	(void)bench_query(b, 9, OTHER, 0, NULL);
	(void)bench_query(b, 2, SERVICE, 0, &good);
	(void)bench_query(b, 4, OTHER, 0, NULL);
	expect_order(b, (const uint32_t[]){5, 9, 2, 4}, 4);
	(void)bench_query_end(b, 9);
	expect_order(b, (const uint32_t[]){5, 2, 4}, 3);
	(void)bench_leave(b, SERVICE);
	assert_int_equal(told.n_ended, 3);
	assert_int_equal(told.n_left, 1);
	expect_order(b, (const uint32_t[]){4}, 1);
	(void)bench_query(b, 6, OTHER, 0, NULL);
	expect_order(b, (const uint32_t[]){4, 6}, 2);
	bench_end(b);
}

static void test_another_policy(void **state)
{
	struct bench *b = start();
	struct cot_error err;

	(void)state;
	(void)bench_query(b, 5, SERVICE, 0, &good);
	/* One that does not look at queries: they go on. */
	assert_int_equal(
		cot_sched_set_policy(b->sched, &cot_policy_timeslice, NULL, b->now_ns, &err), 0);
	assert_int_equal(bench_query_tasks(b, 5, 1), 0);
	(void)bench_query(b, 6, SERVICE, 0, NULL);
	assert_int_equal(told.n_begun, 1);
	assert_int_equal(cot_sched_set_policy(b->sched, &listener, NULL, b->now_ns, &err), 0);
	assert_int_equal(told.n_begun, 1); /* it finds both in the table */
	expect_order(b, (const uint32_t[]){5, 6}, 2);
	assert_int_equal(*(uint64_t *)cot_sched_query(b->sched, 5)->own, 0);
	assert_int_equal(bench_query_end(b, 5), 0);
	assert_int_equal(told.n_ended, 1);
	bench_end(b);
}

static void test_too_much_memory(void **state)
{
	struct cot_policy_ops ops = listener;
	struct cot_sched *s;
	struct cot_error err;

	(void)state;
	ops.query_bytes = COT_POLICY_OWN_MAX + 1;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "or a query"));
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(test_rates_of_a_plan),
		cmocka_unit_test(test_wrong_plans),
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_what_is_not_known),
		cmocka_unit_test(test_what_is_not_known_is_learned),
		cmocka_unit_test(test_what_is_too_much_to_learn),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_they_go_with_their_program),
		cmocka_unit_test(test_another_policy),
		cmocka_unit_test(test_too_much_memory),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
