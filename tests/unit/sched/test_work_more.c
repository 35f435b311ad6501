/*
 * Works, in detail: the times and counts that others read, several works and programs at once, and
 * the numbers of CapSMs at their ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policies.h"
#include "sched/inside.h"
#include "test.h"

#define MS COT_NS_PER_MS

enum { LATENCY = 1, BATCH, OTHER };

/* What a policy does with each work, by id; done again in each tick. */
static struct {
	uint32_t grant[16], evict[16];
	bool settled;
	int said;
	unsigned n_ready, n_evicted, n_done;
	uint32_t id;
} script;

static uint64_t tick(struct cot_policy *p)
{
	struct cot_work *w;

	cot_for_each_work(w, p)
	{
		uint32_t i = w->id % 16;

		if (script.grant[i])
			script.said = cot_grant(p, w, script.grant[i], script.settled);
		if (script.evict[i] && w->state == COT_WORK_RUNNING)
			script.said = cot_evict(p, w, script.evict[i]);
	}
	return COT_NEVER;
}

static void work_ready(struct cot_policy *p, struct cot_work *w)
{
	size_t i;

	assert_int_equal(w->state, COT_WORK_WAITING);
	assert_false(w->settled);
	assert_int_equal(w->waiting_since_ns, p->now_ns);
	for (i = 0; !w->n_returns && i < COT_POLICY_OWN_MAX; i++)
		assert_int_equal(((unsigned char *)w->own)[i]++, 0);
	script.n_ready++;
	script.id = w->id;
}

static void work_evicted(struct cot_policy *p, struct cot_work *w)
{
	(void)p;
	script.n_evicted++;
	script.id = w->id;
}

static void work_done(struct cot_policy *p, struct cot_work *w)
{
	(void)p;
	script.n_done++;
	script.id = w->id;
}

static const struct cot_work_ops works = {
	.ready = work_ready,
	.evicted = work_evicted,
	.done = work_done,
};

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "does what the test says",
	.abi = COT_POLICY_ABI,
	.works = &works,
	.work_bytes = COT_POLICY_OWN_MAX,
	.tick = tick,
};

/* It does not take works. */
static const struct cot_policy_ops deaf = {
	.name = "deaf",
	.summary = "leaves works to the core",
	.abi = COT_POLICY_ABI,
	.tick = tick,
};

static struct cot_sched *sched;
static uint64_t now_ns;

static int event(struct cot_event ev)
{
	ev.now_ns = now_ns;
	return cot_sched_event(sched, &ev);
}

static void poke(void)
{
	(void)event((struct cot_event){.type = COT_EV_TICK});
}

static int begin(const struct cot_policy_ops *ops)
{
	struct cot_error err;
	uint32_t id;

	memset(&script, 0, sizeof(script));
	now_ns = 0;
	assert_int_equal(cot_sched_create(ops, NULL, NULL, 0, &sched, &err), 0);
	for (id = LATENCY; id <= OTHER; id++)
		assert_int_equal(event((struct cot_event){
					 .type = COT_EV_TENANT,
					 .id = id,
					 .tenant = {.cls = id == LATENCY ? COT_CLASS_LATENCY
									 : COT_CLASS_BATCH,
						    .weight = 100,
						    .gpu_mask = 3,
						    .reserve.sms = id == LATENCY ? 40 : 0}}),
				 0);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	return begin(&scripted);
}

static int tear_down(void **state)
{
	(void)state;
	cot_sched_destroy(sched);
	return 0;
}

static int submit(uint32_t id, uint32_t tenant, uint32_t gpu, bool can_settle, bool can_grow)
{
	return event((struct cot_event){
		.type = COT_EV_WORK,
		.id = id,
		.work = {.tenant = tenant,
			 .gpu = gpu,
			 .n_sms = 132,
			 .method = tenant == LATENCY ? COT_WORK_RESERVE : COT_WORK_QUOTA,
			 .can_settle = can_settle,
			 .can_grow = can_grow,
			 .n_tasks = 10000,
			 .per_sm = 8,
			 .task_ns = 777}});
}

static int done(uint32_t id, uint32_t left)
{
	return event((struct cot_event){.type = COT_EV_WORK_DONE, .id = id, .left = left});
}

static int evicted(uint32_t id, uint32_t capsms)
{
	return event((struct cot_event){.type = COT_EV_WORK_EVICTED, .id = id, .capsms = capsms});
}

static void expect_action(uint32_t work, enum cot_action_kind kind, uint32_t value)
{
	struct cot_action a;

	assert_true(cot_sched_next_action(sched, &a));
	assert_int_equal(a.entity, work);
	assert_int_equal(a.kind, kind);
	assert_int_equal(a.value, value);
	assert_int_equal(a.now_ns, now_ns);
	assert_int_equal(a.deadline_ns, COT_NEVER);
	assert_int_equal(a.settled,
			 kind == COT_ACTION_GRANT && cot_sched_work(sched, work)->settled);
}

static void expect_none(void)
{
	struct cot_action a;

	assert_false(cot_sched_next_action(sched, &a));
}

static const struct cot_work *work(uint32_t id)
{
	return cot_sched_work(sched, id);
}

static struct cot_sched_stats stats(void)
{
	struct cot_sched_stats s;

	cot_sched_stats(sched, &s);
	return s;
}

/* ---- times and counts ---- */

static void test_a_life(void **state)
{
	(void)state;
	now_ns = 1 * MS;
	assert_int_equal(submit(1, OTHER, 1, true, false), 0);
	assert_int_equal(work(1)->waiting_since_ns, 1 * MS);
	assert_int_equal(work(1)->gpu, 1);
	assert_int_equal(work(1)->task_ns, 777);
	assert_int_equal(work(1)->per_sm, 8);
	assert_int_equal(work(1)->n_tasks, 10000);
	assert_int_equal(stats().works, 1);
	now_ns = 2 * MS;
	script.grant[1] = 50;
	script.settled = true;
	poke();
	assert_int_equal(work(1)->running_since_ns, 2 * MS);
	assert_true(work(1)->settled);
	expect_action(1, COT_ACTION_GRANT, 50);
	script.grant[1] = 0;
	now_ns = 3 * MS;
	script.evict[1] = 20;
	poke();
	expect_action(1, COT_ACTION_EVICT, 20);
	assert_int_equal(work(1)->evicted_ns, 3 * MS);
	now_ns = 4 * MS;
	poke(); /* said already */
	expect_none();
	assert_int_equal(work(1)->evicted_ns, 3 * MS);
	assert_int_equal(evicted(1, 20), 0);
	assert_int_equal(script.n_evicted, 1);
	script.evict[1] = 50;
	poke();
	expect_action(1, COT_ACTION_EVICT, 50);
	script.evict[1] = 0;
	now_ns = 5 * MS;
	assert_int_equal(done(1, 800), 0);
	assert_int_equal(work(1)->waiting_since_ns, 5 * MS);
	assert_int_equal(work(1)->n_tasks, 800);
	assert_int_equal(work(1)->want, 100);
	assert_int_equal(work(1)->granted + work(1)->evicted + work(1)->left, 0);
	assert_false(work(1)->settled);
	assert_int_equal(work(1)->n_returns, 1);
	assert_int_equal(script.n_ready, 2);
	/* The second time as the first. */
	script.grant[1] = 50;
	script.settled = false;
	poke();
	expect_action(1, COT_ACTION_GRANT, 50);
	assert_int_equal(done(1, 700), 0);
	assert_int_equal(work(1)->n_returns, 2);
	assert_int_equal(stats().works_returned, 2);
	assert_int_equal(stats().works, 1);
	expect_action(1, COT_ACTION_GRANT, 50);
	assert_int_equal(done(1, 0), 0);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(stats().actions[COT_ACTION_GRANT], 3);
	assert_int_equal(stats().actions[COT_ACTION_EVICT], 2);
	assert_int_equal(stats().wrong_actions, 0);
}

/* What was not said yet when a work ends is said to nobody; the others' comes in order. */
static void test_ends_with_orders_on_the_way(void **state)
{
	uint32_t id;

	(void)state;
	for (id = 1; id <= 4; id++)
		(void)submit(id, OTHER, 0, true, false);
	for (id = 1; id <= 4; id++)
		script.grant[id] = 10 * id;
	script.settled = true;
	poke();
	memset(script.grant, 0, sizeof(script.grant));
	(void)done(2, 0);
	(void)done(3, 5); /* waits again: nothing is said either */
	expect_action(1, COT_ACTION_GRANT, 10);
	expect_action(4, COT_ACTION_GRANT, 40);
	expect_none();
	script.grant[3] = 1;
	poke();
	expect_action(3, COT_ACTION_GRANT, 1);
	expect_none();
}

static void test_eviction_that_grows_before_it_is_said(void **state)
{
	(void)state;
	(void)submit(1, OTHER, 0, true, false);
	script.grant[1] = 50;
	poke();
	expect_action(1, COT_ACTION_GRANT, 50);
	script.grant[1] = 0;
	script.evict[1] = 5;
	poke();
	script.evict[1] = 9;
	poke();
	expect_action(1, COT_ACTION_EVICT, 9);
	expect_none();
}

/* ---- several ---- */

static void test_order_of_the_table(void **state)
{
	static const uint32_t left[] = {1, 3, 4, 5};
	const struct cot_work *w;
	uint32_t id;

	(void)state;
	for (id = 1; id <= 4; id++)
		(void)submit(id, OTHER, id % 2, false, false);
	(void)done(2, 0);
	(void)submit(5, BATCH, 0, false, false);
	assert_int_equal(cot_sched_policy(sched)->n_works, 4);
	id = 0;
	cot_for_each_work(w, cot_sched_policy(sched)) assert_int_equal(w->id, left[id++]);
	assert_int_equal(id, 4);
	(void)done(5, 0); /* the last, the first, and all */
	(void)done(1, 0);
	(void)submit(6, BATCH, 0, false, false);
	assert_int_equal(cot_sched_policy(sched)->works->id, 3);
	assert_int_equal(cot_sched_policy(sched)->works->next->next->id, 6);
	(void)done(3, 0);
	(void)done(4, 0);
	(void)done(6, 0);
	assert_null(cot_sched_policy(sched)->works);
	(void)submit(7, BATCH, 0, false, false);
	assert_int_equal(cot_sched_policy(sched)->works->id, 7);
}

static void expect_running(uint32_t gpu, const char *ids)
{
	const struct cot_policy *p = cot_sched_policy(sched);
	const struct cot_work *w;

	cot_for_each_running(w, p, gpu) assert_int_equal(w->id, *ids++ - '0');
	assert_int_equal(*ids, '\0');
	assert_int_equal(p->running_gpus >> gpu & 1, p->running[gpu] != NULL);
}

static void test_who_runs_where(void **state)
{
	const struct cot_policy *p = cot_sched_policy(sched);
	uint32_t id;

	(void)state;
	for (id = 1; id <= 6; id++)
		(void)submit(id, OTHER, id % 2, true, false);
	assert_int_equal(p->waiting_gpus, 3);
	assert_int_equal(p->running_gpus, 0);
	script.settled = true;
	for (id = 6; id >= 3; id--) { /* in order of their start, not of arrival */
		script.grant[id] = 1;
		poke();
	}
	expect_running(0, "64");
	expect_running(1, "53");
	memset(script.grant, 0, sizeof(script.grant));
	(void)done(1, 0); /* it waited */
	assert_int_equal(p->waiting_gpus, 1);
	(void)done(5, 3);
	assert_int_equal(p->waiting_gpus, 3);
	expect_running(1, "3");
	(void)done(3, 0);
	expect_running(1, "");
	assert_int_equal(p->running_gpus, 1);
	script.grant[2] = script.grant[5] = 1;
	poke();
	expect_running(0, "642");
	expect_running(1, "5");
	assert_int_equal(p->waiting_gpus, 0);
	(void)done(2, 0);
	(void)submit(8, OTHER, 0, true, false);
	script.grant[8] = 1;
	poke();
	expect_running(0, "648");
	(void)done(4, 0);
	expect_running(0, "68");
}

/* A program takes its works with it, and only those. */
static void test_a_program_leaves(void **state)
{
	uint32_t id;

	(void)state;
	for (id = 1; id <= 6; id++)
		(void)submit(id, id % 3 ? BATCH : OTHER, 0, false, false);
	script.grant[1] = script.grant[3] = 1;
	poke();
	assert_int_equal(event((struct cot_event){.type = COT_EV_TENANT_LEFT, .id = BATCH}), 0);
	assert_int_equal(script.n_done, 4);
	assert_int_equal(cot_sched_policy(sched)->n_works, 2);
	assert_non_null(work(3));
	assert_non_null(work(6));
	expect_running(0, "3");
	expect_action(3, COT_ACTION_GRANT, 1);
	expect_none();
}

/* `want` follows the settings of its own program. */
static void test_shares_of_one_program(void **state)
{
	(void)state;
	(void)submit(1, OTHER, 0, false, false);
	(void)submit(2, BATCH, 0, false, false);
	(void)submit(3, BATCH, 1, false, false);
	assert_int_equal(event((struct cot_event){.type = COT_EV_TENANT,
						  .id = BATCH,
						  .tenant = {.cls = COT_CLASS_BATCH,
							     .weight = 100,
							     .gpu_mask = 3,
							     .quota.sms = 7}}),
			 0);
	assert_int_equal(work(1)->want, 132);
	assert_int_equal(work(2)->want, 7);
	assert_int_equal(work(3)->want, 7);
}

/* ---- the ends of numbers ---- */

static void test_as_much_as_it_wants(void **state)
{
	(void)state;
	(void)submit(1, OTHER, 0, false, false);
	script.grant[1] = 133;
	poke();
	assert_int_equal(script.said, -EINVAL);
	assert_int_equal(work(1)->granted, 0);
	script.grant[1] = 132;
	poke();
	assert_int_equal(script.said, 0);
	script.grant[1] = 0;
	script.evict[1] = 132;
	poke();
	assert_int_equal(script.said, -EINVAL);
	assert_int_equal(work(1)->evicted, 0);
	script.evict[1] = 131;
	poke();
	assert_int_equal(script.said, 0);
}

static void test_numbers_are_used_up(void **state)
{
	uint32_t n;

	(void)state;
	(void)submit(1, OTHER, 0, false, true);
	script.grant[1] = 100;
	poke();
	for (n = 100; n + 99 <= COT_CAPSMS_MAX; n += 99) {
		script.evict[1] = n - 1;
		poke();
		(void)evicted(1, n - 1);
		script.grant[1] = n + 99;
		poke();
		assert_int_equal(script.said, 0);
		assert_int_equal(work(1)->granted, n + 99);
	}
	script.evict[1] = n - 1;
	poke();
	script.grant[1] = COT_CAPSMS_MAX + 1;
	script.evict[1] = 0;
	poke();
	assert_int_equal(script.said, -EAGAIN);
	assert_int_equal(stats().deferred, 1);
	script.grant[1] = COT_CAPSMS_MAX;
	poke();
	assert_int_equal(script.said, 0);
	assert_int_equal(work(1)->granted, COT_CAPSMS_MAX);
	assert_int_equal(stats().wrong_actions, 0);
}

/* What has left is told once, and is no more than was told to. */
static void test_what_has_left(void **state)
{
	(void)state;
	(void)submit(1, OTHER, 0, false, false);
	script.grant[1] = 10;
	poke();
	script.grant[1] = 0;
	script.evict[1] = 5;
	poke();
	assert_int_equal(evicted(1, 6), -EINVAL);
	assert_int_equal(evicted(1, 0), 0);
	assert_int_equal(script.n_evicted, 0);
	assert_int_equal(evicted(1, 5), 0);
	assert_int_equal(evicted(1, 5), 0);
	assert_int_equal(evicted(1, 4), 0);
	assert_int_equal(script.n_evicted, 1);
	assert_int_equal(work(1)->left, 5);
	assert_int_equal(done(2, 0), -EINVAL);
	assert_int_equal(script.n_done, 0);
}

/* ---- what the core does by itself ---- */

static void test_without_a_policy_for_works(void **state)
{
	(void)state;
	(void)begin(&deaf);
	(void)submit(1, OTHER, 0, true, false);
	(void)submit(2, LATENCY, 0, true, false);
	assert_int_equal(work(1)->granted, 132);
	assert_int_equal(work(2)->granted, 40);
	assert_false(work(1)->settled);
	(void)done(1, 5);
	assert_int_equal(work(1)->granted, 1);
	(void)done(1, 0);
	(void)done(2, 0);
	assert_int_equal(script.n_ready + script.n_evicted + script.n_done, 0);
	assert_int_equal(stats().rescues, 0);
}

static void test_a_rescue_is_not_settled(void **state)
{
	(void)state;
	(void)submit(1, OTHER, 0, true, false);
	script.grant[1] = 1;
	poke();
	script.grant[1] = 0;
	expect_action(1, COT_ACTION_GRANT, 1);
	(void)submit(2, OTHER, 0, true, false);
	(void)submit(3, LATENCY, 0, true, false);
	while (now_ns < 10000 * MS) {
		expect_none();
		now_ns = cot_sched_wake_ns(sched);
		poke();
	}
	assert_int_equal(now_ns, 10000 * MS);
	expect_action(2, COT_ACTION_GRANT, 132);
	expect_action(3, COT_ACTION_GRANT, 40);
	assert_false(work(2)->settled);
	assert_int_equal(stats().rescues, 2);
}

/* A new policy finds nothing of the old one's. */
static void test_a_new_policy(void **state)
{
	struct cot_error err;
	size_t i;

	(void)state;
	(void)submit(1, OTHER, 0, false, false);
	assert_int_equal(*(unsigned char *)work(1)->own, 1);
	assert_int_equal(cot_sched_set_policy(sched, &scripted, NULL, now_ns, &err), 0);
	for (i = 0; i < COT_POLICY_OWN_MAX; i++)
		assert_int_equal(((unsigned char *)work(1)->own)[i], 0);
	assert_int_equal(work(1)->state, COT_WORK_WAITING);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_life),
		T(test_ends_with_orders_on_the_way),
		T(test_eviction_that_grows_before_it_is_said),
		T(test_order_of_the_table),
		T(test_who_runs_where),
		T(test_a_program_leaves),
		T(test_shares_of_one_program),
		T(test_as_much_as_it_wants),
		T(test_numbers_are_used_up),
		T(test_what_has_left),
		cmocka_unit_test_teardown(test_without_a_policy_for_works, tear_down),
		T(test_a_rescue_is_not_settled),
		T(test_a_new_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
