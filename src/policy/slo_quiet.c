#include "policy/shared.h"
#include "policy/slo.h"

/* How long a window or count takes to be all of the quiet time, and how long it may come late. */
#define WINDOW_1S_NS  (1150 * COT_NS_PER_MS)
#define WINDOW_10S_NS (11100 * COT_NS_PER_MS)
#define COUNT_NS      (2100 * COT_NS_PER_MS)
#define LATE_NS	      (1 * COT_NS_PER_S)

/* A time alone is measured again after a minute, and then when it is so old or the load is another
 * one. Between two moments, whatever came of the first, others get on; one in which requests
 * stopped coming says nothing, and ends at once. Our choices: 1.2 s in ten minutes are 0.2 %. */
#define AGAIN_NS (60 * COT_NS_PER_S)
#define OLD_NS	 (600 * COT_NS_PER_S)
#define TAKEN_NS (5 * COT_NS_PER_S)
/* While a program starts nobody is frozen for that: it may be setting up what others wait for. Most
 * are ready after ten seconds, PyTorch on an H200 included. A mere guess waits until they are;
 * what a target is made of waits only for programs of which no launch has been seen. */
#define STARTING_S 15u

/* What it is that a program must be alone for. */
enum figure { FIGURE_NONE, FIGURE_SECOND, FIGURE_TEN, FIGURE_COUNT };

static enum figure figure_of(const struct cot_tenant *t, uint64_t now_ns)
{
	const struct cot_window *s1 = &t->windows[COT_HORIZON_1S];
	const struct cot_window *s10 = &t->windows[COT_HORIZON_10S];

	if (t->target.kind == COT_TARGET_RATE)
		return t->launches.at_ns && now_ns - t->launches.at_ns < COUNT_NS && t->launches.n
			       ? FIGURE_COUNT
			       : FIGURE_NONE;
	if (t->cls != COT_CLASS_LATENCY || !t->target.kind || !cot_slo_window_load(t, now_ns))
		return FIGURE_NONE;
	if (cot_slo_window_times(s1)->n >= SLO_SOME)
		return FIGURE_SECOND;
	/* For a mere guess eleven seconds are too much. */
	return t->target.kind == COT_TARGET_SLOWDOWN && cot_slo_window_times(s10)->n >= SLO_SOME
		       ? FIGURE_TEN
		       : FIGURE_NONE;
}

static uint64_t needed_ns(enum figure figure)
{
	switch (figure) {
	case FIGURE_SECOND:
		return WINDOW_1S_NS;
	case FIGURE_TEN:
		return WINDOW_10S_NS;
	default:
		return COUNT_NS;
	}
}

/* Twice the load, or half of it, is another one: requests wait for each other. */
static bool is_other_load(const struct cot_tenant *t)
{
	const struct slo_tenant *own = slo_of(t);

	return t->target.kind == COT_TARGET_SLOWDOWN &&
	       (own->load > 2 * own->alone_load || own->load < own->alone_load / 2);
}

/* From when on it should be measured again. For a p99 once is enough: it is for the choice of the
 * topology at the next start. */
static uint64_t due_ns(const struct cot_tenant *t)
{
	const struct slo_tenant *own = slo_of(t);

	if (t->target.kind == COT_TARGET_P99 && own->alone_p99_us)
		return COT_NEVER;
	if (!own->alone_ns)
		return 0;
	if (own->n_alone < SLO_ALONE_OFTEN || is_other_load(t))
		return own->alone_ns + AGAIN_NS;
	return own->alone_ns + OLD_NS;
}

/* Whether it was measured. */
static bool take(struct cot_policy *p, const struct slo_quiet *q, struct cot_tenant *t)
{
	enum figure figure = figure_of(t, p->now_ns);
	const struct cot_window *w =
		&t->windows[figure == FIGURE_TEN ? COT_HORIZON_10S : COT_HORIZON_1S];

	if (figure == FIGURE_NONE)
		return false;
	if (figure == FIGURE_COUNT) {
		if (t->launches.at_ns < q->since_ns + COUNT_NS)
			return false;
		cot_slo_learn_rate(p, t, true);
		slo_of(t)->n_alone++;
		return true;
	}
	if (w->at_ns < q->since_ns + needed_ns(figure))
		return false;
	cot_slo_learn_alone(p, t, w);
	return true;
}

/* Fewer requests come than it began with. */
static bool is_lost(const struct cot_policy *p, const struct slo_quiet *q,
		    const struct cot_tenant *t)
{
	enum figure figure = figure_of(t, p->now_ns);

	return figure == FIGURE_NONE || (q->by_second && figure == FIGURE_TEN);
}

static struct cot_tenant *find(const struct cot_policy *p, uint32_t id)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->id == id)
			return t;
	return NULL;
}

static void end(const struct cot_policy *p, struct slo_quiet *q, uint64_t next_ns)
{
	q->total_ns += p->now_ns - q->since_ns;
	q->next_ns = p->now_ns + next_ns;
	q->tenant = 0;
}

/* When the programs beside t on this GPU have started. */
static uint64_t started_ns(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *t)
{
	const struct cot_tenant *other;
	bool guess = t->target.kind == COT_TARGET_P99;
	uint32_t last_s = 0;

	cot_for_each_tenant (other, p)
		if ((other->gpu_mask >> gpu & 1) &&
		    (guess || (other != t && !other->launches.at_ns)) &&
		    slo_of(other)->joined_s + STARTING_S > last_s)
			last_s = slo_of(other)->joined_s + STARTING_S;
	return last_s * COT_NS_PER_S;
}

static struct cot_tenant *who_is_due(const struct cot_policy *p, uint32_t gpu, bool batch,
				     uint64_t *wake_ns)
{
	struct cot_tenant *t;
	uint64_t at_ns, ready_ns;

	cot_for_each_tenant (t, p) {
		if (!(t->gpu_mask >> gpu & 1) || (t->cls == COT_CLASS_BATCH && !batch) ||
		    figure_of(t, p->now_ns) == FIGURE_NONE)
			continue;
		at_ns = due_ns(t);
		ready_ns = started_ns(p, gpu, t);
		if (at_ns < ready_ns)
			at_ns = ready_ns;
		if (at_ns <= p->now_ns)
			return t;
		policy_earlier(wake_ns, at_ns);
	}
	return NULL;
}

static void begin(const struct cot_policy *p, struct slo_quiet *q, const struct cot_tenant *t)
{
	q->tenant = t->id;
	q->by_second = figure_of(t, p->now_ns) == FIGURE_SECOND;
	q->since_ns = p->now_ns;
	q->n++;
}

static uint64_t late_ns(const struct cot_policy *p, const struct slo_quiet *q,
			const struct cot_tenant *t)
{
	return q->since_ns + needed_ns(figure_of(t, p->now_ns)) + LATE_NS;
}

bool cot_slo_quiet_look(struct cot_policy *p, struct slo_quiet *q, uint32_t gpu, bool batch,
			struct cot_tenant **ret_for, uint64_t *wake_ns)
{
	struct cot_tenant *t = q->tenant ? find(p, q->tenant) : NULL;

	*ret_for = NULL;
	if (q->tenant && (!t || take(p, q, t)))
		end(p, q, t ? TAKEN_NS : AGAIN_NS);
	else if (t && is_lost(p, q, t))
		end(p, q, TAKEN_NS);
	else if (t && p->now_ns >= late_ns(p, q, t))
		end(p, q, AGAIN_NS);
	if (!q->tenant && p->now_ns >= q->next_ns) {
		t = who_is_due(p, gpu, batch, wake_ns);
		if (t)
			begin(p, q, t);
	}
	if (!q->tenant) {
		if (q->next_ns > p->now_ns)
			policy_earlier(wake_ns, q->next_ns);
		return false;
	}
	policy_earlier(wake_ns, late_ns(p, q, t));
	*ret_for = t;
	return true;
}
