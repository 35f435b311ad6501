/* What is said of quotas and reservations that do nothing. */
#include <errno.h>
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

static bool say_part(struct cot_part_effect e)
{
	memset(text, 0, sizeof(text));
	return cot_part_effect_say(&e, text, sizeof(text));
}

static void test_part_with_its_full_effect(void **state)
{
	(void)state;
	assert_false(say_part((struct cot_part_effect){0}));
	assert_false(say_part((struct cot_part_effect){.lasts = true, .parts = true}));
	assert_false(say_part((struct cot_part_effect){.asked = true, .parts = true}));
	assert_false(say_part((struct cot_part_effect){
		.asked = true, .parts = true, .shim = true, .lasts = true, .n_followed = 9}));
}

static void test_part_that_is_not_there(void **state)
{
	(void)state;
	assert_true(say_part((struct cot_part_effect){.asked = true}));
	assert_string_equal(text, "its share of SMs has no effect: it was not started with --sms, "
				  "nor under the policy parts");
	assert_true(
		say_part((struct cot_part_effect){.asked = true, .parts = true, .lasts = true}));
	assert_string_equal(text, "its share of SMs has no effect: it has launched nothing so far "
				  "that can be placed");
	assert_true(say_part((struct cot_part_effect){.shim = true, .status = -ENOTSUP}));
	assert_string_equal(text, "it cannot be put on a part of the GPU: the driver cannot "
				  "divide this GPU");
	assert_true(say_part((struct cot_part_effect){.shim = true, .status = -EXDEV}));
	assert_string_equal(text, "it cannot be put on a part of the GPU: its GPUs, or its "
				  "processes, do not agree on how they are divided");
	assert_true(say_part((struct cot_part_effect){.shim = true, .status = -EBUSY}));
	assert_string_equal(text, "it cannot be put on a part of the GPU: MPS gives it a part of "
				  "the GPU already");
	assert_true(say_part((struct cot_part_effect){.shim = true, .status = -ENOMEM}));
	assert_string_equal(text, "it cannot be put on a part of the GPU: Cannot allocate memory");
	assert_true(say_part((struct cot_part_effect){.shim = true, .place_status = -EIO}));
	assert_string_equal(text, "it could not be moved to another part: Input/output error");
	assert_true(say_part((struct cot_part_effect){
		.shim = true, .pace_failed = true, .n_followed = 3, .n_stayed = 1}));
	assert_string_equal(text, "its pace is not kept: a launch has waited a second for the GPU");
}

static void test_part_that_not_all_follow(void **state)
{
	(void)state;
	assert_true(say_part((struct cot_part_effect){
		.shim = true, .n_followed = 3, .n_stayed = 1, .stays = "cooperative"}));
	assert_string_equal(text, "1 of 4 launches did not run on its part, most of them because: "
				  "cooperative");
	assert_true(say_part((struct cot_part_effect){.shim = true, .n_stayed = 2}));
	assert_string_equal(text, "2 of 2 launches did not run on its part");
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
		cmocka_unit_test(test_part_with_its_full_effect),
		cmocka_unit_test(test_part_that_is_not_there),
		cmocka_unit_test(test_part_that_not_all_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
