/* Lessons in the policy core: sorted, bounded, in order of writing for the host. */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

static struct cot_policy *at_work;

static int init(struct cot_policy *p)
{
	at_work = p;
	return 0;
}

static void fini(struct cot_policy *p)
{
	struct cot_lesson l = {.key = 1};

	assert_int_equal(cot_learn(p, &l), -EPERM);
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_policy_ops learner = {
	.name = "learner",
	.summary = "learns what it is told to",
	.abi = COT_POLICY_ABI,
	.init = init,
	.fini = fini,
	.tick = tick,
};

static int learn(uint64_t key, uint32_t kind, uint32_t value)
{
	struct cot_lesson l = {.key = key, .kind = kind, .value = {value, 2, 3, 4, 5, 6}};

	return cot_learn(at_work, &l);
}

static int bring(struct bench *b, uint64_t key, uint32_t kind, uint32_t value)
{
	return bench_event(
		b, (struct cot_event){.type = COT_EV_LESSON,
				      .lesson = {.key = key, .kind = kind, .value = {value}}});
}

static uint32_t found(uint64_t key, uint32_t kind)
{
	const struct cot_lesson *l = cot_lesson_find(at_work, key, kind);

	return l ? l->value[0] : 0;
}

static uint64_t n_changed(const struct bench *b)
{
	return bench_stats(b).lessons;
}

static void test_one_for_each_key_and_kind(void **state)
{
	struct bench *b = bench_begin(&learner);
	const struct cot_lesson *l;

	(void)state;
	assert_null(cot_lesson_find(at_work, 5, 1));
	assert_int_equal(learn(5, 1, 10), 0);
	assert_int_equal(learn(3, 2, 20), 0);
	assert_int_equal(learn(5, 0, 30), 0);
	assert_int_equal(learn(UINT64_MAX, UINT32_MAX, 40), 0);
	assert_int_equal(found(5, 1), 10);
	assert_int_equal(found(3, 2), 20);
	assert_int_equal(found(5, 0), 30);
	assert_int_equal(found(UINT64_MAX, UINT32_MAX), 40);
	assert_int_equal(found(3, 1), 0);
	assert_int_equal(found(5, 2), 0);
	/* In order. */
	assert_int_equal(at_work->n_lessons, 4);
	l = at_work->lessons;
	assert_true(l[0].key == 3 && l[1].key == 5 && !l[1].kind && l[2].key == 5);
	/* A newer one replaces it, the whole of it. */
	assert_int_equal(learn(5, 1, 11), 0);
	assert_int_equal(found(5, 1), 11);
	assert_int_equal(cot_lesson_find(at_work, 5, 1)->value[5], 6);
	assert_int_equal(at_work->n_lessons, 4);
	assert_int_equal(n_changed(b), 5);
	bench_end(b);
}

static void test_what_is_known_costs_nothing(void **state)
{
	struct bench *b = bench_begin(&learner);
	unsigned i;

	(void)state;
	for (i = 0; i < 10 * COT_LEARN_MAX; i++)
		assert_int_equal(learn(5, 1, 10), 0);
	assert_int_equal(n_changed(b), 1);
	bench_expect_no_mistakes(b);
	bench_end(b);
}

static void test_so_many_in_a_second(void **state)
{
	struct bench *b = bench_begin(&learner);
	uint32_t i;

	(void)state;
	for (i = 1; i <= COT_LEARN_MAX; i++)
		assert_int_equal(learn(5, 1, i), 0);
	bench_expect_no_mistakes(b);
	assert_int_equal(learn(5, 1, 1000), -EAGAIN);
	assert_int_equal(bench_stats(b).wrong_actions, 1);
	assert_int_equal(found(5, 1), COT_LEARN_MAX);
	bench_run(b, 1000 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(learn(5, 1, 1000), 0);
	assert_int_equal(found(5, 1), 1000);
	bench_end(b);
}

static void test_nobody(void **state)
{
	struct bench *b = bench_begin(&learner);

	(void)state;
	assert_int_equal(learn(0, 1, 10), -EINVAL);
	assert_int_equal(bench_stats(b).wrong_actions, 1);
	assert_int_equal(bring(b, 0, 1, 10), -EINVAL);
	assert_int_equal(bench_stats(b).wrong_actions, 1);
	assert_int_equal(at_work->n_lessons, 0);
	bench_end(b);
}

/* The one that was written longest ago goes, wherever it stands. */
static void test_the_table_is_bounded(void **state)
{
	struct bench *b = bench_begin(&learner);
	uint32_t i;

	(void)state;
	for (i = 0; i < COT_LESSONS_MAX; i++)
		assert_int_equal(bring(b, 1 + (7 * i) % COT_LESSONS_MAX, 1, i + 1), 0);
	assert_int_equal(at_work->n_lessons, COT_LESSONS_MAX);
	assert_int_equal(n_changed(b), 0);
	/* The oldest is key 1; written again, it is the newest, and key 8 is the oldest. */
	assert_int_equal(learn(1, 1, 5000), 0);
	assert_int_equal(learn(1, 2, 5001), 0);
	assert_int_equal(at_work->n_lessons, COT_LESSONS_MAX);
	assert_int_equal(found(8, 1), 0);
	assert_int_equal(found(1, 1), 5000);
	assert_int_equal(found(1, 2), 5001);
	assert_int_equal(found(15, 1), 3);
	for (i = 1; i < COT_LESSONS_MAX; i++)
		assert_true(at_work->lessons[i - 1].key < at_work->lessons[i].key ||
			    at_work->lessons[i - 1].kind < at_work->lessons[i].kind);
	bench_end(b);
}

/* What one host writes down, the next one has, with the same ones to go first. */
static void test_from_run_to_run(void **state)
{
	static struct cot_lesson first[COT_LESSONS_MAX], second[COT_LESSONS_MAX];
	struct bench *b = bench_begin(&learner);
	uint32_t i, n;

	(void)state;
	assert_int_equal(learn(9, 1, 90), 0);
	assert_int_equal(learn(7, 1, 70), 0);
	assert_int_equal(learn(8, 1, 80), 0);
	assert_int_equal(learn(9, 1, 91), 0);
	n = cot_sched_lessons(b->sched, first);
	assert_int_equal(n, 3);
	assert_true(first[0].key == 7 && first[1].key == 8 && first[2].key == 9);
	assert_int_equal(first[2].value[0], 91);
	bench_end(b);
	b = bench_begin(&learner);
	for (i = 0; i < n; i++)
		assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_LESSON,
								   .lesson = first[i]}),
				 0);
	assert_int_equal(cot_sched_lessons(b->sched, second), n);
	assert_memory_equal(first, second, n * sizeof(first[0]));
	assert_int_equal(found(8, 1), 80);
	bench_end(b);
}

/* They are not the policy's own: the next one has them. */
static void test_policies_share_them(void **state)
{
	struct bench *b = bench_begin(&learner);
	struct cot_error err;

	(void)state;
	assert_int_equal(learn(9, 1, 90), 0);
	assert_int_equal(cot_sched_set_policy(b->sched, &learner, NULL, b->now_ns, &err), 0);
	assert_int_equal(found(9, 1), 90);
	cot_sched_stop(b->sched, b->now_ns);
	assert_int_equal(learn(9, 1, 91), -EAGAIN);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_for_each_key_and_kind),
		cmocka_unit_test(test_what_is_known_costs_nothing),
		cmocka_unit_test(test_so_many_in_a_second),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_the_table_is_bounded),
		cmocka_unit_test(test_from_run_to_run),
		cmocka_unit_test(test_policies_share_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
