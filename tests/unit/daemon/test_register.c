/* REGISTER, of `cotenant run`: who may, into which pool, and what the program is told. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/command.h"
#include "daemon/register.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static const char on_shares[] =
	"the policy 'pools' keeps quotas, but takes nothing back for a reserve, and has latency "
	"and batch programs take turns; 'policy: smguard' in the daemon's configuration shares the "
	"SMs";
static const char no_pool[] = "MPS is not available here, so this program stands alone and takes "
			      "turns with others; 'cotenant doctor' says why";
static const char other_user[] =
	"the pool serves programs of another user now, and one MPS server serves one user, so this "
	"program stands alone and takes turns with others";

/* One that asks for nothing special. */
static struct cot_msg_register plain(void)
{
	return (struct cot_msg_register){
		.class_ = COT_CLASS_BATCH, .weight = 100, .name = "app", .gpu = "0"};
}

static int reg(int fd, struct cot_msg_register *m)
{
	return ask(fd, m, COT_MSG_REGISTER, sizeof(*m));
}

/* What it was told, a line each, without the socket. */
static const char *variables(void)
{
	const struct cot_msg_registered *m = (const struct cot_msg_registered *)packet;
	static char text[8192];
	char first[256];
	size_t i, n = m->h.length - sizeof(*m);

	assert_int_equal(m->h.type, COT_MSG_REGISTERED);
	assert_int_equal(m->h.seq, 5);
	assert_true(n < sizeof(text));
	for (i = 0; i < n; i++)
		text[i] = m->env[i] ? m->env[i] : '\n';
	text[n] = '\0';
	snprintf(first, sizeof(first), "COTENANT_SOCKET=%s\nCOTENANT_TENANT=%u\n",
		 stage.basis.socket_path, (unsigned)m->tenant);
	assert_memory_equal(text, first, strlen(first));
	return text + strlen(first);
}

static struct tenant *registered(int fd, struct cot_msg_register *m)
{
	struct tenant *t;

	assert_int_equal(reg(fd, m), COT_MSG_REGISTERED);
	t = cot_roster_tenant(&stage.roster, ((const struct cot_msg_registered *)packet)->tenant);
	assert_non_null(t);
	return t;
}

static struct pool *make_pool(enum cot_class cls, unsigned gpu, enum pool_state state)
{
	struct pool *p = cot_pool_get(&stage.roster, cls, false, gpu);

	p->state = state;
	stage.basis.config.use_mps = true;
	return p;
}

/* ---- what it is told ---- */

static void test_alone(void **state)
{
	struct cot_msg_register m = {.class_ = COT_CLASS_LATENCY,
				     .solo = 1,
				     .weight = 250,
				     .block_us = 40,
				     .quota = 50,
				     .reserve = COT_SHARE_SMS | 16,
				     .sms = 25,
				     .pace_us = 500,
				     .name = "app",
				     .gpu = "1"};
	char line[600];
	struct tenant *t;
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	(void)stage_log();
	t = registered(fd, &m);
	snprintf(line, sizeof(line),
		 "COTENANT_CLASS=latency\nCOTENANT_NAME=app\nCOTENANT_WEIGHT=250\n"
		 "COTENANT_BLOCK_US=40\nCOTENANT_QUOTA=50%%\nCOTENANT_RESERVE=16sm\n"
		 "COTENANT_SMS=25%%\nCOTENANT_PACE_US=500\nCOTENANT_PARTS=1\n"
		 "COTENANT_GPU=1\nCUDA_VISIBLE_DEVICES=1\nCOTENANT_NOTE=%s\n",
		 on_shares);
	assert_string_equal(variables(), line);
	snprintf(line, sizeof(line),
		 " INFO cotenantd[%d]: new latency program 'app' (id %u, process %d) in no pool\n",
		 (int)getpid(), t->id, (int)getpid());
	assert_non_null(strstr(stage_log(), line));
	assert_int_equal(t->cls, COT_CLASS_LATENCY);
	assert_int_equal(t->weight, 250);
	assert_int_equal(t->block_us, 40);
	assert_int_equal(t->quota, 50);
	assert_int_equal(t->reserve, COT_SHARE_SMS | 16);
	assert_int_equal(t->sms, 25);
	assert_int_equal(t->pace_us, 500);
	assert_int_equal(cot_sched_tenant(cot_host_sched(stage.basis.host), t->id)->pace_us, 500);
	assert_true(t->parts);
	assert_int_equal(t->gpu_mask, 2);
	assert_int_equal(t->uid, OTHER);
	assert_int_equal(t->watch.pid, getpid());
	assert_true(!t->pool && !t->alone_why && !t->by_itself);
	assert_string_equal(t->name, "app");
	assert_non_null(cot_sched_tenant(cot_host_sched(stage.basis.host), t->id));
}

/* Every program can be placed while the policy is one that places. */
static void test_policy_that_places(void **state)
{
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	m.solo = 1;
	(void)enter(OTHER, &fd);
	assert_false(registered(fd, &m)->parts);
	assert_null(strstr(variables(), "COTENANT_PARTS"));
	stage.basis.config.policy = cot_policy_find("parts");
	(void)enter(OTHER, &fd);
	assert_true(registered(fd, &m)->parts);
	assert_non_null(strstr(variables(), "COTENANT_PARTS=1\n"));
	assert_null(strstr(variables(), "COTENANT_SMS"));
	assert_null(strstr(variables(), "COTENANT_PACE"));
	stage.basis.config.policy = cot_policy_find("pools");
	m.pace_us = 1;
	(void)enter(OTHER, &fd);
	assert_true(registered(fd, &m)->parts);
}

static void test_two_limits(void **state)
{
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	m.solo = 1;
	m.quota = 50;
	stage.basis.config.policy = cot_policy_find("smguard");
	(void)enter(OTHER, &fd);
	assert_true(registered(fd, &m)->parts);
	assert_null(strstr(variables(), "COTENANT_NOTE"));
	m.sms = 25;
	(void)enter(OTHER, &fd);
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_NOTE=--quota and --sms are both the most "
					    "that it may have, and the smaller one counts\n"));
}

static void test_gpus(void **state)
{
	static const struct {
		unsigned n;
		const char *gpu, *told;
	} all[] = {
		{1, "", "COTENANT_GPU=0\n"},
		{1, "0", "COTENANT_GPU=0\nCUDA_VISIBLE_DEVICES=0\n"},
		{1, "all", "COTENANT_GPU=0\n"},
		{2, "", "COTENANT_GPU=0\nCUDA_VISIBLE_DEVICES=0\n"},
		{2, "1,0", "COTENANT_GPU=0,1\nCUDA_VISIBLE_DEVICES=0,1\n"},
		{2, "all", "COTENANT_GPU=0,1\n"},
	};
	struct cot_msg_register m = plain();
	unsigned i;
	int fd;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(all); i++) {
		(void)enter(OTHER, &fd);
		stage.basis.gpus.n = all[i].n;
		snprintf(m.gpu, sizeof(m.gpu), "%s", all[i].gpu);
		(void)registered(fd, &m);
		assert_string_equal(strstr(variables(), "COTENANT_GPU"), all[i].told);
		leave(fd);
	}
}

/* All that a machine can have, each with the longest name. */
static void test_many_gpus(void **state)
{
	struct cot_msg_register m = plain();
	const char *told;
	unsigned i, n = 0;
	int fd;

	(void)state;
	stage.basis.gpus.n = COT_GPUS_MAX;
	for (i = 0; i < COT_GPUS_MAX; i++)
		snprintf(stage.basis.gpus.gpu[i].uuid, sizeof(stage.basis.gpus.gpu[i].uuid),
			 "GPU-%08x-0123-4567-89ab-0123456789ab", i);
	snprintf(m.gpu, sizeof(m.gpu), "all");
	(void)enter(OTHER, &fd);
	(void)registered(fd, &m);
	for (told = strstr(variables(), "COTENANT_GPU="); (told = strstr(told, "GPU-")); told++)
		n += !strncmp(told + 12, "-0123-4567-89ab-0123456789ab", 28);
	assert_int_equal(n, COT_GPUS_MAX);
}

static void test_shares(void **state)
{
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	(void)registered(fd, &m);
	assert_null(strstr(variables(), "QUOTA"));
	assert_null(strstr(variables(), "RESERVE"));
	assert_null(strstr(variables(), "NOTE"));
	m.quota = COT_SHARE_SMS | 3;
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_QUOTA=3sm\n"));
	assert_null(strstr(variables(), "RESERVE"));
	assert_non_null(strstr(variables(), on_shares));
	m.class_ = COT_CLASS_LATENCY;
	m.quota = 0;
	m.reserve = 100;
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_RESERVE=100%\n"));
	assert_non_null(strstr(variables(), on_shares));
	/* A policy that does both needs no words. */
	stage.basis.config.policy = cot_policy_find("smguard");
	(void)registered(fd, &m);
	assert_null(strstr(variables(), "NOTE"));
}

/* Whose target is about requests is measured; so is who asks for it. The policy knows. */
static void test_targets(void **state)
{
	struct cot_msg_register m = plain();
	const struct cot_tenant *is;
	struct tenant *t;
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	t = registered(fd, &m);
	assert_false(t->measured);
	assert_null(strstr(variables(), "REQUESTS"));
	m.flags = COT_REGISTER_MEASURE;
	t = registered(fd, &m);
	assert_true(t->measured);
	assert_int_equal(t->target.kind, COT_TARGET_NONE);
	assert_non_null(strstr(variables(), "COTENANT_REQUESTS=1\n"));
	m.flags = 0;
	m.target = (struct cot_proto_target){COT_TARGET_RATE, 805};
	t = registered(fd, &m);
	assert_false(t->measured); /* a rate is about launches: the shim counts them */
	assert_true(t->parts);
	assert_non_null(strstr(variables(), "COTENANT_PARTS=1\nCOTENANT_RATE=80.5%\n"));
	assert_null(strstr(variables(), "REQUESTS"));
	is = cot_sched_tenant(cot_host_sched(stage.basis.host), t->id);
	assert_int_equal(is->target.kind, COT_TARGET_RATE);
	assert_int_equal(is->target.amount, 805);
	m.target = (struct cot_proto_target){COT_TARGET_SLOWDOWN, 1500};
	assert_int_equal(reg(fd, &m), COT_MSG_REFUSED);
	assert_string_equal(words(), COT_TARGET_UNSUITED);
	m.class_ = COT_CLASS_LATENCY;
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_SLOWDOWN=1.5x\n"));
	m.target = (struct cot_proto_target){COT_TARGET_P99, 5000};
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_P99=5ms\n"));
	/* The configuration's counts where the user says none. */
	stage.basis.config.targets[0] = (struct cot_config_target){
		.any_class = true, .name = "app", .target = {COT_TARGET_P99, 7000}};
	stage.basis.config.n_targets = 1;
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_P99=5ms\n"));
	m.target = (struct cot_proto_target){0};
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), "COTENANT_P99=7ms\nCOTENANT_REQUESTS=1\n"));
	stage.basis.config.n_targets = 0;
	m.target = (struct cot_proto_target){COT_TARGET_P99, 5000};
	/* An older client ends before it: what follows in the buffer is not its own. */
	assert_int_equal(ask(fd, &m, COT_MSG_REGISTER, COT_PROTO_REGISTER_MIN), COT_MSG_REGISTERED);
	assert_null(strstr(variables(), "COTENANT_P99"));
	assert_null(strstr(variables(), "REQUESTS"));
}

/* ---- pools ---- */

static void test_pool(void **state)
{
	struct pool *p = make_pool(COT_CLASS_LATENCY, 1, POOL_UP);
	struct cot_msg_register m = plain();
	struct tenant *t;
	char line[1200];
	int fd;

	(void)state;
	(void)make_pool(COT_CLASS_BATCH, 1, POOL_UP);
	m.class_ = COT_CLASS_LATENCY;
	snprintf(m.gpu, sizeof(m.gpu), "1");
	(void)enter(getuid(), &fd);
	(void)stage_log();
	t = registered(fd, &m);
	snprintf(line, sizeof(line),
		 "COTENANT_BLOCK_US=0\nCUDA_MPS_PIPE_DIRECTORY=%s/gpu1-latency/pipe\n"
		 "CUDA_MPS_LOG_DIRECTORY=%s/gpu1-latency/log\nCUDA_VISIBLE_DEVICES=0\n"
		 "COTENANT_GPU=1\n",
		 folder, folder);
	assert_string_equal(strstr(variables(), "COTENANT_BLOCK_US"), line);
	assert_non_null(strstr(stage_log(), "new latency program 'app' (id "));
	assert_ptr_equal(t->pool, p);
	assert_true(t->pool && !t->alone_why);
	assert_int_equal(p->n_tenants, 1);
	assert_int_equal(p->uid, getuid());
	/* A batch program goes into the other one. */
	m.class_ = COT_CLASS_BATCH;
	(void)stage_log();
	t = registered(fd, &m);
	assert_string_equal(t->pool->name, "batch");
	assert_int_equal(t->pool->gpu, 1);
	assert_non_null(strstr(stage_log(), "in pool:batch:1\n"));
	m.quota = 10;
	(void)registered(fd, &m);
	assert_non_null(strstr(variables(), on_shares));
}

static void test_one_pool(void **state)
{
	struct cot_msg_register m = plain();
	struct pool *p;
	int fd;

	(void)state;
	stage.basis.config.policy = cot_policy_find("smguard");
	stage.basis.config.use_mps = true;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, true, 0);
	p->state = POOL_UP;
	(void)enter(getuid(), &fd);
	assert_ptr_equal(registered(fd, &m)->pool, p);
	m.class_ = COT_CLASS_LATENCY;
	assert_ptr_equal(registered(fd, &m)->pool, p);
	assert_int_equal(p->n_tenants, 2);
}

static void test_no_pool(void **state)
{
	struct pool *p = make_pool(COT_CLASS_BATCH, 0, POOL_UP);
	struct cot_msg_register m = plain();
	char runtime[sizeof(stage.basis.runtime)];
	struct tenant *t;
	int fd;

	(void)state;
	(void)enter(getuid(), &fd);
	/* Whoever does not want one, or wants several GPUs. */
	m.solo = 1;
	assert_null(registered(fd, &m)->pool);
	m.solo = 0;
	snprintf(m.gpu, sizeof(m.gpu), "0,1");
	assert_null(registered(fd, &m)->pool);
	snprintf(m.gpu, sizeof(m.gpu), "0");
	/* Where there are none. */
	stage.basis.config.use_mps = false;
	assert_null(registered(fd, &m)->pool);
	stage.basis.config.use_mps = true;
	stage.basis.config.policy = cot_policy_find("rotate");
	assert_null(registered(fd, &m)->pool);
	assert_null(strstr(variables(), "NOTE"));
	stage.basis.config.policy = cot_policy_find("pools");
	assert_int_equal(p->n_tenants, 0);
	/* MPS has failed, and is not tried again yet. */
	p->state = POOL_FAILED;
	p->retry_ns = cot_now_ns() + 100 * COT_NS_PER_S;
	m.quota = 10;
	t = registered(fd, &m);
	assert_non_null(strstr(variables(), no_pool));
	assert_string_equal(t->alone_why, "MPS is not available");
	assert_true(!t->pool);
	/* No folder for it. */
	memcpy(runtime, stage.basis.runtime, sizeof(runtime));
	memset(stage.basis.runtime, '/', sizeof(stage.basis.runtime) - 1);
	p->id = 0;
	t = registered(fd, &m);
	memcpy(stage.basis.runtime, runtime, sizeof(runtime));
	assert_non_null(strstr(variables(), no_pool));
	assert_null(t->pool);
}

static void test_another_users_pool(void **state)
{
	struct pool *p = make_pool(COT_CLASS_BATCH, 0, POOL_UP);
	struct cot_msg_register m = plain();
	struct tenant *t;
	int fd;

	(void)state;
	stage_tenant(100, "theirs", p)->uid = OTHER;
	(void)enter(getuid(), &fd);
	t = registered(fd, &m);
	assert_non_null(strstr(variables(), other_user));
	assert_string_equal(t->alone_why, "the pool serves another user's programs");
	assert_true(!t->pool);
}

/* ---- while a pool comes up ---- */

static void test_waits(void **state)
{
	struct pool *batch = make_pool(COT_CLASS_BATCH, 0, POOL_STARTING);
	struct pool *latency = make_pool(COT_CLASS_LATENCY, 0, POOL_STARTING);
	struct cot_msg_register m = plain();
	struct conn *c, *gone;
	int fd, fd_gone, other;

	(void)state;
	c = enter(getuid(), &fd);
	assert_int_equal(reg(fd, &m), 0);
	assert_ptr_equal(c->registration.pool, batch);
	/* Once is enough, whatever it says. */
	m.class_ = COT_CLASS_LATENCY;
	assert_int_equal(reg(fd, &m), 0);
	assert_ptr_equal(c->registration.pool, batch);
	(void)enter(getuid(), &other);
	assert_int_equal(reg(other, &m), 0);
	gone = enter(getuid(), &fd_gone);
	m.class_ = COT_CLASS_BATCH;
	assert_int_equal(reg(fd_gone, &m), 0);
	leave(fd_gone);
	assert_int_equal(gone->source.fd, -1);
	assert_null(gone->registration.m);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	/* Those who wait for this one are answered. */
	batch->state = POOL_UP;
	cot_register_pool_settled(batch);
	assert_int_equal(hear(fd), COT_MSG_REGISTERED);
	assert_null(strstr(variables(), "NOTE"));
	assert_int_equal(hear(other), 0);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
	assert_int_equal(batch->n_tenants, 1);
	assert_true(!c->registration.pool && !c->registration.m);
	cot_register_pool_settled(batch);
	assert_int_equal(hear(fd), 0);
	/* One that fails is told, too. */
	latency->state = POOL_FAILED;
	cot_register_pool_settled(latency);
	assert_int_equal(hear(other), COT_MSG_REGISTERED);
	assert_non_null(strstr(variables(), no_pool));
	assert_int_equal(latency->n_tenants, 0);
	/* And who comes again with it. */
	latency->state = POOL_STARTING;
	m.class_ = COT_CLASS_LATENCY;
	m.reserve = 10;
	assert_int_equal(reg(other, &m), 0);
	latency->state = POOL_UP;
	cot_register_pool_settled(latency);
	assert_int_equal(hear(other), COT_MSG_REGISTERED);
	assert_non_null(strstr(variables(), on_shares));
}

static void choose_slo(void)
{
	struct cot_error err;

	cot_policy_config_init(&stage.basis.config.numbers);
	stage.basis.config.policy = cot_policy_find("slo");
	assert_int_equal(cot_host_set_policy(stage.basis.host, stage.basis.config.policy,
					     &stage.basis.config.numbers, cot_now_ns(), &err),
			 0);
}

/* Two that start at the same time; the one has a target as short as a few switches, so that they
 * belong into one pool. It is there when the pool of the other, which is returned, comes up. */
static struct conn *begin_two(struct pool *batch, struct pool *latency, int *ret_fd)
{
	struct cot_msg_register train = plain(), serve = plain();
	struct conn *c;
	int fd;

	choose_slo();
	serve.class_ = COT_CLASS_LATENCY;
	serve.target = cot_proto_pack_target((struct cot_target){COT_TARGET_P99, 1000});
	c = enter(getuid(), ret_fd);
	assert_int_equal(reg(*ret_fd, &train), 0);
	(void)enter(getuid(), &fd);
	assert_int_equal(reg(fd, &serve), 0);
	assert_ptr_equal(c->registration.pool, batch);
	latency->state = POOL_UP;
	cot_register_pool_settled(latency);
	assert_int_equal(hear(fd), COT_MSG_REGISTERED);
	assert_int_equal(hear(*ret_fd), 0);
	batch->state = POOL_UP;
	return c;
}

static void test_waits_and_joins_the_other(void **state)
{
	struct pool *batch = make_pool(COT_CLASS_BATCH, 0, POOL_STARTING);
	struct pool *latency = make_pool(COT_CLASS_LATENCY, 0, POOL_STARTING);
	struct conn *c;
	int fd;

	(void)state;
	c = begin_two(batch, latency, &fd);
	cot_register_pool_settled(batch);
	assert_int_equal(hear(fd), COT_MSG_REGISTERED);
	assert_int_equal(latency->n_tenants, 2);
	assert_int_equal(batch->n_tenants, 0);
	assert_true(!c->registration.pool && !c->registration.m && !c->registration.again);
}

/* The pool where the policy wants it is not up: it waits for that, and then is not sent on. */
static void test_waits_for_two_pools(void **state)
{
	struct pool *batch = make_pool(COT_CLASS_BATCH, 0, POOL_STARTING);
	struct pool *latency = make_pool(COT_CLASS_LATENCY, 0, POOL_STARTING);
	struct conn *c;
	int fd;

	(void)state;
	c = begin_two(batch, latency, &fd);
	latency->state = POOL_STARTING;
	cot_register_pool_settled(batch);
	assert_int_equal(hear(fd), 0);
	assert_ptr_equal(c->registration.pool, latency);
	assert_true(c->registration.again);
	latency->state = POOL_UP;
	cot_register_pool_settled(latency);
	assert_int_equal(hear(fd), COT_MSG_REGISTERED);
	assert_int_equal(latency->n_tenants, 2);
	assert_true(!c->registration.pool && !c->registration.again);
}

/* It was this user's when it was asked for, and another one's program has come since. */
static void test_waits_for_anothers(void **state)
{
	struct pool *p = make_pool(COT_CLASS_BATCH, 0, POOL_STARTING);
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	(void)enter(getuid(), &fd);
	assert_int_equal(reg(fd, &m), 0);
	stage_tenant(100, "theirs", p)->uid = OTHER;
	p->state = POOL_UP;
	cot_register_pool_settled(p);
	assert_int_equal(hear(fd), COT_MSG_REGISTERED);
	assert_non_null(strstr(variables(), other_user));
	assert_int_equal(p->n_tenants, 0);
}

/* ---- who may ---- */

static void expect_refused(int fd, struct cot_msg_register *m, const char *why)
{
	unsigned n = cot_tenant_count(&stage.roster);

	assert_int_equal(reg(fd, m), COT_MSG_REFUSED);
	assert_string_equal(words(), why);
	assert_int_equal(cot_tenant_count(&stage.roster), n);
}

static void test_ranges(void **state)
{
	static const char why[] = "the class, the weight or the block time is out of range";
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	m.class_ = COT_CLASS_BATCH + 1;
	expect_refused(fd, &m, why);
	m = plain();
	m.weight = 0;
	expect_refused(fd, &m, why);
	m.weight = COT_WEIGHT_MAX + 1;
	expect_refused(fd, &m, why);
	m.weight = 1;
	assert_int_equal(registered(fd, &m)->weight, 1);
	m.weight = COT_WEIGHT_MAX;
	assert_int_equal(registered(fd, &m)->weight, COT_WEIGHT_MAX);
	m.block_us = COT_BLOCK_US_MAX + 1;
	expect_refused(fd, &m, why);
	m.block_us = COT_BLOCK_US_MAX;
	assert_int_equal(registered(fd, &m)->block_us, COT_BLOCK_US_MAX);
}

static void test_may(void **state)
{
	struct cot_msg_register m = plain();
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	stage.basis.config.latency.everybody = false;
	m.class_ = COT_CLASS_LATENCY;
	expect_refused(fd, &m,
		       "user 4712 may not run latency programs; the list 'allow.latency' in the "
		       "daemon's configuration says who may");
	m.class_ = COT_CLASS_BATCH;
	assert_int_equal(registered(fd, &m)->cls, COT_CLASS_BATCH);
	stage.basis.config.max_weight = 100;
	(void)registered(fd, &m);
	m.weight = 101;
	expect_refused(fd, &m,
		       "the weight 101 is over the limit of 100 that the daemon's configuration "
		       "sets");
	m = plain();
	m.reserve = 1;
	expect_refused(
		fd, &m,
		"only a latency program may have a reservation; a batch program may have a quota");
	m = plain();
	snprintf(m.gpu, sizeof(m.gpu), "2");
	expect_refused(fd, &m,
		       "there is no GPU '2' here; expected a number below 2, a UUID, a list of "
		       "them, or all");
}

static void test_later(void **state)
{
	struct cot_msg_register m = plain();
	struct conn *c;
	int fd;

	(void)state;
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){18, 16};
	(void)enter(OTHER, &fd);
	(void)registered(fd, &m);
	assert_int_equal(reg(fd, &m), COT_MSG_LATER);
	assert_string_equal(
		words(),
		"user 4712 has too many programs; each other user must have as many places left");
	assert_int_equal(hear(fd), -1);
	/* The next daemon is asked, when this one ends. */
	stage.basis.stopping = true;
	c = enter(OTHER, &fd);
	assert_int_equal(reg(fd, &m), -1);
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_alone),
		AT_THE_DOOR(test_gpus),
		AT_THE_DOOR(test_policy_that_places),
		AT_THE_DOOR(test_two_limits),
		AT_THE_DOOR(test_many_gpus),
		AT_THE_DOOR(test_shares),
		AT_THE_DOOR(test_targets),
		AT_THE_DOOR(test_pool),
		AT_THE_DOOR(test_one_pool),
		AT_THE_DOOR(test_no_pool),
		AT_THE_DOOR(test_another_users_pool),
		AT_THE_DOOR(test_waits),
		AT_THE_DOOR(test_waits_and_joins_the_other),
		AT_THE_DOOR(test_waits_for_two_pools),
		AT_THE_DOOR(test_waits_for_anothers),
		AT_THE_DOOR(test_ranges),
		AT_THE_DOOR(test_may),
		AT_THE_DOOR(test_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
