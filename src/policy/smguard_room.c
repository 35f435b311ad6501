/* smguard: what there is on a GPU, and what each work may have of it. */
#include "policy/shared.h"
#include "policy/smguard_inside.h"
#include "policy/works.h"

bool cot_smguard_is_long(const struct cot_policy *p, const struct cot_work *w)
{
	return !w->task_ns || w->task_ns > p->config->adapt_task_us * COT_NS_PER_US;
}

static uint32_t default_reserve(const struct cot_policy *p, uint32_t n_sms)
{
	return at_least_one((n_sms * p->config->reserve_permille + 500) / 1000);
}

/* A reservation is a program's; a work may ask for less of it. */
uint32_t cot_smguard_reserve(const struct cot_policy *p, const struct cot_work *w)
{
	uint32_t n = cot_share_sms(w->tenant->reserve, w->n_sms);

	return n ? n : default_reserve(p, w->n_sms);
}

static uint32_t asks(const struct cot_policy *p, const struct cot_work *w)
{
	uint32_t program = cot_smguard_reserve(p, w);

	return least(w->want, w->reserve ? least(w->reserve, program) : program);
}

/* What latency programs want to find free, whether or not they want something now. */
static uint32_t sum_reserves(const struct cot_policy *p, const struct room *r)
{
	const struct cot_tenant *t;
	uint32_t said = 0;
	bool silent = false;

	cot_for_each_tenant (t, p) {
		uint32_t n;

		if (t->cls != COT_CLASS_LATENCY || !(t->gpu_mask >> r->gpu & 1))
			continue;
		n = cot_share_sms(t->reserve, r->n_sms);
		said += n;
		silent |= !n;
	}
	if (silent && said < default_reserve(p, r->n_sms))
		said = default_reserve(p, r->n_sms);
	/* One is left for batch programs, however much is reserved. */
	return said < r->n_sms ? said : r->n_sms - 1;
}

/* It could do more with more. */
static bool misses(const struct cot_work *w)
{
	return w->state == COT_WORK_WAITING ||
	       (works_kept(w) < w->want && (w->settled || w->can_grow));
}

/*
 * Whether its workers lie on all SMs. Workers that are all that a batch work ever has are on whole
 * SMs, unless its tasks all run at once; and whole SMs become empty when some leave.
 */
static bool is_spread(const struct cot_work *w)
{
	bool at_once = w->n_tasks && w->n_tasks <= (uint64_t)w->granted * w->per_sm;

	return !w->evicted && (at_once || w->want == w->n_sms);
}

static void count(const struct cot_policy *p, struct room *r, const struct cot_work *w)
{
	struct held *held = held_of(w->tenant);

	r->n_sms = w->n_sms;
	r->there += works_there(w);
	r->kept += works_kept(w);
	held->there += works_there(w);
	held->kept += works_kept(w);
	if (!is_batch(w)) {
		r->n_latency++;
		held->latency_kept += works_kept(w);
		held->asks += asks(p, w);
		if (w->state == COT_WORK_RUNNING && w->running_since_ns < r->latency_since_ns)
			r->latency_since_ns = w->running_since_ns;
		return;
	}
	r->n_batch++;
	r->missed |= misses(w);
	r->n_waiting += w->state == COT_WORK_WAITING;
	r->batch_there += works_there(w);
	if (!cot_smguard_is_long(p, w))
		return;
	r->long_there += works_there(w);
	r->long_kept += works_kept(w);
	r->beside += is_spread(w) ? works_kept(w) : 0;
}

struct room cot_smguard_look(const struct cot_policy *p, uint32_t gpu)
{
	const struct guard *g = p->state;
	struct room r = {.gpu = gpu, .latency_since_ns = COT_NEVER};
	const struct cot_work *w;
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		*held_of(t) = (struct held){0};
	cot_for_each_work(w, p) if (w->gpu == gpu) count(p, &r, w);
	r.reserve = sum_reserves(p, &r);
	r.guarded = r.n_latency || g->guarded_until_ns[gpu] > p->now_ns;
	return r;
}

/* What a batch work may have besides what it has. */
uint32_t cot_smguard_batch_room(const struct cot_policy *p, const struct room *r,
				const struct cot_work *w)
{
	uint32_t free_sms = less(r->n_sms, r->there);

	if (cot_smguard_is_long(p, w))
		free_sms = least(free_sms, less(r->n_sms - r->reserve, r->long_there));
	if (r->guarded)
		free_sms = least(free_sms, less(r->n_sms - r->reserve, r->batch_there));
	return free_sms;
}

/* What is left of its program's quota. */
uint32_t cot_smguard_quota_room(const struct room *r, const struct cot_work *w)
{
	uint32_t quota = cot_most_sms(w->tenant, r->n_sms);

	return quota ? less(quota, held_of(w->tenant)->there) : r->n_sms;
}

/* What a latency work is to get in any case: of its program's reservation, in proportion. */
uint32_t cot_smguard_reserved(const struct cot_policy *p, const struct cot_work *w)
{
	uint32_t program = cot_smguard_reserve(p, w), n = asks(p, w),
		 all = held_of(w->tenant)->asks;

	return all > program ? at_least_one(n * program / all) : n;
}
