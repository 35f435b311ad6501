/* The word for a policy: names, the size that only `parts` has, and every mistake. */
#include <errno.h>
#include <string.h>

#include "test.h"
#include "trace/policy_name.h"

static const char *const names[] = {"pools", "parts"};

static struct cot_scenario read_ok(const char *text)
{
	struct cot_scenario sc = {.gpu.n_sms = 132, .batch_sms = 5};
	struct cot_error err = {""};

	if (cot_policy_name_read(text, names, COT_ARRAY_LEN(names), &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

static void test_words(void **state)
{
	static const struct {
		const char *word, *name;
		uint32_t sms;
	} rows[] = {
		{"pools", "pools", 0},
		{"parts", "parts", 0},
		{"parts@1", "parts", 1},
		{"parts@132", "parts", 132},
	};
	char word[COT_POLICY_NAME_MAX];
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		struct cot_scenario sc = read_ok(rows[i].word);

		assert_string_equal(sc.policy, rows[i].name);
		assert_int_equal(sc.batch_sms, rows[i].sms);
		assert_string_equal(cot_policy_name_word(&sc, word), rows[i].word);
	}
}

static void test_mistakes(void **state)
{
	static const char *const rows[][2] = {
		{"", "unknown policy ''; expected one of pools, parts"},
		{"part",
		 "unknown policy 'part' (did you mean 'parts'?); expected one of pools, parts"},
		{"@64", "unknown policy '@64'; expected one of pools, parts"},
		{"pools@64",
		 "the policy 'pools@64' has a size; expected pools, as only parts has one"},
		{"parts@",
		 "the policy 'parts@' has no such size; expected parts@1 to parts@132, the "
		 "SMs that batch programs have"},
		{"parts@0", "the policy 'parts@0' has no such size; expected parts@1 to parts@132, "
			    "the SMs that batch programs have"},
		{"parts@133", "the policy 'parts@133' has no such size; expected parts@1 to "
			      "parts@132, the SMs that batch programs have"},
		{"parts@6x",
		 "the policy 'parts@6x' has no such size; expected parts@1 to parts@132, "
		 "the SMs that batch programs have"},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		struct cot_scenario sc = {.gpu.n_sms = 132, .policy = "pools", .batch_sms = 5};
		struct cot_error err = {""};

		assert_int_equal(
			cot_policy_name_read(rows[i][0], names, COT_ARRAY_LEN(names), &sc, &err),
			-EINVAL);
		assert_string_equal(err.text, rows[i][1]);
		assert_string_equal(sc.policy, "pools");
		assert_int_equal(sc.batch_sms, 5);
	}
}

/* Without a list any name will do, as long as it fits. */
static void test_any_name(void **state)
{
	struct cot_scenario sc = {.gpu.n_sms = 8};
	struct cot_error err = {""};
	char longest[COT_NAME_MAX + 1];

	(void)state;
	assert_int_equal(cot_policy_name_read("mine", NULL, 0, &sc, &err), 0);
	assert_string_equal(sc.policy, "mine");
	memset(longest, 'a', sizeof(longest));
	longest[COT_NAME_MAX] = '\0';
	assert_int_equal(cot_policy_name_read(longest, NULL, 0, &sc, &err), -EINVAL);
	longest[COT_NAME_MAX - 1] = '\0';
	assert_int_equal(cot_policy_name_read(longest, NULL, 0, &sc, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
