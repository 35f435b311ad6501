/*
 * Event logs, and with them the policy core: whatever the lines are, each is refused with a
 * sentence or can be printed and read again; and whatever the events are, the policies and the core
 * survive them, with actions that make sense.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sched/event_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* A plan for a log, which only names it: it says by its name what is in it. Many are wrong. */
struct named_plan {
	struct named_plan *next;
	struct cot_plan plan;
	uint32_t sms[4];
	uint64_t query_ns[4], task_ns[8], bytes_per_s[8];
};

static struct cot_plan *make_plan(struct named_plan **plans, uint64_t key)
{
	struct named_plan *p = calloc(1, sizeof(*p));
	struct cot_rng rng = {key};
	unsigned i;

	REQUIRE(p);
	p->next = *plans;
	*plans = p;
	for (i = 0; i < 4; i++) {
		p->sms[i] = 8 * i + (uint32_t)cot_rng_below(&rng, 10);
		p->query_ns[i] = cot_rng_below(&rng, 10) + COT_PLAN_NS_MAX / 10 * (9 - 3 * i);
	}
	for (i = 0; i < 8; i++) {
		p->task_ns[i] = cot_rng_below(&rng, 100) * (COT_PLAN_NS_MAX / 98);
		p->bytes_per_s[i] = cot_rng_below(&rng, 40)
					    ? cot_rng_below(&rng, COT_BYTES_PER_S_MAX + 1)
					    : UINT64_MAX;
	}
	p->plan = (struct cot_plan){.n_quotas = (uint32_t)cot_rng_below(&rng, 5),
				    .n_tasks = (uint32_t)cot_rng_below(&rng, 3),
				    .sms = p->sms,
				    .query_ns = p->query_ns,
				    .task_ns = p->task_ns,
				    .task_bytes_per_s = key & 1 ? p->bytes_per_s : NULL};
	return &p->plan;
}

static void check_query(const struct cot_sched *s, uint32_t id)
{
	const struct cot_query *q = cot_sched_query(s, id);

	if (!q)
		return;
	REQUIRE(q->tenant && cot_sched_tenant(s, q->tenant->id) == q->tenant);
	REQUIRE(q->arrived_ns <= q->began_ns && q->began_ns <= cot_sched_policy(s)->now_ns);
	REQUIRE(!q->plan || cot_plan_is_valid(q->plan));
	REQUIRE(!q->n_done == !q->done_ns || !q->done_ns);
}

static void check_action(const struct cot_sched *s, const struct cot_action *a)
{
	const struct cot_work *w = cot_sched_work(s, a->entity);

	REQUIRE(a->seq && a->deadline_ns >= a->now_ns);
	if (a->kind == COT_ACTION_GRANT || a->kind == COT_ACTION_EVICT) {
		REQUIRE(w && w->state == COT_WORK_RUNNING && a->value && a->value <= w->granted);
		REQUIRE(w->left <= w->evicted && w->evicted <= w->granted);
		REQUIRE(w->settled || w->evicted < w->granted);
		return;
	}
	if (a->kind == COT_ACTION_PLACE) {
		const struct cot_tenant *t = cot_sched_tenant(s, a->entity);

		REQUIRE(t && a->part.first + a->part.n <= t->part_sms);
		REQUIRE(!a->part.n || a->part.first % t->part_unit == 0);
		return;
	}
	REQUIRE(cot_sched_entity(s, a->entity));
	if (a->kind == COT_ACTION_SLICE && a->value != COT_SLICE_DRIVER)
		REQUIRE(a->value >= COT_SLICE_US_MIN && a->value <= COT_SLICE_US_MAX);
	if (a->kind == COT_ACTION_MODE)
		REQUIRE(a->value == COT_MODE_SWITCH || a->value == COT_MODE_DRAIN);
}

/* What is asked is answered, and the core has nothing against the answer. */
static void ask(struct cot_sched *s, const struct cot_event *ev)
{
	struct cot_fact facts[COT_FACTS_MAX];
	struct cot_sched_stats before, after;

	cot_sched_stats(s, &before);
	REQUIRE(cot_sched_explain(s, ev->id, facts) <= COT_FACTS_MAX);
	if (ev->type == COT_EV_TENANT)
		REQUIRE(cot_sched_home(s, &ev->tenant, NULL, 0) < COT_N_HOMES);
	cot_sched_stats(s, &after);
	REQUIRE(after.wrong_actions == before.wrong_actions);
}

static void take_line(struct cot_sched **scheds, struct named_plan **plans, const char *line)
{
	struct cot_error err = {""};
	enum cot_event_log_kind kind;
	char again[COT_EVENT_LOG_LINE_MAX];
	struct cot_event ev, ev2;
	struct cot_action a, a2;
	unsigned i;

	if (cot_event_log_parse(line, &kind, &ev, &a, &err)) {
		REQUIRE(err.text[0]);
		return;
	}
	if (kind != COT_EVENT_LOG_EVENT)
		return;
	cot_event_log_print_event(again, sizeof(again), &ev);
	REQUIRE(!cot_event_log_parse(again, &kind, &ev2, &a2, &err));
	/* Both are zeroed before they are filled in, the gaps between the members as well. */
	REQUIRE(!memcmp(&ev, &ev2, sizeof(ev))); /* NOLINT(*-memory-comparison,cert-*) */
	if (ev.type == COT_EV_QUERY && ev.query.plan_key)
		ev.query.plan = make_plan(plans, ev.query.plan_key);
	for (i = 0; i < cot_n_policies; i++) {
		if (!cot_sched_event(scheds[i], &ev))
			ask(scheds[i], &ev);
		check_query(scheds[i], ev.id);
		while (cot_sched_next_action(scheds[i], &a))
			check_action(scheds[i], &a);
		REQUIRE(cot_sched_wake_ns(scheds[i]) > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct named_plan *plans = NULL, *gone;
	struct cot_sched *scheds[32];
	struct cot_error err;
	char *text = malloc(size + 1), *line, *rest;
	unsigned i;

	REQUIRE(text && cot_n_policies <= 32);
	memcpy(text, data, size);
	text[size] = '\0';
	for (i = 0; i < cot_n_policies; i++)
		REQUIRE(!cot_sched_create(cot_policies[i], NULL, NULL, 0, &scheds[i], &err));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(scheds, &plans, line);
	for (i = 0; i < cot_n_policies; i++)
		cot_sched_destroy(scheds[i]);
	while (plans) {
		gone = plans;
		plans = plans->next;
		free(gone);
	}
	free(text);
	return 0;
}
