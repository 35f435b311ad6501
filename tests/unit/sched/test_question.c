/* Questions to a policy: what it is shown, and what the core takes for an answer. */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

static enum cot_home answer;
static struct cot_tenant shown;
static struct cot_fact said[COT_FACTS_MAX + 1];
static unsigned n_said;
static int acted;

static enum cot_home home(const struct cot_policy *p, const struct cot_tenant *t)
{
	shown = *t;
	acted = cot_place((struct cot_policy *)p, p->tenants, (struct cot_part){0});
	return answer;
}

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	shown = *t;
	assert_int_equal(max, COT_FACTS_MAX);
	memcpy(facts, said, (n_said < max ? n_said : max) * sizeof(said[0]));
	if (p->entities)
		acted = cot_freeze((struct cot_policy *)p, p->entities);
	return n_said;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_policy_ops talker = {
	.name = "talker",
	.summary = "says what it is told to say",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.tick = tick,
	.home = home,
	.explain = explain,
};

static uint32_t n_wrong(const struct bench *b)
{
	return (uint32_t)bench_stats(b).wrong_actions;
}

static const struct cot_tenant_desc program = {
	.cls = COT_CLASS_BATCH,
	.weight = 300,
	.gpu_mask = GPU1,
	.block_us = 40,
	.target = {COT_TARGET_RATE, 800},
	.quota = {.pct = 50},
	.reserve = {.sms = 3},
	.sms = {.sms = 64},
	.pace_us = 500,
	.key = 77,
};

static void test_home_sees_the_program(void **state)
{
	const struct cot_prediction rows[2] = {{.sms = 8, .duration_ns = 100},
					       {.sms = 16, .duration_ns = 60}};
	struct bench *b = bench_begin(&talker);

	(void)state;
	answer = COT_HOME_LATENCY;
	assert_int_equal(cot_sched_home(b->sched, &program, rows, 2), COT_HOME_LATENCY);
	assert_int_equal(shown.cls, COT_CLASS_BATCH);
	assert_int_equal(shown.weight, 300);
	assert_int_equal(shown.gpu_mask, GPU1);
	assert_int_equal(shown.block_us, 40);
	assert_int_equal(shown.target.kind, COT_TARGET_RATE);
	assert_int_equal(shown.quota.pct, 50);
	assert_int_equal(shown.reserve.sms, 3);
	assert_int_equal(shown.sms.sms, 64);
	assert_int_equal(shown.pace_us, 500);
	assert_int_equal(shown.key, 77);
	assert_ptr_equal(shown.predictions, rows);
	assert_int_equal(shown.n_predictions, 2);
	assert_int_equal(acted, -EPERM);
	assert_int_equal(cot_sched_home(b->sched, &program, NULL, 0), COT_HOME_LATENCY);
	assert_null(shown.predictions);
	bench_end(b);
}

static void test_a_home_is_one_of_four(void **state)
{
	struct bench *b = bench_begin(&talker);
	int i;

	(void)state;
	for (i = 0; i < COT_N_HOMES; i++) {
		answer = (enum cot_home)i;
		assert_int_equal(cot_sched_home(b->sched, &program, NULL, 0), answer);
	}
	/* One for the act in each call. */
	assert_int_equal(n_wrong(b), COT_N_HOMES);
	answer = COT_N_HOMES;
	assert_int_equal(cot_sched_home(b->sched, &program, NULL, 0), COT_HOME_CLASS);
	assert_int_equal(n_wrong(b), COT_N_HOMES + 2);
	bench_end(b);
}

/* A policy without pools, and one that says nothing, are not asked. */
static void test_who_is_not_asked(void **state)
{
	struct cot_policy_ops ops = talker;
	struct cot_fact facts[COT_FACTS_MAX];
	struct bench *b;

	(void)state;
	answer = COT_HOME_ALONE;
	ops.wants_pools = false;
	b = bench_begin(&ops);
	assert_int_equal(cot_sched_home(b->sched, &program, NULL, 0), COT_HOME_CLASS);
	bench_end(b);
	ops = talker;
	ops.home = NULL;
	ops.explain = NULL;
	b = bench_begin(&ops);
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	assert_int_equal(cot_sched_home(b->sched, &program, NULL, 0), COT_HOME_CLASS);
	assert_int_equal(cot_sched_explain(b->sched, 1, facts), 0);
	bench_end(b);
}

static void test_facts_as_they_are(void **state)
{
	struct cot_fact facts[COT_FACTS_MAX];
	struct bench *b = bench_begin(&talker);

	(void)state;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	n_said = 2;
	said[0] = (struct cot_fact){"arrangement", "pools", 0, COT_FACT_TEXT};
	said[1] = (struct cot_fact){"batch slice", NULL, 20, COT_FACT_US};
	assert_int_equal(cot_sched_explain(b->sched, 1, facts), 2);
	assert_int_equal(shown.id, 1);
	assert_memory_equal(facts, said, 2 * sizeof(said[0]));
	assert_int_equal(acted, -EPERM);
	assert_int_equal(cot_sched_explain(b->sched, 2, facts), 0);
	/* As many as there is room for, though it says more. */
	for (n_said = 0; n_said < COT_FACTS_MAX; n_said++)
		said[n_said] = (struct cot_fact){"n", NULL, n_said, COT_FACT_COUNT};
	n_said = COT_FACTS_MAX + 1;
	assert_int_equal(cot_sched_explain(b->sched, 1, facts), COT_FACTS_MAX);
	assert_int_equal(facts[COT_FACTS_MAX - 1].value, COT_FACTS_MAX - 1);
	/* Two acts, and this. */
	assert_int_equal(n_wrong(b), 3);
	bench_end(b);
}

static void test_what_is_no_fact_is_left_out(void **state)
{
	static char long_text[COT_FACT_TEXT_MAX + 1];
	const struct cot_fact wrong[] = {
		{NULL, "text", 0, COT_FACT_TEXT},  {"", "text", 0, COT_FACT_TEXT},
		{"name", NULL, 0, COT_FACT_TEXT},  {"name", "", 0, COT_FACT_TEXT},
		{"name", "", 0, COT_FACT_NS},	   {"name", NULL, 0, COT_N_FACT_UNITS},
		{long_text, NULL, 0, COT_FACT_NS}, {"name", long_text, 0, COT_FACT_TEXT},
	};
	struct cot_fact facts[COT_FACTS_MAX];
	struct bench *b = bench_begin(&talker);
	unsigned i;

	(void)state;
	memset(long_text, 'x', COT_FACT_TEXT_MAX);
	(void)bench_member(b, 1, COT_CLASS_BATCH, 9);
	n_said = 2;
	said[1] = (struct cot_fact){"right", NULL, 5, COT_FACT_SMS};
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		said[0] = wrong[i];
		if (cot_sched_explain(b->sched, 1, facts) != 1 || facts[0].value != 5)
			fail_msg("fact %u was taken", i);
		assert_int_equal(n_wrong(b), i + 1);
	}
	/* The longest. */
	long_text[COT_FACT_TEXT_MAX - 1] = '\0';
	said[0] = (struct cot_fact){long_text, long_text, 0, COT_FACT_TEXT};
	assert_int_equal(cot_sched_explain(b->sched, 1, facts), 2);
	bench_end(b);
}

/* The key is the program's: it stays as it is. */
static void test_the_key_stays(void **state)
{
	struct cot_event ev = {.type = COT_EV_TENANT, .id = 1, .tenant = program};
	struct bench *b = bench_begin(&talker);

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->key, 77);
	assert_int_equal(bench_event(b, ev), 0);
	ev.tenant.key = 78;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->key, 77);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_home_sees_the_program),
		cmocka_unit_test(test_a_home_is_one_of_four),
		cmocka_unit_test(test_who_is_not_asked),
		cmocka_unit_test(test_facts_as_they_are),
		cmocka_unit_test(test_what_is_no_fact_is_left_out),
		cmocka_unit_test(test_the_key_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
