/* What every policy keeps whatever queries come and go. */
#include <string.h>

#include "base/rng.h"
#include "policy/policy_bench.h"
#include "policy/policy_contract.h"

#define S  COT_NS_PER_S
#define MS COT_NS_PER_MS

enum { POOL = 100, N_PROGRAMS = 6, N_PLANS = 4, N_TASKS = 5, N_QUOTAS = 4, N_QUERIES = 8 };

struct plans {
	struct cot_plan plan[N_PLANS];
	uint32_t sms[N_QUOTAS];
	uint64_t query_ns[N_PLANS][N_QUOTAS];
	uint64_t task_ns[N_PLANS][N_TASKS * N_QUOTAS];
	uint64_t bytes_per_s[N_PLANS][N_TASKS * N_QUOTAS];
};

static uint64_t some_time(struct cot_rng *rng)
{
	return cot_rng_below(rng, 20) ? 1 + cot_rng_below(rng, 5 * MS) : COT_PLAN_NS_MAX;
}

static void make_plan(struct plans *p, unsigned i, struct cot_rng *rng)
{
	struct cot_plan *plan = &p->plan[i];
	unsigned k;

	for (k = 0; k < N_TASKS * N_QUOTAS; k++) {
		p->task_ns[i][k] = some_time(rng);
		p->bytes_per_s[i][k] =
			cot_rng_below(rng, 8) ? cot_rng_below(rng, 5000 * S) : UINT64_MAX;
	}
	for (k = N_QUOTAS; k-- > 0;)
		p->query_ns[i][k] = k + 1 < N_QUOTAS ? p->query_ns[i][k + 1] + k : 1 + i * 9 * MS;
	*plan = (struct cot_plan){.n_quotas = N_QUOTAS,
				  .n_tasks = N_TASKS,
				  .sms = p->sms,
				  .query_ns = p->query_ns[i],
				  .task_ns = p->task_ns[i],
				  .task_bytes_per_s = i ? p->bytes_per_s[i] : NULL};
}

static void make_plans(struct plans *p, struct cot_rng *rng)
{
	static const uint32_t sms[N_QUOTAS] = {8, 32, 64, 132};
	unsigned i;

	memset(p, 0, sizeof(*p));
	memcpy(p->sms, sms, sizeof(sms));
	for (i = 0; i < N_PLANS; i++)
		make_plan(p, i, rng);
}

static struct cot_tenant_desc program(const struct bench *b, uint32_t id)
{
	struct cot_tenant_desc d = {
		.cls = id % 3 ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
		.weight = COT_WEIGHT_DEFAULT,
		.gpu_mask = GPU0,
		.ready = true,
	};

	if (d.cls == COT_CLASS_LATENCY)
		d.target = (struct cot_target){COT_TARGET_P99, 20000};
	if (cot_sched_policy(b->sched)->ops->wants_pools)
		d.pool = POOL;
	return d;
}

static void join(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	struct cot_event ev = {.type = COT_EV_TENANT, .id = id, .tenant = program(b, id)};

	(void)bench_event(b, ev);
	(void)bench_parts(b, id, cot_rng_below(rng, 8) != 0);
	if (cot_rng_below(rng, 2))
		policy_random_predictions(b, rng, id);
}

static void join_or_leave(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	if (cot_sched_tenant(b->sched, id))
		(void)bench_leave(b, id);
	else
		join(b, rng, id);
}

static void begin(struct bench *b, struct cot_rng *rng, const struct plans *p, uint32_t id)
{
	struct cot_event ev = {.type = COT_EV_QUERY, .id = id};

	ev.query.tenant = 1 + (uint32_t)cot_rng_below(rng, N_PROGRAMS);
	ev.query.size = cot_rng_below(rng, 1000);
	ev.query.began_ns = b->now_ns - cot_rng_below(rng, b->now_ns / 2 + 1);
	ev.query.arrived_ns = cot_rng_below(rng, ev.query.began_ns + 1);
	ev.query.in_ns = cot_rng_below(rng, 20) ? cot_rng_below(rng, MS) : COT_PLAN_NS_MAX;
	ev.query.out_ns = cot_rng_below(rng, 20) ? cot_rng_below(rng, MS) : COT_PLAN_NS_MAX;
	if (cot_rng_below(rng, 4))
		ev.query.plan = &p->plan[cot_rng_below(rng, N_PLANS)];
	(void)bench_event(b, ev);
}

/* Each of them comes, gets on, maybe further than was planned, and goes; or its program does. */
static void one_step(struct bench *b, struct cot_rng *rng, const struct plans *p)
{
	uint32_t id = 1 + (uint32_t)cot_rng_below(rng, N_QUERIES);
	const struct cot_query *q = cot_sched_query(b->sched, id);

	if (!cot_rng_below(rng, 40))
		join_or_leave(b, rng, 1 + (uint32_t)cot_rng_below(rng, N_PROGRAMS));
	else if (!q)
		begin(b, rng, p, id);
	else if (cot_rng_below(rng, 3))
		(void)bench_query_tasks(b, id, q->n_done + 1 + (uint32_t)cot_rng_below(rng, 2));
	else
		(void)bench_query_end(b, id);
}

static int fail_sometimes(struct bench *b, const struct cot_action *a)
{
	(void)a;
	switch (cot_rng_below(b->fault_arg, 20)) {
	case 0:
		return BENCH_SILENT;
	case 1:
		return -5;
	default:
		return 0;
	}
}

static void play(struct bench *b, struct cot_rng *rng, const struct plans *p)
{
	uint32_t id;
	unsigned i;

	(void)bench_pool(b, POOL, COT_CLASS_LATENCY);
	for (id = 1; id <= N_PROGRAMS; id++)
		join(b, rng, id);
	for (i = 0; i < 1500; i++) {
		one_step(b, rng, p);
		bench_run(b, cot_rng_below(rng, 20) ? cot_rng_below(rng, MS) : 100 * MS);
	}
}

/* A policy that does not look at queries may let programs take turns: then each has its share. */
static const char *check_waiting(const struct bench *b, uint64_t for_ns)
{
	const struct cot_policy *p = cot_sched_policy(b->sched);
	bool turns = p->ops->predictions && !p->ops->queries;
	uint32_t id;

	for (id = 1; id <= N_PROGRAMS; id++) {
		if (b->held_ns[id] && !turns)
			return "a program is held though there are no queries";
		if (turns && b->held_ns[id] > for_ns - for_ns / p->n_tenants + for_ns / 20)
			return "a program has less than its share of the turns";
	}
	return NULL;
}

/* Nobody waits for a query that is over, though one of a program that stopped never ends. */
const char *policy_check_queries(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed}, faults = {seed + 1};
	const char *said = NULL;
	struct plans p;
	uint32_t id;

	make_plans(&p, &rng);
	b->fault = fail_sometimes;
	b->fault_arg = &faults;
	play(b, &rng, &p);
	b->fault = NULL;
	bench_run(b, 30 * S);
	for (id = 1; id <= N_QUERIES; id++)
		(void)bench_query_end(b, id);
	bench_run(b, 6 * S);
	bench_reset_times(b);
	bench_run(b, 6 * S);
	said = check_waiting(b, 6 * S);
	return policy_verdict(b, said);
}

static void hash_action(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	uint64_t *hash = arg;

	(void)ev;
	if (!a)
		return;
	*hash = cot_hash64(*hash, a->now_ns);
	*hash = cot_hash64(*hash, (uint64_t)a->entity << 8 | (uint64_t)a->kind);
	*hash = cot_hash64(*hash, ((uint64_t)a->part.first << 32) + a->part.n);
	*hash = cot_hash64(*hash, ((uint64_t)a->part.pace_us << 1) + a->part.hold);
}

static uint64_t decisions_of(const struct cot_policy_ops *ops, uint64_t seed, const char **said)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed};
	uint64_t hash = 0;
	struct plans p;

	make_plans(&p, &rng);
	cot_sched_set_tap(b->sched, hash_action, &hash);
	play(b, &rng, &p);
	*said = policy_verdict(b, *said);
	return hash;
}

const char *policy_check_same_with_queries(const struct cot_policy_ops *ops, uint64_t seed)
{
	const char *said = NULL;
	uint64_t first = decisions_of(ops, seed, &said);

	if (first != decisions_of(ops, seed, &said))
		return "it decided otherwise on the same queries";
	return said;
}
