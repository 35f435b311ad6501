/*
 * The tables: what an entity has of its tenants, who is told of which change, and that the second
 * of everything is treated as the first.
 */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS   COT_NS_PER_MS
#define POOL 9u

/* What the policy was told last. */
static struct {
	unsigned n_tenant, n_entity, n_up, n_joined;
	unsigned tenant_what, entity_what;
	uint32_t tenant, entity;
} told;

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	assert_int_not_equal(what, 0);
	told.n_tenant++;
	told.tenant = t->id;
	told.tenant_what |= what;
}

static void entity_changed(struct cot_policy *p, struct cot_entity *e, unsigned what)
{
	(void)p;
	assert_int_not_equal(what, 0);
	told.n_entity++;
	told.entity = e->id;
	told.entity_what |= what;
}

/* All of it is zero, and is used now. */
static void expect_new(void *own)
{
	unsigned char *bytes = own;
	size_t i;

	for (i = 0; i < COT_POLICY_OWN_MAX; i++) {
		assert_int_equal(bytes[i], 0);
		bytes[i] = 1;
	}
}

static void entity_up(struct cot_policy *p, struct cot_entity *e)
{
	told.n_up++;
	told.entity = e->id;
	assert_int_equal(e->activity_since_ns, p->now_ns);
	assert_int_equal(e->run_since_ns, p->now_ns);
	assert_int_equal(e->run, COT_RUN_RUNNING);
	assert_int_equal(e->slice_us, COT_SLICE_DRIVER);
	assert_int_equal(e->mode, COT_MODE_SWITCH);
	assert_int_equal(e->n_failed, 0);
	assert_false(e->held);
	assert_null(e->next);
	expect_new(e->own);
}

static void tenant_joined(struct cot_policy *p, struct cot_tenant *t)
{
	(void)p;
	told.n_joined++;
	expect_new(t->own);
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_policy_ops listener = {
	.name = "listener",
	.summary = "writes down what it is told",
	.abi = COT_POLICY_ABI,
	.entity_bytes = COT_POLICY_OWN_MAX,
	.tenant_bytes = COT_POLICY_OWN_MAX,
	.tenant_joined = tenant_joined,
	.tenant_changed = tenant_changed,
	.entity_up = entity_up,
	.entity_changed = entity_changed,
	.tick = tick,
};

static struct bench bench;

static int set_up(void **state)
{
	memset(&told, 0, sizeof(told));
	bench_init(&bench, &listener);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	bench_finish(*state);
	return 0;
}

static const struct cot_entity *entity(const struct bench *b, uint32_t id)
{
	return cot_sched_entity(b->sched, id);
}

static const struct cot_tenant plain = {
	.cls = COT_CLASS_BATCH,
	.weight = 10,
	.gpu_mask = GPU0,
};

static struct cot_event member(uint32_t id, uint32_t pool)
{
	return (struct cot_event){.type = COT_EV_TENANT,
				  .id = id,
				  .tenant = {.cls = plain.cls,
					     .weight = plain.weight,
					     .gpu_mask = plain.gpu_mask,
					     .pool = pool,
					     .ready = true}};
}

static void hinted(struct bench *b, uint32_t id, uint32_t block_us, uint32_t target_us)
{
	struct cot_event ev = member(id, POOL);

	ev.tenant.block_us = block_us;
	if (target_us)
		ev.tenant.target = (struct cot_target){COT_TARGET_P99, target_us};
	assert_int_equal(bench_event(b, ev), 0);
}

/* ---- sums ---- */

static void test_strictest_target(void **state)
{
	struct bench *b = *state;

	(void)bench_pool(b, POOL, COT_CLASS_LATENCY);
	hinted(b, 1, 0, 900);
	assert_int_equal(entity(b, POOL)->target_p99_us, 900);
	hinted(b, 2, 0, 500);
	assert_int_equal(entity(b, POOL)->target_p99_us, 500);
	hinted(b, 3, 0, 700);
	assert_int_equal(entity(b, POOL)->target_p99_us, 500);
	hinted(b, 4, 0, 0); /* one that wants nothing */
	assert_int_equal(entity(b, POOL)->target_p99_us, 500);
	(void)bench_leave(b, 2);
	assert_int_equal(entity(b, POOL)->target_p99_us, 700);
	(void)bench_leave(b, 3);
	(void)bench_leave(b, 1);
	assert_int_equal(entity(b, POOL)->target_p99_us, 0);
}

static void test_longest_block(void **state)
{
	struct bench *b = *state;

	(void)bench_pool(b, POOL, COT_CLASS_BATCH);
	hinted(b, 1, 30, 0);
	hinted(b, 2, 50, 0);
	hinted(b, 3, 40, 0);
	assert_int_equal(entity(b, POOL)->block_us, 50);
	hinted(b, 1, 0, 0);
	assert_int_equal(entity(b, POOL)->block_us, 0);
	hinted(b, 1, 60, 0);
	assert_int_equal(entity(b, POOL)->block_us, 60);
	(void)bench_leave(b, 1);
	(void)bench_leave(b, 2);
	assert_int_equal(entity(b, POOL)->block_us, 40);
}

static void test_weights_and_numbers(void **state)
{
	struct bench *b = *state;
	struct cot_event ev;
	uint32_t i;

	(void)bench_pool(b, POOL, COT_CLASS_BATCH);
	assert_int_equal(entity(b, POOL)->weight, COT_WEIGHT_MIN);
	assert_int_equal(entity(b, POOL)->n_tenants, 0);
	for (i = 1; i <= 3; i++)
		(void)bench_event(b, member(i, POOL));
	(void)bench_event(b, member(4, 0)); /* stands alone */
	(void)bench_event(b, member(5, POOL + 1));
	assert_int_equal(entity(b, POOL)->weight, 30);
	assert_int_equal(entity(b, POOL)->n_tenants, 3);
	assert_int_equal(entity(b, 4)->weight, 10);
	assert_int_equal(entity(b, 4)->n_tenants, 1);
	ev = member(2, POOL);
	ev.tenant.weight = 25;
	(void)bench_event(b, ev);
	assert_int_equal(entity(b, POOL)->weight, 45);
	(void)bench_leave(b, 1);
	assert_int_equal(entity(b, POOL)->weight, 35);
	assert_int_equal(entity(b, POOL)->n_tenants, 2);
}

/* One that is active wins, then one of which nothing is known. */
static void test_activity_of_a_pool(void **state)
{
	static const struct {
		enum cot_activity a, b, pool;
	} rows[] = {
		{COT_ACTIVITY_IDLE, COT_ACTIVITY_IDLE, COT_ACTIVITY_IDLE},
		{COT_ACTIVITY_IDLE, COT_ACTIVITY_UNKNOWN, COT_ACTIVITY_UNKNOWN},
		{COT_ACTIVITY_UNKNOWN, COT_ACTIVITY_IDLE, COT_ACTIVITY_UNKNOWN},
		{COT_ACTIVITY_ACTIVE, COT_ACTIVITY_IDLE, COT_ACTIVITY_ACTIVE},
		{COT_ACTIVITY_ACTIVE, COT_ACTIVITY_ACTIVE, COT_ACTIVITY_ACTIVE},
		{COT_ACTIVITY_UNKNOWN, COT_ACTIVITY_ACTIVE, COT_ACTIVITY_ACTIVE},
		{COT_ACTIVITY_IDLE, COT_ACTIVITY_IDLE, COT_ACTIVITY_IDLE},
	};
	struct bench *b = *state;
	uint64_t since_ns = 0;
	unsigned i;

	(void)bench_pool(b, POOL, COT_CLASS_BATCH);
	(void)bench_event(b, member(1, POOL));
	(void)bench_event(b, member(2, POOL));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum cot_activity before = entity(b, POOL)->activity;

		bench_run(b, 1 * MS);
		(void)bench_activity(b, 1, rows[i].a);
		(void)bench_activity(b, 2, rows[i].b);
		assert_int_equal(entity(b, POOL)->activity, rows[i].pool);
		if (rows[i].pool != before)
			since_ns = b->now_ns;
		assert_int_equal(entity(b, POOL)->activity_since_ns, since_ns);
		bench_run(b, 1 * MS);
		hinted(b, 1, 10 + i, 0); /* has nothing to do with it */
		assert_int_equal(entity(b, POOL)->activity_since_ns, since_ns);
	}
}

/* ---- what is told ---- */

static void expect_told(struct bench *b, struct cot_event ev, unsigned tenant, unsigned of_entity)
{
	memset(&told, 0, sizeof(told));
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(told.tenant_what, tenant);
	assert_int_equal(told.n_tenant, tenant != 0);
	assert_int_equal(told.entity_what, of_entity);
	assert_int_equal(told.n_entity, of_entity != 0);
	if (tenant)
		assert_int_equal(told.tenant, ev.id);
	/* The same again is no change. */
	memset(&told, 0, sizeof(told));
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(told.n_tenant + told.n_entity, 0);
}

static void test_every_change_by_itself(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = member(2, 0);

	(void)bench_event(b, member(1, 0));
	(void)bench_event(b, ev);
	(void)bench_event(b, member(3, 0));
	expect_told(b, ev, 0, 0);
	ev.tenant.cls = COT_CLASS_LATENCY;
	expect_told(b, ev, COT_CHANGED_CLASS, COT_CHANGED_CLASS);
	assert_int_equal(told.entity, 0);
	ev.tenant.weight = 11;
	expect_told(b, ev, COT_CHANGED_WEIGHT, COT_CHANGED_WEIGHT);
	ev.tenant.gpu_mask = GPU1;
	expect_told(b, ev, COT_CHANGED_GPU, COT_CHANGED_GPU);
	ev.tenant.block_us = 5;
	expect_told(b, ev, COT_CHANGED_HINTS, COT_CHANGED_HINTS);
	ev.tenant.target = (struct cot_target){COT_TARGET_P99, 5};
	expect_told(b, ev, COT_CHANGED_TARGET, COT_CHANGED_TARGET);
	ev.tenant.target.amount = 6;
	expect_told(b, ev, COT_CHANGED_TARGET, COT_CHANGED_TARGET);
	/* A rate is no p99: its entity has none any longer, and nothing of the next rate. */
	ev.tenant.target = (struct cot_target){COT_TARGET_RATE, 6};
	expect_told(b, ev, COT_CHANGED_TARGET, COT_CHANGED_TARGET);
	assert_int_equal(entity(b, 2)->target_p99_us, 0);
	ev.tenant.target.amount = 7;
	expect_told(b, ev, COT_CHANGED_TARGET, 0);
	assert_int_equal(cot_sched_tenant(b->sched, 2)->target.amount, 7);
	ev.tenant.quota.pct = 5;
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	ev.tenant.quota = (struct cot_share){.sms = 5};
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	ev.tenant.reserve.pct = 5;
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	ev.tenant.reserve = (struct cot_share){.sms = 5};
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	ev.tenant.reserve.sms = 6;
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	assert_int_equal(cot_sched_tenant(b->sched, 2)->reserve.sms, 6);
	ev.tenant.pace_us = COT_PACE_US_MAX;
	expect_told(b, ev, COT_CHANGED_SHARES, 0);
	assert_int_equal(cot_sched_tenant(b->sched, 2)->pace_us, COT_PACE_US_MAX);
	ev.tenant.pace_us++;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.pace_us--;
	assert_int_equal(cot_sched_tenant(b->sched, 2)->quota.sms, 5);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->reserve.sms, 0);
	assert_int_equal(entity(b, 2)->gpu_mask, GPU1);
	assert_int_equal(entity(b, 1)->gpu_mask, GPU0);
}

static void test_changes_of_a_member(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = member(2, POOL);
	struct cot_event pool = {.type = COT_EV_POOL,
				 .id = POOL,
				 .pool = {.cls = COT_CLASS_BATCH, .gpu_mask = GPU0, .ready = true}};

	(void)bench_event(b, pool);
	(void)bench_event(b, member(1, POOL));
	(void)bench_event(b, ev);
	/* Its class and GPU are not those of the pool. */
	ev.tenant.cls = COT_CLASS_LATENCY;
	expect_told(b, ev, COT_CHANGED_CLASS, 0);
	ev.tenant.gpu_mask = GPU1;
	expect_told(b, ev, COT_CHANGED_GPU, 0);
	ev.tenant.weight = 20;
	expect_told(b, ev, COT_CHANGED_WEIGHT, COT_CHANGED_WEIGHT);
	/* Not of all is it known how long their blocks are. */
	ev.tenant.block_us = 30;
	expect_told(b, ev, COT_CHANGED_HINTS, 0);
	pool.pool.cls = COT_CLASS_LATENCY;
	expect_told(b, pool, 0, COT_CHANGED_CLASS);
	pool.pool.gpu_mask = GPU1;
	expect_told(b, pool, 0, COT_CHANGED_GPU);
	assert_int_equal(told.n_up, 0);
	/* One that comes or goes. */
	expect_told(b, member(3, POOL), 0, COT_CHANGED_WEIGHT);
	memset(&told, 0, sizeof(told));
	(void)bench_leave(b, 3);
	assert_int_equal(told.entity_what, COT_CHANGED_WEIGHT);
	memset(&told, 0, sizeof(told));
	(void)bench_activity(b, 2, COT_ACTIVITY_ACTIVE);
	assert_int_equal(told.tenant_what, COT_CHANGED_ACTIVITY);
	assert_int_equal(told.entity_what, COT_CHANGED_ACTIVITY);
	assert_int_equal(told.entity, POOL);
	(void)bench_activity(b, 2, COT_ACTIVITY_ACTIVE);
	assert_int_equal(told.n_tenant, 1);
}

/* ---- coming and going ---- */

/* Nothing is left of what an entity was before: entity_up() looks. */
static void test_up_again(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = member(2, 0);
	struct cot_event found = {.type = COT_EV_FOUND, .id = 2, .is_frozen = true};

	(void)bench_event(b, member(1, 0));
	(void)bench_event(b, ev);
	assert_int_equal(told.n_up, 2);
	(void)bench_event(b, found);
	(void)bench_hold(b, 2, true);
	bench_run(b, 5 * MS);
	assert_true(entity(b, 2)->held);
	ev.tenant.ready = false;
	(void)bench_event(b, ev);
	assert_null(entity(b, 2));
	assert_null(cot_sched_tenant(b->sched, 2)->entity);
	assert_non_null(cot_sched_tenant(b->sched, 1)->entity);
	bench_run(b, 5 * MS);
	ev.tenant.ready = true;
	(void)bench_event(b, ev);
	assert_int_equal(told.n_up, 3);
	assert_ptr_equal(cot_sched_tenant(b->sched, 2)->entity, entity(b, 2));
	/* And a program of the same number is another one. */
	(void)bench_leave(b, 2);
	(void)bench_event(b, ev);
	assert_int_equal(told.n_joined, 3);
	assert_int_equal(told.n_up, 4);
}

static void expect_order(const struct bench *b, const char *ids)
{
	const struct cot_policy *p = cot_sched_policy(b->sched);
	const struct cot_tenant *t = p->tenants;
	const struct cot_entity *e = p->entities;
	size_t i, n = strlen(ids);

	assert_int_equal(p->n_tenants, n);
	assert_int_equal(p->n_entities, n);
	for (i = 0; i < n; i++, t = t->next, e = e->next) {
		assert_int_equal(t->id, ids[i] - '0');
		assert_int_equal(e->id, ids[i] - '0');
	}
	assert_null(t);
	assert_null(e);
}

static void test_order_of_the_tables(void **state)
{
	struct bench *b = *state;
	uint32_t i;

	for (i = 1; i <= 4; i++)
		(void)bench_event(b, member(i, 0));
	expect_order(b, "1234");
	(void)bench_leave(b, 2);
	expect_order(b, "134");
	(void)bench_leave(b, 4);
	(void)bench_event(b, member(5, 0));
	expect_order(b, "135");
	(void)bench_leave(b, 1);
	(void)bench_event(b, member(2, 0));
	expect_order(b, "352");
	(void)bench_leave(b, 3);
	(void)bench_leave(b, 5);
	(void)bench_leave(b, 2);
	expect_order(b, "");
	(void)bench_event(b, member(7, 0));
	expect_order(b, "7");
}

static void test_members_know_their_pool(void **state)
{
	struct bench *b = *state;
	struct cot_event alone = member(6, 0);
	uint32_t i;

	for (i = 1; i <= 4; i++)
		(void)bench_event(b, member(i, i % 2 ? POOL : POOL + 1));
	(void)bench_pool(b, POOL, COT_CLASS_BATCH);
	(void)bench_pool(b, POOL + 1, COT_CLASS_LATENCY);
	for (i = 1; i <= 4; i++)
		assert_int_equal(cot_sched_tenant(b->sched, i)->pool_cls,
				 i % 2 ? COT_CLASS_BATCH : COT_CLASS_LATENCY);
	for (i = 1; i <= 4; i++)
		assert_ptr_equal(cot_sched_tenant(b->sched, i)->entity,
				 entity(b, i % 2 ? POOL : POOL + 1));
	(void)bench_event(b, (struct cot_event){.type = COT_EV_POOL_LEFT, .id = POOL});
	for (i = 1; i <= 4; i++)
		assert_ptr_equal(cot_sched_tenant(b->sched, i)->entity,
				 i % 2 ? NULL : entity(b, POOL + 1));
	(void)bench_event(b, member(5, POOL + 1));
	assert_ptr_equal(cot_sched_tenant(b->sched, 5)->entity, entity(b, POOL + 1));
	assert_int_equal(cot_sched_tenant(b->sched, 5)->pool_cls, COT_CLASS_LATENCY);
	/* Alone it is as its class. */
	(void)bench_event(b, alone);
	assert_int_equal(cot_sched_tenant(b->sched, 6)->pool_cls, COT_CLASS_BATCH);
	alone.tenant.cls = COT_CLASS_LATENCY;
	(void)bench_event(b, alone);
	assert_int_equal(cot_sched_tenant(b->sched, 6)->pool_cls, COT_CLASS_LATENCY);
}

/* ---- what is refused ---- */

static void test_wrong_pools(void **state)
{
	struct bench *b = *state;
	const struct cot_event ok = {
		.type = COT_EV_POOL,
		.id = POOL,
		.pool = {.cls = COT_CLASS_BATCH, .gpu_mask = GPU0, .ready = true}};
	struct cot_event ev = ok;

	ev.id = 0;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.pool.cls = (enum cot_class)2;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.pool.gpu_mask = 0;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(bench_stats(b).events_refused, 3);
	assert_null(entity(b, POOL));
	assert_int_equal(bench_event(b, ok), 0);
	assert_int_equal(bench_event(b, member(POOL, 0)), -EEXIST);
	assert_null(cot_sched_tenant(b->sched, POOL));
	ev = (struct cot_event){.type = COT_EV_POOL_LEFT, .id = POOL + 1};
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(bench_stats(b).events_refused, 5);
}

static void test_wrong_shares(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = member(1, 0);

	ev.tenant.quota.pct = 101;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.quota = (struct cot_share){.sms = COT_SMS_MAX + 1};
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.quota = (struct cot_share){1, 1};
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.quota = (struct cot_share){.sms = COT_SMS_MAX};
	ev.tenant.reserve.pct = 101;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.reserve.pct = 100;
	assert_int_equal(bench_event(b, ev), 0);
	ev.tenant.weight = COT_WEIGHT_MAX;
	assert_int_equal(bench_event(b, ev), 0);
	ev.tenant.weight = COT_WEIGHT_MIN;
	assert_int_equal(bench_event(b, ev), 0);
}

/* A tenant without room for its entity is not left in the table. */
static void test_no_half_a_tenant(void **state)
{
	struct bench *b = *state;
	uint32_t i;

	for (i = 0; i < COT_SCHED_MAX_ENTITIES; i++)
		assert_int_equal(bench_pool(b, 100 + i, COT_CLASS_BATCH), 0);
	assert_int_equal(bench_event(b, member(1, 0)), -ENOSPC);
	assert_null(cot_sched_tenant(b->sched, 1));
	assert_int_equal(cot_sched_policy(b->sched)->n_tenants, 0);
	for (i = 1; i <= 2; i++)
		assert_int_equal(bench_event(b, member(i, 100)), 0);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_POOL_LEFT, .id = 419});
	assert_int_equal(bench_event(b, member(3, 0)), 0);
	assert_non_null(entity(b, 3));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_strictest_target),
		T(test_longest_block),
		T(test_weights_and_numbers),
		T(test_activity_of_a_pool),
		T(test_every_change_by_itself),
		T(test_changes_of_a_member),
		T(test_up_again),
		T(test_order_of_the_tables),
		T(test_members_know_their_pool),
		T(test_wrong_pools),
		T(test_wrong_shares),
		T(test_no_half_a_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
