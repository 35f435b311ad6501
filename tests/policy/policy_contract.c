#include "policy/policy_contract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policy/policy_bench.h"
#include "policy/work_bench.h"

#define S  COT_NS_PER_S
#define MS COT_NS_PER_MS

const char *policy_verdict(struct bench *b, const char *said)
{
	struct cot_sched_stats stats = bench_stats(b);

	if (!said && stats.fallbacks)
		said = cot_fault_name(stats.fault);
	if (!said && stats.wrong_actions)
		said = "it called actions with wrong arguments";
	bench_end(b);
	return said;
}

/* ---- the description ---- */

static const char *check_description(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct cot_policy_config config;
	const char *c;

	(void)seed;
	cot_policy_config_init(&config);
	for (c = ops->name; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && *c != '-')
			return "its name is not of small letters";
	if (strlen(ops->summary) > 80 || strchr(ops->summary, '\n'))
		return "its summary is not one line of up to 80 characters";
	return ops->abi == COT_POLICY_ABI ? NULL : "its interface is another one";
}

/* ---- everybody gets the GPU ---- */

enum { LATENCY = 1, BATCH = 10, N_BATCH = 8 };

static void fill(struct bench *b)
{
	uint32_t i;

	(void)bench_solo(b, LATENCY, COT_CLASS_LATENCY, COT_WEIGHT_DEFAULT);
	for (i = 0; i < N_BATCH; i++)
		(void)bench_solo(b, BATCH + i, COT_CLASS_BATCH, COT_WEIGHT_DEFAULT);
}

static const char *everybody_ran(const struct bench *b, uint64_t at_least_ns)
{
	uint32_t i;

	for (i = 0; i < N_BATCH; i++)
		if (b->thawed_ns[BATCH + i] < at_least_ns)
			return "a batch program was frozen nearly all the time";
	return NULL;
}

static const char *check_everybody_runs(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	const char *said;

	(void)seed;
	fill(b);
	bench_run(b, 30 * S);
	said = everybody_ran(b, 30 * S / N_BATCH / 2);
	if (!said && b->thawed_ns[LATENCY] < 30 * S)
		said = "a latency program was frozen";
	return policy_verdict(b, said);
}

static const char *check_idle_owner_gives_up(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	const char *said;
	uint32_t i;

	(void)seed;
	fill(b);
	bench_run(b, 1 * S);
	for (i = 0; i < N_BATCH - 1; i++)
		(void)bench_activity(b, BATCH + i, COT_ACTIVITY_IDLE);
	bench_run(b, 100 * MS);
	bench_reset_times(b);
	bench_run(b, 5 * S);
	said = b->thawed_ns[BATCH + N_BATCH - 1] == 5 * S ? NULL
							  : "the only program with work was frozen";
	return policy_verdict(b, said);
}

/* ---- the broken world ---- */

static int fail_sometimes(struct bench *b, const struct cot_action *a)
{
	struct cot_rng *rng = b->fault_arg;

	(void)a;
	switch (cot_rng_below(rng, 10)) {
	case 0:
		return BENCH_SILENT;
	case 1:
	case 2:
		return -EIO;
	default:
		return 0;
	}
}

static const char *check_failing_actions(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed};
	const char *said;

	b->fault = fail_sometimes;
	b->fault_arg = &rng;
	fill(b);
	bench_run(b, 60 * S);
	said = everybody_ran(b, 60 * S / N_BATCH / 4);
	return policy_verdict(b, said);
}

static int fail_always(struct bench *b, const struct cot_action *a)
{
	(void)b;
	(void)a;
	return -EIO;
}

static const char *check_dead_actions(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);

	(void)seed;
	b->fault = fail_always;
	fill(b);
	bench_run(b, 5 * S);
	b->n_actions = 0;
	bench_run(b, 30 * S);
	/* Nine entities, up to three actions each, and the core's pauses of up to 5 s. */
	return policy_verdict(b, b->n_actions < 30 * 100 ? NULL : "it keeps hammering a dead GPU");
}

/* ---- quiet ---- */

static const char *check_quiet(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	uint64_t events;

	(void)seed;
	fill(b);
	bench_run(b, 5 * S);
	b->n_actions = 0;
	events = bench_stats(b).events;
	bench_run(b, 10 * S);
	events = bench_stats(b).events - events;
	if (b->n_actions > 10 * 200)
		return policy_verdict(b, "it acts more than 200 times a second on a steady load");
	return policy_verdict(b, events <= 10 * 1000
					 ? NULL
					 : "it wants to be called more than 1000 times a second");
}

/* ---- the end ---- */

static const char *check_leaves_nothing(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	const char *said = NULL;
	uint32_t i;

	(void)seed;
	fill(b);
	bench_run(b, 333 * MS);
	cot_sched_stop(b->sched, b->now_ns);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 50 * MS);
	if (!cot_sched_is_quiet(b->sched))
		said = "the core is not quiet 50 ms after the end";
	for (i = 0; i < BENCH_MAX_IDS; i++)
		if (b->frozen[i] || b->slice_us[i] != COT_SLICE_DRIVER)
			said = "something was left frozen or with our slice";
	return policy_verdict(b, said);
}

/* ---- chance ---- */

struct story {
	struct cot_rng rng;
	bool there[64], held[64], pool_up[2];
	uint32_t last_work;
};

enum { POOL = 100 };

/* Something about works, true or not. */
static void one_work_event(struct bench *b, struct story *st, uint32_t tenant)
{
	uint32_t id = 1 + (uint32_t)cot_rng_below(&st->rng, st->last_work % BENCH_MAX_IDS + 1);
	const struct cot_work *w = cot_sched_work(b->sched, id % BENCH_MAX_IDS);
	uint32_t tasks, per_sm, task_ns;
	bool can_settle;

	/* Drawn one after the other: a seed is the same story whatever the compiler. */
	switch (cot_rng_below(&st->rng, 4)) {
	case 0:
		st->last_work++;
		can_settle = cot_rng_below(&st->rng, 2);
		task_ns = (uint32_t)cot_rng_below(&st->rng, 400000);
		per_sm = 1 + (uint32_t)cot_rng_below(&st->rng, 32);
		tasks = (uint32_t)cot_rng_below(&st->rng, 10000);
		(void)bench_work(b, st->last_work % BENCH_MAX_IDS, tenant, tasks, per_sm, task_ns,
				 can_settle);
		break;
	case 1:
		if (w)
			(void)bench_work_evicted(b, w->id, (uint32_t)cot_rng_below(&st->rng, 200));
		break;
	default:
		if (w && w->state == COT_WORK_RUNNING)
			(void)bench_work_done(b, w->id, cot_rng_below(&st->rng, 4) ? 0 : 100);
		break;
	}
}

static struct cot_share some_share(struct cot_rng *rng)
{
	uint16_t n = (uint16_t)cot_rng_below(rng, 101);

	return cot_rng_below(rng, 2) ? (struct cot_share){.pct = n} : (struct cot_share){.sms = n};
}

static void one_event(struct bench *b, struct story *st)
{
	uint32_t id = 1 + (uint32_t)cot_rng_below(&st->rng, 40), i = id;
	enum cot_class cls = id % 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
	bool was_there = st->there[i];
	uint64_t gpus;

	switch (cot_rng_below(&st->rng, 20)) {
	case 16:
	case 17:
		if (st->there[i] && id % 3)
			(void)bench_sms(b, id, cls, some_share(&st->rng));
		break;
	case 18:
	case 19:
		(void)bench_parts(b, id, cot_rng_below(&st->rng, 4) != 0);
		break;
	case 12:
	case 13:
	case 14:
	case 15:
		one_work_event(b, st, id);
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		st->there[i] = true;
		if (!was_there && id % 3 == 0) {
			(void)bench_member(b, id, cls, POOL + cls);
			break;
		}
		gpus = 1 + cot_rng_below(&st->rng, 3);
		(void)bench_solo_on(b, id, cls, 1 + (uint32_t)cot_rng_below(&st->rng, 1000), gpus);
		break;
	case 4:
		if (st->there[i])
			(void)bench_leave(b, id);
		st->there[i] = false;
		break;
	case 5:
		(void)bench_pool(b, POOL + cls, cls);
		break;
	case 6:
		b->frozen[POOL + cls] = false;
		(void)bench_event(b,
				  (struct cot_event){.type = COT_EV_POOL_LEFT, .id = POOL + cls});
		break;
	case 7:
		(void)bench_hold(b, id, cot_rng_below(&st->rng, 4) == 0);
		break;
	default:
		(void)bench_activity(b, id, (enum cot_activity)cot_rng_below(&st->rng, 3));
		break;
	}
}

static const char *check_random_events(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct story st = {.rng = {seed}};
	struct cot_rng measured = {cot_hash64(seed, 1)};
	unsigned i;

	b->fault = fail_sometimes;
	b->fault_arg = &st.rng;
	for (i = 0; i < 5000; i++) {
		one_event(b, &st);
		if (cot_rng_below(&measured, 10) == 0)
			policy_random_measurement(b, &measured,
						  1 + (uint32_t)cot_rng_below(&measured, 40));
		bench_run(b, cot_rng_below(&st.rng, 20 * MS));
	}
	return policy_verdict(b, NULL);
}

/* ---- works ---- */

enum { LONG_LATENCY = 6 };

/* Two latency programs, and batch programs with quotas, long and short tasks, that can be started
 * again or not. */
static struct work_bench *works_new(const struct cot_policy_ops *ops)
{
	struct work_bench *wb = calloc(1, sizeof(*wb));
	uint32_t i;

	if (!wb)
		abort();
	wb->b = bench_begin(ops);
	(void)bench_shares(wb->b, 1, COT_CLASS_LATENCY, (struct cot_share){0},
			   (struct cot_share){.pct = 30});
	wb->programs[0] = (struct work_program){
		.tenant = 1, .n_tasks = 1000, .per_sm = 4, .task_ns = 20000, .pause_ns = 3 * MS};
	/* Its works stay for some 10 ms, long enough for others to miss what it has. */
	(void)bench_shares(wb->b, LONG_LATENCY + 1, COT_CLASS_LATENCY, (struct cot_share){0},
			   (struct cot_share){.pct = 20});
	wb->programs[LONG_LATENCY] = (struct work_program){.tenant = LONG_LATENCY + 1,
							   .n_tasks = 200000,
							   .per_sm = 4,
							   .task_ns = 20000,
							   .pause_ns = 20 * MS};
	for (i = 1; i < 6; i++) {
		(void)bench_shares(wb->b, i + 1, COT_CLASS_BATCH,
				   (struct cot_share){.pct = i % 2 ? 0 : 40},
				   (struct cot_share){0});
		wb->programs[i] = (struct work_program){
			.tenant = i + 1,
			.n_tasks = 20000,
			.per_sm = 8,
			.task_ns = i < 3 ? 50000 : 400000,
			.can_settle = i % 3 != 0,
		};
	}
	return wb;
}

static const char *works_end(struct work_bench *wb, const char *said)
{
	said = policy_verdict(wb->b, said);
	free(wb);
	return said;
}

static const char *check_works_run(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct work_bench *wb = works_new(ops);
	const char *said = NULL;
	uint32_t i;

	(void)seed;
	(void)work_bench_run(wb, 1 * S);
	if (wb->programs[0].n_done < 50 || wb->programs[LONG_LATENCY].n_done < 5)
		said = "works of a latency program hardly ran";
	for (i = 1; i < 6; i++)
		if (wb->programs[i].max_wait_ns > 9 * S / 10)
			said = "a work of a batch program waited for more than 0.9 s";
	if (work_bench_end(wb, 10 * S))
		said = "a work did not end";
	if (bench_stats(wb->b).rescues)
		said = "a work had to be granted by the core";
	return works_end(wb, said);
}

static void disturb(struct work_bench *wb, struct cot_rng *rng)
{
	uint32_t i = (uint32_t)cot_rng_below(rng, 6), id = i + 1;
	struct cot_share share = {.pct = (uint16_t)cot_rng_below(rng, 101)};

	switch (cot_rng_below(rng, 6)) {
	case 0: /* it dies with whatever it has */
		(void)bench_leave(wb->b, id);
		wb->programs[i].work = 0;
		wb->programs[i].tenant = 0;
		break;
	case 1: /* another one comes */
		if (wb->programs[i].tenant)
			break;
		(void)bench_shares(wb->b, id, i ? COT_CLASS_BATCH : COT_CLASS_LATENCY, share,
				   (struct cot_share){0});
		wb->programs[i].tenant = id;
		wb->programs[i].next_ns = 0;
		break;
	default:
		if (wb->programs[i].tenant)
			(void)bench_shares(wb->b, id, i ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
					   i ? share : (struct cot_share){0},
					   i ? (struct cot_share){0} : share);
		break;
	}
}

static const char *check_random_works(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct work_bench *wb = works_new(ops);
	struct cot_rng rng = {seed};
	const char *said = NULL;
	unsigned i;

	for (i = 0; i < 60; i++) {
		(void)work_bench_run(wb, cot_rng_below(&rng, 5 * MS));
		disturb(wb, &rng);
	}
	if (work_bench_end(wb, 10 * S))
		said = "a work did not end";
	else if (cot_sched_policy(wb->b->sched)->n_works)
		said = "a work is left in the table";
	return works_end(wb, said);
}

/* ---- draining ---- */

/* A long block would keep everybody else off the GPU. */
static bool may_drain(const struct cot_entity *e, uint32_t longest_us)
{
	return e->mode != COT_MODE_DRAIN || (e->block_us && e->block_us <= longest_us);
}

static const char *check_drains_short_blocks_only(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_policy_config config;
	struct cot_rng rng = {seed};
	const char *said = NULL;
	unsigned i;

	cot_policy_config_init(&config);
	(void)bench_pool(b, POOL + COT_CLASS_LATENCY, COT_CLASS_LATENCY);
	(void)bench_pool(b, POOL + COT_CLASS_BATCH, COT_CLASS_BATCH);
	for (i = 0; !said && i < 200; i++) {
		uint32_t id = 1 + (uint32_t)cot_rng_below(&rng, 8), pool = 0;
		enum cot_class cls = id % 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
		/* 0: nobody has said. Both sides of the limit. */
		uint32_t block_us = (uint32_t)cot_rng_below(&rng, 4) * config.drain_block_us / 2;
		const struct cot_entity *e;

		if (id % 2)
			pool = POOL + cls;
		if (cot_rng_below(&rng, 4))
			(void)bench_blocks(b, id, cls, pool, block_us);
		else if (cot_sched_tenant(b->sched, id))
			(void)bench_leave(b, id);
		bench_run(b, 30 * MS);
		cot_for_each_entity (e, cot_sched_policy(b->sched))
			if (!may_drain(e, config.drain_block_us))
				said = "it drains blocks that are long or of unknown length";
	}
	return policy_verdict(b, said);
}

/* ---- the first slice ---- */

/* What a program begins with, before its entity is up, is what the policy wishes then. */
static const char *check_first_slice(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed};
	const char *said = NULL;
	unsigned i;

	b->delay_ns = 0;
	for (i = 0; ops->first_slice && !said && i < 300; i++) {
		uint32_t id = 1 + (uint32_t)cot_rng_below(&rng, 8), first_us;
		enum cot_class cls = id % 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY;
		uint64_t gpus = 1 + cot_rng_below(&rng, 3);

		if (cot_sched_tenant(b->sched, id)) {
			(void)bench_leave(b, id);
			b->slice_us[id] = COT_SLICE_DRIVER;
		}
		bench_run(b, cot_rng_below(&rng, 2 * S));
		first_us = cot_sched_first_slice(b->sched, cls, gpus);
		(void)bench_solo_on(b, id, cls, COT_WEIGHT_DEFAULT, gpus);
		bench_run(b, 0);
		if (b->slice_us[id] != first_us)
			said = "the first slice is not the one that it wishes";
	}
	return policy_verdict(b, said);
}

/* ---- purity ---- */

struct decisions {
	uint64_t hash;
	uint64_t shift_ns;
	unsigned n;
};

static void hash_action(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	struct decisions *d = arg;

	(void)ev;
	if (!a)
		return;
	d->n++;
	d->hash = cot_hash64(d->hash, a->now_ns - d->shift_ns);
	d->hash = cot_hash64(d->hash, a->entity);
	d->hash = cot_hash64(d->hash, (uint64_t)a->kind << 32 | a->value);
}

static uint64_t decisions_of(const struct cot_policy_ops *ops, uint64_t seed, uint64_t shift_ns,
			     const char **said)
{
	struct bench *b = bench_begin(ops);
	struct decisions d = {.shift_ns = shift_ns};
	struct story st = {.rng = {seed}};
	unsigned i;

	cot_sched_set_tap(b->sched, hash_action, &d);
	b->now_ns = shift_ns;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	for (i = 0; i < 500; i++) {
		one_event(b, &st);
		bench_run(b, cot_rng_below(&st.rng, 20 * MS));
	}
	*said = policy_verdict(b, *said);
	return d.hash;
}

static const char *check_same_again(const struct cot_policy_ops *ops, uint64_t seed)
{
	const char *said = NULL;
	uint64_t first = decisions_of(ops, seed, 0, &said);

	if (first != decisions_of(ops, seed, 0, &said))
		return "it decided otherwise on the same events";
	return said;
}

static const char *check_any_time(const struct cot_policy_ops *ops, uint64_t seed)
{
	const char *said = NULL;
	uint64_t first = decisions_of(ops, seed, 0, &said);

	if (first != decisions_of(ops, seed, 5 * 3600 * S, &said))
		return "it decided otherwise at another time of day";
	return said;
}

/* ---- the end of the policy itself ---- */

static const char *check_replaced(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_error err;
	unsigned i;

	(void)seed;
	fill(b);
	for (i = 0; i < 20; i++) {
		bench_run(b, 70 * MS);
		if (cot_sched_set_policy(b->sched, ops, NULL, b->now_ns, &err))
			return policy_verdict(b, "it could not be started again");
	}
	bench_run(b, 5 * S);
	return policy_verdict(b, everybody_ran(b, 100 * MS));
}

const struct policy_check policy_checks[] = {
	{"is described", false, check_description},
	{"everybody runs", false, check_everybody_runs},
	{"the only one with work runs", false, check_idle_owner_gives_up},
	{"actions that fail sometimes", true, check_failing_actions},
	{"actions that always fail", false, check_dead_actions},
	{"is quiet", false, check_quiet},
	{"leaves nothing behind", false, check_leaves_nothing},
	{"random events", true, check_random_events},
	{"places programs as users asked", false, policy_check_places_as_asked},
	{"gives all to the only program", false, policy_check_lone_program_has_all},
	{"whatever is measured", true, policy_check_measurements},
	{"queries come and go", true, policy_check_queries},
	{"decides the same with queries", true, policy_check_same_with_queries},
	{"answers without consequences", true, policy_check_asking},
	{"works run", false, check_works_run},
	{"random works", true, check_random_works},
	{"drains short blocks only", true, check_drains_short_blocks_only},
	{"begins with the slice that it wishes", true, check_first_slice},
	{"decides the same again", true, check_same_again},
	{"decides the same at any time", true, check_any_time},
	{"can be replaced", false, check_replaced},
};
const unsigned n_sw_checks = sizeof(policy_checks) / sizeof(policy_checks[0]);
