/* The contract suite over every registered software policy, and over one that breaks it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/chaos.h"
#include "policy/policy_bench.h"
#include "policy/policy_contract.h"
#include "test.h"

#define N_SEEDS 20u

extern const struct cot_policy_ops policy_favour; /* policy_favour.c */
extern const struct cot_policy_ops policy_keep;	  /* policy_keep.c */
extern const struct cot_policy_ops policy_recall; /* policy_recall.c */

static uint64_t first_seed(void)
{
	const char *s = getenv("COT_TEST_SEED");

	return s ? strtoull(s, NULL, 0) : 20140614;
}

/* Prints what is wrong if asked to; returns how many checks failed. */
static unsigned run_suite(const struct cot_policy_ops *ops, uint64_t n_seeds, bool print)
{
	unsigned i, n_failed = 0;
	uint64_t n;

	for (i = 0; i < n_sw_checks; i++) {
		const char *said = NULL;

		for (n = 0; !said && n < (policy_checks[i].by_chance ? n_seeds : 1); n++)
			said = policy_checks[i].run(ops, first_seed() + n);
		if (!said)
			continue;
		n_failed++;
		if (print)
			print_error("%s: %s: %s (COT_TEST_SEED=%llu)\n", ops->name,
				    policy_checks[i].name, said,
				    (unsigned long long)(first_seed() + n - 1));
	}
	return n_failed;
}

static void test_registered_policies(void **state)
{
	unsigned i, n_failed = 0;

	(void)state;
	for (i = 0; i < cot_n_policies; i++) {
		assert_ptr_equal(cot_policy_find(cot_policies[i]->name), cot_policies[i]);
		n_failed += run_suite(cot_policies[i], N_SEEDS, true);
	}
	assert_int_equal(n_failed, 0);
	assert_null(cot_policy_find("no-such-policy"));
}

/* The ones that docs/writing-a-policy.md walks through. */
static void test_example_policies(void **state)
{
	(void)state;
	assert_int_equal(run_suite(&policy_favour, N_SEEDS, true), 0);
	assert_int_equal(run_suite(&policy_keep, N_SEEDS, true), 0);
	assert_int_equal(run_suite(&policy_recall, N_SEEDS, true), 0);
}

static void read_source(const char *name, char *text, size_t size)
{
	char path[4096];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("SOURCE_DIR"), name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	(void)fclose(f);
}

/* The document shows the files as they are. */
static void test_document_is_up_to_date(void **state)
{
	static const char *const examples[] = {
		"tests/policy/policy_favour.c",
		"tests/policy/policy_keep.c",
		"tests/policy/policy_recall.c",
	};
	static char text[65536], code[8192];
	unsigned i;

	(void)state;
	if (!getenv("SOURCE_DIR"))
		skip();
	read_source("docs/writing-a-policy.md", text, sizeof(text));
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		read_source(examples[i], code, sizeof(code));
		if (!strstr(text, code))
			fail_msg("the document shows another %s", examples[i]);
	}
}

static void test_suite_catches_chaos(void **state)
{
	enum chaos knob;

	(void)state;
	chaos_knob = CHAOS_NONE;
	assert_int_equal(run_suite(&chaos_policy, 1, true), 0);
	for (knob = CHAOS_NONE + 1; knob < CHAOS_N; knob++) {
		unsigned n_failed;

		chaos_knob = knob;
		n_failed = run_suite(&chaos_policy, 1, false);
		print_message("  chaos '%s': %u checks fail\n", chaos_name(knob), n_failed);
		assert_true(n_failed > 0);
	}
}

/* What the core does about it: who is wrong is replaced, and everybody runs. */
static void test_core_survives_chaos(void **state)
{
	static const struct {
		enum chaos knob;
		enum cot_fault fault;
		uint64_t within_ns;
	} cases[] = {
		{CHAOS_INIT_FAILS, COT_FAULT_INIT, 0},
		{CHAOS_STALL, COT_FAULT_STALL, COT_NS_PER_S},
		{CHAOS_STARVE, COT_FAULT_STARVED, 11 * COT_NS_PER_S},
		{CHAOS_FORGET, COT_FAULT_STARVED, 12 * COT_NS_PER_S},
		{CHAOS_WILD, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_BAD_SLICE, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_BAD_MODE, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_STORM, COT_FAULT_STORM, 2 * COT_NS_PER_S},
		{CHAOS_BAD_PART, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
	};
	unsigned i, id;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cot_sched_stats stats;
		struct bench *b;

		chaos_knob = cases[i].knob;
		b = bench_begin(&chaos_policy);
		(void)bench_solo(b, 1, COT_CLASS_LATENCY, 100);
		for (id = 2; id < 6; id++)
			(void)bench_solo(b, id, COT_CLASS_BATCH, 100);
		bench_run(b, cases[i].within_ns + 100 * COT_NS_PER_MS);
		stats = bench_stats(b);
		assert_int_equal(stats.fallbacks, 1);
		assert_int_equal(stats.fault, cases[i].fault);
		assert_true(stats.fault_ns <= cases[i].within_ns);
		assert_ptr_equal(cot_sched_policy(b->sched)->ops, &cot_policy_timeslice);
		assert_ptr_equal(cot_sched_wanted_policy(b->sched), &chaos_policy);
		for (id = 1; id < 6; id++)
			assert_false(b->frozen[id]);
		bench_end(b);
	}
}

/* Works are never lost: those that a wrong policy leaves waiting are granted all the same. */
static void test_core_saves_works(void **state)
{
	static const struct {
		enum chaos knob;
		enum cot_fault fault;
		uint64_t within_ns;
	} cases[] = {
		{CHAOS_NEVER_GRANT, COT_FAULT_STALL, COT_NS_PER_S},
		{CHAOS_OVERGRANT, COT_FAULT_WRONG, COT_NS_PER_S},
		{CHAOS_SETTLE_ANY, COT_FAULT_WRONG, COT_NS_PER_S},
		{CHAOS_GRANT_AGAIN, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_EVICT_ALL, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_EVICT_BACK, COT_FAULT_WRONG, 2 * COT_NS_PER_S},
		{CHAOS_FORGET_WORK, COT_FAULT_NONE, 11 * COT_NS_PER_S},
	};
	unsigned i, id;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cot_sched_stats stats;
		struct bench *b;

		chaos_knob = cases[i].knob;
		b = bench_begin(&chaos_policy);
		for (id = 1; id < 5; id++) {
			(void)bench_solo(b, id, COT_CLASS_BATCH, 100);
			assert_int_equal(bench_work(b, id, id, 100000, 8, 50000, false), 0);
		}
		bench_run(b, cases[i].within_ns + 100 * COT_NS_PER_MS);
		stats = bench_stats(b);
		assert_int_equal(stats.fallbacks, cases[i].fault != COT_FAULT_NONE);
		assert_int_equal(stats.fault, cases[i].fault);
		assert_int_equal(stats.rescues, cases[i].knob == CHAOS_FORGET_WORK);
		for (id = 1; id < 5; id++) {
			const struct bench_work *w = &b->works[id];

			/* Somebody is left to do the rest; the bench looks at each message. */
			assert_true(w->granted > w->evicted);
			assert_int_equal(w->granted, 132);
		}
		bench_end(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registered_policies),
		cmocka_unit_test(test_example_policies),
		cmocka_unit_test(test_document_is_up_to_date),
		cmocka_unit_test(test_suite_catches_chaos),
		cmocka_unit_test(test_core_survives_chaos),
		cmocka_unit_test(test_core_saves_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
