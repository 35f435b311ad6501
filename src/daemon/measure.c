#include "daemon/measure.h"

#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/log.h"
#include "daemon/page.h"
#include "daemon/roster.h"
#include "metrics/requests.h"

#define LOOK_NS (50 * COT_NS_PER_MS)
#define AIM_NS	COT_NS_PER_S
/* Requests that one look takes at most, of all programs together: less than 1 ms of our time. */
#define LOOK_MAX (4 * COT_RING_ENTRIES)

bool cot_measure_said(const struct tenant *t, const char *name, enum cot_fact_unit unit,
		      uint64_t *ret_value)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(cot_host_sched(t->basis->host), t->id, facts);

	for (i = 0; i < n; i++) {
		if (facts[i].unit != unit || strcmp(facts[i].name, name) != 0)
			continue;
		*ret_value = facts[i].value;
		return true;
	}
	return false;
}

const char *cot_measure_told(const struct tenant *t, const char *name)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(cot_host_sched(t->basis->host), t->id, facts);

	for (i = 0; i < n; i++)
		if (facts[i].unit == COT_FACT_TEXT && !strcmp(facts[i].name, name))
			return facts[i].text;
	return NULL;
}

static bool is_news(const char *now, const char *before)
{
	return now && (!before || strcmp(now, before) != 0);
}

/* The log has it each time that the policy's mind changes; what it says now and then of the next
 * start only once, until it says something else. */
static void look_told(struct tenant *t)
{
	const char *next = cot_measure_told(t, COT_SAYS_NEXT);
	const char *target = cot_measure_told(t, COT_SAYS_TARGET);
	uint64_t us;

	if (is_news(next, t->told_next))
		log_info("program '%s' (id %u): at the next start %s", t->name, t->id, next);
	if (is_news(target, t->told_target) &&
	    cot_measure_said(t, COT_SAYS_COULD_KEEP, COT_FACT_US, &us))
		log_info("program '%s' (id %u): its target %s; %llu us could be", t->name, t->id,
			 target, (unsigned long long)us);
	else if (is_news(target, t->told_target))
		log_info("program '%s' (id %u): its target %s", t->name, t->id, target);
	if (next)
		t->told_next = next;
	t->told_target = target;
}

/* How long requests may take. 0: there is no such target, or nobody knows yet. */
static uint64_t aim_of(const struct tenant *t)
{
	uint64_t alone_us;

	if (t->target.kind == COT_TARGET_P99)
		return t->target.amount * COT_NS_PER_US;
	if (t->target.kind != COT_TARGET_SLOWDOWN ||
	    !cot_measure_said(t, COT_SAYS_P99_ALONE, COT_FACT_US, &alone_us) ||
	    alone_us > COT_TARGET_P99_US_MAX)
		return 0;
	return alone_us * t->target.amount; /* in 1/1000 */
}

void cot_measure_aim(struct tenant *t)
{
	t->aim_ns = aim_of(t);
	t->aimed_ns = cot_now_ns();
	if (t->requests)
		cot_requests_set_target(t->requests, t->aim_ns ? t->aim_ns : COT_NEVER);
}

void cot_measure_drop(struct tenant *t)
{
	if (t->requests)
		cot_requests_destroy(t->requests);
	t->requests = NULL;
}

void cot_measure_finish(struct roster *r)
{
	struct tenant *t;

	for_each_tenant (t, r)
		cot_measure_drop(t);
}

bool cot_measure_begin(struct tenant *t)
{
	t->measured = true;
	if (!t->requests)
		t->requests = cot_requests_create();
	if (!t->requests)
		return false;
	cot_measure_aim(t);
	cot_timer_set(&t->basis->loop, &t->in->looks, cot_now_ns() + LOOK_NS);
	return true;
}

/* The first mark: one of its processes knows better than we what a request is. */
static void believe_marks(struct tenant *t)
{
	t->marks = true;
	t->n_requests = t->n_missed = 0;
	t->responses = t->services = (struct cot_buckets){.sum_ns = 0};
	cot_requests_clear(t->requests);
}

/* For as long as it runs. */
static void count(struct tenant *t, uint64_t response_ns, uint64_t service_ns)
{
	uint64_t judged_ns = response_ns == COT_NEVER ? service_ns : response_ns;

	t->n_requests++;
	t->n_missed += t->aim_ns && judged_ns > t->aim_ns;
	cot_buckets_add(&t->services, service_ns);
	if (response_ns != COT_NEVER)
		cot_buckets_add(&t->responses, response_ns);
}

static void add(struct tenant *t, const struct cot_ring_request *r)
{
	uint64_t response_ns = r->arrival_ns ? r->end_ns - r->arrival_ns : COT_NEVER;
	uint64_t service_ns = r->end_ns - r->begin_ns;

	if (r->is_burst && t->marks)
		return;
	if (!r->is_burst && !t->marks)
		believe_marks(t);
	count(t, response_ns, service_ns);
	cot_requests_add(t->requests, r->end_ns, response_ns, service_ns);
}

/* Takes `max` requests at most. How many entries it has looked at; never more than `max`. */
static unsigned look_at(struct conn *c, unsigned max)
{
	static struct cot_ring_request found[COT_RING_ENTRIES];
	struct cot_ring *ring = cot_page_ring(c);
	uint64_t head = cot_ring_head(ring), now_ns = cot_now_ns();
	uint64_t before = c->ring_reader.next;
	unsigned i, n;

	max = max < COT_RING_ENTRIES ? max : COT_RING_ENTRIES;
	n = cot_ring_read(ring, &c->ring_reader, head, now_ns, found, max);
	for (i = 0; i < n; i++)
		add(c->tenant, &found[i]);
	return c->ring_reader.next - before < max ? (unsigned)(c->ring_reader.next - before) : max;
}

static bool is_measured(struct conn *c)
{
	return conn_is_open(c) && c->tenant && c->tenant->requests && cot_page_ring(c);
}

/* The one that was first comes last the next time, so that all have their turn. */
static void look_at_all(struct conns *conns)
{
	static unsigned first;
	unsigned i, left = LOOK_MAX;

	first = (first + 1) % MAX_CONNS;
	for (i = 0; i < MAX_CONNS && left; i++) {
		struct conn *c = &conns->all[(first + i) % MAX_CONNS];

		if (is_measured(c))
			left -= look_at(c, left);
	}
}

enum cot_request_source cot_measure_source(const struct tenant *t)
{
	return t->marks ? COT_REQUESTS_MARKED : COT_REQUESTS_BURSTS;
}

static void tell(struct tenant *t, uint64_t now_ns)
{
	struct cot_requests_window w;

	while (cot_requests_take(t->requests, now_ns, &w)) {
		const struct cot_event ev = {.type = COT_EV_WINDOW,
					     .id = t->id,
					     .now_ns = now_ns,
					     .window = {.horizon = w.horizon,
							.source = cot_measure_source(t),
							.response = w.response,
							.service = w.service}};

		(void)cot_host_event(t->basis->host, &ev);
	}
}

void cot_measure_look(struct cot_timer *timer, uint64_t now_ns)
{
	struct roster *r = COT_CONTAINER_OF(timer, struct roster, looks);
	bool any = false;
	struct tenant *t;

	look_at_all(r->conns);
	for_each_tenant (t, r) {
		if (!t->requests)
			continue;
		if (now_ns >= t->aimed_ns + AIM_NS) {
			/* The policy learns what a slowdown means. */
			if (t->target.kind == COT_TARGET_SLOWDOWN)
				cot_measure_aim(t);
			t->aimed_ns = now_ns;
			look_told(t);
		}
		tell(t, now_ns);
		any = true;
	}
	if (any)
		cot_timer_set(&r->basis->loop, timer, now_ns + LOOK_NS);
}

void cot_measure_end(struct conn *c)
{
	struct cot_ring *ring = c->tenant->requests ? cot_page_ring(c) : NULL;

	if (!ring)
		return;
	(void)look_at(c, COT_RING_ENTRIES);
	c->tenant->n_requests_lost += c->ring_reader.n_lost +
				      atomic_load_explicit(&ring->n_dropped, memory_order_relaxed);
	c->tenant->n_requests_unclear +=
		atomic_load_explicit(&ring->n_unclear, memory_order_relaxed);
	c->tenant->n_requests_rejected += c->ring_reader.n_rejected;
	c->ring = NULL;
}
