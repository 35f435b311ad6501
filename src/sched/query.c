/*
 * Queries: what hosts tell of requests while they are on the GPU. The core checks it, so that a
 * policy can compute with it, keeps it in a table, and tells a policy that looks at queries.
 */
#include <errno.h>
#include <string.h>

#include "sched/inside.h"

static const struct cot_query_ops no_callbacks;

static const struct cot_query_ops *callbacks(const struct cot_sched *s)
{
	return s->started && s->policy.ops->queries ? s->policy.ops->queries : &no_callbacks;
}

/* ---- plans ---- */

static bool are_times(const uint64_t *ns, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!ns[i] || ns[i] > COT_PLAN_NS_MAX)
			return false;
	return true;
}

static bool are_rates(const uint64_t *bytes_per_s, size_t n)
{
	size_t i;

	for (i = 0; bytes_per_s && i < n; i++)
		if (bytes_per_s[i] > COT_BYTES_PER_S_MAX)
			return false;
	return true;
}

/* Larger and larger parts, and no longer times. */
static bool are_quotas(const struct cot_plan *plan)
{
	uint32_t i;

	if (!plan->sms[0] || plan->sms[plan->n_quotas - 1] > COT_SMS_MAX)
		return false;
	for (i = 1; i < plan->n_quotas; i++)
		if (plan->sms[i] <= plan->sms[i - 1] || plan->query_ns[i] > plan->query_ns[i - 1])
			return false;
	return true;
}

bool cot_plan_is_valid(const struct cot_plan *plan)
{
	size_t n_numbers;

	if (!plan->n_quotas || plan->n_quotas > COT_QUOTAS_MAX || !plan->n_tasks ||
	    plan->n_tasks > COT_QUERY_TASKS_MAX)
		return false;
	n_numbers = (size_t)plan->n_tasks * plan->n_quotas;
	return are_times(plan->query_ns, plan->n_quotas) && are_quotas(plan) &&
	       are_times(plan->task_ns, n_numbers) && are_rates(plan->task_bytes_per_s, n_numbers);
}

/* ---- the table ---- */

static struct sched_query *slot_of(struct cot_sched *s, uint32_t id)
{
	return &s->queries[id % COT_SCHED_MAX_QUERIES];
}

static struct sched_query *find(struct cot_sched *s, uint32_t id)
{
	struct sched_query *q = slot_of(s, id);

	return q->used && q->pub.id == id ? q : NULL;
}

const struct cot_query *cot_sched_query(const struct cot_sched *s, uint32_t id)
{
	const struct sched_query *q = &s->queries[id % COT_SCHED_MAX_QUERIES];

	return q->used && q->pub.id == id ? &q->pub : NULL;
}

static void add(struct cot_sched *s, struct sched_query *q)
{
	struct cot_query **end = &s->policy.queries;

	while (*end)
		end = &(*end)->next;
	*end = &q->pub;
	s->policy.n_queries++;
}

static void take_out(struct cot_sched *s, struct sched_query *q)
{
	struct cot_query **link = &s->policy.queries;

	while (*link != &q->pub)
		link = &(*link)->next;
	*link = q->pub.next;
	s->policy.n_queries--;
}

static void end(struct cot_sched *s, struct sched_query *q)
{
	const struct cot_query_ops *ops = callbacks(s);

	take_out(s, q);
	if (ops->end)
		ops->end(&s->policy, &q->pub);
	cot_acquaint_end((struct sched_tenant *)q->pub.tenant, &q->pub, s->policy.now_ns);
	q->used = false;
}

/* ---- events ---- */

/* What a host leaves out has happened just now, or together with what came next. */
static bool fill_in(const struct cot_sched *s, const struct cot_query_desc *d, struct cot_query *q)
{
	q->size = d->size;
	q->began_ns = d->began_ns ? d->began_ns : s->policy.now_ns;
	q->arrived_ns = d->arrived_ns ? d->arrived_ns : q->began_ns;
	q->in_ns = d->in_ns;
	q->out_ns = d->out_ns;
	q->plan = d->plan;
	return q->arrived_ns <= q->began_ns && q->began_ns <= s->policy.now_ns &&
	       q->in_ns <= COT_PLAN_NS_MAX && q->out_ns <= COT_PLAN_NS_MAX;
}

int cot_sched_query_on_begin(struct cot_sched *s, struct sched_tenant *t, uint32_t id,
			     const struct cot_query_desc *d)
{
	const struct cot_query_ops *ops = callbacks(s);
	struct sched_query *q = slot_of(s, id);
	struct cot_query is = {.id = id, .own = &q->own};

	if (!id || !t || !fill_in(s, d, &is) || (d->plan && !cot_plan_is_valid(d->plan)))
		return -EINVAL;
	if (q->used)
		return -EEXIST;
	is.tenant = &t->pub;
	if (!is.plan)
		is.plan = cot_acquaint_plan(t, d->size);
	*q = (struct sched_query){.pub = is, .used = true};
	add(s, q);
	if (ops->begin)
		ops->begin(&s->policy, &q->pub);
	return 0;
}

int cot_sched_query_on_tasks(struct cot_sched *s, uint32_t id, uint32_t n_done, uint64_t done_ns)
{
	const struct cot_query_ops *ops = callbacks(s);
	struct sched_query *q = find(s, id);

	if (!done_ns)
		done_ns = s->policy.now_ns;
	if (!q || n_done <= q->pub.n_done || done_ns > s->policy.now_ns ||
	    done_ns < q->pub.began_ns || done_ns < q->pub.done_ns)
		return -EINVAL;
	q->pub.n_done = n_done;
	q->pub.done_ns = done_ns;
	if (ops->task)
		ops->task(&s->policy, &q->pub);
	return 0;
}

int cot_sched_query_on_end(struct cot_sched *s, uint32_t id)
{
	struct sched_query *q = find(s, id);

	if (!q)
		return -EINVAL;
	end(s, q);
	return 0;
}

/* ---- who leaves ---- */

void cot_sched_query_drop(struct cot_sched *s, const struct cot_tenant *t)
{
	struct cot_query *q, *next;

	for (q = s->policy.queries; q; q = next) {
		next = q->next;
		if (q->tenant == t)
			end(s, (struct sched_query *)q);
	}
}

void cot_sched_query_forget_policy(struct cot_sched *s, const struct cot_policy_ops *ops)
{
	struct cot_query *q;

	cot_for_each_query(q, &s->policy) memset(q->own, 0, ops->query_bytes);
}
