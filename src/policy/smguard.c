/*
 * SMGuard (Yu et al., IEEE TPDS 2018), live: kernels run on a chosen number of CapSMs, some of
 * their workers are evicted while they run, and the workers that stay do the rest.
 *
 * Works wait in two pools. A *reservation* (latency programs) gets what its program reserved: from
 * free CapSMs, and the missing ones are evicted from batch works (Algorithm 1). It also gets other
 * CapSMs that are free or that short tasks can leave, as long as no other work needs them. It does
 * not wait for evicted workers: the hardware places its own workers as those leave. A *quota* work
 * (batch programs) gets what is free, up to its program's quota, and waits if nothing is free. The
 * policy serves works in order of arrival, reservations first.
 *
 * Where the printed algorithm is silent or wrong:
 *  - no work gets more workers than it has tasks (the core ensures this: `want`);
 *  - a reservation that gets nothing in spite of evictions, and a quota work for which nothing is
 *    left, wait: the printed algorithm would launch them with 0 workers;
 *  - an eviction leaves one CapSM, to do the rest. If even that one is needed, a work that can be
 *    launched again leaves as a whole, because a CapSM that shares an SM with others gets most of
 *    its issue slots. Where latency works follow each other without a pause, such a work gets less
 *    than the one CapSM;
 *  - while there are latency programs, their reservations are kept free of long batch tasks; 8/13
 *    of the SMs (section 6.3) if a program has no reservation. Short tasks leave quickly, so they
 *    may use everything meanwhile (config->adapt_task_us);
 *  - a batch kernel may run for any time, so a batch program that waits gets a fair part after a
 *    while, which is evicted from the programs that have more;
 *  - the policy does not count on CapSMs that long tasks should leave: short tasks leave for a
 *    reservation meanwhile;
 *  - long tasks whose workers lie on all SMs often leave room there, and nobody can make them
 *    leave. So the only reservation there is also gets as many CapSMs as these have: as many of its
 *    workers run as fit beside the others, and the rest wait in the hardware and claim nothing. It
 *    gives that back when another reservation comes, or after a while;
 *  - evicted CapSMs come back: config->grow_after_ns after the last latency work has ended, and if
 *    the work has to be launched again for it, not before two of its tasks could have ended.
 */
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/smguard_inside.h"
#include "policy/works.h"

/* How long a batch work waits before others give some up for it. Our choice. */
#define SHARE_AFTER_NS (5 * COT_NS_PER_MS)
/*
 * Starting a settled work again with more takes its program a round trip and a launch, some 30 us,
 * and it cannot go on to something else before its kernel has ended: only for what lasts. Our
 * choices.
 */
#define SETTLE_NS (2 * COT_NS_PER_MS)
#define REGROW_NS (1 * COT_NS_PER_MS)
/*
 * And its tasks have to end first. If the next latency work comes before that has paid, it was for
 * nothing, and what leaves is not there for it: so many tasks' time without latency works. Our
 * choice.
 */
#define REGROW_TASKS 2u
/*
 * Workers that wait in the hardware hold up other launches, such as the next one of the program
 * beside which they wait, which does not ask again: no longer than that. Our choice.
 */
#define BESIDE_NS (20 * COT_NS_PER_MS)

/* ---- what is taken back ---- */

static bool may_give(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	(void)arg;
	return is_batch(w);
}

/* Another work needs the CapSMs soon. */
static bool may_give_short(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)arg;
	return is_batch(w) && !cot_smguard_is_long(p, w);
}

static bool may_give_long(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)arg;
	return is_batch(w) && cot_smguard_is_long(p, w);
}

static bool is_of_tenant(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	return w->tenant == arg;
}

static bool is_of_others(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	return w->tenant != arg;
}

static bool is_batch_of_tenant(const struct cot_policy *p, const struct cot_work *w,
			       const void *arg)
{
	return is_batch(w) && is_of_tenant(p, w, arg);
}

static bool is_batch_of_others(const struct cot_policy *p, const struct cot_work *w,
			       const void *arg)
{
	return is_batch(w) && is_of_others(p, w, arg);
}

static bool is_any(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	(void)w;
	(void)arg;
	return true;
}

/* A quota was lowered. Whether something is taken back. */
static bool keep_quotas(struct cot_policy *p, const struct room *r)
{
	const struct cot_tenant *t;
	bool taken = false;

	cot_for_each_tenant (t, p) {
		uint32_t quota = cot_most_sms(t, r->n_sms), kept = held_of(t)->kept;

		if (quota && kept > quota)
			taken |= cot_works_adjust(p, r->gpu, kept - quota, 1, false,
						  is_batch_of_tenant, t) > 0;
	}
	return taken;
}

/* A latency program came, or reserves more. As above. */
static bool keep_reserve(struct cot_policy *p, const struct room *r)
{
	uint32_t limit = r->n_sms - r->reserve;

	return r->long_kept > limit &&
	       cot_works_adjust(p, r->gpu, r->long_kept - limit, 1, false, may_give_long, NULL) > 0;
}

/* ---- Algorithm 1 ---- */

/* Of what latency works have beyond that. */
static uint32_t take_surplus(struct cot_policy *p, const struct room *r, uint32_t gap,
			     cot_works_may_give_fn *may, const void *arg)
{
	struct cot_work *w;
	uint32_t taken = 0;

	cot_for_each_running(w, p, r->gpu)
	{
		uint32_t n;

		if (is_batch(w) || !may(p, w, arg))
			continue;
		n = least(less(works_kept(w), cot_smguard_reserved(p, w)), gap - taken);
		if (n && !cot_evict(p, w, w->evicted + n))
			taken += n;
	}
	return taken;
}

static void grant(struct cot_policy *p, struct room *r, struct cot_work *w, uint32_t capsms,
		  bool settled)
{
	if (cot_grant(p, w, capsms, settled))
		return;
	*r = cot_smguard_look(p, r->gpu);
}

/* From other programs, for one that does not have its reservation. */
static uint32_t take_owed(struct cot_policy *p, const struct room *r, const struct cot_work *w,
			  uint32_t gap)
{
	uint32_t taken = cot_works_adjust(p, r->gpu, gap, 1, true, may_give, NULL);

	return taken + take_surplus(p, r, gap - taken, is_of_others, w->tenant);
}

/* What latency works have beside long tasks. */
static uint32_t take_beside(struct cot_policy *p, const struct room *r)
{
	return take_surplus(p, r, less(r->kept, r->n_sms), is_any, NULL);
}

/*
 * Where another latency work is to be served, nothing lies beside anything. If the reservation of a
 * running one was raised meanwhile, that one keeps what it has, and batch works leave for it.
 */
static void take_excess(struct cot_policy *p, struct room *r)
{
	uint32_t gap = less(r->kept, r->n_sms), taken = take_beside(p, r);

	taken += cot_works_adjust(p, r->gpu, gap - taken, 1, true, may_give, NULL);
	if (taken)
		*r = cot_smguard_look(p, r->gpu);
}

/*
 * Lines 1 to 7. Evicted CapSMs count as free. Those that long tasks should leave will not be free
 * soon, so short tasks leave in their place as far as they can. Beyond its reservation the work
 * gets what is free, what short tasks can leave, and what is beside long ones. Its program's
 * latency works share the reservation: others give up only what these do not have already. False:
 * it waits, and nobody has anything to give.
 */
static bool serve_reservation(struct cot_policy *p, struct room *r, struct cot_work *w)
{
	uint32_t most = least(w->want, cot_smguard_quota_room(r, w)),
		 need = least(cot_smguard_reserved(p, w), most);
	uint32_t owed = less(cot_smguard_reserve(p, w), held_of(w->tenant)->latency_kept);
	uint32_t remain = less(r->n_sms, r->kept), beside = 0;
	uint32_t soon = less(remain, r->long_there - r->long_kept);

	if (most > soon)
		remain += cot_works_adjust(p, r->gpu, most - soon, 1, true, may_give_short, NULL);
	if (r->n_latency == 1 && need <= remain)
		beside = r->beside; /* nobody has to give what is reserved */
	if (need > remain)
		remain += take_owed(p, r, w, least(need - remain, owed));
	if (need > remain)
		remain += take_surplus(p, r, need - remain, is_of_tenant, w->tenant);
	if (!most || !remain)
		return !most || owed < need;
	grant(p, r, w, least(most, remain + beside), false);
	return true;
}

/* What a work with `capsms`, not 0, still takes, if all is as it seems; 0 = not known. */
static uint64_t takes_ns(const struct cot_work *w, uint32_t capsms)
{
	return (uint64_t)w->n_tasks * w->task_ns / w->per_sm / capsms;
}

/*
 * A short work can have all in a moment, if no latency work comes; better than a part now. Not if
 * they come again and again.
 */
static bool is_early(const struct cot_policy *p, const struct room *r, const struct cot_work *w)
{
	return r->guarded && !r->n_latency && !cot_smguard_is_long(p, w) &&
	       p->now_ns < w->waiting_since_ns + SHARE_AFTER_NS;
}

/* Lines 8 to 11. */
static void serve_quota(struct cot_policy *p, struct room *r, struct cot_work *w)
{
	uint32_t capsms = least(
		w->want, least(cot_smguard_batch_room(p, r, w), cot_smguard_quota_room(r, w)));

	if (capsms && !is_early(p, r, w))
		grant(p, r, w, capsms, w->can_settle && takes_ns(w, capsms) >= SETTLE_NS);
}

/* When one has to wait for other programs all SMs are in use: the others wait, too. */
static void serve_reservations(struct cot_policy *p, struct room *r)
{
	struct cot_work *w;

	cot_for_each_work(w, p)
	{
		if (w->gpu != r->gpu || w->state != COT_WORK_WAITING || is_batch(w))
			continue;
		take_excess(p, r);
		if (!serve_reservation(p, r, w))
			return;
	}
}

static void serve_quotas(struct cot_policy *p, struct room *r)
{
	struct cot_work *w;

	cot_for_each_work(w, p)
	{
		if (r->there >= r->n_sms)
			return;
		if (w->gpu == r->gpu && w->state == COT_WORK_WAITING && is_batch(w))
			serve_quota(p, r, w);
	}
}

/* ---- among batch programs ---- */

/* An equal part of what there is for batch works. */
struct part {
	uint32_t capsms;
	uint32_t going; /* on its way out already */
	/* For works of this tenant the other tenants have nothing left; `none`: for no work. */
	const struct cot_tenant *poor;
	bool none;
};

static void give_part(struct cot_policy *p, const struct room *r, struct part *part,
		      const struct cot_work *w)
{
	uint32_t gap = less(least(w->want, part->capsms), part->going);

	if (!gap || part->none || w->tenant == part->poor)
		return;
	if (cot_works_adjust(p, r->gpu, gap, part->capsms, false, is_batch_of_others, w->tenant) ==
	    gap)
		return;
	/* Two tenants get nothing from their others. Every tenant is an other of one of the two, so
	 * none has anything to give. */
	part->none = part->poor;
	part->poor = w->tenant;
}

/* Others give up what they have beyond an equal part, for those that have waited for long. */
static uint64_t share(struct cot_policy *p, const struct room *r)
{
	uint32_t all = r->n_sms - (r->guarded ? r->reserve : 0);
	uint64_t wake_ns = COT_NEVER;
	struct part part = {.going = r->there - r->kept};
	const struct cot_work *w;

	part.capsms = at_least_one(all / at_least_one(r->n_batch));
	cot_for_each_work(w, p)
	{
		uint64_t since_ns = w->waiting_since_ns + SHARE_AFTER_NS;

		if (w->gpu != r->gpu || w->state != COT_WORK_WAITING || !is_batch(w) ||
		    !cot_smguard_quota_room(r, w))
			continue;
		if (since_ns > p->now_ns)
			policy_earlier(&wake_ns, since_ns);
		else
			give_part(p, r, &part, w);
	}
	return wake_ns;
}

static bool is_worth_it(const struct cot_policy *p, const struct cot_work *w, uint32_t more)
{
	uint32_t kept = works_kept(w);
	uint64_t all_ns = takes_ns(w, kept), gone_ns = p->now_ns - w->running_since_ns;

	return more >= kept / 4 + 1 && all_ns > gone_ns + REGROW_NS;
}

/* When the pause between latency works is long enough for one that has to start again. */
static uint64_t regrow_at_ns(const struct cot_policy *p, const struct room *r,
			     const struct cot_work *w)
{
	const struct guard *g = p->state;
	uint64_t guarded_ns = g->guarded_until_ns[w->gpu];

	if (!guarded_ns || !r->reserve) /* there was none; or no latency program can come */
		return 0;
	return guarded_ns - p->config->grow_after_ns + (uint64_t)REGROW_TASKS * w->task_ns;
}

/* Returns when it may grow, if that is not now. */
static uint64_t grow(struct cot_policy *p, struct room *r, struct cot_work *w)
{
	uint32_t kept = works_kept(w),
		 more = least(cot_smguard_batch_room(p, r, w), cot_smguard_quota_room(r, w));

	more = least(more, less(w->want, kept));
	if (!more || !kept || w->evicted != w->left)
		return COT_NEVER;
	if (!w->settled) {
		if (w->can_grow)
			grant(p, r, w, w->granted + more, false);
		return COT_NEVER;
	}
	if (!is_worth_it(p, w, more))
		return COT_NEVER;
	if (regrow_at_ns(p, r, w) > p->now_ns)
		return regrow_at_ns(p, r, w);
	(void)cot_evict(p, w, w->granted); /* it comes back, and gets more then */
	return COT_NEVER;
}

/* A latency work that stays gives back what it has beyond its reserve, or just beside others. */
static uint64_t limit_latency(struct cot_policy *p, const struct room *r)
{
	uint64_t since_ns = r->latency_since_ns, until_ns;

	if ((!r->missed && r->kept <= r->n_sms) || since_ns == COT_NEVER)
		return COT_NEVER;
	until_ns = since_ns + (r->missed ? SHARE_AFTER_NS : BESIDE_NS);
	if (until_ns > p->now_ns)
		return until_ns;
	if (r->missed)
		(void)take_surplus(p, r, r->n_sms, is_any, NULL);
	else
		(void)take_beside(p, r);
	return COT_NEVER;
}

/* What latency programs no longer need. */
static uint64_t give_back(struct cot_policy *p, struct room *r)
{
	uint64_t wake_ns = COT_NEVER;
	struct cot_work *w;

	if (r->n_waiting || (r->guarded && !r->n_latency))
		return COT_NEVER;
	if (r->n_latency &&
	    (r->latency_since_ns == COT_NEVER || r->latency_since_ns + SHARE_AFTER_NS > p->now_ns))
		return COT_NEVER;
	cot_for_each_work(w, p)
	{
		if (r->there >= r->n_sms)
			break;
		if (w->gpu == r->gpu && is_batch(w))
			policy_earlier(&wake_ns, grow(p, r, w));
	}
	return wake_ns;
}

/* ---- the policy ---- */

static uint64_t decide(struct cot_policy *p, uint32_t gpu)
{
	const struct guard *g = p->state;
	struct room r = cot_smguard_look(p, gpu);
	uint64_t wake_ns;
	bool taken;

	taken = keep_quotas(p, &r);
	taken |= keep_reserve(p, &r);
	if (taken)
		r = cot_smguard_look(p, gpu);
	serve_reservations(p, &r);
	serve_quotas(p, &r);
	wake_ns = share(p, &r);
	if (r.guarded && !r.n_latency)
		policy_earlier(&wake_ns, g->guarded_until_ns[gpu]);
	policy_earlier(&wake_ns, limit_latency(p, &r));
	policy_earlier(&wake_ns, give_back(p, &r));
	return wake_ns;
}

/* Do not look again before something has changed. */
static uint64_t tick(struct cot_policy *p)
{
	uint64_t gpus = p->waiting_gpus | p->running_gpus, wake_ns = COT_NEVER;
	struct guard *g = p->state;

	cot_works_leave_entities(p);
	for (; gpus; gpus &= gpus - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(gpus);

		if (!(g->decided_gpus >> gpu & 1) || g->wake_ns[gpu] <= p->now_ns) {
			g->decided_gpus |= 1ull << gpu;
			g->wake_ns[gpu] = decide(p, gpu);
		}
		policy_earlier(&wake_ns, g->wake_ns[gpu]);
	}
	return wake_ns;
}

static void work_changed(struct cot_policy *p, struct cot_work *w)
{
	struct guard *g = p->state;

	g->decided_gpus &= ~(1ull << w->gpu);
}

static void work_done(struct cot_policy *p, struct cot_work *w)
{
	struct guard *g = p->state;

	if (!is_batch(w))
		g->guarded_until_ns[w->gpu] = p->now_ns + p->config->grow_after_ns;
	work_changed(p, w);
}

/* What is reserved, and quotas. */
static void tenant_came_or_went(struct cot_policy *p, struct cot_tenant *t)
{
	struct guard *g = p->state;

	(void)t;
	g->decided_gpus = 0;
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)what;
	tenant_came_or_went(p, t);
}

static const struct cot_work_ops works = {
	.ready = work_changed,
	.evicted = work_changed,
	.done = work_done,
};

const struct cot_policy_ops cot_policy_smguard = {
	.name = "smguard",
	.summary = "one pool; shares of the SMs, taken back from running kernels and given back",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.works = &works,
	.state_bytes = sizeof(struct guard),
	.tenant_bytes = sizeof(struct held),
	.tenant_joined = tenant_came_or_went,
	.tenant_left = tenant_came_or_went,
	.tenant_changed = tenant_changed,
	.tick = tick,
};
