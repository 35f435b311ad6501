/* What is said of quotas and reservations that do nothing. */
#include <string.h>

#include "daemon/effect.h"
#include "test.h"

static char text[256];

static bool say(struct cot_effect e)
{
	memset(text, 0, sizeof(text));
	return cot_effect_say(&e, text, sizeof(text));
}

static void test_nothing_to_say(void **state)
{
	(void)state;
	assert_false(say((struct cot_effect){0}));
	assert_false(say((struct cot_effect){.shim = true, .n_refused = 3, .n_plain = 9}));
	/* It works. */
	assert_false(say((struct cot_effect){
		.quota = true, .shim = true, .n_rewritten = 2, .n_workers = 7}));
	assert_false(say((struct cot_effect){.reserve = true,
					     .one_pool = true,
					     .shim = true,
					     .n_rewritten = 2,
					     .n_workers = 7}));
	/* It has just begun: its shim has said nothing yet. */
	assert_false(say((struct cot_effect){.quota = true, .shim = true}));
}

static void test_no_kernel_seen(void **state)
{
	(void)state;
	assert_false(say((struct cot_effect){.quota = true}));
	assert_true(say((struct cot_effect){.quota = true, .lasts = true}));
	assert_string_equal(text,
			    "its quota has no effect so far: it has launched no kernel that can be "
			    "rewritten");
	assert_true(say((struct cot_effect){.quota = true, .reserve = true, .lasts = true}));
	assert_string_equal(text,
			    "its quota and reservation have no effect so far: it has launched no "
			    "kernel that can be rewritten");
}

static void test_no_kernel_rewritten(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){
		.reserve = true, .shim = true, .n_refused = 3, .n_plain = 9, .refuses = true}));
	assert_string_equal(
		text, "its reservation has no effect: none of its 3 kernels can be rewritten");
	/* An image, of which nobody knows what is in it. */
	assert_true(say((struct cot_effect){.quota = true, .shim = true, .refuses = true}));
	assert_string_equal(text, "its quota has no effect so far: what it loaded stays as it is");
	/* Not even launched. */
	assert_true(say(
		(struct cot_effect){.quota = true, .shim = true, .n_refused = 1, .refuses = true}));
	assert_string_equal(text,
			    "its quota has no effect: none of its 1 kernels can be rewritten");
}

static void test_no_launch_as_workers(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){
		.quota = true, .shim = true, .n_rewritten = 1, .n_refused = 2, .n_plain = 40}));
	assert_string_equal(text, "its quota has no effect: all its 40 launches run as they are");
	assert_true(say((struct cot_effect){.reserve = true,
					    .one_pool = true,
					    .shim = true,
					    .n_rewritten = 1,
					    .n_plain = 4,
					    .refuses = true}));
	assert_string_equal(text,
			    "its reservation has no effect: all its 4 launches run as they are");
}

static void test_some_launches(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){.quota = true,
					    .shim = true,
					    .n_rewritten = 1,
					    .n_workers = 30,
					    .n_plain = 10,
					    .refuses = true}));
	assert_string_equal(text, "its quota has no effect on 10 of 40 launches, which run as they "
				  "are");
	assert_true(say((struct cot_effect){
		.quota = true, .shim = true, .n_rewritten = 1, .n_workers = 30, .n_plain = 1}));
	assert_string_equal(text,
			    "its quota has no effect on 1 of 31 launches, which run as they are");
}

static void test_a_policy_without_shares(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){
		.reserve = true, .shim = true, .n_rewritten = 2, .n_workers = 7, .n_plain = 1}));
	assert_string_equal(text,
			    "its reservation takes nothing back from others under this policy");
	/* A quota is kept under every policy. */
	assert_false(say((struct cot_effect){
		.quota = true, .shim = true, .n_rewritten = 2, .n_workers = 7}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_say),
		cmocka_unit_test(test_no_kernel_seen),
		cmocka_unit_test(test_no_kernel_rewritten),
		cmocka_unit_test(test_no_launch_as_workers),
		cmocka_unit_test(test_some_launches),
		cmocka_unit_test(test_a_policy_without_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
