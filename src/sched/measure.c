/*
 * What hosts measure of tenants: checked, kept in the table, and told to a policy that wants to
 * know.
 */
#include <errno.h>

#include "sched/inside.h"

static bool is_too_soon(const struct cot_sched *s, uint64_t last_ns)
{
	return last_ns && s->policy.now_ns - last_ns < COT_SCHED_MEASURE_NS;
}

static bool are_times(const struct cot_times *t)
{
	if (!t->n)
		return !t->n_missed && !t->p50_ns && !t->p95_ns && !t->p99_ns;
	return t->n_missed <= t->n && t->p50_ns <= t->p95_ns && t->p95_ns <= t->p99_ns;
}

static bool is_window(const struct cot_window *w)
{
	if ((unsigned)w->horizon >= COT_N_HORIZONS || (unsigned)w->source > COT_REQUESTS_BURSTS)
		return false;
	if (w->source == COT_REQUESTS_BURSTS && w->response.n)
		return false;
	return are_times(&w->response) && are_times(&w->service) && w->response.n <= w->service.n;
}

static const struct cot_measure_ops *listener(const struct cot_sched *s)
{
	return s->started ? s->policy.ops->measures : NULL;
}

int cot_sched_measure_on_window(struct cot_sched *s, struct sched_tenant *t,
				const struct cot_window *w)
{
	const struct cot_measure_ops *ops = listener(s);
	struct cot_window *kept;

	if (!t || !is_window(w))
		return -EINVAL;
	kept = &t->pub.windows[w->horizon];
	if (is_too_soon(s, kept->at_ns))
		return -EAGAIN;
	*kept = *w;
	kept->at_ns = s->policy.now_ns;
	if (ops && ops->requests)
		ops->requests(&s->policy, &t->pub, kept);
	return 0;
}

int cot_sched_measure_on_progress(struct cot_sched *s, struct sched_tenant *t,
				  const struct cot_launches *l)
{
	const struct cot_measure_ops *ops = listener(s);

	if (!t || !l->span_ns)
		return -EINVAL;
	if (is_too_soon(s, t->pub.launches.at_ns))
		return -EAGAIN;
	t->pub.launches = *l;
	t->pub.launches.at_ns = s->policy.now_ns;
	if (ops && ops->progress)
		ops->progress(&s->policy, &t->pub);
	return 0;
}
