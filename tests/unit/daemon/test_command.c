/* COMMAND and QUERY, of `cotenant set`, `freeze`, `thaw`, `ps`: what is meant, who may, what
 * changes, and what is answered. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/command.h"
#include "daemon/hold.h"
#include "daemon/host_part.h"
#include "daemon/query.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static struct tenant *alone, *pooled;
static struct pool *pool;
static struct conn *c;
static int fd;

static int setup(void **state)
{
	int rc = open_server(state);

	alone = stage_tenant(3, "alone", NULL);
	pool = stage_pool(7, "batch", 0);
	pooled = stage_tenant(4, "pooled", pool);
	alone->uid = pooled->uid = OTHER;
	c = enter(OTHER, &fd);
	return rc;
}

static struct cot_msg_command set(const char *name, unsigned fields)
{
	struct cot_msg_command m = {.what = COT_COMMAND_SET, .fields = fields};

	snprintf(m.name, sizeof(m.name), "%s", name);
	return m;
}

static void expect_at(int at, struct cot_msg_command *m, int rc, const char *answer)
{
	assert_int_equal(ask(at, m, COT_MSG_COMMAND, sizeof(*m)), COT_MSG_RESULT);
	assert_string_equal(words(), answer);
	assert_int_equal(status(), rc);
	assert_int_equal(((const struct cot_msg_result *)packet)->more, 0);
	assert_int_equal(((const struct cot_msg_header *)packet)->seq, 5);
}

static void expect(struct cot_msg_command *m, int rc, const char *answer)
{
	expect_at(fd, m, rc, answer);
}

/* The whole line of the log but for its time. */
static void expect_line(const char *line)
{
	const char *log = stage_log();

	if (!strstr(log, line))
		print_message("'%s' is not in: %s\n", line, log);
	assert_non_null(strstr(log, line));
}

/* ---- what changes ---- */

static void test_each_field(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);
	struct cot_host_entity_stats stats;
	char line[128];

	(void)state;
	m.weight = 70;
	m.class_ = COT_CLASS_LATENCY;
	m.block_us = 30;
	m.quota = 20;
	m.reserve = 10;
	m.slice_us = 900;
	m.mode = COT_MODE_SWITCH;
	(void)stage_log();
	stage.roster.state.dirty = false;
	expect(&m, 0, "alone: weight 100 -> 70");
	snprintf(line, sizeof(line),
		 ": set 'alone' (id 3): weight 100 -> 70, by uid 4712 (process %d)\n",
		 (int)getpid());
	expect_line(line);
	assert_int_equal(alone->weight, 70);
	assert_int_equal(alone->cls, COT_CLASS_BATCH);
	assert_int_equal(alone->block_us | alone->quota | alone->reserve, 0);
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), 3)->weight, 70);
	m.fields = COT_SET_BLOCK;
	m.weight = 71;
	expect(&m, 0, "alone: block unknown -> 30 us");
	assert_int_equal(alone->block_us, 30);
	m.fields = COT_SET_QUOTA;
	m.block_us = 31;
	expect(&m, 0, "alone: quota none -> 20%");
	assert_int_equal(alone->quota, 20);
	assert_int_equal(alone->block_us, 30);
	assert_int_equal(alone->reserve, 0);
	m.fields = COT_SET_SLICE;
	m.quota = 21;
	expect(&m, 0, "alone: slice auto -> 900 us");
	cot_host_entity_stats(stage.basis.host, 3, &stats);
	assert_int_equal(stats.slice_override_us, 900);
	assert_int_equal(stats.mode_override, COT_MODE_DRIVER);
	m.fields = COT_SET_MODE;
	m.slice_us = 901;
	expect(&m, 0, "alone: mode auto -> switch");
	cot_host_entity_stats(stage.basis.host, 3, &stats);
	assert_int_equal(stats.slice_override_us, 900);
	assert_int_equal(stats.mode_override, COT_MODE_SWITCH);
	m.fields = COT_SET_CLASS;
	m.mode = COT_MODE_DRAIN;
	expect(&m, 0, "alone: class batch -> latency");
	assert_int_equal(alone->cls, COT_CLASS_LATENCY);
	assert_int_equal(alone->reserve, 0);
	m.fields = COT_SET_RESERVE;
	m.class_ = COT_CLASS_BATCH;
	expect(&m, 0, "alone: reserve none -> 10%");
	assert_int_equal(alone->cls, COT_CLASS_LATENCY);
	assert_int_equal(alone->weight, 70);
	assert_int_equal(alone->quota, 20);
	/* Nothing is nothing. */
	m.fields = 0;
	expect(&m, 0, "alone: ");
	/* Taken back. */
	m.fields = COT_SET_SLICE | COT_SET_RESERVE | COT_SET_CLASS;
	m.slice_us = m.reserve = 0;
	expect(&m, 0, "alone: class latency -> batch, slice 900 us -> auto, reserve 10% -> none");
	cot_host_entity_stats(stage.basis.host, 3, &stats);
	assert_int_equal(stats.slice_override_us, 0);
}

/* What is said to be done outlives the daemon. */
static void test_is_kept(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);
	char path[80];

	(void)state;
	snprintf(path, sizeof(path), "%s/state.json", folder);
	assert_int_equal(access(path, F_OK), -1);
	m.weight = 70;
	stage.roster.state.dirty = false;
	expect(&m, 0, "alone: weight 100 -> 70");
	assert_int_equal(access(path, F_OK), 0);
	assert_false(stage.roster.state.dirty);
}

static void test_a_pool(void **state)
{
	struct cot_msg_command m = set("pool:batch", COT_SET_SLICE | COT_SET_MODE);
	struct cot_host_entity_stats stats;
	int root;

	(void)state;
	m.slice_us = 40;
	m.mode = COT_MODE_DRAIN;
	expect(&m, -EPERM, "only root and the user of the daemon may change a pool");
	(void)enter(0, &root);
	(void)stage_log();
	expect_at(root, &m, 0, "batch: slice auto -> 40 us, mode auto -> drain");
	expect_line(": set pool:batch:0: slice auto -> 40 us, mode auto -> drain, by root");
	cot_host_entity_stats(stage.basis.host, 7, &stats);
	assert_int_equal(stats.slice_override_us, 40);
	assert_int_equal(stats.mode_override, COT_MODE_DRAIN);
	m.fields = COT_SET_CLASS;
	expect_at(root, &m, -EINVAL, "a pool's class and weight are fixed");
	m.fields = COT_SET_WEIGHT;
	m.weight = 5;
	expect_at(root, &m, -EINVAL, "a pool's class and weight are fixed");
	m.fields = COT_SET_BLOCK;
	expect_at(root, &m, -EINVAL, "only a program has a longest block; a pool has none");
	m.fields = COT_SET_QUOTA;
	expect_at(
		root, &m, -EINVAL,
		"only programs have quotas, reservations, SMs and a pace of their own; a pool has none");
	m.fields = COT_SET_RESERVE;
	expect_at(
		root, &m, -EINVAL,
		"only programs have quotas, reservations, SMs and a pace of their own; a pool has none");
}

/* ---- what is meant ---- */

static void test_pools_by_name(void **state)
{
	struct cot_msg_command m = set("pool:latency", COT_SET_SLICE);
	struct cot_host_entity_stats stats;
	int root;

	(void)state;
	(void)enter(0, &root);
	m.slice_us = 40;
	expect_at(root, &m, -ESRCH, "there is no pool 'pool:latency' now");
	m = set("pool:bacth", COT_SET_SLICE);
	expect_at(root, &m, -ESRCH,
		  "there is no pool 'pool:bacth' now (did you mean 'pool:batch'?)");
	m = set("pool:latency", COT_SET_SLICE);
	m.slice_us = 40;
	(void)stage_pool(8, "batch", 1);
	m = set("pool:batch", COT_SET_SLICE);
	m.slice_us = 40;
	expect_at(root, &m, -EINVAL,
		  "there is a pool 'batch' on 2 GPUs; add the number of one, as in pool:batch:0");
	m = set("pool:batch:1", COT_SET_SLICE);
	m.slice_us = 40;
	expect_at(root, &m, 0, "batch: slice auto -> 40 us");
	cot_host_entity_stats(stage.basis.host, 8, &stats);
	assert_int_equal(stats.slice_override_us, 40);
	cot_host_entity_stats(stage.basis.host, 7, &stats);
	assert_int_equal(stats.slice_override_us, 0);
	m = set("pool:batch:2", COT_SET_SLICE);
	expect_at(root, &m, -ESRCH, "there is no pool 'pool:batch:2' now");
	/* A number goes before a name. */
	m = set("pool:batch:1", COT_SET_WEIGHT);
	m.tenant = 3;
	m.weight = 9;
	expect_at(root, &m, 0, "alone: weight 100 -> 9");
}

static void test_programs(void **state)
{
	struct cot_msg_command m = set("nobody", COT_SET_WEIGHT);

	(void)state;
	m.weight = 9;
	expect(&m, -ESRCH, "there is no program called 'nobody'; cotenant ps lists them");
	m = set("alnoe", COT_SET_WEIGHT);
	m.weight = 9;
	expect(&m, -ESRCH,
	       "there is no program called 'alnoe' (did you mean 'alone'?); cotenant ps lists them");
	m.tenant = 99;
	expect(&m, -ESRCH, "there is no program with the id, or process, 99");
	m.tenant = 7; /* a pool's */
	expect(&m, -ESRCH, "there is no program with the id, or process, 7");
	m.tenant = 4;
	expect(&m, 0, "pooled: weight 100 -> 9");
	/* By its process; an id goes before. */
	pooled->watch.pid = 4321;
	alone->watch.pid = 4;
	m.tenant = 4321;
	expect(&m, 0, "pooled: weight 9 -> 9");
	m.tenant = 4;
	expect(&m, 0, "pooled: weight 9 -> 9");
	pooled->watch.pid = alone->watch.pid = 0;
	stage_tenant(5, "alone", NULL)->uid = OTHER;
	m = set("alone", COT_SET_WEIGHT);
	m.weight = 9;
	expect(&m, -EINVAL, "2 programs are called 'alone'; name one by its id");
	assert_int_equal(alone->weight, 100);
}

/* ---- what may be ---- */

static void test_others(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);
	int stranger;

	(void)state;
	m.weight = 9;
	(void)enter(OTHER + 1, &stranger);
	expect_at(stranger, &m, -EPERM, "the program 'alone' belongs to another user");
	m.what = COT_COMMAND_FREEZE;
	expect_at(stranger, &m, -EPERM, "the program 'alone' belongs to another user");
	assert_int_equal(alone->weight, 100);
	m = set("pool:batch", 0);
	m.what = COT_COMMAND_THAW;
	expect_at(stranger, &m, -EPERM, "only root and the user of the daemon may change a pool");
}

static void test_ranges(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);

	(void)state;
	expect(&m, -EINVAL, "the weight is 0; expected 1 to 10000");
	m.weight = 10001;
	expect(&m, -EINVAL, "the weight is 10001; expected 1 to 10000");
	m.weight = 10000;
	expect(&m, 0, "alone: weight 100 -> 10000");
	m.weight = 1;
	expect(&m, 0, "alone: weight 10000 -> 1");
	m.fields = COT_SET_BLOCK;
	m.block_us = COT_BLOCK_US_MAX + 1;
	expect(&m, -EINVAL, "the blocks last 1000000001 us; expected up to 1000 s");
	m.block_us = COT_BLOCK_US_MAX;
	expect(&m, 0, "alone: block unknown -> 1000000000 us");
	m.block_us = COT_BLOCK_US_MAX + 1;
	m.fields = COT_SET_SLICE;
	m.slice_us = COT_SLICE_US_MIN - 1;
	expect(&m, -EINVAL, "the slice is 19 us; expected 20 us to 100 ms");
	m.slice_us = COT_SLICE_US_MAX + 1;
	expect(&m, -EINVAL, "the slice is 100001 us; expected 20 us to 100 ms");
	m.slice_us = COT_SLICE_US_MIN;
	expect(&m, 0, "alone: slice auto -> 20 us");
	m.slice_us = COT_SLICE_US_MAX;
	expect(&m, 0, "alone: slice 20 us -> 100000 us");
	m.slice_us = 1;
	m.fields = COT_SET_MODE;
	m.mode = COT_MODE_SWITCH + 1;
	expect(&m, -EINVAL, "unknown mode");
	m.mode = COT_MODE_SWITCH;
	expect(&m, 0, "alone: mode auto -> switch");
	/* What does not count may be anything. */
	m.mode = COT_MODE_SWITCH + 1;
	m.weight = 0;
	m.fields = COT_SET_QUOTA;
	m.quota = 1;
	expect(&m, 0, "alone: quota none -> 1%");
}

static void test_reserves(void **state)
{
	static const char why[] =
		"only a latency program may have a reservation; a batch program may have a quota";
	struct cot_msg_command m = set("alone", COT_SET_RESERVE);

	(void)state;
	m.reserve = 10;
	m.class_ = COT_CLASS_LATENCY; /* does not count */
	expect(&m, -EINVAL, why);
	m.reserve = 0;
	expect(&m, 0, "alone: reserve none -> none");
	m.reserve = 10;
	m.fields |= COT_SET_CLASS;
	expect(&m, 0, "alone: class batch -> latency, reserve none -> 10%");
	m.class_ = COT_CLASS_BATCH;
	m.reserve = 11;
	expect(&m, -EINVAL, why);
	m.fields = COT_SET_RESERVE;
	expect(&m, 0, "alone: reserve 10% -> 11%");
}

/* A share of SMs acts on a program that can be placed; of another one it says why not. */
static void test_sms(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_SMS);
	struct cot_msg_parts parts = {
		.h.length = sizeof(parts), .n_sms = 132, .unit = 8, .n_units = 15};

	(void)state;
	m.sms = COT_SHARE_SMS | 64;
	expect(&m, -ENOTSUP,
	       "'alone' cannot be moved: it was not started with --sms or --quota, nor under the policy "
	       "parts");
	assert_int_equal(alone->sms, 0);
	m.fields = COT_SET_PACE;
	m.pace_us = 500;
	expect(&m, -ENOTSUP,
	       "'alone' cannot be moved: it was not started with --sms or --quota, nor under the policy "
	       "parts");
	m.fields = COT_SET_SMS;
	alone->parts = true;
	expect(&m, 0, "alone: sms none -> 64sm");
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), 3)->sms.sms, 64);
	cot_host_part_join(stage.basis.host, 99, 3);
	cot_host_part_told(stage.basis.host, 99, &parts, cot_now_ns());
	m.sms = COT_SHARE_SMS | 133;
	expect(&m, -EINVAL, "the share is 133 SMs; expected 1 to 132, or 1% to 100%");
	m.sms = COT_SHARE_SMS | 128;
	expect(&m, 0,
	       "alone: sms 64sm -> 128sm; parts are in units of 8 SMs and the last 12 in one piece, "
	       "and 'cotenant ps' shows what it has");
	m.sms = COT_SHARE_SMS | 64;
	expect(&m, 0, "alone: sms 128sm -> 64sm");
	m.sms = COT_SHARE_SMS | 132;
	expect(&m, 0, "alone: sms 64sm -> 132sm");
	m.sms = 50;
	expect(&m, 0, "alone: sms 132sm -> 50%");
	m.sms = 0;
	expect(&m, 0, "alone: sms 50% -> none");
	m.fields = COT_SET_PACE;
	m.pace_us = 500;
	expect(&m, 0, "alone: pace none -> 500 us");
	assert_int_equal(alone->sms, 0);
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), 3)->pace_us, 500);
	m.pace_us = 0;
	expect(&m, 0, "alone: pace 500 us -> none");
	m.fields = COT_SET_SMS;
	m.pace_us = 500; /* does not count */
	expect(&m, 0, "alone: sms none -> none");
	assert_int_equal(alone->pace_us, 0);
	cot_host_part_leave(stage.basis.host, 99, cot_now_ns());
	cot_host_part_join(stage.basis.host, 99, 3);
	parts = (struct cot_msg_parts){.status = -ENOTSUP};
	cot_host_part_told(stage.basis.host, 99, &parts, cot_now_ns());
	m.sms = 50;
	expect(&m, -ENOTSUP,
	       "'alone' cannot be put on a part of the GPU; 'cotenant stats' says why");
}

/* Whom nobody measures gets no target of its requests; no batch program gets one. */
static void test_targets(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_TARGET);
	const struct cot_sched *s = cot_host_sched(stage.basis.host);

	(void)state;
	cot_policy_config_init(&stage.basis.config.numbers);
	m.target = (struct cot_proto_target){COT_TARGET_P99, 5000};
	expect(&m, -EINVAL, COT_TARGET_UNSUITED);
	alone->cls = COT_CLASS_LATENCY;
	expect(&m, -ENOTSUP,
	       "the requests of 'alone' cannot be measured: it was not started with --measure, "
	       "--p99 or --slowdown; start it again with --p99");
	m.target = (struct cot_proto_target){COT_TARGET_RATE, 800};
	expect(&m, -ENOTSUP,
	       "how fast 'alone' gets on cannot be measured: it was not started with --rate, --sms or "
	       "--quota; start it again with --rate");
	assert_int_equal(alone->target.kind, COT_TARGET_NONE);
	alone->parts = true;
	expect(&m, 0, "alone: target none -> rate 80%");
	alone->measured = true;
	m.target = (struct cot_proto_target){COT_TARGET_SLOWDOWN, 1500};
	expect(&m, 0, "alone: target rate 80% -> slowdown 1.5x");
	m.target = (struct cot_proto_target){COT_TARGET_P99, 5000};
	expect(&m, 0, "alone: target slowdown 1.5x -> p99 5ms");
	assert_int_equal(cot_sched_tenant(s, 3)->target.kind, COT_TARGET_P99);
	assert_int_equal(cot_sched_tenant(s, 3)->target.amount, 5000);
	/* As what it has and what it is to have. */
	m.class_ = COT_CLASS_BATCH;
	m.fields = COT_SET_CLASS;
	expect(&m, -EINVAL, COT_TARGET_UNSUITED);
	m.fields = COT_SET_CLASS | COT_SET_TARGET;
	expect(&m, -EINVAL, COT_TARGET_UNSUITED);
	m.target = (struct cot_proto_target){0};
	expect(&m, 0, "alone: class latency -> batch, target p99 5ms -> none");
	assert_int_equal(cot_sched_tenant(s, 3)->target.kind, COT_TARGET_NONE);
	m.class_ = COT_CLASS_LATENCY;
	m.target = (struct cot_proto_target){COT_TARGET_P99, 700};
	expect(&m, 0, "alone: class batch -> latency, target none -> p99 700us");
	alone->uid = OTHER;
	m = set("pool:batch", COT_SET_TARGET);
	c->uid = 0;
	expect(&m, -EINVAL, "only a program has a target; a pool has none");
}

/* A policy that the user has chosen stays, and the answer says what that means. */
static void test_target_that_nobody_keeps(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_TARGET);

	(void)state;
	stage.basis.config.named = stage.basis.config.policy;
	alone->parts = true;
	m.target = (struct cot_proto_target){COT_TARGET_RATE, 800};
	expect(&m, 0,
	       "alone: target none -> rate 80%; the policy 'pools' does not look at targets; "
	       "'cotenant policy slo' keeps them");
	m.target = (struct cot_proto_target){0};
	expect(&m, 0, "alone: target rate 80% -> none");
	assert_string_equal(stage.basis.config.policy->name, "pools");
}

/* An older client ends before the target. */
static void test_older_client(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT | COT_SET_TARGET);

	(void)state;
	alone->cls = COT_CLASS_LATENCY;
	alone->measured = true;
	alone->target = (struct cot_target){COT_TARGET_P99, 5000};
	m.weight = 50;
	m.target = (struct cot_proto_target){COT_TARGET_RATE, 800};
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, COT_PROTO_COMMAND_MIN), COT_MSG_RESULT);
	assert_string_equal(words(), "alone: weight 100 -> 50, target p99 5ms -> none");
}

static void test_in_a_pool(void **state)
{
	static const char settings[] =
		"'pooled' shares the pool 'batch' with others, whose slice and mode are one; use "
		"pool:batch, or run it with --solo";
	struct cot_msg_command m = set("pooled", COT_SET_SLICE);

	(void)state;
	m.slice_us = 40;
	expect(&m, -EBUSY,
	       "'pooled' is the only program in the pool 'batch', but its slice and mode are those "
	       "of the pool, which others may join; use pool:batch, or run it with --solo");
	(void)stage_tenant(5, "second", pool);
	expect(&m, -EBUSY, settings);
	m.fields = COT_SET_MODE;
	expect(&m, -EBUSY, settings);
	m.fields = COT_SET_CLASS;
	expect(&m, -EBUSY,
	       "'pooled' shares the pool 'batch' with others, whose class and slice are one; use "
	       "pool:batch, or run it with --solo");
	m.fields = COT_SET_WEIGHT;
	m.weight = 2;
	expect(&m, 0, "pooled: weight 100 -> 2");
	m.what = COT_COMMAND_FREEZE;
	expect(&m, -EBUSY,
	       "'pooled' shares the pool 'batch' with others, whose channel groups are one; use "
	       "pool:batch, or run it with --solo");
}

/* A change may no more than a program that comes. */
static void test_allowed(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);

	(void)state;
	stage.basis.config.max_weight = 200;
	stage.basis.config.latency.everybody = false;
	m.weight = 200;
	expect(&m, 0, "alone: weight 100 -> 200");
	m.weight = 201;
	expect(&m, -EPERM,
	       "the weight 201 is over the limit of 200 that the daemon's configuration sets");
	m.fields = COT_SET_CLASS;
	m.class_ = COT_CLASS_LATENCY;
	expect(&m, -EPERM,
	       "user 4712 may not run latency programs; the list 'allow.latency' in the daemon's "
	       "configuration says who may");
	assert_int_equal(alone->cls, COT_CLASS_BATCH);
	/* One that is of the class already. */
	alone->cls = COT_CLASS_LATENCY;
	m.fields = COT_SET_WEIGHT;
	m.weight = 3;
	m.class_ = COT_CLASS_BATCH;
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, sizeof(m)), COT_MSG_RESULT);
	assert_int_equal(status(), -EPERM);
	stage.basis.config.batch.everybody = false;
	stage.basis.config.latency.everybody = true;
	expect(&m, 0, "alone: weight 200 -> 3");
	/* What changes neither is everybody's own. */
	stage.basis.config.latency.everybody = false;
	m.fields = COT_SET_BLOCK;
	m.block_us = 4;
	expect(&m, 0, "alone: block unknown -> 4 us");
}

/* The policy is everybody's: as with pools, only root and the daemon's user change it. */
static void test_policy(void **state)
{
	struct cot_msg_command m = {.what = COT_COMMAND_POLICY};
	char line[128];

	(void)state;
	cot_policy_config_init(&stage.basis.config.numbers);
	stage.basis.config.named = NULL;
	snprintf(m.name, sizeof(m.name), "smguard");
	expect(&m, -EPERM, "only root and the user of the daemon may change the policy");
	assert_string_equal(stage.basis.config.policy->name, "pools");
	c->uid = 0;
	(void)stage_log();
	stage.roster.state.dirty = false;
	expect(&m, 0,
	       "policy pools -> smguard; programs that stay in the pools where they started: 1");
	snprintf(line, sizeof(line), ": policy pools -> smguard, by root (uid 0, process %d)\n",
		 (int)getpid());
	expect_line(line);
	assert_string_equal(cot_sched_policy(cot_host_sched(stage.basis.host))->ops->name,
			    "smguard");
	snprintf(m.name, sizeof(m.name), "smgard");
	expect(&m, -EINVAL, "this daemon has no policy 'smgard'");
	snprintf(m.name, sizeof(m.name), "auto");
	expect(&m, 0, "policy smguard -> pools (auto)");
	stage.roster.mps_failed = true;
	alone->target = (struct cot_target){COT_TARGET_RATE, 800};
	snprintf(m.name, sizeof(m.name), "static");
	expect(&m, 0,
	       "policy pools -> static; 'rotate' is at work until MPS is available; the policy "
	       "'static' does not look at targets; 'cotenant policy slo' keeps them");
	assert_string_equal(cot_sched_policy(cot_host_sched(stage.basis.host))->ops->name,
			    "rotate");
}

static void test_too_many_changes(void **state)
{
	struct cot_msg_command m = set("alone", COT_SET_WEIGHT);

	(void)state;
	stage.basis.account.paces[COT_RATE_CHANGES] =
		(struct cot_account_pace){COT_NS_PER_S * 1000 / 4, 1};
	m.weight = 9;
	expect(&m, 0, "alone: weight 100 -> 9");
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, sizeof(m)), COT_MSG_RESULT);
	assert_int_equal(status(), -EAGAIN);
	assert_non_null(strstr(words(), "user 4712 makes too many changes: 1 changes at once are "
					"allowed, and 0 per second; try again in 2"));
	assert_int_equal(strlen(strstr(words(), "try again in ")),
			 strlen("try again in 249999 ms"));
}

/* ---- freeze and thaw ---- */

static void test_holds(void **state)
{
	struct cot_msg_command m = set("alone", 0);
	char line[128];

	(void)state;
	m.what = COT_COMMAND_FREEZE;
	expect(&m, -ESRCH, "'alone' does not use the GPU now");
	m.what = 99;
	expect(&m, -ENOSYS, "this daemon does not know the command 99");
	(void)stage_library(200, alone, NULL);
	world_tenant(3, COT_CLASS_BATCH, 0, true);
	world_answer_all(0);
	(void)stage_log();
	m.what = COT_COMMAND_FREEZE;
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, sizeof(m)), 0);
	snprintf(line, sizeof(line), ": freeze 'alone' (id 3), by uid 4712 (process %d)\n",
		 (int)getpid());
	expect_line(line);
	assert_int_equal(c->hold.entity, 3);
	m.what = COT_COMMAND_SET;
	expect(&m, -EBUSY, "one command at a time");
	assert_int_equal(c->hold.entity, 3);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	cot_hold_check(&stage.conns, cot_now_ns());
	assert_int_equal(hear(fd), COT_MSG_RESULT);
	assert_int_equal(status(), 0);
	assert_int_equal(strncmp(words(), "frozen after ", 13), 0);
	m.what = COT_COMMAND_THAW;
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, sizeof(m)), 0);
	expect_line(": thaw 'alone' (id 3), by uid 4712");
	/* Who asked goes: it is thawed all the same, and nobody is answered. */
	leave(fd);
	assert_int_equal(c->hold.entity, 0);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	cot_hold_check(&stage.conns, cot_now_ns());
	assert_false(world_entity(3)->held);
	stage.conns.all[200].source.fd = -1; /* played */
}

/* ---- QUERY ---- */

static int query(int at, unsigned what)
{
	struct cot_msg_query m = {.what = what};

	return ask(at, &m, COT_MSG_QUERY, sizeof(m));
}

static void test_queries(void **state)
{
	unsigned what;

	(void)state;
	for (what = COT_QUERY_PS; what <= COT_QUERY_DOCTOR; what++) {
		assert_int_equal(query(fd, what), COT_MSG_RESULT);
		assert_int_equal(status(), 0);
		assert_int_equal(words()[0], '{');
		assert_int_equal(((const struct cot_msg_header *)packet)->seq, 5);
	}
	assert_int_equal(query(fd, COT_QUERY_METRICS), COT_MSG_RESULT);
	assert_int_equal(status(), 0);
	assert_int_equal(words()[0], '#');
	assert_int_equal(query(fd, 0), COT_MSG_RESULT);
	assert_int_equal(status(), -ENOSYS);
	assert_string_equal(words(), "this daemon does not know the question 0");
	assert_int_equal(query(fd, COT_QUERY_METRICS + 1), COT_MSG_RESULT);
	assert_int_equal(status(), -ENOSYS);
	assert_string_equal(words(), "this daemon does not know the question 5");
}

/* One at a time, in turn: nobody is heard before its answer, and nobody waits for one who asks
 * again at once. */
static void test_turns(void **state)
{
	struct cot_msg_query m = {.what = COT_QUERY_PS};
	struct conn *asker[3];
	int fds[3];
	unsigned i, round;

	(void)state;
	for (i = 0; i < 3; i++)
		asker[i] = enter(OTHER, &fds[i]);
	for (i = 0; i < 3; i++) {
		say(fds[i], &m, COT_MSG_QUERY, sizeof(m));
		say(fds[i], &m, COT_MSG_QUERY, sizeof(m));
		cot_timer_clear(&stage.conns.queries);
		asker[i]->source.ready(&asker[i]->source, 1 /* EPOLLIN */);
		assert_true(asker[i]->question.asked && !asker[i]->watched);
		assert_true(stage.conns.queries.armed);
		assert_true(stage.conns.queries.due_ns <= cot_now_ns());
	}
	for (round = 0; round < 6; round++) {
		i = round % 3;
		cot_timer_clear(&stage.conns.queries);
		cot_query_answer_one(&stage.conns.queries, cot_now_ns());
		assert_int_equal(hear(fds[i]), COT_MSG_RESULT);
		assert_int_equal(hear(fds[(i + 1) % 3]), 0);
		assert_int_equal(hear(fds[(i + 2) % 3]), 0);
		assert_true(!asker[i]->question.asked && asker[i]->watched);
		assert_int_equal(stage.conns.next_asker, conn_index(asker[i]) + 1);
		/* While others wait it is soon, else not at all. */
		assert_int_equal(stage.conns.queries.armed, round < 2 || round < 5);
		assert_true(!stage.conns.queries.armed ||
			    stage.conns.queries.due_ns <= cot_now_ns());
		if (round < 3) /* its second question */
			asker[i]->source.ready(&asker[i]->source, 1 /* EPOLLIN */);
	}
}

/* What is asked while an answer is not read is nothing. */
static void test_asks_too_early(void **state)
{
	struct cot_msg_query m = {.what = COT_QUERY_PS};

	(void)state;
	c->out.text = strdup("rest");
	c->out.size = 4;
	cot_command_packet(c, &m, COT_MSG_QUERY);
	assert_false(c->question.asked);
	assert_false(stage.conns.queries.armed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, close_server)
	const struct CMUnitTest tests[] = {
		TEST(each_field),
		TEST(is_kept),
		TEST(a_pool),
		TEST(pools_by_name),
		TEST(programs),
		TEST(others),
		TEST(ranges),
		TEST(reserves),
		TEST(targets),
		TEST(older_client),
		TEST(target_that_nobody_keeps),
		TEST(sms),
		TEST(in_a_pool),
		TEST(allowed),
		TEST(policy),
		TEST(too_many_changes),
		TEST(holds),
		TEST(queries),
		TEST(turns),
		TEST(asks_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
