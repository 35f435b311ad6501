/* What a target means in time, which the policy may have to learn first, and what is shown of it.
 */
#include <jansson.h>
#include <stdlib.h>

#include "daemon/host.h"
#include "daemon/measure.h"
#include "daemon/show.h"
#include "door_stage.h"
#include "metrics/requests.h"

#define ALONE_US 2000u

static struct cot_fact says;

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	(void)p;
	(void)t;
	(void)max;
	facts[0] = (struct cot_fact){"because", "of the test", 0, COT_FACT_TEXT};
	facts[1] = says;
	return says.name ? 2 : 1;
}

static const struct cot_policy_ops talking = {.name = "talking",
					      .summary = "says what the test wants",
					      .abi = COT_POLICY_ABI,
					      .tick = tick,
					      .explain = explain};

static struct tenant *t;

static void use(const struct cot_policy_ops *policy)
{
	struct cot_policy_config config;

	cot_policy_config_init(&config);
	assert_int_equal(cot_host_set_policy(stage.basis.host, policy, &config, cot_now_ns(), NULL),
			 0);
}

static int setup(void **state)
{
	int rc = open_server(state);

	t = stage_tenant(3, "app", NULL);
	t->cls = COT_CLASS_LATENCY;
	says = (struct cot_fact){0};
	use(&talking);
	assert_true(cot_measure_begin(t));
	return rc;
}

static int teardown(void **state)
{
	use(cot_policy_find("pools"));
	cot_timer_clear(&stage.roster.looks);
	cot_tenant_end(t);
	return close_server(state);
}

static void look(uint64_t after_ns)
{
	cot_measure_look(&stage.roster.looks, t->aimed_ns + after_ns);
}

static void expect_aim(struct cot_target target, uint64_t ns)
{
	t->target = target;
	cot_measure_aim(t);
	assert_int_equal(t->aim_ns, ns);
}

static void test_aim(void **state)
{
	(void)state;
	assert_true(t->measured);
	expect_aim((struct cot_target){0}, 0);
	expect_aim((struct cot_target){COT_TARGET_P99, 5000}, 5000 * COT_NS_PER_US);
	expect_aim((struct cot_target){COT_TARGET_P99, COT_TARGET_P99_US_MAX}, 3600 * COT_NS_PER_S);
	expect_aim((struct cot_target){COT_TARGET_RATE, 500}, 0);
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 1500}, 0);
	says = (struct cot_fact){COT_SAYS_P99_ALONE, "not yet", 0, COT_FACT_TEXT};
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 1500}, 0);
	says = (struct cot_fact){COT_SAYS_P99_ALONE, NULL, ALONE_US, COT_FACT_US};
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 1500}, 3000 * COT_NS_PER_US);
	says.value = UINT64_MAX;
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 1500}, 0);
}

/* Once a second, too: what the policy says of the next start is told. */
static void test_next_start(void **state)
{
	(void)state;
	expect_aim((struct cot_target){COT_TARGET_P99, 5000}, 5000 * COT_NS_PER_US);
	look(COT_NS_PER_S);
	assert_null(t->told_next);
	says = (struct cot_fact){COT_SAYS_NEXT, "solo, for the test", 0, COT_FACT_TEXT};
	look(COT_NS_PER_S - 1);
	assert_null(t->told_next);
	look(COT_NS_PER_S);
	assert_string_equal(t->told_next, "solo, for the test");
	assert_string_equal(cot_measure_told(t, COT_SAYS_NEXT), "solo, for the test");
	says = (struct cot_fact){COT_SAYS_TARGET, "cannot be kept", 0, COT_FACT_TEXT};
	look(COT_NS_PER_S);
	assert_string_equal(t->told_target, "cannot be kept");
	assert_string_equal(t->told_next, "solo, for the test");
	says = (struct cot_fact){0};
	look(COT_NS_PER_S);
	assert_null(t->told_target);
}

/* Once a second it is looked whether the policy has learned it. */
static void test_learned(void **state)
{
	struct cot_requests_window window;
	uint64_t now_ns = cot_now_ns();

	(void)state;
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 2000}, 0);
	says = (struct cot_fact){COT_SAYS_P99_ALONE, NULL, ALONE_US, COT_FACT_US};
	cot_requests_add(t->requests, now_ns, COT_NEVER, 5000 * COT_NS_PER_US);
	look(COT_NS_PER_S - 1);
	assert_int_equal(t->aim_ns, 0);
	look(COT_NS_PER_S);
	assert_int_equal(t->aim_ns, 4000 * COT_NS_PER_US);
	cot_requests_add(t->requests, now_ns, COT_NEVER, 5000 * COT_NS_PER_US);
	cot_requests_add(t->requests, now_ns, COT_NEVER, 3000 * COT_NS_PER_US);
	cot_requests_read(t->requests, now_ns, COT_HORIZON_60S, &window);
	assert_int_equal(window.service.n, 3);
	assert_int_equal(window.service.n_missed, 1);
}

static json_t *shown(void)
{
	char *text = cot_show_answer(&stage.conns, COT_QUERY_PS);
	json_t *answer = json_loads(text, 0, NULL), *target;

	target = json_incref(
		json_object_get(json_array_get(json_object_get(answer, "tenants"), 0), "target"));
	free(text);
	json_decref(answer);
	return target;
}

static void expect_shown(const char *kind, const char *amount, double ms, double keeps)
{
	json_t *o = shown();

	assert_string_equal(json_string_value(json_object_get(o, "kind")), kind);
	assert_string_equal(json_string_value(json_object_get(o, "amount")), amount);
	assert_int_equal(json_is_null(json_object_get(o, "ms")), ms == 0);
	assert_int_equal(json_is_null(json_object_get(o, "keeps")), keeps == 0);
	assert_true(json_number_value(json_object_get(o, "ms")) == ms);
	assert_true(json_number_value(json_object_get(o, "keeps")) == keeps);
	json_decref(o);
}

static void test_shown(void **state)
{
	json_t *o = shown();

	(void)state;
	assert_true(json_is_null(o));
	json_decref(o);
	expect_aim((struct cot_target){COT_TARGET_P99, 5000}, 5000 * COT_NS_PER_US);
	expect_shown("p99", "5ms", 5, 0);
	expect_aim((struct cot_target){COT_TARGET_SLOWDOWN, 1500}, 0);
	expect_shown("slowdown", "1.5x", 0, 0);
	says = (struct cot_fact){COT_SAYS_P99_ALONE, NULL, ALONE_US, COT_FACT_US};
	cot_measure_aim(t);
	expect_shown("slowdown", "1.5x", 3, 0);
	says = (struct cot_fact){COT_SAYS_KEEPS, "of its rate alone", 750, COT_FACT_PERMILLE};
	expect_shown("slowdown", "1.5x", 3, 0);
	expect_aim((struct cot_target){COT_TARGET_RATE, 800}, 0);
	expect_shown("rate", "80%", 0, 0.75);
	use(cot_policy_find("pools"));
	expect_shown("rate", "80%", 0, 0);
}

/* The next program gets what one that is gone has had, and finds nothing in it. */
/* What was measured of a program is not the next one's. */
static void test_dropped(void **state)
{
	struct tenant *next = stage_tenant(4, "next", NULL);
	struct cot_requests_window window;
	uint64_t now_ns = cot_now_ns();

	(void)state;
	cot_requests_add(t->requests, now_ns, COT_NEVER, 5000 * COT_NS_PER_US);
	cot_measure_drop(t);
	assert_null(t->requests);
	cot_measure_drop(t);
	assert_true(cot_measure_begin(next));
	cot_requests_add(next->requests, now_ns, COT_NEVER, 3000 * COT_NS_PER_US);
	cot_requests_read(next->requests, now_ns, COT_HORIZON_60S, &window);
	assert_int_equal(window.service.n, 1);
	cot_measure_finish(&stage.roster);
	assert_null(next->requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
		TEST(aim), TEST(next_start), TEST(learned), TEST(shown), TEST(dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
