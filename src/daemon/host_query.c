#include "daemon/host_query.h"

#include "daemon/host_inside.h"

/* What is older the daemon should have heard long ago: another clock, maybe. */
#define OLD_NS (60 * COT_NS_PER_S)

/* ---- copies ---- */

static bool gives_way(const struct cot_host *host, unsigned member, const struct cot_tenant *to)
{
	const struct cot_tenant *t = cot_sched_tenant(host->sched, host->query_tenant[member]);

	return t && t->cls == COT_CLASS_BATCH && (t->gpu_mask & to->gpu_mask);
}

/* What cannot be sent is not sent again: it will soon be over. */
static void tell_copies(struct cot_host *host, uint32_t tenant, uint32_t way, uint64_t for_ns)
{
	const struct cot_tenant *to = cot_sched_tenant(host->sched, tenant);
	struct cot_msg_copies m = {.way = way, .for_ns = for_ns};
	unsigned i;

	cot_proto_header(&m.h, COT_MSG_COPIES, sizeof(m), 0);
	for (i = 0; to && i < COT_HOST_MAX_MEMBERS; i++)
		if (host->query_tenant[i] && gives_way(host, i, to))
			(void)host->ops->send(host->arg, i, &m, sizeof(m));
}

/* Whether others still copy out. */
static bool any_copies(const struct cot_host *host, uint64_t now_ns)
{
	const struct host_query *q;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		if (q->id && q->copies_until_ns > now_ns)
			return true;
	return false;
}

/* ---- who is asked ---- */

static void end(struct cot_host *host, struct host_query *q, uint64_t now_ns)
{
	const struct cot_event ev = {.type = COT_EV_QUERY_END, .id = q->id, .now_ns = now_ns};
	bool copied = q->copies_until_ns > now_ns;
	unsigned member = q->member;

	*q = (struct host_query){0}; /* the core may do more in there */
	if (copied && !any_copies(host, now_ns))
		tell_copies(host, host->query_tenant[member], COT_WAY_OUT, 0);
	if (host->ops->query_over)
		host->ops->query_over(host->arg, member);
	(void)cot_host_event(host, &ev);
}

static bool is_wanted(const struct cot_host *host, uint32_t tenant)
{
	const struct cot_tenant *t = cot_sched_tenant(host->sched, tenant);

	return t && t->cls == COT_CLASS_LATENCY && cot_sched_wanted_policy(host->sched)->queries;
}

static void end_of_member(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct host_query *q;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		if (q->id && q->member == member)
			end(host, q, now_ns);
}

/* A shim that need not tell any longer tells of no end either. */
static void ask(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct cot_msg_queries m = {.wanted = is_wanted(host, host->query_tenant[member])};

	if (set_has(&host->query_told, member) == (m.wanted != 0))
		return;
	cot_proto_header(&m.h, COT_MSG_QUERIES, sizeof(m), 0);
	if (host->ops->send(host->arg, member, &m, sizeof(m)) < 0)
		return;
	if (m.wanted) {
		set_put(&host->query_told, member);
	} else {
		set_drop(&host->query_told, member);
		end_of_member(host, member, now_ns);
	}
}

void cot_host_query_ask(struct cot_host *host, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < COT_HOST_MAX_MEMBERS; i++)
		if (host->query_tenant[i])
			ask(host, i, now_ns);
}

void cot_host_query_join(struct cot_host *host, unsigned member, uint32_t tenant, uint64_t now_ns)
{
	host->query_tenant[member] = tenant;
	ask(host, member, now_ns);
}

/* ---- which there are ---- */

static struct host_query *find(struct cot_host *host, unsigned member, uint32_t query)
{
	struct host_query *q;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		if (q->id && q->member == member && q->query == query)
			return q;
	return NULL;
}

/* A place for the next id that no unfinished one has, modulo the size of the core's table. */
static struct host_query *make(struct cot_host *host)
{
	struct host_query *q;
	unsigned i;

	for (i = 0; i < COT_SCHED_MAX_QUERIES; i++) {
		if (!++host->last_query)
			host->last_query = 1;
		q = &host->queries[host->last_query % COT_SCHED_MAX_QUERIES];
		if (q->id)
			continue;
		q->id = host->last_query;
		return q;
	}
	return NULL;
}

static unsigned count_of_member(const struct cot_host *host, unsigned member)
{
	const struct host_query *q;
	unsigned n = 0;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		n += q->id && q->member == member;
	return n;
}

unsigned cot_host_query_count(const struct cot_host *host, uint32_t tenant)
{
	const struct host_query *q;
	unsigned n = 0;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		n += q->id && host->query_tenant[q->member] == tenant;
	return n;
}

/* ---- to the core ---- */

/* Impossible times are not known. */
static struct cot_query_desc describe(const struct cot_msg_query_begin *m, uint64_t now_ns)
{
	struct cot_query_desc d = {
		.size = m->size,
		.arrived_ns = m->arrived_ns,
		.began_ns = m->began_ns,
		.in_ns = m->in_ns,
	};

	if (d.began_ns > now_ns || now_ns - d.began_ns > OLD_NS)
		d.began_ns = d.arrived_ns = now_ns;
	else if (!d.arrived_ns || d.began_ns - d.arrived_ns > OLD_NS)
		d.arrived_ns = d.began_ns;
	if (d.in_ns > now_ns - d.began_ns)
		d.in_ns = now_ns - d.began_ns;
	return d;
}

bool cot_host_query_begin(struct cot_host *host, unsigned member,
			  const struct cot_msg_query_begin *m, const struct cot_host_plan *plan,
			  uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_QUERY, .now_ns = now_ns};
	struct host_query *q;

	if (!set_has(&host->query_told, member) || find(host, member, m->query) ||
	    count_of_member(host, member) >= COT_PROTO_QUERIES_MAX)
		return false;
	q = make(host);
	if (!q)
		return false;
	q->member = (uint16_t)member;
	q->query = m->query;
	ev.id = q->id;
	ev.query = describe(m, now_ns);
	ev.query.tenant = host->query_tenant[member];
	ev.query.plan = plan->plan;
	ev.query.plan_key = plan->key;
	ev.query.out_ns = plan->out_ns;
	if (cot_host_event(host, &ev) == 0)
		return true;
	*q = (struct host_query){0};
	return false;
}

bool cot_host_query_is_planned(struct cot_host *host, unsigned member, uint32_t query)
{
	const struct host_query *q = find(host, member, query);
	const struct cot_query *in = q ? cot_sched_query(host->sched, q->id) : NULL;

	return in && in->plan;
}

bool cot_host_query_tasks(struct cot_host *host, unsigned member,
			  const struct cot_msg_query_tasks *m, uint64_t now_ns)
{
	struct host_query *q = find(host, member, m->query);
	struct cot_event ev = {
		.type = COT_EV_QUERY_TASKS,
		.now_ns = now_ns,
		.tasks = {.n_done = m->n_done, .at_ns = m->done_ns < now_ns ? m->done_ns : now_ns},
	};

	if (!q)
		return false;
	ev.id = q->id;
	return cot_host_event(host, &ev) == 0;
}

bool cot_host_query_copy(struct cot_host *host, unsigned member, const struct cot_msg_query_copy *m,
			 uint64_t now_ns)
{
	struct host_query *q = find(host, member, m->query);

	if (!set_has(&host->query_told, member) || (m->way == COT_WAY_OUT && !q))
		return false;
	if (q)
		q->copies_until_ns = now_ns + m->for_ns;
	tell_copies(host, host->query_tenant[member], m->way, m->for_ns);
	return true;
}

bool cot_host_query_end(struct cot_host *host, unsigned member, const struct cot_msg_query_end *m,
			uint64_t now_ns)
{
	struct host_query *q = find(host, member, m->query);

	if (q)
		end(host, q, now_ns);
	return q != NULL;
}

void cot_host_query_end_all(struct cot_host *host, uint64_t now_ns)
{
	struct host_query *q;

	for (q = host->queries; q < host->queries + COT_SCHED_MAX_QUERIES; q++)
		if (q->id)
			end(host, q, now_ns);
}

void cot_host_query_leave(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	end_of_member(host, member, now_ns);
	host->query_tenant[member] = 0;
	set_drop(&host->query_told, member);
}
