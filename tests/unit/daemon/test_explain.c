/* EXPLAIN: who may ask, about whom, and what the answer has. */
#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "door_stage.h"

#define OTHER (STRANGER + 1)

static struct cot_fact said[4];
static unsigned n_said;
static uint64_t n_ticks;

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	(void)p;
	assert_true(max >= n_said);
	assert_int_equal(t->id, 100);
	memcpy(facts, said, n_said * sizeof(said[0]));
	return n_said;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	n_ticks++;
	return COT_NEVER;
}

static const struct cot_policy_ops talker = {
	.name = "talker",
	.summary = "says what the test says",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.tick = tick,
	.explain = explain,
};

/* Two programs, of two users, and a pool. */
static int setup(void **state)
{
	struct cot_error err;

	if (open_server(state) ||
	    cot_host_set_policy(stage.basis.host, &talker, NULL, cot_now_ns(), &err))
		return -1;
	stage_tenant(100, "train", stage_pool(3, "latency", 0))->uid = OTHER;
	stage_tenant(101, "alone", NULL)->uid = getuid();
	return 0;
}

static json_t *asked(uid_t uid, uint64_t id, const char *name)
{
	struct cot_msg_explain m = {.tenant = id};
	int fd;

	snprintf(m.name, sizeof(m.name), "%s", name);
	(void)enter(uid, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_EXPLAIN, sizeof(m)), COT_MSG_RESULT);
	return status() ? NULL : json_loads(words(), 0, NULL);
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void expect_fact(const json_t *answer, unsigned i, const char *name, const char *unit,
			const char *text, json_int_t least, json_int_t most)
{
	const json_t *f = json_array_get(json_object_get(answer, "facts"), i), *value;

	assert_string_equal(text_of(f, "name"), name);
	assert_string_equal(text_of(f, "unit"), unit);
	if (text)
		assert_string_equal(text_of(f, "text"), text);
	else
		assert_true(json_is_null(json_object_get(f, "text")));
	value = json_object_get(f, "value");
	if (!strcmp(unit, "text"))
		assert_true(json_is_null(value));
	else
		assert_in_range(json_integer_value(value), least, most);
}

static void test_facts(void **state)
{
	uint64_t ticks = n_ticks;
	json_t *answer;

	(void)state;
	n_said = 4;
	said[0] = (struct cot_fact){"arrangement", "pools", 0, COT_FACT_TEXT};
	said[1] = (struct cot_fact){"since", NULL, cot_now_ns() - 5 * COT_NS_PER_S, COT_FACT_AT_NS};
	said[2] = (struct cot_fact){"batch has", "of 132", UINT64_MAX, COT_FACT_SMS};
	said[3] = (struct cot_fact){"in a moment", NULL, UINT64_MAX, COT_FACT_AT_NS};
	answer = asked(OTHER, 0, "train");
	assert_non_null(answer);
	assert_string_equal(text_of(answer, "schema"), "cotenant.explain/1");
	assert_string_equal(text_of(answer, "summary"), talker.summary);
	assert_string_equal(text_of(json_object_get(answer, "daemon"), "policy"), "talker");
	assert_string_equal(text_of(json_object_get(answer, "program"), "name"), "train");
	assert_string_equal(text_of(json_object_get(answer, "pool"), "name"), "latency");
	assert_int_equal(json_array_size(json_object_get(answer, "facts")), 4);
	expect_fact(answer, 0, "arrangement", "text", "pools", 0, 0);
	expect_fact(answer, 1, "since", "ns ago", NULL, 5000000000, 60000000000);
	expect_fact(answer, 2, "batch has", "sms", "of 132", INT64_MAX, INT64_MAX);
	expect_fact(answer, 3, "in a moment", "ns ago", NULL, 0, 0);
	json_decref(answer);
	/* The policy knew what time it is. */
	assert_int_equal(n_ticks, ticks + 1);
	/* It is found by its number, too, and need not say anything. */
	n_said = 0;
	answer = asked(OTHER, 100, "");
	assert_int_equal(json_array_size(json_object_get(answer, "facts")), 0);
	assert_true(json_is_array(json_object_get(answer, "facts")));
	json_decref(answer);
}

static void test_who_may(void **state)
{
	json_t *answer;

	(void)state;
	n_said = 0;
	assert_null(asked(STRANGER, 0, "train"));
	assert_int_equal(status(), -EPERM);
	assert_string_equal(words(), "the program 'train' belongs to another user");
	/* The daemon's own user. */
	answer = asked(geteuid(), 100, "");
	assert_non_null(answer);
	json_decref(answer);
}

static void test_about_whom(void **state)
{
	(void)state;
	assert_null(asked(geteuid(), 0, "nobody"));
	assert_int_equal(status(), -ESRCH);
	assert_string_equal(words(), "there is no program called 'nobody'; cotenant ps lists them");
	assert_null(asked(geteuid(), 0, "pool:latency"));
	assert_int_equal(status(), -EINVAL);
	assert_string_equal(words(), "'pool:latency' is a pool; expected a program, as cotenant ps "
				     "lists them");
}

static void test_malformed(void **state)
{
	struct cot_msg_explain m = {.tenant = 100};
	int fd;

	(void)state;
	memset(m.name, 'x', sizeof(m.name));
	(void)enter(geteuid(), &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_EXPLAIN, sizeof(m)), -1);
	(void)enter(geteuid(), &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_EXPLAIN, sizeof(m) - 1), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(facts),
		TEST(who_may),
		TEST(about_whom),
		TEST(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
