/* The core's own rules about works: what a policy may ask for, and what becomes of them. */
#include <errno.h>
#include <string.h>

#include "policy/policies.h"
#include "policy/policy_bench.h"
#include "test.h"

enum { LATENCY = 1, BATCH, OTHER };

/* A policy that does what the test says, once: through `todo`. */
static int (*todo)(struct cot_policy *p);
static int said;
static unsigned n_ready, n_evicted, n_done;
static uint32_t last_done;

static uint64_t tick(struct cot_policy *p)
{
	if (todo)
		said = todo(p);
	todo = NULL;
	return COT_NEVER;
}

static void work_ready(struct cot_policy *p, struct cot_work *w)
{
	(void)p;
	assert_int_equal(w->state, COT_WORK_WAITING);
	assert_int_equal(w->granted + w->evicted + w->left, 0);
	n_ready++;
}

static void work_evicted(struct cot_policy *p, struct cot_work *w)
{
	(void)p;
	assert_true(w->left && w->left <= w->evicted);
	n_evicted++;
}

static void work_done(struct cot_policy *p, struct cot_work *w)
{
	struct cot_work *other;

	cot_for_each_work(other, p) assert_ptr_not_equal(other, w);
	last_done = w->id;
	n_done++;
}

static const struct cot_work_ops works = {
	.ready = work_ready,
	.evicted = work_evicted,
	.done = work_done,
};

static const struct cot_policy_ops told = {
	.name = "told",
	.summary = "does what it is told",
	.abi = COT_POLICY_ABI,
	.works = &works,
	.tick = tick,
};

static struct bench *begin(const struct cot_policy_ops *ops)
{
	struct bench *b;

	n_ready = n_evicted = n_done = 0;
	todo = NULL;
	b = bench_begin(ops);
	(void)bench_shares(b, LATENCY, COT_CLASS_LATENCY, (struct cot_share){0},
			   (struct cot_share){.sms = 40});
	(void)bench_shares(b, BATCH, COT_CLASS_BATCH, (struct cot_share){.pct = 50},
			   (struct cot_share){0});
	(void)bench_shares(b, OTHER, COT_CLASS_BATCH, (struct cot_share){0}, (struct cot_share){0});
	return b;
}

static int does(struct bench *b, int (*what)(struct cot_policy *p))
{
	todo = what;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_null(todo);
	return said;
}

/* ---- how much it may have ---- */

static uint32_t want(struct bench *b, uint32_t tenant, uint32_t n_tasks, uint32_t per_sm,
		     uint32_t asked)
{
	static uint32_t id = 100;
	const struct cot_tenant *t = cot_sched_tenant(b->sched, tenant);
	struct cot_event ev = {
		.type = COT_EV_WORK,
		.id = ++id,
		.work = {.tenant = tenant,
			 .n_sms = 132,
			 .method = t->cls == COT_CLASS_LATENCY ? COT_WORK_RESERVE : COT_WORK_QUOTA,
			 .n_tasks = n_tasks,
			 .per_sm = per_sm,
			 .asked = asked},
	};

	assert_int_equal(bench_event(b, ev), 0);
	return cot_sched_work(b->sched, id)->want;
}

static void test_want(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	assert_int_equal(want(b, OTHER, 0, 8, 0), 132);
	assert_int_equal(want(b, OTHER, 0, 8, 1000), 132);
	assert_int_equal(want(b, OTHER, 0, 8, 7), 7);
	assert_int_equal(want(b, OTHER, 1, 8, 0), 1);
	assert_int_equal(want(b, OTHER, 16, 8, 0), 2);
	assert_int_equal(want(b, OTHER, 17, 8, 0), 3);
	assert_int_equal(want(b, OTHER, UINT32_MAX, 1, 0), 132);
	assert_int_equal(want(b, BATCH, 0, 8, 0), 66);
	assert_int_equal(want(b, BATCH, 0, 8, 100), 66);
	assert_int_equal(want(b, LATENCY, 0, 8, 0), 132); /* what it reserved is the least */
	assert_int_equal(want(b, LATENCY, 80, 8, 0), 10);
	bench_end(b);
}

static void test_shares(void **state)
{
	(void)state;
	assert_int_equal(cot_share_sms((struct cot_share){0}, 132), 0);
	assert_int_equal(cot_share_sms((struct cot_share){.sms = 66}, 132), 66);
	assert_int_equal(cot_share_sms((struct cot_share){.sms = 200}, 132), 132);
	assert_int_equal(cot_share_sms((struct cot_share){.pct = 50}, 13), 7); /* 6.5 */
	assert_int_equal(cot_share_sms((struct cot_share){.pct = 1}, 13), 1);
	assert_int_equal(cot_share_sms((struct cot_share){.pct = 100}, 13), 13);
}

static void test_changed_shares(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, BATCH, 0, 8, 0, false);
	assert_int_equal(cot_sched_work(b->sched, 1)->want, 66);
	(void)bench_shares(b, BATCH, COT_CLASS_BATCH, (struct cot_share){.sms = 5},
			   (struct cot_share){0});
	assert_int_equal(cot_sched_work(b->sched, 1)->want, 5);
	assert_int_equal(bench_shares(b, BATCH, COT_CLASS_BATCH, (struct cot_share){.pct = 101},
				      (struct cot_share){0}),
			 -EINVAL);
	assert_int_equal(bench_shares(b, BATCH, COT_CLASS_BATCH, (struct cot_share){5, 5},
				      (struct cot_share){0}),
			 -EINVAL);
	bench_end(b);
}

/* ---- what a policy may ask for ---- */

static int grant_10(struct cot_policy *p)
{
	return cot_grant(p, p->works, 10, false);
}

static int grant_10_settled(struct cot_policy *p)
{
	return cot_grant(p, p->works, 10, true);
}

static int grant_0(struct cot_policy *p)
{
	return cot_grant(p, p->works, 0, false);
}

static int grant_too_much(struct cot_policy *p)
{
	return cot_grant(p, p->works, p->works->want + 1, false);
}

static int grant_14(struct cot_policy *p)
{
	return cot_grant(p, p->works, 14, false);
}

static int grant_9(struct cot_policy *p)
{
	return cot_grant(p, p->works, 9, false);
}

static int evict_4(struct cot_policy *p)
{
	return cot_evict(p, p->works, 4);
}

static int evict_3(struct cot_policy *p)
{
	return cot_evict(p, p->works, 3);
}

static int evict_10(struct cot_policy *p)
{
	return cot_evict(p, p->works, 10);
}

static int evict_11(struct cot_policy *p)
{
	return cot_evict(p, p->works, 11);
}

static void test_grants_and_evictions(void **state)
{
	struct bench *b = begin(&told);
	struct bench_work *w = &b->works[1];

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	assert_int_equal(n_ready, 1);
	assert_int_equal(does(b, evict_4), -EINVAL); /* it does not run */
	assert_int_equal(does(b, grant_0), -EINVAL);
	assert_int_equal(does(b, grant_too_much), -EINVAL);
	assert_int_equal(does(b, grant_10_settled), -EINVAL); /* it cannot */
	assert_int_equal(w->n_grants, 0);
	assert_int_equal(does(b, grant_10), 0);
	assert_int_equal(w->granted, 10);
	assert_int_equal(does(b, grant_10), 0); /* said already */
	assert_int_equal(w->n_grants, 1);
	assert_int_equal(does(b, grant_14), -EINVAL); /* it cannot grow */
	assert_int_equal(does(b, grant_9), -EINVAL);
	assert_int_equal(does(b, evict_10), -EINVAL); /* one must stay */
	assert_int_equal(does(b, evict_4), 0);
	assert_int_equal(does(b, evict_4), 0);
	assert_int_equal(w->n_evictions, 1);
	assert_int_equal(does(b, evict_3), -EINVAL); /* nothing is taken back */
	assert_int_equal(bench_stats(b).wrong_actions, 8);
	bench_end(b);
}

static int grant_and_evict(struct cot_policy *p)
{
	return cot_grant(p, p->works, 10, false) || cot_evict(p, p->works, 4);
}

/* Both are said, in this order, though they are decided at once. */
static void test_both_at_once(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	assert_int_equal(does(b, grant_and_evict), 0);
	assert_int_equal(b->works[1].granted, 10);
	assert_int_equal(b->works[1].evicted, 4);
	bench_end(b);
}

static void test_settled(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, OTHER, 10000, 8, 0, true);
	assert_int_equal(does(b, grant_10_settled), 0);
	assert_true(b->works[1].settled);
	assert_int_equal(does(b, evict_11), -EINVAL);
	assert_int_equal(does(b, evict_10), 0);
	assert_int_equal(bench_work_evicted(b, 1, 10), 0);
	assert_int_equal(bench_work_done(b, 1, 20), 0);
	assert_int_equal(n_ready, 2);
	assert_int_equal(n_done, 0);
	assert_int_equal(cot_sched_work(b->sched, 1)->n_tasks, 20);
	assert_int_equal(cot_sched_work(b->sched, 1)->want, 3);
	assert_int_equal(cot_sched_work(b->sched, 1)->n_returns, 1);
	assert_int_equal(bench_stats(b).works_returned, 1);
	assert_int_equal(does(b, grant_too_much), -EINVAL);
	bench_end(b);
}

static void test_growing(void **state)
{
	struct bench *b = begin(&told);
	struct cot_event ev = {.type = COT_EV_WORK,
			       .id = 1,
			       .work = {.tenant = OTHER,
					.n_sms = 12,
					.method = COT_WORK_QUOTA,
					.can_grow = true,
					.per_sm = 8}};

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(does(b, grant_10), 0);
	assert_int_equal(does(b, grant_14), -EINVAL); /* 14 would run, of 12 */
	assert_int_equal(does(b, evict_4), 0);
	assert_int_equal(does(b, grant_14), 0); /* 10 run */
	assert_int_equal(b->works[1].granted, 14);
	assert_int_equal(b->works[1].evicted, 4);
	assert_int_equal(does(b, grant_10), -EINVAL);
	bench_end(b);
}

/* ---- what the host says ---- */

static void test_wrong_events(void **state)
{
	struct bench *b = begin(&told);
	struct cot_event ev = {
		.type = COT_EV_WORK, .id = 1, .work = {.tenant = OTHER, .n_sms = 132, .per_sm = 8}};
	struct cot_event wrong;

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(bench_event(b, ev), -EEXIST);
	wrong = ev;
	wrong.id = 0;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	ev.id = 2;
	wrong = ev;
	wrong.work.tenant = 99;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	wrong = ev;
	wrong.work.gpu = 64;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	wrong = ev;
	wrong.work.n_sms = 0;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	wrong = ev;
	wrong.work.n_sms = COT_SMS_MAX + 1;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	wrong = ev;
	wrong.work.per_sm = 0;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	wrong = ev;
	wrong.work.method = (enum cot_work_method)7;
	assert_int_equal(bench_event(b, wrong), -EINVAL);
	assert_int_equal(bench_work_evicted(b, 1, 1), -EINVAL); /* it does not run */
	assert_int_equal(bench_work_evicted(b, 7, 1), -EINVAL);
	assert_int_equal(bench_work_done(b, 7, 0), -EINVAL);
	assert_int_equal(bench_work_done(b, 1, 5), -EINVAL); /* nothing was done of it */
	assert_int_equal(bench_work_done(b, 1, 0), 0);	     /* its program changed its mind */
	assert_int_equal(n_done, 1);
	bench_end(b);
}

static void test_what_has_left(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	(void)does(b, grant_10);
	(void)does(b, evict_4);
	assert_int_equal(bench_work_evicted(b, 1, 5), -EINVAL); /* nobody told it to */
	assert_int_equal(bench_work_evicted(b, 1, 3), 0);
	assert_int_equal(bench_work_evicted(b, 1, 2), 0); /* late */
	assert_int_equal(bench_work_evicted(b, 1, 3), 0);
	assert_int_equal(n_evicted, 1);
	assert_int_equal(cot_sched_work(b->sched, 1)->left, 3);
	bench_end(b);
}

static void test_program_dies(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	(void)does(b, grant_10);
	(void)bench_work(b, 2, BATCH, 0, 8, 0, false);
	(void)bench_work(b, 3, OTHER, 0, 8, 0, false);
	(void)bench_leave(b, OTHER);
	assert_int_equal(n_done, 2);
	assert_null(cot_sched_work(b->sched, 1));
	assert_null(cot_sched_work(b->sched, 3));
	assert_int_equal(cot_sched_policy(b->sched)->n_works, 1);
	assert_int_equal(cot_sched_policy(b->sched)->works->id, 2);
	assert_int_equal(bench_work_done(b, 1, 0), -EINVAL);
	bench_end(b);
}

static void test_table_is_full(void **state)
{
	struct bench *b = begin(&cot_policy_static);
	struct cot_event ev = {.type = COT_EV_WORK,
			       .work = {.tenant = OTHER, .n_sms = 132, .per_sm = 8}};
	struct cot_action a;

	(void)state;
	for (ev.id = 1; ev.id <= COT_SCHED_MAX_WORKS; ev.id++) {
		assert_int_equal(cot_sched_event(b->sched, &ev), 0);
		assert_true(cot_sched_next_action(b->sched, &a));
		assert_int_equal(a.kind, COT_ACTION_GRANT);
		assert_int_equal(a.entity, ev.id);
	}
	assert_int_equal(cot_sched_event(b->sched, &ev), -ENOSPC);
	assert_false(cot_sched_next_action(b->sched, &a));
	bench_end(b);
}

/* ---- policies that know nothing of works, and their end ---- */

static void test_policies_without_works(void **state)
{
	struct bench *b = begin(&cot_policy_timeslice);

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, true);
	assert_int_equal(b->works[1].granted, 132);
	assert_false(b->works[1].settled);
	(void)bench_work(b, 2, BATCH, 0, 8, 0, false); /* quotas hold all the same */
	assert_int_equal(b->works[2].granted, 66);
	(void)bench_work(b, 3, LATENCY, 0, 8, 0, false); /* so does what was reserved */
	assert_int_equal(b->works[3].granted, 40);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_GRANT], 3);
	bench_end(b);
}

static void test_change_of_policy(void **state)
{
	struct bench *b = begin(&told);
	struct cot_error err;

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	(void)bench_work(b, 2, BATCH, 0, 8, 0, false);
	(void)does(b, grant_10);
	assert_int_equal(cot_sched_set_policy(b->sched, &cot_policy_smguard, NULL, b->now_ns, &err),
			 0);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(b->works[1].granted, 10);
	/* 40 of 132 are reserved and 10 are taken; its quota is 66. */
	assert_int_equal(b->works[2].granted, 66);
	bench_end(b);
}

static void test_stop(void **state)
{
	struct bench *b = begin(&told);

	(void)state;
	(void)bench_work(b, 1, OTHER, 0, 8, 0, false);
	assert_int_equal(b->works[1].granted, 0);
	cot_sched_stop(b->sched, b->now_ns);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(b->works[1].granted, 132);
	assert_true(cot_sched_is_quiet(b->sched));
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_want),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_changed_shares),
		cmocka_unit_test(test_grants_and_evictions),
		cmocka_unit_test(test_both_at_once),
		cmocka_unit_test(test_settled),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_wrong_events),
		cmocka_unit_test(test_what_has_left),
		cmocka_unit_test(test_program_dies),
		cmocka_unit_test(test_table_is_full),
		cmocka_unit_test(test_policies_without_works),
		cmocka_unit_test(test_change_of_policy),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
