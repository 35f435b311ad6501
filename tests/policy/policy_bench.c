#include "policy/policy_bench.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

void bench_init_with(struct bench *b, const struct cot_policy_ops *ops,
		     const struct cot_policy_config *config, const struct cot_sched_limits *limits)
{
	struct cot_error err;
	unsigned i;

	memset(b, 0, sizeof(*b));
	for (i = 0; i < BENCH_MAX_IDS; i++)
		b->mode[i] = COT_MODE_SWITCH;
	b->delay_ns = COT_NS_PER_MS;
	b->n_sms = 132;
	b->n_units = 16;
	assert_int_equal(cot_sched_create(ops, config, limits, 0, &b->sched, &err), 0);
}

void bench_init(struct bench *b, const struct cot_policy_ops *ops)
{
	bench_init_with(b, ops, NULL, NULL);
}

void bench_finish(struct bench *b)
{
	cot_sched_destroy(b->sched);
}

struct bench *bench_begin(const struct cot_policy_ops *ops)
{
	struct bench *b = malloc(sizeof(*b));

	assert_non_null(b);
	bench_init(b, ops);
	return b;
}

void bench_end(struct bench *b)
{
	bench_finish(b);
	free(b);
}

void bench_expect_no_mistakes(const struct bench *b)
{
	assert_int_equal(bench_stats(b).wrong_actions, 0);
	assert_int_equal(bench_stats(b).fallbacks, 0);
}

/* Messages that need no answer. */
static bool take_for_work(struct bench *b, const struct cot_action *a)
{
	struct bench_work *w = &b->works[a->entity % BENCH_MAX_WORKS];

	if (a->kind == COT_ACTION_GRANT) {
		/* As a program sees it: a waiting one begins, a running one grows. */
		assert_true(a->value > w->granted && a->value > w->evicted);
		w->settled = w->granted ? w->settled : a->settled;
		w->granted = a->value;
		w->n_grants++;
		return true;
	}
	if (a->kind != COT_ACTION_EVICT)
		return false;
	assert_true(a->value > w->evicted);
	assert_true(a->value <= w->granted - (w->settled ? 0 : 1));
	w->evicted = a->value;
	w->n_evictions++;
	return true;
}

static void take_actions(struct bench *b)
{
	struct cot_action a;

	while (cot_sched_next_action(b->sched, &a)) {
		if (take_for_work(b, &a))
			continue;
		b->n_actions++;
		assert_true(b->n_pending < BENCH_MAX_PENDING);
		assert_true(a.seq && a.entity && a.entity < BENCH_MAX_IDS);
		b->pending[b->n_pending].action = a;
		b->pending[b->n_pending++].due_ns = b->now_ns + b->delay_ns;
	}
}

int bench_event(struct bench *b, struct cot_event ev)
{
	int r;

	assert_true(ev.id < BENCH_MAX_IDS);
	if (ev.type < COT_EV_WORK && ev.id >= b->n_ids)
		b->n_ids = ev.id + 1;
	ev.now_ns = b->now_ns;
	r = cot_sched_event(b->sched, &ev);
	take_actions(b);
	return r;
}

static void carry_out(struct bench *b, const struct cot_action *a)
{
	switch (a->kind) {
	case COT_ACTION_SLICE:
		b->slice_us[a->entity] = a->value;
		break;
	case COT_ACTION_MODE:
		b->mode[a->entity] = (enum cot_mode)a->value;
		break;
	case COT_ACTION_FREEZE:
		b->frozen[a->entity] = true;
		break;
	case COT_ACTION_THAW:
		b->frozen[a->entity] = false;
		break;
	case COT_ACTION_PLACE:
		b->part[a->entity] = a->part;
		b->placed_ns[a->entity] = a->now_ns;
		break;
	default:
		break;
	}
}

static void answer_place(struct bench *b, const struct cot_action *a, int status)
{
	(void)bench_event(b, (struct cot_event){.type = COT_EV_PLACED,
						.id = a->entity,
						.placed = {.seq = a->seq,
							   .status = status,
							   .part = b->part[a->entity]}});
}

static void answer_first(struct bench *b)
{
	struct cot_action a = b->pending[0].action;
	int status = b->fault ? b->fault(b, &a) : 0;

	memmove(&b->pending[0], &b->pending[1], --b->n_pending * sizeof(b->pending[0]));
	if (status == BENCH_SILENT)
		return;
	if (!status)
		carry_out(b, &a);
	if (a.kind == COT_ACTION_PLACE)
		answer_place(b, &a, status);
	else
		(void)bench_event(b, (struct cot_event){.type = COT_EV_DONE,
							.id = a.entity,
							.done = {.seq = a.seq, .status = status}});
}

bool bench_is_held(const struct bench *b, uint32_t id)
{
	return b->part[id].hold && b->now_ns - b->placed_ns[id] < COT_HOLD_MAX_NS;
}

static void pass(struct bench *b, uint64_t to_ns)
{
	uint32_t i;

	for (i = 0; i < b->n_ids; i++) {
		if (!b->frozen[i])
			b->thawed_ns[i] += to_ns - b->now_ns;
		if (bench_is_held(b, i))
			b->held_ns[i] += to_ns - b->now_ns;
	}
	b->now_ns = to_ns;
}

void bench_run(struct bench *b, uint64_t for_ns)
{
	uint64_t end_ns = b->now_ns + for_ns;

	for (;;) {
		uint64_t wake_ns = cot_sched_wake_ns(b->sched), next_ns = end_ns;
		bool answers = b->n_pending && b->pending[0].due_ns <= end_ns;

		assert_true(wake_ns >= b->now_ns);
		if (answers)
			next_ns = b->pending[0].due_ns;
		answers &= next_ns <= wake_ns;
		if (!answers && wake_ns > end_ns)
			break;
		pass(b, answers ? next_ns : wake_ns);
		if (answers)
			answer_first(b);
		else
			(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	}
	pass(b, end_ns);
}

void bench_reset_times(struct bench *b)
{
	memset(b->thawed_ns, 0, sizeof(b->thawed_ns));
	memset(b->held_ns, 0, sizeof(b->held_ns));
}

int bench_solo_on(struct bench *b, uint32_t id, enum cot_class cls, uint32_t weight,
		  uint64_t gpu_mask)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						 .id = id,
						 .tenant = {.cls = cls,
							    .weight = weight,
							    .gpu_mask = gpu_mask,
							    .ready = true}});
}

int bench_solo(struct bench *b, uint32_t id, enum cot_class cls, uint32_t weight)
{
	return bench_solo_on(b, id, cls, weight, GPU0);
}

int bench_member(struct bench *b, uint32_t id, enum cot_class cls, uint32_t pool)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						 .id = id,
						 .tenant = {.cls = cls,
							    .weight = COT_WEIGHT_DEFAULT,
							    .gpu_mask = GPU0,
							    .pool = pool}});
}

int bench_blocks(struct bench *b, uint32_t id, enum cot_class cls, uint32_t pool, uint32_t block_us)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						 .id = id,
						 .tenant = {.cls = cls,
							    .weight = COT_WEIGHT_DEFAULT,
							    .gpu_mask = GPU0,
							    .pool = pool,
							    .ready = true,
							    .block_us = block_us}});
}

int bench_pool(struct bench *b, uint32_t id, enum cot_class cls)
{
	return bench_event(
		b, (struct cot_event){.type = COT_EV_POOL,
				      .id = id,
				      .pool = {.cls = cls, .gpu_mask = GPU0, .ready = true}});
}

int bench_activity(struct bench *b, uint32_t id, enum cot_activity activity)
{
	return bench_event(
		b, (struct cot_event){.type = COT_EV_ACTIVITY, .id = id, .activity = activity});
}

int bench_sms(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share sms)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						 .id = id,
						 .tenant = {.cls = cls,
							    .weight = COT_WEIGHT_DEFAULT,
							    .gpu_mask = GPU0,
							    .ready = true,
							    .sms = sms}});
}

int bench_parts(struct bench *b, uint32_t id, bool can)
{
	struct cot_event ev = {.type = COT_EV_PARTS, .id = id};

	b->part[id] = (struct cot_part){0};
	if (can) {
		ev.parts.n_sms = b->n_sms;
		ev.parts.unit = 8;
		ev.parts.n_units = b->n_units;
	}
	return bench_event(b, ev);
}

int bench_leave(struct bench *b, uint32_t id)
{
	b->frozen[id] = false;
	b->part[id] = (struct cot_part){0};
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT_LEFT, .id = id});
}

int bench_hold(struct bench *b, uint32_t id, bool hold)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_HOLD, .id = id, .hold = hold});
}

struct cot_sched_stats bench_stats(const struct bench *b)
{
	struct cot_sched_stats stats;

	cot_sched_stats(b->sched, &stats);
	return stats;
}

int bench_work_on(struct bench *b, uint32_t gpu, uint32_t id, uint32_t tenant, uint32_t n_tasks,
		  uint32_t per_sm, uint32_t task_ns, bool can_settle)
{
	const struct cot_tenant *t = cot_sched_tenant(b->sched, tenant);
	bool latency = t && t->cls == COT_CLASS_LATENCY;
	struct cot_event ev = {
		.type = COT_EV_WORK,
		.id = id,
		.work = {.tenant = tenant,
			 .gpu = gpu,
			 .n_sms = 132,
			 .method = latency ? COT_WORK_RESERVE : COT_WORK_QUOTA,
			 .can_settle = can_settle,
			 .n_tasks = n_tasks,
			 .per_sm = per_sm,
			 .task_ns = task_ns},
	};

	b->works[id % BENCH_MAX_WORKS] = (struct bench_work){0};
	return bench_event(b, ev);
}

int bench_work(struct bench *b, uint32_t id, uint32_t tenant, uint32_t n_tasks, uint32_t per_sm,
	       uint32_t task_ns, bool can_settle)
{
	return bench_work_on(b, 0, id, tenant, n_tasks, per_sm, task_ns, can_settle);
}

int bench_work_evicted(struct bench *b, uint32_t id, uint32_t capsms)
{
	return bench_event(
		b, (struct cot_event){.type = COT_EV_WORK_EVICTED, .id = id, .capsms = capsms});
}

int bench_work_done(struct bench *b, uint32_t id, uint32_t left)
{
	b->works[id % BENCH_MAX_WORKS] = (struct bench_work){0};
	return bench_event(b, (struct cot_event){.type = COT_EV_WORK_DONE, .id = id, .left = left});
}

int bench_query(struct bench *b, uint32_t id, uint32_t tenant, uint64_t size,
		const struct cot_plan *plan)
{
	return bench_event(b, (struct cot_event){
				      .type = COT_EV_QUERY,
				      .id = id,
				      .query = {.tenant = tenant, .size = size, .plan = plan},
			      });
}

int bench_query_tasks(struct bench *b, uint32_t id, uint32_t n_done)
{
	return bench_event(b, (struct cot_event){
				      .type = COT_EV_QUERY_TASKS,
				      .id = id,
				      .tasks = {.n_done = n_done},
			      });
}

int bench_query_end(struct bench *b, uint32_t id)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_QUERY_END, .id = id});
}

int bench_shares_on(struct bench *b, uint32_t id, enum cot_class cls, uint64_t gpu_mask,
		    struct cot_share quota, struct cot_share reserve)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						 .id = id,
						 .tenant = {.cls = cls,
							    .weight = COT_WEIGHT_DEFAULT,
							    .gpu_mask = gpu_mask,
							    .ready = true,
							    .quota = quota,
							    .reserve = reserve}});
}

int bench_shares(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share quota,
		 struct cot_share reserve)
{
	return bench_shares_on(b, id, cls, GPU0, quota, reserve);
}
