/* REGISTER under a policy that chooses homes: what it is shown, and where programs go. */
#include <string.h>
#include <unistd.h>

#include "daemon/command.h"
#include "daemon/register.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)

static enum cot_home answer;
static struct cot_tenant shown;
static unsigned n_asked;

static enum cot_home home(const struct cot_policy *p, const struct cot_tenant *t)
{
	assert_true(cot_now_ns() - p->now_ns < COT_NS_PER_S);
	assert_true(!t->pool && !t->entity);
	shown = *t;
	n_asked++;
	return answer;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static struct cot_policy_ops sender = {
	.name = "sender",
	.summary = "sends programs where the test says",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.tick = tick,
	.home = home,
};

static int setup(void **state)
{
	struct cot_error err;
	unsigned i;

	if (open_server(state))
		return -1;
	n_asked = 0;
	stage.basis.config.policy = &sender;
	stage.basis.config.use_mps = true;
	for (i = 0; i <= COT_CLASS_BATCH; i++)
		cot_pool_get(&stage.roster, (enum cot_class)i, false, 0)->state = POOL_UP;
	return cot_host_set_policy(stage.basis.host, &sender, NULL, cot_now_ns(), &err);
}

static struct cot_msg_register plain(void)
{
	return (struct cot_msg_register){.class_ = COT_CLASS_BATCH,
					 .weight = 300,
					 .block_us = 40,
					 .quota = 50,
					 .sms = 25,
					 .name = "app",
					 .gpu = "0",
					 .command = 77};
}

static struct tenant *start(uid_t uid, struct cot_msg_register *m)
{
	struct tenant *t;
	int fd;

	(void)enter(uid, &fd);
	assert_int_equal(ask(fd, m, COT_MSG_REGISTER, sizeof(*m)), COT_MSG_REGISTERED);
	t = cot_roster_tenant(&stage.roster, ((const struct cot_msg_registered *)packet)->tenant);
	assert_non_null(t);
	return t;
}

static const struct cot_tenant *known(const struct tenant *t)
{
	return cot_sched_tenant(cot_host_sched(stage.basis.host), t->id);
}

static void test_shown(void **state)
{
	struct cot_msg_register m = plain();
	struct tenant *t;

	(void)state;
	answer = COT_HOME_CLASS;
	t = start(getuid(), &m);
	assert_int_equal(n_asked, 1);
	assert_int_equal(shown.cls, COT_CLASS_BATCH);
	assert_int_equal(shown.weight, 300);
	assert_int_equal(shown.block_us, 40);
	assert_int_equal(shown.quota.pct, 50);
	assert_int_equal(shown.sms.pct, 25);
	assert_int_equal(shown.gpu_mask, 1);
	assert_int_equal(shown.key, known(t)->key);
	assert_string_equal(t->pool->name, "batch");
	assert_true(shown.key != 0);
}

static void test_homes(void **state)
{
	struct cot_msg_register m = plain();
	struct tenant *t;

	(void)state;
	answer = COT_HOME_LATENCY;
	(void)stage_log();
	t = start(getuid(), &m);
	assert_string_equal(t->pool->name, "latency");
	assert_int_equal(t->cls, COT_CLASS_BATCH);
	assert_int_equal(known(t)->pool, t->pool->id);
	assert_non_null(strstr(stage_log(), ") in pool:latency:0\n"));
	m.class_ = COT_CLASS_LATENCY;
	answer = COT_HOME_BATCH;
	assert_string_equal(start(getuid(), &m)->pool->name, "batch");
	answer = COT_HOME_ALONE;
	t = start(getuid(), &m);
	assert_null(t->pool);
	assert_string_equal(t->alone_why, "the policy keeps it out of the pools");
	answer = COT_HOME_CLASS;
	t = start(getuid(), &m);
	assert_string_equal(t->pool->name, "latency");
	assert_null(t->alone_why);
	/* Nonsense is its class, and counts against the policy. */
	answer = (enum cot_home)77;
	assert_string_equal(start(getuid(), &m)->pool->name, "latency");
	/* With one pool there is one. */
	sender.one_pool = true;
	cot_pool_get(&stage.roster, COT_CLASS_BATCH, true, 0)->state = POOL_UP;
	answer = COT_HOME_LATENCY;
	assert_string_equal(start(getuid(), &m)->pool->name, "shared");
	sender.one_pool = false;
}

static void test_what_wins(void **state)
{
	struct cot_msg_register m = plain();

	(void)state;
	answer = COT_HOME_LATENCY;
	m.solo = 1;
	assert_null(start(getuid(), &m)->pool);
	m.solo = 0;
	strcpy(m.gpu, "0,1");
	assert_null(start(getuid(), &m)->pool);
	strcpy(m.gpu, "0");
	stage.basis.config.use_mps = false;
	assert_null(start(getuid(), &m)->pool);
	assert_int_equal(n_asked, 0);
}

/* The same program of the same user, and no other. */
static void test_key(void **state)
{
	struct cot_msg_register m = plain(), other;
	uint64_t key;

	(void)state;
	answer = COT_HOME_ALONE;
	key = known(start(OTHER, &m))->key;
	assert_int_equal(key >> 32, OTHER);
	m.weight = 1;
	m.quota = 0;
	assert_int_equal(known(start(OTHER, &m))->key, key);
	other = m;
	strcpy(other.name, "apq");
	assert_int_not_equal(known(start(OTHER, &other))->key, key);
	other = m;
	other.command++;
	assert_int_not_equal(known(start(OTHER, &other))->key, key);
	assert_int_equal(known(start(getuid(), &m))->key >> 32, getuid());
	other.command = 0;
	assert_int_equal(known(start(OTHER, &other))->key, 0);
	/* The environment keeps the command for the next daemon. */
	(void)start(OTHER, &m);
	assert_int_equal(((const struct cot_msg_registered *)packet)->h.type, COT_MSG_REGISTERED);
	assert_non_null(memmem(packet, COT_PROTO_PACKET_MAX, "\0COTENANT_COMMAND=77", 21));
}

/* It waits for the pool, as do those before it. */
static void wait_with(uid_t uid, enum cot_class cls, struct cot_target target)
{
	struct cot_msg_register m = plain();
	int fd;

	m.class_ = cls;
	m.quota = 0;
	m.target = cot_proto_pack_target(target);
	(void)enter(uid, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_REGISTER, sizeof(m)), 0);
}

static struct cot_target p99(uint32_t us)
{
	return (struct cot_target){COT_TARGET_P99, us};
}

/* Several that start together: the policy is shown the shortest target of those that wait, since
 * they will be in one pool. */
static void test_shortest_of_those_that_wait(void **state)
{
	const struct cot_target none = {COT_TARGET_NONE, 0}, slower = {COT_TARGET_SLOWDOWN, 1500};
	unsigned i;

	(void)state;
	for (i = 0; i <= COT_CLASS_BATCH; i++)
		cot_pool_get(&stage.roster, (enum cot_class)i, false, 0)->state = POOL_STARTING;
	answer = COT_HOME_CLASS;
	wait_with(getuid(), COT_CLASS_LATENCY, p99(5000));
	assert_int_equal(shown.target.amount, 5000);
	assert_int_equal(shown.pool_cls, COT_CLASS_LATENCY);
	wait_with(getuid(), COT_CLASS_LATENCY, p99(300));
	assert_int_equal(shown.target.amount, 300);
	wait_with(getuid(), COT_CLASS_LATENCY, p99(2000));
	assert_int_equal(shown.target.amount, 300);
	wait_with(getuid(), COT_CLASS_LATENCY, none);
	assert_int_equal(shown.target.kind, COT_TARGET_P99);
	assert_int_equal(shown.target.amount, 300);
	/* Another kind of target is not compared, and batch programs have none. */
	wait_with(getuid(), COT_CLASS_LATENCY, slower);
	assert_int_equal(shown.target.kind, COT_TARGET_SLOWDOWN);
	wait_with(getuid(), COT_CLASS_BATCH, none);
	assert_int_equal(shown.target.kind, COT_TARGET_NONE);
	assert_int_equal(shown.pool_cls, COT_CLASS_BATCH);
}

/* A library of a batch program in the latency pool begins with the slice of that pool. */
static uint64_t asked_classes;

static uint32_t first_slice(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask)
{
	(void)p;
	assert_int_equal(gpu_mask, 1);
	asked_classes |= 1u << cls;
	return cls == COT_CLASS_LATENCY ? 10000 : 20;
}

static void test_first_slice_of_the_pool(void **state)
{
	struct cot_msg_register m = plain();
	struct cot_msg_hello hello;
	int fd;

	(void)state;
	sender.first_slice = first_slice;
	answer = COT_HOME_LATENCY;
	hello = hello_of(start(getuid(), &m)->id);
	(void)enter(getuid(), &fd);
	asked_classes = 0;
	assert_int_equal(ask(fd, &hello, COT_MSG_HELLO, sizeof(hello)), COT_MSG_WELCOME);
	assert_int_equal(((const struct cot_msg_welcome *)packet)->slice_us, 10000);
	assert_int_equal(asked_classes, 1u << COT_CLASS_LATENCY);
	sender.first_slice = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shown),
		TEST(homes),
		TEST(what_wins),
		TEST(key),
		TEST(shortest_of_those_that_wait),
		TEST(first_slice_of_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
