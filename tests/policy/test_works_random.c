/*
 * Laws of works, over random stories: 1 to 2048 works of two GPUs, of programs that come, change
 * their shares and die, and a host that now and then does nothing for seconds. No grant is lost,
 * nothing waits for ever, nobody has more than its quota or than there is, and what is reserved is
 * there for those who reserved it. COT_TEST_SEED plays one story again.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "policy/policies.h"
#include "sched/sched.h"
#include "test.h"

#define US	  COT_NS_PER_US
#define MS	  COT_NS_PER_MS
#define S	  COT_NS_PER_S
#define N_WORKS	  COT_SCHED_MAX_WORKS
#define N_TENANTS 24u
#define N_GPUS	  2u
#define N_STORIES 12u

/* What the program of a work knows and does. */
struct played {
	uint32_t id; /* 0 = none */
	uint32_t granted, evicted, left;
	bool settled, grew; /* since it began to wait */
	uint64_t rest_ns;   /* of its tasks, on one CapSM */
	uint64_t told_ns;   /* when it was told to leave; 0 = not */
	uint32_t task_ns, per_sm;
};

struct story {
	struct cot_sched *sched;
	struct cot_rng rng;
	uint64_t seed, now_ns, paused_ns;
	uint32_t n_sms, n_works, last_id;
	struct played works[N_WORKS]; /* by id, modulo */
	bool there[N_TENANTS + 1];
	bool guards; /* smguard: more laws hold */
	bool modest; /* little is reserved, and there are no quotas */
};

#define LAW(st, condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("COT_TEST_SEED=%llu at %llu ns: %s",                              \
				 (unsigned long long)(st)->seed, (unsigned long long)(st)->now_ns, \
				 #condition);                                                      \
	} while (0)

static uint64_t below(struct story *st, uint64_t n)
{
	return cot_rng_below(&st->rng, n);
}

static bool is_latency(uint32_t tenant)
{
	return tenant % 4 == 0;
}

static uint32_t kept(const struct cot_work *w)
{
	return w->granted - w->evicted;
}

/* ---- what the program sees ---- */

static void take(struct story *st, const struct cot_action *a)
{
	struct played *p = &st->works[a->entity % N_WORKS];

	LAW(st, p->id == a->entity);
	if (a->kind == COT_ACTION_GRANT) {
		LAW(st, a->value > p->granted && a->value > p->evicted);
		p->settled = p->granted ? p->settled : a->settled;
		p->granted = a->value;
		return;
	}
	LAW(st, a->kind == COT_ACTION_EVICT && a->value > p->evicted);
	LAW(st, a->value <= p->granted - (p->settled ? 0 : 1));
	if (p->evicted == p->left)
		p->told_ns = st->now_ns;
	p->evicted = a->value;
}

static void event(struct story *st, struct cot_event ev)
{
	struct cot_action a;

	ev.now_ns = st->now_ns;
	LAW(st, !cot_sched_event(st->sched, &ev));
	while (cot_sched_next_action(st->sched, &a)) {
		struct cot_event done = {.type = COT_EV_DONE,
					 .id = a.entity,
					 .now_ns = st->now_ns,
					 .done = {.seq = a.seq}};

		if (a.kind == COT_ACTION_GRANT || a.kind == COT_ACTION_EVICT)
			take(st, &a);
		else
			(void)cot_sched_event(st->sched, &done);
	}
}

/* ---- laws ---- */

/* Program and core know the same, so no grant and no eviction was lost. */
static void check_what_is_known(struct story *st)
{
	const struct cot_policy *p = cot_sched_policy(st->sched);
	uint32_t i, n = 0, n_running = 0, n_listed = 0;
	uint64_t waiting = 0, running = 0;
	const struct cot_work *w;

	cot_for_each_work(w, p)
	{
		const struct played *known = &st->works[w->id % N_WORKS];

		LAW(st, known->id == w->id && known->granted == w->granted &&
				known->evicted == w->evicted && known->left == w->left);
		LAW(st, (w->state == COT_WORK_RUNNING) == (w->granted != 0));
		LAW(st, w->granted >= w->evicted && w->evicted >= w->left);
		LAW(st, w->state == COT_WORK_WAITING || w->settled || kept(w));
		*(w->state == COT_WORK_WAITING ? &waiting : &running) |= 1ull << w->gpu;
		n_running += w->state == COT_WORK_RUNNING;
		n++;
	}
	LAW(st, n == p->n_works);
	LAW(st, waiting == p->waiting_gpus && running == p->running_gpus);
	for (i = 0; i < N_GPUS; i++) {
		uint64_t since_ns = 0;

		cot_for_each_running(w, p, i)
		{
			LAW(st, w->gpu == i && w->state == COT_WORK_RUNNING);
			LAW(st, w->running_since_ns >= since_ns);
			since_ns = w->running_since_ns;
			n_listed++;
		}
	}
	LAW(st, n_listed == n_running);
}

/* Nobody waits for longer than the core lets it, but for the time that the host was away. */
static void check_nobody_starves(struct story *st)
{
	const struct cot_work *w;

	cot_for_each_work(w, cot_sched_policy(st->sched)) if (w->state == COT_WORK_WAITING)
		LAW(st, st->now_ns - w->waiting_since_ns <= 11 * S + st->paused_ns);
}

static bool is_long(const struct cot_policy *p, const struct cot_work *w)
{
	return !w->task_ns || w->task_ns > p->config->adapt_task_us * US;
}

/* Of a GPU under smguard. What one has to keep to do its rest goes before every limit. */
static void check_shares(struct story *st, uint32_t gpu)
{
	const struct cot_policy *p = cot_sched_policy(st->sched);
	uint32_t all = 0, reserve = 0, long_kept = 0, n_long = 0;
	const struct cot_tenant *t;
	const struct cot_work *w;

	cot_for_each_tenant (t, p) {
		uint32_t quota = cot_share_sms(t->quota, st->n_sms), of_tenant = 0, n = 0;

		cot_for_each_running(w, p, gpu)
		{
			if (w->tenant != t)
				continue;
			of_tenant += kept(w);
			n++;
		}
		if (quota && t->cls == COT_CLASS_BATCH)
			LAW(st, of_tenant <= (quota > n ? quota : n));
		if (t->cls == COT_CLASS_LATENCY && t->gpu_mask >> gpu & 1)
			reserve += cot_share_sms(t->reserve, st->n_sms);
	}
	reserve = reserve < st->n_sms ? reserve : st->n_sms - 1;
	cot_for_each_running(w, p, gpu)
	{
		bool counts = w->method == COT_WORK_QUOTA && is_long(p, w);

		all += kept(w);
		long_kept += counts ? kept(w) : 0;
		n_long += counts;
	}
	LAW(st, all <= st->n_sms + long_kept); /* one may be beside long tasks */
	LAW(st, long_kept <= (st->n_sms - reserve > n_long ? st->n_sms - reserve : n_long));
}

/* Whether the works of the request's program have together what it has reserved. */
static bool has_its_own(struct story *st, const struct cot_work *request)
{
	const struct cot_policy *p = cot_sched_policy(st->sched);
	uint32_t n = cot_share_sms(request->tenant->reserve, st->n_sms), own = 0;
	const struct cot_work *w;

	cot_for_each_running(w, p, request->gpu) if (w->tenant == request->tenant &&
						     w->method == COT_WORK_RESERVE) own += kept(w);
	return own >= (n ? n : (st->n_sms * p->config->reserve_permille + 500) / 1000);
}

/* A reservation waits only if nobody has anything to give, or only works of its own program do. */
static void check_reservations(struct story *st, uint32_t gpu)
{
	const struct cot_policy *p = cot_sched_policy(st->sched);
	const struct cot_work *w, *request = NULL;
	uint32_t all = 0;

	cot_for_each_work(w, p) if (!request && w->gpu == gpu && w->state == COT_WORK_WAITING &&
				    w->method == COT_WORK_RESERVE && !has_its_own(st, w)) request =
		w;
	cot_for_each_running(w, p, gpu) all += kept(w);
	if (!request)
		return;
	LAW(st, all >= st->n_sms);
	cot_for_each_running(w, p, gpu)
	{
		uint32_t n = cot_share_sms(w->tenant->reserve, st->n_sms);

		if (w->method == COT_WORK_QUOTA)
			LAW(st, kept(w) <= (w->settled ? 0u : 1u));
		else if (n)
			LAW(st, kept(w) <= n);
	}
}

static void check(struct story *st)
{
	struct cot_sched_stats stats;
	uint32_t gpu;

	cot_sched_stats(st->sched, &stats);
	LAW(st, !stats.fallbacks && !stats.wrong_actions);
	check_what_is_known(st);
	check_nobody_starves(st);
	/* A grant of the core's own to one that has waited too long is no decision of the policy.
	 */
	for (gpu = 0; st->guards && !stats.rescues && gpu < N_GPUS; gpu++) {
		check_shares(st, gpu);
		check_reservations(st, gpu);
	}
}

/* ---- time ---- */

static void end_work(struct story *st, struct played *p, uint32_t left)
{
	struct cot_event ev = {.type = COT_EV_WORK_DONE, .id = p->id, .left = left};

	if (left) {
		p->granted = p->evicted = p->left = 0;
		p->told_ns = 0;
		p->settled = false;
	} else {
		*p = (struct played){0};
	}
	event(st, ev);
}

/* Workers leave a task's time after they were told. */
static void leave(struct story *st, struct played *p)
{
	uint64_t tasks = p->rest_ns * p->per_sm / p->task_ns;

	if (p->evicted == p->granted) {
		end_work(st, p, 1 + (uint32_t)tasks);
		return;
	}
	p->left = p->evicted;
	event(st,
	      (struct cot_event){.type = COT_EV_WORK_EVICTED, .id = p->id, .capsms = p->evicted});
}

static void play(struct story *st, uint64_t for_ns)
{
	uint32_t i;

	for (i = 0; i < st->n_works; i++) {
		struct played *p = &st->works[i];
		uint64_t does_ns = for_ns * (p->granted - p->left);

		if (!p->id || !p->granted)
			continue;
		p->rest_ns = p->rest_ns > does_ns ? p->rest_ns - does_ns : 0;
		if (!p->rest_ns)
			end_work(st, p, 0);
		else if (p->evicted > p->left && st->now_ns >= p->told_ns + p->task_ns)
			leave(st, p);
	}
}

/* With a host that is on time; or away, while the GPU goes on. */
static void pass(struct story *st, uint64_t for_ns, bool away)
{
	uint64_t until_ns = st->now_ns + for_ns, wake_ns;

	while (!away && (wake_ns = cot_sched_wake_ns(st->sched)) <= until_ns) {
		LAW(st, wake_ns >= st->now_ns);
		st->now_ns = wake_ns;
		event(st, (struct cot_event){.type = COT_EV_TICK});
	}
	st->now_ns = until_ns;
	st->paused_ns += away ? for_ns : 0;
	play(st, for_ns);
	event(st, (struct cot_event){.type = COT_EV_TICK});
}

/* ---- what happens ---- */

static void describe(struct story *st, uint32_t tenant)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = tenant,
		.tenant = {.cls = is_latency(tenant) ? COT_CLASS_LATENCY : COT_CLASS_BATCH,
			   .weight = 100,
			   .gpu_mask = 3,
			   .ready = true}};

	if (is_latency(tenant))
		ev.tenant.reserve.pct = (uint16_t)(st->modest ? 2 : below(st, 30));
	else if (!st->modest)
		ev.tenant.quota.pct = (uint16_t)(below(st, 2) * below(st, 101));
	st->there[tenant] = true;
	event(st, ev);
}

static void die(struct story *st, uint32_t tenant)
{
	uint32_t i;

	if (!st->there[tenant])
		return;
	st->there[tenant] = false;
	for (i = 0; i < N_WORKS; i++) {
		const struct cot_work *w = cot_sched_work(st->sched, st->works[i].id);

		if (st->works[i].id && w && w->tenant->id == tenant)
			st->works[i] = (struct played){0};
	}
	event(st, (struct cot_event){.type = COT_EV_TENANT_LEFT, .id = tenant});
}

static void submit(struct story *st, uint32_t slot)
{
	struct played *p = &st->works[slot];
	uint32_t tenant = 1 + slot % N_TENANTS;
	struct cot_event ev = {.type = COT_EV_WORK};

	if (!st->there[tenant])
		describe(st, tenant);
	st->last_id += N_WORKS;
	*p = (struct played){.id = st->last_id + slot,
			     .per_sm = 1 + (uint32_t)below(st, 16),
			     .task_ns = (uint32_t)(below(st, 3) ? 50 * US : 1 * MS)};
	ev.id = p->id;
	ev.work = (struct cot_work_desc){
		.tenant = tenant,
		.gpu = (uint32_t)below(st, N_GPUS),
		.n_sms = st->n_sms,
		.method = is_latency(tenant) ? COT_WORK_RESERVE : COT_WORK_QUOTA,
		.can_settle = below(st, 2),
		.can_grow = below(st, 2),
		.n_tasks = 1 + (uint32_t)below(st, below(st, 8) ? 200 : 20000),
		.per_sm = p->per_sm,
		.asked = (uint32_t)(below(st, 2) * below(st, 20)),
		.task_ns = below(st, 4) ? p->task_ns : 0,
	};
	p->rest_ns = (uint64_t)ev.work.n_tasks * p->task_ns / p->per_sm + 1;
	event(st, ev);
}

static void step(struct story *st)
{
	uint32_t slot = (uint32_t)below(st, st->n_works), tenant = 1 + slot % N_TENANTS;

	switch (below(st, 64)) {
	case 0:
		describe(st, tenant);
		break;
	case 1:
		if (!below(st, 8))
			die(st, tenant);
		break;
	case 2: /* the GPU goes on while the host is away */
		if (!below(st, 4))
			pass(st, 200 * MS + below(st, 20 * S), true);
		break;
	default:
		if (!st->works[slot].id)
			submit(st, slot);
		break;
	}
	if (!below(st, 4))
		pass(st, below(st, 4) ? below(st, 100 * US) : below(st, 3 * MS), false);
}

static void finish(struct story *st)
{
	struct cot_sched_stats stats;
	unsigned i;

	for (i = 0; i < 200000 && cot_sched_policy(st->sched)->n_works; i++)
		pass(st, i < 1000 ? 1 * MS : 100 * MS, false);
	LAW(st, !cot_sched_policy(st->sched)->n_works);
	check(st);
	cot_sched_stats(st->sched, &stats);
	/* Where there is room for all nobody needs the core's help. */
	if (st->guards && st->modest && st->n_sms > 4 && 2 * st->n_works < st->n_sms)
		LAW(st, !stats.rescues);
}

static void play_story(const struct cot_policy_ops *policy, uint64_t seed)
{
	static const uint32_t sizes[] = {1, 2, 5, 16, 64, 300, N_WORKS};
	static const uint32_t sms[] = {4, 16, 132};
	static struct story st;
	struct cot_error err;
	unsigned i;

	memset(&st, 0, sizeof(st));
	st.rng.state = st.seed = seed;
	st.n_sms = sms[below(&st, 3)];
	st.n_works = sizes[below(&st, 7)];
	st.modest = below(&st, 2);
	st.guards = policy == &cot_policy_smguard;
	assert_int_equal(cot_sched_create(policy, NULL, NULL, 0, &st.sched, &err), 0);
	for (i = 0; i < 3000; i++) {
		step(&st);
		if (st.n_works <= 64 || i % 16 == 0)
			check(&st);
	}
	finish(&st);
	cot_sched_destroy(st.sched);
}

static void play_stories(const char *policy)
{
	const char *s = getenv("COT_TEST_SEED");
	uint64_t first = s ? strtoull(s, NULL, 0) : 2018, n;

	for (n = 0; n < (s ? 1 : N_STORIES); n++)
		play_story(cot_policy_find(policy), first + n);
}

/*
 * As many works as there may be, all of them busy: what is done for each event is bounded. It took
 * smguard 5 ms an event when it looked at all works for each that waits; now some 0.03 ms.
 */
static void test_cost(void **state)
{
	static const char *const names[] = {"smguard", "effisha", "static"};
	static struct story st;
	unsigned i, j;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cot_error err;
		clock_t begin;

		memset(&st, 0, sizeof(st));
		st.rng.state = 7;
		st.n_sms = 132;
		st.n_works = N_WORKS;
		assert_int_equal(
			cot_sched_create(cot_policy_find(names[i]), NULL, NULL, 0, &st.sched, &err),
			0);
		begin = clock();
		for (j = 0; j < 4000; j++) {
			uint32_t slot = j % N_WORKS;

			if (st.works[slot].id)
				end_work(&st, &st.works[slot], 0);
			submit(&st, slot);
			st.now_ns += 5 * US;
		}
		assert_in_range((clock() - begin) / CLOCKS_PER_SEC, 0, 4);
		cot_sched_destroy(st.sched);
	}
}

static void test_smguard(void **state)
{
	(void)state;
	play_stories("smguard");
}

static void test_effisha(void **state)
{
	(void)state;
	play_stories("effisha");
}

static void test_static(void **state)
{
	(void)state;
	play_stories("static");
}

static void test_pools(void **state)
{
	(void)state;
	play_stories("pools");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),	cmocka_unit_test(test_smguard),
		cmocka_unit_test(test_effisha), cmocka_unit_test(test_static),
		cmocka_unit_test(test_pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
