/* cotenantd.conf: what it may say, and the sentence for what it may not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"
#include "test.h"

#define HEAD "schema: cotenantd/1\n"

static struct cot_config config;
static struct cot_error err;

static int parse(const char *text)
{
	memset(&err, 0, sizeof(err));
	return cot_config_parse("test.conf", text, strlen(text), &config, &err);
}

static void good(const char *text)
{
	if (parse(text) < 0)
		fail_msg("%s", err.text);
}

static void bad(const char *text, const char *place, const char *words)
{
	memset(&config, 0x5a, sizeof(config));
	assert_int_equal(parse(text), -EINVAL);
	if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, words))
		fail_msg("expected '%s ... %s', got '%s'", place, words, err.text);
	/* Nothing is written on failure. */
	assert_int_equal(config.linger_s, 0x5a5a5a5a);
}

static void test_least(void **state)
{
	(void)state;
	good(HEAD);
	assert_string_equal(config.policy->name, "pools");
	assert_int_equal(config.numbers.latency_slice_us, 10000);
	assert_int_equal(config.numbers.batch_slice_us, 20);
	assert_true(config.use_mps);
	assert_int_equal(config.multiuser, config.other_users);
	assert_string_equal(config.mps_program, "nvidia-cuda-mps-control");
	assert_true(config.latency.everybody && config.batch.everybody);
	assert_int_equal(config.max_weight, COT_WEIGHT_MAX);
	assert_int_equal(config.linger_s, 60);
	(void)setenv("COTENANT_MPS_CONTROL", "", 1); /* as if it were not there */
	good(HEAD);
	assert_string_equal(config.mps_program, "nvidia-cuda-mps-control");
	(void)unsetenv("COTENANT_MPS_CONTROL");
}

/* Root's daemon in its usual place serves several users, any other one user. */
static void test_least_by_place(void **state)
{
	(void)state;
	(void)setenv("COTENANT_RUNTIME_DIR", "/run/cotenant", 1);
	good(HEAD);
	assert_int_equal(config.other_users, geteuid() == 0);
	assert_int_equal(config.multiuser, geteuid() == 0);
	(void)setenv("COTENANT_RUNTIME_DIR", "/run/another", 1);
	good(HEAD);
	assert_false(config.other_users || config.multiuser);
	(void)unsetenv("COTENANT_RUNTIME_DIR");
}

/* One number of several, each alone. */
static void test_some(void **state)
{
	static const struct {
		const char *text;
		uint32_t latency, batch, equal;
	} slices[] = {
		{HEAD "slices_us: {latency: 5000}\n", 5000, 20, 0},
		{HEAD "slices_us: {batch: 50}\n", 10000, 50, 0},
		{HEAD "slices_us: {equal: 3000}\n", 10000, 20, 3000},
	};
	struct cot_policy_config least;
	unsigned i;

	(void)state;
	good(HEAD);
	least = config.numbers;
	for (i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		good(slices[i].text);
		assert_int_equal(config.numbers.latency_slice_us, slices[i].latency);
		assert_int_equal(config.numbers.batch_slice_us, slices[i].batch);
		assert_int_equal(config.numbers.equal_slice_us,
				 slices[i].equal ? slices[i].equal : least.equal_slice_us);
	}
	good(HEAD "rotation_ms: {turn: 30, cycle: 30}\n"); /* one turn each */
	good(HEAD "rotation_ms: {cycle: 2000}\n");
	assert_int_equal(config.numbers.turn_ns, least.turn_ns);
	assert_int_equal(config.numbers.cycle_ns, 2000 * COT_NS_PER_MS);
	good(HEAD "mps: {program: /opt/mps}\n");
	assert_true(config.use_mps);
	assert_int_equal(config.linger_s, 60);
	good(HEAD "reserve_permille: 300\n");
	assert_int_equal(config.numbers.adapt_task_us, least.adapt_task_us);
	assert_int_equal(config.numbers.grow_after_ns, least.grow_after_ns);
	assert_int_equal(config.numbers.linger_ns, least.linger_ns);
	assert_int_equal(config.numbers.drain_block_us, least.drain_block_us);
}

static void test_lists(void **state)
{
	(void)state;
	good(HEAD "allow: {batch: [4294967294, 0, '@root', '@root', none]}\n");
	assert_true(config.latency.everybody);
	assert_false(config.batch.everybody);
	assert_int_equal(config.batch.n_uids, 2);
	assert_int_equal(config.batch.uids[0], 4294967294u);
	assert_int_equal(config.batch.uids[1], 0);
	assert_int_equal(config.batch.n_gids, 2);
	assert_int_equal(config.max_weight, COT_WEIGHT_MAX);
	good(HEAD "allow: {latency: [none, '*']}\n");
	assert_true(config.latency.everybody);
}

static void test_all(void **state)
{
	(void)state;
	good(HEAD
	     "policy: rotate\n"
	     "slices_us: {latency: 5000, batch: 50, equal: 3000}\n"
	     "rotation_ms: {turn: 20, cycle: 1000}\n"
	     "linger_ms: 250\n"
	     "drain_block_us: 70\n"
	     "reserve_permille: 300\n"
	     "latency_permille: 400\n"
	     "pace_us: 500\n"
	     "adapt_task_us: 9\n"
	     "grow_after_us: 11\n"
	     "gangs: {gather_us: 700, aim: time, min_gain_permille: 30, base_w: 90, limit_w: 700}\n"
	     "mps: {use: false, program: /opt/mps, multiuser: true, linger_s: 0}\n"
	     "allow:\n"
	     "  latency: [root, '@root', 1234]\n"
	     "  batch: ['*']\n"
	     "  max_weight: 500\n"
	     "  other_users: true\n");
	assert_string_equal(config.policy->name, "rotate");
	assert_int_equal(config.numbers.latency_slice_us, 5000);
	assert_int_equal(config.numbers.batch_slice_us, 50);
	assert_int_equal(config.numbers.equal_slice_us, 3000);
	assert_int_equal(config.numbers.turn_ns, 20 * COT_NS_PER_MS);
	assert_int_equal(config.numbers.cycle_ns, 1000 * COT_NS_PER_MS);
	assert_int_equal(config.numbers.linger_ns, 250 * COT_NS_PER_MS);
	assert_int_equal(config.numbers.drain_block_us, 70);
	assert_int_equal(config.numbers.reserve_permille, 300);
	assert_int_equal(config.numbers.latency_permille, 400);
	assert_int_equal(config.numbers.pace_us, 500);
	assert_int_equal(config.numbers.adapt_task_us, 9);
	assert_int_equal(config.numbers.grow_after_ns, 11 * COT_NS_PER_US);
	assert_int_equal(config.numbers.gather_ns, 700 * COT_NS_PER_US);
	assert_int_equal(config.numbers.aim, COT_AIM_TIME);
	assert_int_equal(config.numbers.min_gain_permille, 30);
	assert_int_equal(config.numbers.base_w, 90);
	assert_int_equal(config.numbers.limit_w, 700);
	assert_false(config.use_mps);
	assert_true(config.multiuser);
	assert_string_equal(config.mps_program, "/opt/mps");
	assert_int_equal(config.linger_s, 0);
	assert_false(config.latency.everybody);
	assert_int_equal(config.latency.n_uids, 2);
	assert_int_equal(config.latency.uids[0], 0);
	assert_int_equal(config.latency.uids[1], 1234);
	assert_int_equal(config.latency.n_gids, 1);
	assert_int_equal(config.latency.gids[0], 0);
	assert_true(config.batch.everybody);
	assert_int_equal(config.max_weight, 500);
	assert_true(config.other_users);
}

/* Several users share a server where several users may come. */
static void test_multiuser(void **state)
{
	(void)state;
	good(HEAD "allow: {other_users: true}\n");
	assert_true(config.multiuser);
	good(HEAD "allow: {other_users: false}\n");
	assert_false(config.multiuser);
	good(HEAD "mps: {multiuser: false}\nallow: {other_users: true}\n");
	assert_false(config.multiuser);
	good(HEAD "mps: {multiuser: true}\n");
	assert_true(config.multiuser);
	good(HEAD "mps: {linger_s: 3}\nallow: {other_users: true}\n");
	assert_true(config.multiuser);
}

/* A missing list means everybody; an empty one would be easy to misread. */
static void expect_target(const char *name, enum cot_class cls, enum cot_target_kind kind,
			  uint32_t amount)
{
	struct cot_target t = cot_config_target(&config, name, cls);

	assert_int_equal(t.kind, kind);
	assert_int_equal(t.amount, amount);
}

/* The first that is for the program; requests are latency programs' only. */
static void test_targets(void **state)
{
	(void)state;
	good(HEAD);
	assert_int_equal(config.n_targets, 0);
	expect_target("api", COT_CLASS_LATENCY, COT_TARGET_NONE, 0);
	good(HEAD "targets:\n"
		  "  - {name: api, p99: 5ms}\n"
		  "  - {name: api, rate: 30%}\n"
		  "  - {class: batch, name: train, rate: 50%}\n"
		  "  - {class: batch, rate: 20%}\n"
		  "  - {class: latency, slowdown: 1.5x}\n");
	assert_int_equal(config.n_targets, 5);
	expect_target("api", COT_CLASS_LATENCY, COT_TARGET_P99, 5000);
	expect_target("api", COT_CLASS_BATCH, COT_TARGET_RATE, 300);
	expect_target("train", COT_CLASS_BATCH, COT_TARGET_RATE, 500);
	expect_target("train", COT_CLASS_LATENCY, COT_TARGET_SLOWDOWN, 1500);
	expect_target("trai", COT_CLASS_BATCH, COT_TARGET_RATE, 200);
	expect_target("", COT_CLASS_LATENCY, COT_TARGET_SLOWDOWN, 1500);
	bad(HEAD "targets: []\n", "test.conf:2:", "");
	bad(HEAD "targets:\n  - {p99: 5ms}\n",
	    "test.conf:3:5:", "a target of nobody; expected the name or the class of programs");
	bad(HEAD "targets:\n  - {name: api}\n",
	    "test.conf:3:5:", "no target; expected one of p99, slowdown and rate");
	bad(HEAD "targets:\n  - {name: api, p99: 5ms, rate: 20%}\n",
	    "test.conf:3:33:", "a program has one target; expected p99 or rate, not both");
	bad(HEAD "targets:\n  - {class: batch, p99: 5ms}\n",
	    "test.conf:3:25:", COT_TARGET_UNSUITED);
	bad(HEAD "targets:\n  - {name: api, slowdown: 0.5x}\n",
	    "test.conf:3:27:", "slowdown is '0.5x'; expected a multiple such as 1.5x");
	bad(HEAD "targets:\n  - {class: fast, rate: 1%}\n", "test.conf:3:13:", "latency, batch");
}

static void test_units(void **state)
{
	(void)state;
	good(HEAD
	     "slices_us: {latency: 20ms, batch: 0.1ms}\nrotation_ms: {turn: 1s, cycle: 0.5min}\n"
	     "linger_ms: 2s\nadapt_task_us: 5ms\ngrow_after_us: 1ms\ndram_gb_per_s: 4TB/s\n"
	     "mps: {linger_s: 1.5min}\ngangs: {gather_us: 1ms}\n");
	assert_int_equal(config.numbers.latency_slice_us, 20000);
	assert_int_equal(config.numbers.batch_slice_us, 100);
	assert_int_equal(config.numbers.turn_ns, 1000000000);
	assert_int_equal(config.numbers.cycle_ns, 30000000000);
	assert_int_equal(config.numbers.linger_ns, 2000000000);
	assert_int_equal(config.numbers.adapt_task_us, 5000);
	assert_int_equal(config.numbers.grow_after_ns, 1000000);
	assert_int_equal(config.numbers.dram_bytes_per_s, 4000000000000);
	assert_int_equal(config.numbers.gather_ns, 1000000);
	assert_int_equal(config.linger_s, 90);
	bad(HEAD "adapt_task_us: 11s\n", "test.conf:2:16:",
	    "adapt_task_us is '11s'; expected a whole number from 0 to 10000000 in us, or with a unit (ns, us, "
	    "ms, s, min or h)");
	bad(HEAD "adapt_task_us: 1.5us\n", "test.conf:2:16:", "expected a whole number");
	bad(HEAD "reserve_permille: 5ms\n", "test.conf:2:19:", "expected a whole number");
}

static void test_gangs(void **state)
{
	(void)state;
	good(HEAD
	     "gangs: {gather_us: 1000000, aim: energy, min_gain_permille: 999, base_w: 100000}\n");
	assert_int_equal(config.numbers.aim, COT_AIM_ENERGY);
	good(HEAD "gangs: {gather_us: 0, min_gain_permille: 0, base_w: 1}\n");
	bad(HEAD "gangs: {gather_us: 1000001}\n",
	    "test.conf:2:", "gather_us is '1000001'; expected a whole number from 0 to 1000000");
	bad(HEAD "gangs: {min_gain_permille: 1000}\n",
	    "test.conf:2:", "expected a whole number from 0 to 999");
	bad(HEAD "gangs: {base_w: 0}\n",
	    "test.conf:2:", "expected a whole number from 1 to 100000");
	bad(HEAD "gangs: {base_w: 100001}\n",
	    "test.conf:2:", "expected a whole number from 1 to 100000");
	bad(HEAD "gangs: {aim: power}\n",
	    "test.conf:2:", "aim is 'power'; expected one of energy, time");
}

static void test_known(void **state)
{
	(void)state;
	good(HEAD);
	assert_int_equal(config.n_known, 0);
	assert_int_equal(config.numbers.dram_bytes_per_s, 0);
	assert_int_equal(config.numbers.bandwidth_permille, 900);
	good(HEAD "dram_gb_per_s: 4800\nbandwidth_permille: 800\nknowledge:\n"
		  "  - {name: api, file: /etc/api.yaml}\n  - {name: train, file: /b}\n");
	assert_int_equal(config.numbers.dram_bytes_per_s, 4800000000000ull);
	assert_int_equal(config.numbers.bandwidth_permille, 800);
	assert_int_equal(config.n_known, 2);
	assert_string_equal(config.known[0].name, "api");
	assert_string_equal(config.known[1].file, "/b");
	good(HEAD "dram_gb_per_s: 100000\nbandwidth_permille: 1000\n");
	assert_int_equal(config.numbers.bandwidth_permille, 1000);
	good(HEAD "dram_gb_per_s: 0\nbandwidth_permille: 0\n");
	assert_int_equal(config.numbers.bandwidth_permille, 0);
	bad(HEAD "bandwidth_permille: 1001\n",
	    "test.conf:2:", "bandwidth_permille is '1001'; expected a whole number from 0 to 1000");
	bad(HEAD "bandwidth_permille: 0.9\n", "test.conf:2:", "bandwidth_permille is '0.9'");
	bad(HEAD "dram_gb_per_s: 100001\n",
	    "test.conf:2:", "dram_gb_per_s is '100001'; expected a whole number from 0 to 100000");
	bad(HEAD "knowledge:\n  - {name: api, file: api.yaml}\n",
	    "test.conf:3:23:", "expected a path that begins with /");
	bad(HEAD "knowledge:\n  - {name: api}\n", "test.conf:3:", "file");
	bad(HEAD "knowledge:\n  - {file: /a}\n", "test.conf:3:", "name");
}

static void expect_rule(const char *program, const char *kernel, unsigned method, unsigned share)
{
	const struct cot_rule *r = cot_rules_find(&config.kernels, program, kernel);

	assert_int_equal(r ? r->method : 0, method);
	assert_int_equal(r ? r->share : 0, share);
}

/* The first that is for a kernel counts. */
static void test_kernels(void **state)
{
	(void)state;
	good(HEAD "need_permille: 50\n");
	assert_int_equal(config.need_permille, 50);
	bad(HEAD "need_permille: 1001\n", "test.conf:2:", "1000");
	good(HEAD);
	assert_int_equal(config.need_permille, 0);
	assert_false(cot_rules_any(&config.kernels, "api"));
	expect_rule("api", "gemm", 0, 0);
	good(HEAD "kernels:\n  - {program: api, kernel: gemm, quota: 25%}\n"
		  "  - {program: 'a?i*', kernel: '*soft*max', reserve: 40sm}\n"
		  "  - {program: train, kernel: '*', quota: 1sm}\n");
	assert_int_equal(config.kernels.n, 3);
	expect_rule("api", "gemm", COT_PROTO_WORK_QUOTA, 25);
	expect_rule("api", "gemm2", 0, 0);
	expect_rule("api2", "gemm", 0, 0);
	expect_rule("api", "my_soft_and_softmax", COT_PROTO_WORK_RESERVE, 0x8000u | 40);
	expect_rule("adi.2", "softmax", COT_PROTO_WORK_RESERVE, 0x8000u | 40);
	expect_rule("ai", "softmax", 0, 0);
	expect_rule("api", "softmax_", 0, 0);
	expect_rule("api", "", 0, 0);
	expect_rule("train", "", COT_PROTO_WORK_QUOTA, 0x8000u | 1);
	assert_true(cot_rules_any(&config.kernels, "train"));
	assert_false(cot_rules_any(&config.kernels, "other"));
	good(HEAD "kernels:\n  - {kernel: '*a*a*a*b', quota: 100%}\n");
	expect_rule("", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, 0);
	expect_rule("", "aaab", COT_PROTO_WORK_QUOTA, 100);
	assert_true(cot_rules_any(&config.kernels, ""));
	bad(HEAD "kernels:\n  - {program: api, quota: 5%}\n", "test.conf:3:", "kernel");
	bad(HEAD "kernels:\n  - {kernel: a}\n",
	    "test.conf:3:5:", "a rule says one thing; expected either quota or reserve");
	bad(HEAD "kernels:\n  - {kernel: a, quota: 5%, reserve: 5%}\n", "test.conf:3:5:", "either");
	bad(HEAD "kernels:\n  - {kernel: a, quota: 0%}\n",
	    "test.conf:3:", "quota is '0%'; expected a share such as 50% or 66sm");
	bad(HEAD "kernels:\n  - {kernel: a, reserve: all}\n", "test.conf:3:", "reserve is 'all'");
	bad(HEAD "kernels:\n  - {kernel: a, share: 5%}\n", "test.conf:3:", "share");
}

/* Whether the user wants a policy, or nothing is said. */
static void test_chosen(void **state)
{
	(void)state;
	good(HEAD);
	assert_null(config.named);
	good(HEAD "policy: pools\n");
	assert_ptr_equal(config.named, config.policy);
}

static void test_nobody(void **state)
{
	(void)state;
	good(HEAD "allow: {latency: [none]}\n");
	assert_false(config.latency.everybody);
	assert_int_equal(config.latency.n_uids + config.latency.n_gids, 0);
	assert_true(config.batch.everybody);
}

static void test_mistakes(void **state)
{
	(void)state;
	bad("schema: cotenantd/2\n", "test.conf:1:", "expected cotenantd/1");
	bad("policy: pools\n", "test.conf:1:", "schema");
	bad(HEAD "policy: best\n", "test.conf:2:", "'best'; expected one of pools, ");
	bad(HEAD "polcy: pools\n", "test.conf:2:", "polcy");
	bad(HEAD "slices_us: {batch: 5}\n", "test.conf:2:", "20");
	bad(HEAD "slices_us: {batch: fast}\n", "test.conf:2:", "number");
	bad(HEAD "rotation_ms: {turn: 500, cycle: 100}\n", "test.conf:2:", "shorter");
	bad(HEAD "rotation_ms: {turn: 500, cycle: 499}\n", "test.conf:2:", "at least 500 ms");
	bad(HEAD "allow: {latency: [4294967295]}\n", "test.conf:2:", "no user '4294967295'");
	bad(HEAD "allow:\n  latency: [root]\n  batch:\n  - root\n  - nobody-of-this-name\n",
	    "test.conf:6:", "no user 'nobody-of-this-name'; a group is written as @NAME");
	bad(HEAD "allow:\n  latency: [nobody-of-this-name]\n", "test.conf:3:", "no user");
	bad(HEAD "allow:\n  latency: ['@no-group-of-this-name']\n", "test.conf:3:", "no group");
	bad(HEAD "allow: {max_weight: 0}\n", "test.conf:2:", "1");
	bad(HEAD "mps: {use: maybe}\n", "test.conf:2:", "maybe");
	bad(HEAD "allow: {latency: []}\n", "test.conf:2:", "");
	bad("\x01", "test.conf:1:", "");
	bad("", "test.conf:1:", "");
}

static void test_missing_file(void **state)
{
	(void)state;
	assert_int_equal(cot_config_read("/nonexistent/cotenantd.conf", &config, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/cotenantd.conf"));
}

static void test_file(void **state)
{
	char path[] = P_tmpdir "/cot-config-XXXXXX";
	static const char text[] = HEAD "allow: {max_weight: 7}\n";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	(void)close(fd);
	assert_int_equal(cot_config_read(path, &config, &err), 0);
	assert_int_equal(config.max_weight, 7);
	assert_int_equal(unlink(path), 0);
}

static void test_program_from_the_environment(void **state)
{
	(void)state;
	(void)setenv("COTENANT_MPS_CONTROL", "/opt/control", 1);
	good(HEAD);
	assert_string_equal(config.mps_program, "/opt/control");
	good(HEAD "mps: {program: other}\n");
	assert_string_equal(config.mps_program, "other");
	(void)unsetenv("COTENANT_MPS_CONTROL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_least_by_place),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_multiuser),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_gangs),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_missing_file),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_program_from_the_environment),
	};

	(void)unsetenv("COTENANT_MPS_CONTROL");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
