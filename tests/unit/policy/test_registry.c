/* The list of policies, and the numbers that count where the user says nothing: docs/man has them,
 * too. */
#include "policy/policies.h"
#include "test.h"

static void test_names(void **state)
{
	static const char *const names[] = {"pools",	    "rotate",	   "smguard",  "effisha",
					    "static",	    "parts",	   "smqos",    "slo",
					    "laius",	    "laius-paper", "laius-nb", "laius-nc",
					    "laius-peak",   "baymax",	   "mps-even", "mps-double",
					    "mps-priority", "consolidate", "timeslice"};
	unsigned i;

	(void)state;
	assert_int_equal(cot_n_policies, sizeof(names) / sizeof(names[0]));
	for (i = 0; i < cot_n_policies; i++) {
		const struct cot_policy_ops *ops = cot_policy_find(names[i]);

		assert_ptr_equal(ops, cot_policies[i]);
		assert_string_equal(ops->name, names[i]);
	}
	assert_null(cot_policy_find("pool"));
	assert_null(cot_policy_find(""));
}

/* Who wants MPS servers, one or two, and who deals out works. */
static void test_what_they_want(void **state)
{
	static const struct {
		const char *name;
		bool pools, one_pool, works, places;
	} all[] = {
		{"pools", true, false, false, false},	   {"rotate", false, false, false, false},
		{"smguard", true, true, true, false},	   {"effisha", true, true, true, false},
		{"static", true, true, false, false},	   {"parts", true, true, false, true},
		{"smqos", true, true, false, true},	   {"slo", true, false, false, true},
		{"laius", true, true, false, true},	   {"baymax", true, true, true, true},
		{"mps-even", true, true, false, true},	   {"consolidate", true, true, false, true},
		{"timeslice", false, false, false, false},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct cot_policy_ops *ops = cot_policy_find(all[i].name);

		assert_int_equal(ops->wants_pools, all[i].pools);
		assert_int_equal(ops->one_pool, all[i].one_pool);
		assert_int_equal(ops->works != NULL, all[i].works);
		assert_int_equal(ops->places, all[i].places);
	}
}

static void test_numbers(void **state)
{
	struct cot_policy_config c;

	(void)state;
	cot_policy_config_init(&c);
	assert_int_equal(c.latency_slice_us, 10000);
	assert_int_equal(c.batch_slice_us, 20);
	assert_int_equal(c.equal_slice_us, 2000);
	assert_int_equal(c.linger_ns, 1 * COT_NS_PER_S);
	assert_int_equal(c.turn_ns, 50 * COT_NS_PER_MS);
	assert_int_equal(c.cycle_ns, 5 * COT_NS_PER_S);
	assert_int_equal(c.drain_block_us, 100);
	assert_int_equal(c.reserve_permille, 615);
	assert_int_equal(c.latency_permille, 500);
	assert_int_equal(c.pace_us, 0);
	assert_int_equal(c.adapt_task_us, 200);
	assert_int_equal(c.grow_after_ns, 100 * COT_NS_PER_US);
	assert_int_equal(c.gather_ns, 2 * COT_NS_PER_MS);
	assert_int_equal(c.aim, COT_AIM_ENERGY);
	assert_int_equal(c.min_gain_permille, 20);
	assert_int_equal(c.base_w, 118);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_they_want),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
