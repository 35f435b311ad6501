/*
 * Where a policy's `home` sends the applications of a simulation, what a policy learns from one
 * simulation to the next, and what it explains.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/host.h"
#include "sim/hw/hw.h"
#include "support/sim_build.h"
#include "test.h"

extern const struct cot_policy_ops policy_recall; /* tests/policy/policy_recall.c */

enum { A, B, C, D, N_APPS };

#define LATENCY_POOL COT_SIM_HOST_LATENCY_POOL
#define BATCH_POOL   COT_SIM_HOST_BATCH_POOL

/* ---- a policy that sends programs where the test says ---- */

static enum cot_home homes[N_APPS];
static struct cot_tenant asked[N_APPS];
static uint64_t asked_ns[N_APPS];
static uint32_t n_asked, n_there[N_APPS]; /* programs in the table meanwhile */

static enum cot_home home(const struct cot_policy *p, const struct cot_tenant *t)
{
	assert_true(n_asked < N_APPS);
	asked[n_asked] = *t;
	asked_ns[n_asked] = p->now_ns;
	n_there[n_asked] = p->n_tenants;
	return homes[n_asked++];
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

/* Latency: A, B; batch: C, and D which begins at 500 us. Each has the GPU for 100 us in 200. */
static void build(struct sim_build *b)
{
	uint32_t i;

	build_init(b, "timeslice", 2);
	for (i = 0; i < N_APPS; i++) {
		struct cot_app *a = build_app(b, (const char *[]){"a", "b", "c", "d"}[i]);

		a->cls = i < C ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		a->start_ps = i == D ? 500 * COT_PS_PER_US : 0;
		(void)build_kernel(b, 2, 100, 1, 1);
		build_sync(b);
		build_cpu(b, 100);
	}
	b->sc.apps[A].target = (struct cot_target){COT_TARGET_P99, 5000};
	build_stop_at(b, 3000);
}

/* Nothing of an application is ever in another context than its own. */
static void expect_at_home(struct cot_sim_host *h)
{
	struct cot_sim *sim = cot_sim_host_sim(h);
	const struct cot_scenario *sc = cot_sim_scenario(sim);
	struct hw *hw = cot_sim_hw(sim);
	const struct hw_command *c;
	const struct hw_kernel *k;

	hw_for_each_active (k, hw)
		assert_int_equal(k->context, sc->apps[k->app].context);
	hw_for_each_pending (c, hw)
		assert_int_equal(c->context, sc->apps[c->app].context);
}

static struct cot_sim_host *play_with(const struct sim_build *b,
				      const struct cot_policy_ops *policy)
{
	struct cot_sim_host_options opt = {.policy = policy};
	struct cot_error err = {""};
	struct cot_sim_host *h;
	enum cot_sim_status status = COT_SIM_MORE;

	n_asked = 0;
	if (cot_sim_host_create(&b->sc, &opt, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	while (status == COT_SIM_MORE) {
		status = cot_sim_host_run(h, 1);
		expect_at_home(h);
	}
	assert_int_equal(status, COT_SIM_DONE);
	return h;
}

static const struct cot_tenant *tenant(const struct cot_sim_host *h, uint32_t app)
{
	return cot_sched_tenant(cot_sim_host_sched(h), app + 1);
}

static uint32_t context(struct cot_sim_host *h, uint32_t app)
{
	return cot_sim_scenario(cot_sim_host_sim(h))->apps[app].context;
}

static void expect_work_done(struct cot_sim_host *h)
{
	struct cot_sim_result result;
	uint32_t i;

	cot_sim_result(cot_sim_host_sim(h), &result);
	for (i = 0; i < N_APPS; i++)
		assert_true(result.apps[i].runs >= 2);
}

/* Those that start in the same instant are asked for with the shortest of their targets, as by the
 * daemon; one that starts later is not there yet. */
static void the_shortest_target_decides_for_all(void **state)
{
	static struct sim_build b;

	(void)state;
	build(&b);
	b.sc.apps[B].target = (struct cot_target){COT_TARGET_P99, 300};
	b.sc.apps[D].cls = COT_CLASS_LATENCY;
	b.sc.apps[D].target = (struct cot_target){COT_TARGET_P99, 100};
	memset(homes, 0, sizeof(homes));
	cot_sim_host_destroy(play_with(&b, &sender));
	assert_int_equal(n_asked, N_APPS);
	assert_int_equal(asked[A].target.amount, 300);
	assert_int_equal(asked[B].target.amount, 300);
	assert_int_equal(asked[C].target.kind, COT_TARGET_NONE);
	assert_int_equal(asked[D].target.amount, 100);
	b.sc.apps[A].target = (struct cot_target){COT_TARGET_SLOWDOWN, 1500};
	cot_sim_host_destroy(play_with(&b, &sender));
	assert_int_equal(asked[A].target.kind, COT_TARGET_SLOWDOWN);
}

static void programs_go_where_the_policy_says(void **state)
{
	static struct sim_build b;
	struct cot_sim_host *h;

	(void)state;
	build(&b);
	homes[0] = COT_HOME_BATCH;
	homes[1] = COT_HOME_ALONE;
	homes[2] = COT_HOME_CLASS;
	homes[3] = COT_HOME_LATENCY;
	h = play_with(&b, &sender);
	assert_int_equal(n_asked, N_APPS);
	assert_int_equal(tenant(h, A)->pool, BATCH_POOL);
	assert_int_equal(tenant(h, B)->pool, 0);
	assert_int_equal(tenant(h, C)->pool, BATCH_POOL);
	assert_int_equal(tenant(h, D)->pool, LATENCY_POOL);
	/* The class of a pool is its own. */
	assert_int_equal(tenant(h, A)->entity->cls, COT_CLASS_BATCH);
	assert_int_equal(tenant(h, D)->entity->cls, COT_CLASS_LATENCY);
	/* They share the hardware's contexts likewise. */
	assert_int_equal(context(h, A), A);
	assert_int_equal(context(h, B), B);
	assert_int_equal(context(h, C), A);
	assert_int_equal(context(h, D), D);
	expect_work_done(h);
	cot_sim_host_destroy(h);
}

/* One after the other, with the programs that are there already, before it begins. */
static void it_is_asked_when_they_register(void **state)
{
	static struct sim_build b;
	struct cot_sim_host *h;
	uint32_t i;

	(void)state;
	build(&b);
	memset(homes, 0, sizeof(homes));
	h = play_with(&b, &sender);
	for (i = 0; i < N_APPS; i++) {
		assert_int_equal(n_there[i], i);
		assert_int_equal(asked_ns[i], i == D ? 500000 : 0);
		assert_int_equal(asked[i].cls, b.sc.apps[i].cls);
		assert_int_equal(asked[i].key, tenant(h, i)->key);
	}
	assert_int_equal(asked[A].target.amount, 5000);
	assert_int_equal(asked[A].key, cot_hash_text(0, "a"));
	assert_int_equal(tenant(h, A)->pool, LATENCY_POOL);
	assert_int_equal(tenant(h, C)->pool, BATCH_POOL);
	cot_sim_host_destroy(h);
}

/* A's kernels take half as long again in a pool, and as long as ever outside. */
static void mps_costs(void **state)
{
	static struct sim_build b;
	struct cot_sim_result in, out;
	struct cot_sim_host *h;

	(void)state;
	build(&b);
	b.sc.apps[A].pool_cost_pct = 50;
	homes[0] = homes[1] = homes[2] = homes[3] = COT_HOME_ALONE;
	h = play_with(&b, &sender);
	cot_sim_result(cot_sim_host_sim(h), &out);
	cot_sim_host_destroy(h);
	homes[0] = COT_HOME_LATENCY;
	h = play_with(&b, &sender);
	cot_sim_result(cot_sim_host_sim(h), &in);
	cot_sim_host_destroy(h);
	assert_true(in.apps[A].runs < out.apps[A].runs);
	assert_true(in.apps[A].runs * 2 > out.apps[A].runs);
}

static void a_user_decides_and_one_pool_is_one(void **state)
{
	static struct sim_build b;
	struct cot_sim_host *h;
	uint32_t i;

	(void)state;
	build(&b);
	b.sc.apps[A].solo = true;
	sender.one_pool = true;
	homes[0] = COT_HOME_LATENCY;
	homes[1] = COT_HOME_BATCH;
	homes[2] = COT_HOME_CLASS;
	h = play_with(&b, &sender);
	sender.one_pool = false;
	assert_int_equal(n_asked, N_APPS - 1);
	assert_int_equal(tenant(h, A)->pool, 0);
	for (i = B; i < N_APPS; i++)
		assert_int_equal(tenant(h, i)->pool, BATCH_POOL);
	cot_sim_host_destroy(h);
}

/* ---- from one simulation to the next ---- */

/* Requests of 80 ms for 20 s, and a batch program. */
static void build_long_requests(struct sim_build *b)
{
	build_init(b, "timeslice", 2);
	build_app(b, "service")->cls = COT_CLASS_LATENCY;
	(void)build_kernel(b, 2, 80000, 1, 1);
	build_sync(b);
	build_cpu(b, 1000000);
	build_app(b, "train")->cls = COT_CLASS_BATCH;
	(void)build_kernel(b, 2, 1000, 1, 1);
	build_sync(b);
	build_cpu(b, 9000000);
	b->sc.quantum_ps = 2000 * COT_PS_PER_US;
	build_stop_at(b, 20e6);
}

static uint32_t play_and_learn(const struct sim_build *b, const struct cot_lesson *before,
			       uint32_t n_before, uint32_t expected_pool, unsigned n_facts,
			       struct cot_lesson ret_after[COT_LESSONS_MAX])
{
	struct cot_sim_host_options opt = {
		.policy = &policy_recall, .lessons = before, .n_lessons = n_before};
	struct cot_fact facts[COT_FACTS_MAX];
	struct cot_error err = {""};
	struct cot_sim_host *h;
	uint32_t n;

	if (cot_sim_host_create(&b->sc, &opt, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(tenant(h, 0)->pool, expected_pool);
	assert_int_equal(cot_sim_host_explain(h, 0, facts), n_facts);
	assert_string_equal(facts[0].name, "a request takes");
	assert_int_equal(facts[0].unit, COT_FACT_US);
	assert_in_range(facts[0].value, 78000, 90000);
	assert_int_equal(cot_sim_host_explain(h, 1, facts), 0);
	n = cot_sched_lessons(cot_sim_host_sched(h), ret_after);
	cot_sim_host_destroy(h);
	return n;
}

static void what_one_learned_the_next_one_knows(void **state)
{
	static struct cot_lesson first[COT_LESSONS_MAX], second[COT_LESSONS_MAX];
	static struct sim_build b;
	uint32_t n;

	(void)state;
	build_long_requests(&b);
	n = play_and_learn(&b, NULL, 0, LATENCY_POOL, 1, first);
	assert_int_equal(n, 1);
	assert_int_equal(first[0].key, cot_hash_text(0, "service"));
	n = play_and_learn(&b, first, n, BATCH_POOL, 1, second);
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shortest_target_decides_for_all),
		cmocka_unit_test(programs_go_where_the_policy_says),
		cmocka_unit_test(it_is_asked_when_they_register),
		cmocka_unit_test(mps_costs),
		cmocka_unit_test(a_user_decides_and_one_pool_is_one),
		cmocka_unit_test(what_one_learned_the_next_one_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
