/*
 * Works: launches of rewritten kernels that wait for a part of the GPU, run on it, give some of it
 * back and may get more. The policy decides; this file keeps their state and checks the policy's
 * actions.
 */
#include <errno.h>
#include <string.h>

#include "sched/inside.h"

void cot_sched_work_init(struct cot_sched *s)
{
	s->works_tail = &s->policy.works;
	s->waiting_tail = &s->waiting;
	for (unsigned i = 0; i < N_GPUS; i++)
		s->running_tail[i] = &s->policy.running[i];
}

void cot_sched_work_forget_policy(struct cot_sched *s, const struct cot_policy_ops *ops)
{
	struct cot_work *w;

	cot_for_each_work(w, &s->policy) memset(w->own, 0, ops->work_bytes);
}

/* The policy's callbacks for works. */
static const struct cot_work_ops *work_ops(const struct cot_sched *s)
{
	static const struct cot_work_ops none;

	return s->started && s->policy.ops->works ? s->policy.ops->works : &none;
}

static struct sched_work *find_work(const struct cot_sched *s, uint32_t id)
{
	const struct sched_work *w = &s->works[id % COT_SCHED_MAX_WORKS];

	return w->used && w->pub.id == id ? (struct sched_work *)w : NULL;
}

const struct cot_work *cot_sched_work(const struct cot_sched *s, uint32_t id)
{
	const struct sched_work *w = find_work(s, id);

	return w ? &w->pub : NULL;
}

/* ---- actions for the host ---- */

static void enqueue(struct cot_sched *s, struct sched_work *w)
{
	uint32_t at = (s->work_queue_head + s->work_queue_n) % COT_SCHED_MAX_WORKS;

	if (w->queued)
		return;
	w->queued = true;
	s->work_queue[at] = (uint16_t)(w - s->works);
	s->work_queue_n++;
}

static void forget_queued(struct cot_sched *s, const struct sched_work *w)
{
	uint16_t index = (uint16_t)(w - s->works);
	uint32_t i, kept = 0;

	for (i = 0; w->queued && i < s->work_queue_n; i++) {
		uint16_t q = s->work_queue[(s->work_queue_head + i) % COT_SCHED_MAX_WORKS];

		if (q != index)
			s->work_queue[(s->work_queue_head + kept++) % COT_SCHED_MAX_WORKS] = q;
	}
	if (w->queued)
		s->work_queue_n = kept;
}

/* A limit of its own, or one that no policy lifts. What is missing only while others need it is
 * not: spread over all SMs a kernel gets more of the GPU done, and the others have theirs. */
static bool has_part(const struct cot_sched *s, const struct cot_work *w)
{
	return w->want < w->n_sms || !s->policy.ops->works;
}

/* The policy thinks that works of several programs fit an SM together. Not all may. */
static bool is_crowded(const struct cot_sched *s, const struct cot_work *of)
{
	const struct cot_work *w;
	uint64_t kept = 0;

	if (!s->policy.ops->works)
		return false;
	cot_for_each_running(w, &s->policy, of->gpu) kept += w->granted - w->evicted;
	return kept > of->n_sms;
}

static void fill_action(struct cot_sched *s, struct sched_work *w, struct cot_action *ret_action)
{
	bool grant = w->pub.granted != w->sent_granted;

	if (!++s->next_seq)
		s->next_seq = 1;
	*ret_action = (struct cot_action){
		.seq = s->next_seq,
		.entity = w->pub.id,
		.kind = grant ? COT_ACTION_GRANT : COT_ACTION_EVICT,
		.value = grant ? w->pub.granted : w->pub.evicted,
		.now_ns = s->policy.now_ns,
		.deadline_ns = COT_NEVER,
		.settled = grant && w->pub.settled,
		.whole_sms = grant && has_part(s, &w->pub),
		.crowded = grant && is_crowded(s, &w->pub),
	};
	if (grant)
		w->sent_granted = w->pub.granted;
	else
		w->sent_evicted = w->pub.evicted;
}

bool cot_sched_work_next_action(struct cot_sched *s, struct cot_action *ret_action)
{
	struct sched_work *w;

	if (!s->work_queue_n)
		return false;
	w = &s->works[s->work_queue[s->work_queue_head]];
	fill_action(s, w, ret_action);
	if (w->pub.evicted == w->sent_evicted) { /* both are said */
		s->work_queue_head = (s->work_queue_head + 1) % COT_SCHED_MAX_WORKS;
		s->work_queue_n--;
		w->queued = false;
	}
	s->stats.actions[ret_action->kind]++;
	if (s->tap)
		s->tap(s->tap_arg, NULL, ret_action);
	return true;
}

/* ---- works that wait and works that run ---- */

static void begin_waiting(struct cot_sched *s, struct sched_work *w)
{
	w->pub.state = COT_WORK_WAITING;
	w->pub.waiting_since_ns = s->policy.now_ns;
	w->watched_since_ns = watch_ns(s);
	w->later = NULL;
	w->waiting_link = s->waiting_tail;
	*s->waiting_tail = w;
	s->waiting_tail = &w->later;
	s->n_waiting[w->pub.gpu]++;
	s->policy.waiting_gpus |= 1ull << w->pub.gpu;
}

static void end_waiting(struct cot_sched *s, struct sched_work *w)
{
	*w->waiting_link = w->later;
	if (w->later)
		w->later->waiting_link = w->waiting_link;
	else
		s->waiting_tail = w->waiting_link;
	if (!--s->n_waiting[w->pub.gpu])
		s->policy.waiting_gpus &= ~(1ull << w->pub.gpu);
}

static void begin_running(struct cot_sched *s, struct sched_work *w)
{
	uint32_t gpu = w->pub.gpu;

	w->pub.state = COT_WORK_RUNNING;
	w->pub.running_since_ns = s->policy.now_ns;
	w->pub.next_running = NULL;
	w->running_link = s->running_tail[gpu];
	*s->running_tail[gpu] = &w->pub;
	s->running_tail[gpu] = &w->pub.next_running;
	s->policy.running_gpus |= 1ull << gpu;
}

static void end_running(struct cot_sched *s, struct sched_work *w)
{
	uint32_t gpu = w->pub.gpu;

	*w->running_link = w->pub.next_running;
	if (w->pub.next_running)
		((struct sched_work *)w->pub.next_running)->running_link = w->running_link;
	else
		s->running_tail[gpu] = w->running_link;
	if (!s->policy.running[gpu])
		s->policy.running_gpus &= ~(1ull << gpu);
}

/* ---- the table ---- */

static uint32_t at_most(uint32_t n, uint32_t limit)
{
	return limit && limit < n ? limit : n;
}

static void set_want(struct sched_work *w)
{
	const struct cot_tenant *t = w->pub.tenant;
	uint32_t n = w->pub.n_sms;

	n = at_most(n, w->pub.asked);
	n = at_most(n, cot_most_sms(t, w->pub.n_sms));
	if (w->pub.n_tasks)
		n = at_most(n, (w->pub.n_tasks - 1) / w->pub.per_sm + 1);
	w->pub.want = n;
}

static void set_waiting(struct cot_sched *s, struct sched_work *w, uint32_t n_tasks)
{
	begin_waiting(s, w);
	w->pub.n_tasks = n_tasks;
	w->pub.settled = false;
	w->pub.granted = w->pub.evicted = w->pub.left = 0;
	w->sent_granted = w->sent_evicted = 0;
	set_want(w);
	if (work_ops(s)->ready)
		work_ops(s)->ready(&s->policy, &w->pub);
}

static struct cot_tenant *tenant_of(struct cot_sched *s, uint32_t id)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, &s->policy)
		if (t->id == id)
			return t;
	return NULL;
}

int cot_sched_work_on_work(struct cot_sched *s, uint32_t id, const struct cot_work_desc *d)
{
	struct sched_work *w = &s->works[id % COT_SCHED_MAX_WORKS];
	struct cot_tenant *t = tenant_of(s, d->tenant);

	if (!id || !t || d->gpu >= N_GPUS || !d->n_sms || d->n_sms > COT_SMS_MAX || !d->per_sm ||
	    (d->method != COT_WORK_QUOTA && d->method != COT_WORK_RESERVE))
		return -EINVAL;
	if (w->used)
		return w->pub.id == id ? -EEXIST : -ENOSPC;
	*w = (struct sched_work){
		.used = true,
		.pub =
			{
				.id = id,
				.own = &w->own,
				.tenant = t,
				.gpu = d->gpu,
				.n_sms = d->n_sms,
				.method = d->method,
				.can_settle = d->can_settle,
				.can_grow = d->can_grow,
				.per_sm = d->per_sm,
				.task_ns = d->task_ns,
				.asked = d->asked,
				.reserve = d->reserve,
			},
	};
	w->link = s->works_tail;
	*s->works_tail = &w->pub;
	s->works_tail = &w->pub.next;
	s->policy.n_works++;
	s->stats.works++;
	set_waiting(s, w, d->n_tasks);
	return 0;
}

int cot_sched_work_on_evicted(struct cot_sched *s, uint32_t id, uint32_t capsms)
{
	struct sched_work *w = find_work(s, id);

	if (!w || capsms > w->pub.evicted)
		return -EINVAL;
	if (capsms <= w->pub.left)
		return 0;
	w->pub.left = capsms;
	if (work_ops(s)->evicted)
		work_ops(s)->evicted(&s->policy, &w->pub);
	return 0;
}

/* Remove it first: the callback must not find it in the table. */
static void remove_work(struct cot_sched *s, struct sched_work *w)
{
	*w->link = w->pub.next;
	if (w->pub.next)
		((struct sched_work *)w->pub.next)->link = w->link;
	else
		s->works_tail = w->link;
	s->policy.n_works--;
	if (w->pub.state == COT_WORK_WAITING)
		end_waiting(s, w);
	else
		end_running(s, w);
	forget_queued(s, w);
	if (work_ops(s)->done)
		work_ops(s)->done(&s->policy, &w->pub);
	w->used = false;
}

int cot_sched_work_on_done(struct cot_sched *s, uint32_t id, uint32_t left)
{
	struct sched_work *w = find_work(s, id);

	if (!w)
		return -EINVAL;
	if (!left) {
		remove_work(s, w);
		return 0;
	}
	if (w->pub.state != COT_WORK_RUNNING)
		return -EINVAL;
	forget_queued(s, w);
	w->queued = false;
	end_running(s, w);
	w->pub.n_returns++;
	s->stats.works_returned++;
	set_waiting(s, w, left);
	return 0;
}

void cot_sched_work_on_shares(struct cot_sched *s, const struct cot_tenant *t)
{
	struct cot_work *w;

	cot_for_each_work(w, &s->policy) if (w->tenant == t) set_want((struct sched_work *)w);
}

void cot_sched_work_drop(struct cot_sched *s, const struct cot_tenant *t)
{
	struct cot_work *w, *next;

	for (w = s->policy.works; w; w = next) {
		next = w->next;
		if (w->tenant == t)
			remove_work(s, (struct sched_work *)w);
	}
}

/* ---- what the policy may do ---- */

/* A pointer that a policy kept too long is caught here, without reading what it points to. */
static struct sched_work *checked(struct cot_sched *s, const struct cot_work *w)
{
	uintptr_t offset = (uintptr_t)w - (uintptr_t)s->works;
	struct sched_work *work;

	if (offset >= sizeof(s->works) || offset % sizeof(s->works[0]))
		return NULL;
	work = &s->works[offset / sizeof(s->works[0])];
	return work->used ? work : NULL;
}

static void begin(struct cot_sched *s, struct sched_work *w, uint32_t capsms, bool settled)
{
	end_waiting(s, w);
	begin_running(s, w);
	w->pub.granted = capsms;
	w->pub.settled = settled;
	enqueue(s, w);
}

static int grow(struct cot_sched *s, struct sched_work *w, uint32_t capsms)
{
	if (capsms == w->pub.granted)
		return 0;
	if (!w->pub.can_grow || capsms < w->pub.granted || capsms - w->pub.evicted > w->pub.want)
		return cot_sched_action_wrong(s);
	if (capsms > COT_CAPSMS_MAX) {
		s->stats.deferred++;
		return -EAGAIN;
	}
	w->pub.granted = capsms;
	enqueue(s, w);
	return 0;
}

static int refuse_in_fini(struct cot_sched *s)
{
	cot_sched_watchdog_count_wrong(s);
	return -EPERM;
}

int cot_sched_work_grant(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled)
{
	struct cot_sched *s = sched_of(p);
	struct sched_work *work = checked(s, w);

	if (s->is_asked)
		return refuse_in_fini(s);
	if (!work)
		return cot_sched_action_wrong(s);
	if (w->state == COT_WORK_RUNNING)
		return grow(s, work, capsms);
	if (!capsms || capsms > w->want || (settled && !w->can_settle))
		return cot_sched_action_wrong(s);
	begin(s, work, capsms, settled);
	return 0;
}

int cot_sched_work_evict(struct cot_policy *p, struct cot_work *w, uint32_t capsms)
{
	struct cot_sched *s = sched_of(p);
	struct sched_work *work = checked(s, w);

	if (s->is_asked)
		return refuse_in_fini(s);
	if (!work || w->state != COT_WORK_RUNNING || capsms < w->evicted)
		return cot_sched_action_wrong(s);
	if (capsms == w->evicted)
		return 0;
	if (capsms > w->granted - (w->settled ? 0 : 1))
		return cot_sched_action_wrong(s);
	w->evicted = capsms;
	w->evicted_ns = p->now_ns;
	enqueue(s, work);
	return 0;
}

/* ---- the core's own ---- */

/* What the tenant's works have on that GPU. */
static uint32_t sum_there(const struct cot_sched *s, const struct cot_work *of)
{
	const struct cot_work *w;
	uint32_t n = 0;

	cot_for_each_running(w, &s->policy, of->gpu) if (w->tenant == of->tenant) n +=
		w->granted - w->left;
	return n;
}

/* Where a policy divides the SMs, workers are as many as the program's part has room for. */
static uint32_t part_share(const struct cot_sched *s, const struct cot_tenant *t)
{
	return s->policy.ops->places && t->part.n < t->part_sms ? t->part.n : 0;
}

/* Where works are never evicted, a program's get no more together than its quota and its part, and
 * those of a latency program no more than its reservation; but each gets one CapSM, for none waits.
 */
static uint32_t fixed_share(const struct cot_sched *s, const struct cot_work *w)
{
	uint32_t limit = cot_most_sms(w->tenant, w->n_sms), there;
	uint32_t reserve = cot_share_sms(w->tenant->reserve, w->n_sms);
	uint32_t part = part_share(s, w->tenant);

	if (part)
		limit = limit ? at_most(limit, part) : part;
	if (w->method == COT_WORK_RESERVE && reserve)
		limit = limit ? at_most(limit, reserve) : reserve;
	if (!limit)
		return w->want;
	there = sum_there(s, w);
	return at_most(w->want, there < limit ? limit - there : 1);
}

void cot_sched_work_grant_all(struct cot_sched *s)
{
	while (s->waiting)
		begin(s, s->waiting, fixed_share(s, &s->waiting->pub), false);
}

void cot_sched_work_rescue(struct cot_sched *s, uint64_t until_ns)
{
	while (s->waiting && s->waiting->watched_since_ns <= until_ns) {
		s->stats.rescues++;
		begin(s, s->waiting, fixed_share(s, &s->waiting->pub), false);
	}
}
