/* How fast programs get on: what the core is told of the counts that shims send, and when. */
#include <stdio.h>

#include "daemon/host.h"
#include "daemon/progress.h"
#include "door_stage.h"

#define OTHER	 (STRANGER + 1)
#define SECOND	 COT_NS_PER_S
#define TOGETHER (10 * COT_NS_PER_MS)
#define STOPPED	 (2500 * COT_NS_PER_MS)

static unsigned n_told;
static uint64_t begin; /* far from now, so that only the test calls the timer */

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	(void)p;
	(void)t;
	n_told++;
}

static const struct cot_measure_ops measures = {.progress = progress};
static const struct cot_policy_ops curious = {.name = "curious",
					      .summary = "wants to know how programs get on",
					      .abi = COT_POLICY_ABI,
					      .tick = tick,
					      .measures = &measures};

static struct conn *c;
static struct tenant *t;
static const struct cot_tenant *is;

static void use(const struct cot_policy_ops *policy)
{
	struct cot_policy_config config;

	cot_policy_config_init(&config);
	assert_int_equal(cot_host_set_policy(stage.basis.host, policy, &config, cot_now_ns(), NULL),
			 0);
}

static int setup(void **state)
{
	int rc = open_server(state), fd;

	t = stage_tenant(3, "app", NULL);
	c = enter(OTHER, &fd);
	c->tenant = t;
	is = cot_sched_tenant(cot_host_sched(stage.basis.host), 3);
	use(&curious);
	n_told = 0;
	begin = cot_now_ns() + 3600 * SECOND;
	return rc;
}

static int teardown(void **state)
{
	c->tenant = NULL;
	use(cot_policy_find("pools"));
	return close_server(state);
}

static void count(enum cot_progress_kind kind, uint64_t total, uint64_t at_ns)
{
	cot_progress_count(c, kind, total, begin + at_ns);
}

static void look(uint64_t at_ns)
{
	assert_true(stage.roster.rates.armed);
	assert_int_equal(stage.roster.rates.due_ns, begin + at_ns);
	cot_timer_clear(&stage.roster.rates);
	stage.roster.rates.fire(&stage.roster.rates, begin + at_ns);
}

static void expect(uint64_t n, uint64_t span_ns, unsigned times)
{
	assert_int_equal(is->launches.n, n);
	assert_int_equal(is->launches.span_ns, span_ns);
	assert_int_equal(n_told, times);
}

/* Of both messages of a second together, in the time between the last of each second. */
static void test_a_second(void **state)
{
	double rate;

	(void)state;
	assert_false(cot_progress_rate(t, begin, &rate));
	count(COT_PROGRESS_WORKS, 1000000, 0); /* for another daemon */
	count(COT_PROGRESS_PARTS, 5000000, 1);
	look(TOGETHER);
	assert_int_equal(n_told, 0);
	assert_false(stage.roster.rates.armed);
	count(COT_PROGRESS_WORKS, 1000200, SECOND);
	count(COT_PROGRESS_PARTS, 5000300, SECOND + 1000);
	assert_int_equal(n_told, 0);
	look(SECOND + TOGETHER);
	expect(500, SECOND + 1000, 1);
	assert_true(cot_progress_rate(t, begin + 2 * SECOND, &rate));
	assert_true(rate > 499.9 && rate < 500);
	count(COT_PROGRESS_PARTS, 5000400, 2 * SECOND);
	look(2 * SECOND + TOGETHER);
	expect(100, SECOND - 1000, 2);
}

static void expect_waits(uint64_t n, uint64_t ns)
{
	assert_int_equal(is->launches.n_waits, n);
	assert_int_equal(is->launches.waited_ns, ns);
}

/* What was waited for in the same time. A count that goes back is another shim's, and none of ours.
 */
static void test_waits(void **state)
{
	(void)state;
	count(COT_PROGRESS_PARTS, 0, 0);
	cot_progress_waits(c, 1000, 5000);
	look(TOGETHER);
	count(COT_PROGRESS_PARTS, 5, SECOND);
	cot_progress_waits(c, 1100, 5700);
	look(SECOND + TOGETHER);
	expect_waits(100, 700);
	count(COT_PROGRESS_PARTS, 9, 2 * SECOND);
	look(2 * SECOND + TOGETHER);
	expect_waits(0, 0);
	count(COT_PROGRESS_PARTS, 12, 3 * SECOND);
	cot_progress_waits(c, 7, 70);
	cot_progress_waits(c, 9, 75);
	look(3 * SECOND + TOGETHER);
	expect_waits(2, 5);
}

/* Many messages are no more events, and put nothing off. */
static void test_too_often(void **state)
{
	uint64_t ns;

	(void)state;
	count(COT_PROGRESS_PARTS, 0, 0);
	look(TOGETHER);
	for (ns = 1; ns < SECOND * 8 / 10; ns += SECOND / 1000) {
		count(COT_PROGRESS_PARTS, ns, ns);
		if (stage.roster.rates.due_ns <= begin + ns)
			look(stage.roster.rates.due_ns - begin);
	}
	assert_int_equal(n_told, 0);
	count(COT_PROGRESS_PARTS, SECOND, SECOND);
	look(stage.roster.rates.due_ns - begin);
	expect(SECOND, SECOND, 1);
}

/* Once, when nothing has come for a while; then the next second begins where that ended. */
static void test_stopped(void **state)
{
	double rate;

	(void)state;
	count(COT_PROGRESS_PARTS, 7, 0);
	count(COT_PROGRESS_PARTS, 107, SECOND);
	look(TOGETHER);
	look(SECOND + STOPPED);
	expect(0, STOPPED, 2);
	assert_false(stage.roster.rates.armed);
	stage.roster.rates.fire(&stage.roster.rates, begin + SECOND + 3 * STOPPED);
	assert_int_equal(n_told, 2);
	assert_true(cot_progress_rate(t, begin + SECOND + STOPPED, &rate) && rate == 0);
	assert_false(cot_progress_rate(t, begin + SECOND + 4 * STOPPED, &rate));
	count(COT_PROGRESS_PARTS, 207, SECOND + STOPPED + SECOND / 2);
	look(SECOND + STOPPED + SECOND / 2 + TOGETHER);
	assert_int_equal(n_told, 2);
	count(COT_PROGRESS_PARTS, 307, SECOND + STOPPED + SECOND);
	look(SECOND + STOPPED + SECOND + TOGETHER);
	expect(200, SECOND, 3);
}

/* A shim may send any number. */
static void test_any_number(void **state)
{
	(void)state;
	count(COT_PROGRESS_PARTS, 100, 0);
	count(COT_PROGRESS_PARTS, 50, SECOND / 2);
	count(COT_PROGRESS_PARTS, 60, SECOND);
	look(TOGETHER);
	expect(10, SECOND, 1);
	count(COT_PROGRESS_PARTS, UINT64_MAX, 2 * SECOND);
	count(COT_PROGRESS_PARTS, 0, 2 * SECOND);
	look(2 * SECOND + TOGETHER);
	expect(UINT64_MAX - 60, SECOND, 2);
}

/* Another process of the program: both count. */
static void test_two_shims(void **state)
{
	struct conn *first = c;
	int fd;

	(void)state;
	count(COT_PROGRESS_PARTS, 0, 0);
	c = enter(OTHER, &fd);
	c->tenant = t;
	count(COT_PROGRESS_PARTS, 4000, 1);
	count(COT_PROGRESS_PARTS, 4070, SECOND);
	c->tenant = NULL;
	c = first;
	count(COT_PROGRESS_PARTS, 30, SECOND);
	look(TOGETHER);
	expect(100, SECOND, 1);
}

/* Nothing for a policy that does not want to know. */
static void test_not_wanted(void **state)
{
	double rate;

	(void)state;
	use(cot_policy_find("pools"));
	count(COT_PROGRESS_PARTS, 0, 0);
	count(COT_PROGRESS_PARTS, 100, SECOND);
	look(TOGETHER);
	assert_int_equal(is->launches.span_ns, 0);
	assert_true(cot_progress_rate(t, begin + SECOND, &rate) && rate > 99 && rate < 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
		TEST(a_second),	  TEST(waits),	   TEST(too_often),  TEST(stopped),
		TEST(any_number), TEST(two_shims), TEST(not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
