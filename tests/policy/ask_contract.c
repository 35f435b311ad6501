/* What every policy keeps when a host asks it where a program goes, and what it does. */
#include "base/rng.h"
#include "policy/policy_bench.h"
#include "policy/policy_contract.h"

#define S  COT_NS_PER_S
#define MS COT_NS_PER_MS

enum { POOL = 100, N_PROGRAMS = 8 };

static void hash_action(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	uint64_t *hash = arg;

	(void)ev;
	if (!a)
		return;
	*hash = cot_hash64(*hash, a->now_ns);
	*hash = cot_hash64(*hash, (uint64_t)a->entity << 8 | (uint64_t)a->kind);
	*hash = cot_hash64(*hash, a->value + ((uint64_t)a->part.first << 32) + a->part.n);
}

static uint64_t hash_lessons(const struct bench *b, uint64_t hash)
{
	struct cot_lesson lessons[COT_LESSONS_MAX];
	uint32_t i, k, n = cot_sched_lessons(b->sched, lessons);

	for (i = 0; i < n; i++) {
		hash = cot_hash64(hash, lessons[i].key + lessons[i].kind);
		for (k = 0; k < 6; k++)
			hash = cot_hash64(hash, lessons[i].value[k]);
	}
	return hash;
}

static struct cot_tenant_desc program(uint32_t id)
{
	struct cot_tenant_desc d = {
		.cls = id % 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
		.weight = COT_WEIGHT_DEFAULT,
		.gpu_mask = GPU0,
		.ready = true,
		.key = id % 3 ? 0x1000 + id % 5 : 0,
	};

	if (d.cls == COT_CLASS_LATENCY)
		d.target = (struct cot_target){COT_TARGET_P99, 5000};
	return d;
}

/* As a host with pools does it. */
static uint32_t pool_of(struct bench *b, const struct cot_tenant_desc *d)
{
	switch (cot_sched_home(b->sched, d, NULL, 0)) {
	case COT_HOME_ALONE:
		return 0;
	case COT_HOME_LATENCY:
		return POOL + COT_CLASS_LATENCY;
	case COT_HOME_BATCH:
		return POOL + COT_CLASS_BATCH;
	default:
		return POOL + d->cls;
	}
}

static void join_or_leave(struct bench *b, uint32_t id)
{
	struct cot_event ev = {.type = COT_EV_TENANT, .id = id, .tenant = program(id)};

	if (cot_sched_tenant(b->sched, id)) {
		(void)bench_leave(b, id);
		return;
	}
	if (cot_sched_policy(b->sched)->ops->wants_pools)
		ev.tenant.pool = pool_of(b, &ev.tenant);
	(void)bench_event(b, ev);
	(void)bench_parts(b, id, true);
}

static void ask(struct bench *b)
{
	struct cot_fact facts[COT_FACTS_MAX];
	uint32_t id;

	for (id = 1; id <= N_PROGRAMS; id++) {
		struct cot_tenant_desc d = program(id);

		(void)cot_sched_home(b->sched, &d, NULL, 0);
		(void)cot_sched_explain(b->sched, id, facts);
	}
}

static uint64_t decisions(const struct cot_policy_ops *ops, uint64_t seed, bool asked,
			  const char **said)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed};
	uint64_t hash = 0;
	unsigned i;

	cot_sched_set_tap(b->sched, hash_action, &hash);
	(void)bench_event(
		b, (struct cot_event){.type = COT_EV_LESSON, .lesson = {.key = 0x1001, .kind = 1}});
	(void)bench_pool(b, POOL + COT_CLASS_LATENCY, COT_CLASS_LATENCY);
	(void)bench_pool(b, POOL + COT_CLASS_BATCH, COT_CLASS_BATCH);
	for (i = 0; i < 400; i++) {
		uint32_t id = 1 + (uint32_t)cot_rng_below(&rng, N_PROGRAMS);

		if (i < N_PROGRAMS || !cot_rng_below(&rng, 20))
			join_or_leave(b, i < N_PROGRAMS ? i + 1 : id);
		policy_random_measurement(b, &rng, id);
		if (asked)
			ask(b);
		bench_run(b, cot_rng_below(&rng, 200 * MS));
	}
	hash = hash_lessons(b, hash);
	*said = policy_verdict(b, *said);
	return hash;
}

const char *policy_check_asking(const struct cot_policy_ops *ops, uint64_t seed)
{
	const char *said = NULL;
	uint64_t unasked = decisions(ops, seed, false, &said);

	if (unasked != decisions(ops, seed, true, &said))
		return "it decided otherwise because it was asked";
	return said;
}
