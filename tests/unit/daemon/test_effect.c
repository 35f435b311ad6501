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
	assert_false(say((struct cot_effect){.shim = true, .n_elsewhere = 9, .n_outside = 1}));
	/* It works. */
	assert_false(say((struct cot_effect){.quota = true, .shim = true, .n_covered = 7}));
	assert_false(say((struct cot_effect){
		.reserve = true, .one_pool = true, .shim = true, .n_covered = 7}));
	/* It has just begun. */
	assert_false(say((struct cot_effect){.quota = true}));
	assert_false(say((struct cot_effect){.quota = true, .shim = true}));
}

static void test_no_launch_seen(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){.quota = true, .lasts = true}));
	assert_string_equal(text, "its quota has no effect so far: it has launched no kernel");
	assert_true(say((struct cot_effect){.quota = true, .reserve = true, .lasts = true}));
	assert_string_equal(
		text, "its quota and reservation have no effect so far: it has launched no kernel");
}

static void test_no_launch_covered(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){.quota = true, .shim = true, .n_elsewhere = 40}));
	assert_string_equal(text, "its quota has no effect: all its 40 launches run as they are");
	assert_true(say((struct cot_effect){.reserve = true, .shim = true, .n_elsewhere = 4}));
	assert_string_equal(text,
			    "its reservation has no effect: all its 4 launches run as they are");
}

static void test_some_launches(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){
		.quota = true, .shim = true, .n_covered = 30, .n_elsewhere = 10}));
	assert_string_equal(text, "its quota has no effect on 10 of 40 launches, which run as they "
				  "are");
}

static void test_a_policy_without_shares(void **state)
{
	(void)state;
	assert_true(say((struct cot_effect){
		.reserve = true, .shim = true, .n_covered = 7, .n_elsewhere = 1, .n_outside = 1}));
	assert_string_equal(text,
			    "its reservation takes nothing back from others under this policy");
	/* A quota is kept under every policy. */
	assert_false(say((struct cot_effect){.quota = true, .shim = true, .n_covered = 7}));
}

static void test_programs_that_cannot_be_kept_off(void **state)
{
	struct cot_effect e = {
		.reserve = true, .one_pool = true, .shim = true, .n_covered = 7, .n_outside = 1};

	(void)state;
	assert_true(say(e));
	assert_string_equal(text, "its reservation does not hold against 1 batch program: not "
				  "started with --quota, --sms or --rewrite");
	e.n_outside = 2;
	assert_true(say(e));
	assert_string_equal(text, "its reservation does not hold against 2 batch programs: not "
				  "started with --quota, --sms or --rewrite");
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
	assert_string_equal(text, "its share of SMs has no effect: it was not started with --sms "
				  "or --quota, nor under the policy parts");
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
	assert_true(say_part((struct cot_part_effect){.shim = true, .place_status = -EAGAIN}));
	assert_string_equal(text, "it could not be moved to another part: so much is queued in its "
				  "streams that a new part would hold them up; it is made when "
				  "less is");
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
		cmocka_unit_test(test_no_launch_seen),
		cmocka_unit_test(test_no_launch_covered),
		cmocka_unit_test(test_some_launches),
		cmocka_unit_test(test_a_policy_without_shares),
		cmocka_unit_test(test_programs_that_cannot_be_kept_off),
		cmocka_unit_test(test_part_with_its_full_effect),
		cmocka_unit_test(test_part_that_is_not_there),
		cmocka_unit_test(test_part_that_not_all_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
