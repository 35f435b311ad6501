/* Which policy is at work: the one that the user has named, or what the programs' targets need. */
#include <errno.h>

#include "daemon/choose.h"
#include "daemon/host.h"
#include "door_stage.h"

static const struct cot_target none, p99 = {COT_TARGET_P99, 5000};

static int setup(void **state)
{
	int rc = open_server(state);

	cot_policy_config_init(&stage.basis.config.numbers);
	stage.basis.config.named = NULL;
	return rc;
}

static const char *at_work(void)
{
	return cot_sched_wanted_policy(cot_host_sched(stage.basis.host))->name;
}

static void expect(const char *configured, const char *working)
{
	assert_string_equal(stage.basis.config.policy->name, configured);
	assert_string_equal(at_work(), working);
}

static void give(struct tenant *t, struct cot_target target)
{
	t->target = target;
	cot_choose_look(&stage.roster, target);
}

/* From the first target until nobody is left, whatever becomes of the target. */
static void test_comes_and_goes(void **state)
{
	struct tenant *first = stage_tenant(3, "first", NULL),
		      *other = stage_tenant(4, "other", NULL);

	(void)state;
	cot_choose_look(&stage.roster, none);
	expect("pools", "pools");
	assert_null(cot_choose_reason(&stage.basis));
	(void)stage_log();
	give(first, p99);
	expect("slo", "slo");
	assert_string_equal(cot_choose_reason(&stage.basis),
			    "a program has a target, and the configuration names no policy");
	assert_non_null(
		strstr(stage_log(), "the policy is 'slo' from now on: a program has a target"));
	give(first, none);
	expect("slo", "slo");
	cot_tenant_end(first);
	expect("slo", "slo");
	assert_null(strstr(stage_log(), "the policy is"));
	cot_tenant_end(other);
	expect("pools", "pools");
	assert_non_null(strstr(stage_log(), "the policy is 'pools' from now on: no program"));
}

/* One that has not been entered yet. */
static void test_who_comes(void **state)
{
	(void)state;
	cot_choose_look(&stage.roster, p99);
	expect("slo", "slo");
	cot_choose_look(&stage.roster, none); /* it was turned down */
	expect("pools", "pools");
}

static void test_chosen(void **state)
{
	struct tenant *t = stage_tenant(3, "app", NULL);

	(void)state;
	stage.basis.config.named = stage.basis.config.policy;
	assert_null(cot_choose_note(&stage.basis, none));
	give(t, p99);
	expect("pools", "pools");
	assert_string_equal(cot_choose_note(&stage.basis, p99),
			    "the policy 'pools' does not look at targets; "
			    "'cotenant policy slo' keeps them");
	stage.basis.config.policy = cot_policy_find("smqos");
	assert_null(cot_choose_note(&stage.basis, p99));
	stage.basis.config.policy = cot_policy_find("slo");
	assert_null(cot_choose_reason(&stage.basis));
	cot_tenant_end(t);
	expect("slo", "pools");
}

/* Without MPS what is meant counts when that is back. */
static void test_without_mps(void **state)
{
	struct tenant *t = stage_tenant(3, "app", NULL);
	struct cot_error err;

	(void)state;
	stage.roster.mps_failed = true;
	give(t, p99);
	expect("slo", "rotate");
	assert_int_equal(cot_choose_by_user(&stage.roster, cot_policy_find("timeslice"), &err), 0);
	expect("timeslice", "timeslice");
	assert_int_equal(cot_choose_by_user(&stage.roster, cot_policy_find("parts"), &err), 0);
	expect("parts", "rotate");
}

/* A choice precedes targets and the configuration, until it is taken back. */
static void test_by_user(void **state)
{
	const struct cot_policy_ops *smguard = cot_policy_find("smguard");
	struct tenant *t = stage_tenant(3, "app", NULL);
	struct cot_error err;

	(void)state;
	stage.roster.state.dirty = false;
	assert_int_equal(cot_choose_by_user(&stage.roster, smguard, &err), 0);
	expect("smguard", "smguard");
	assert_true(stage.roster.state.dirty);
	assert_string_equal(cot_choose_reason(&stage.basis), "chosen with 'cotenant policy'");
	assert_null(cot_choose_neglects(&stage.roster));
	give(t, p99);
	expect("smguard", "smguard");
	assert_string_equal(cot_choose_neglects(&stage.roster),
			    "the policy 'smguard' does not look at targets; "
			    "'cotenant policy slo' keeps them");
	stage.basis.config.named = cot_policy_find("effisha");
	assert_int_equal(cot_choose_by_user(&stage.roster, NULL, &err), 0);
	expect("effisha", "effisha");
	assert_null(cot_choose_reason(&stage.basis));
	stage.basis.config.named = NULL;
	assert_int_equal(cot_choose_by_user(&stage.roster, smguard, &err), 0);
	assert_int_equal(cot_choose_by_user(&stage.roster, NULL, &err), 0);
	expect("slo", "slo");
	give(t, none);
	assert_int_equal(cot_choose_by_user(&stage.roster, NULL, &err), 0);
	expect("pools", "pools");
}

/* One that the core has replaced begins again, and the replacement may be chosen itself. */
static void test_after_a_fault(void **state)
{
	const struct cot_policy_ops *pools = cot_policy_find("pools");
	struct cot_sched *s = cot_host_sched(stage.basis.host);
	struct cot_error err;

	(void)state;
	cot_sched_stop(s, cot_now_ns());
	assert_string_equal(cot_sched_policy(s)->ops->name, "timeslice");
	assert_int_equal(cot_choose_by_user(&stage.roster, pools, &err), 0);
	assert_ptr_equal(cot_sched_policy(s)->ops, pools);
	cot_sched_stop(s, cot_now_ns());
	assert_int_equal(cot_choose_by_user(&stage.roster, &cot_policy_timeslice, &err), 0);
	assert_ptr_equal(cot_sched_wanted_policy(s), &cot_policy_timeslice);
}

/* One that cannot begin changes nothing. */
static void test_by_user_fails(void **state)
{
	struct cot_error err;

	(void)state;
	stage.basis.config.numbers.batch_slice_us = 1;
	assert_int_equal(cot_choose_by_user(&stage.roster, cot_policy_find("smguard"), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "a slice is out of range"));
	expect("pools", "pools");
	assert_null(stage.basis.by_user);
}

/* Programs stay in their pools, though new ones come into others. */
static void test_elsewhere(void **state)
{
	struct pool *batch = stage_pool(7, "batch", 0), *shared = stage_pool(8, "shared", 0);

	(void)state;
	shared->shared = true;
	(void)stage_tenant(3, "alone", NULL);
	(void)stage_tenant(4, "pooled", batch);
	(void)stage_tenant(5, "pooled", batch);
	(void)stage_tenant(6, "one", shared);
	stage.basis.config.policy = cot_policy_find("pools");
	assert_int_equal(cot_choose_elsewhere(&stage.roster), 1);
	stage.basis.config.policy = cot_policy_find("parts");
	assert_int_equal(cot_choose_elsewhere(&stage.roster), 2);
	stage.basis.config.policy = cot_policy_find("rotate");
	assert_int_equal(cot_choose_elsewhere(&stage.roster), 3);
}

/* A policy that cannot begin is not configured. */
static void test_that_fails(void **state)
{
	struct tenant *t = stage_tenant(3, "app", NULL);

	(void)state;
	stage.basis.config.numbers.batch_slice_us = 1;
	give(t, p99);
	expect("pools", "pools");
	assert_non_null(strstr(stage_log(), "cannot change the policy: a slice is out of range"));
}

static void test_read_again(void **state)
{
	struct cot_config config = {.policy = cot_policy_find("pools")};
	struct tenant *t = stage_tenant(3, "app", NULL);

	(void)state;
	cot_choose_in(&stage.roster, &config);
	assert_string_equal(config.policy->name, "pools");
	give(t, p99);
	cot_choose_in(&stage.roster, &config);
	assert_string_equal(config.policy->name, "slo");
	/* It stays as long as programs are there that started under it. */
	config.policy = cot_policy_find("pools");
	give(t, none);
	cot_choose_in(&stage.roster, &config);
	assert_string_equal(config.policy->name, "slo");
	config.policy = cot_policy_find("pools");
	config.named = config.policy;
	cot_choose_in(&stage.roster, &config);
	assert_string_equal(config.policy->name, "pools");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, close_server)
		TEST(comes_and_goes), TEST(who_comes),	TEST(chosen),  TEST(without_mps),
		TEST(that_fails),     TEST(read_again), TEST(by_user), TEST(after_a_fault),
		TEST(by_user_fails),  TEST(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
