#include "daemon/progress.h"

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/roster.h"

/* Shims send their counts about once a second, the two messages at the same time. */
#define SPAN_NS	    (900 * COT_NS_PER_MS)
#define TOGETHER_NS (10 * COT_NS_PER_MS)
/* After so long without any it has stopped. */
#define STOPPED_NS (2500 * COT_NS_PER_MS)

static void look_at(struct roster *r, uint64_t due_ns)
{
	r->rates.fire = cot_progress_look;
	if (!r->rates.armed || r->rates.due_ns > due_ns)
		cot_timer_set(&r->basis->loop, &r->rates, due_ns);
}

/* What a shim counted for another daemon is none of this second. A count may be any number. */
void cot_progress_count(struct conn *c, enum cot_progress_kind kind, uint64_t total,
			uint64_t now_ns)
{
	struct cot_progress_seen *seen = &c->progress;
	struct cot_progress *p = &c->tenant->progress;

	if (seen->known[kind] && total > seen->total[kind])
		p->n += total - seen->total[kind];
	seen->known[kind] = true;
	seen->total[kind] = total;
	p->counted_ns = now_ns;
	if (!p->since_ns)
		p->since_ns = now_ns;
	look_at(c->tenant->in, now_ns + TOGETHER_NS);
}

void cot_progress_waits(struct conn *c, uint64_t n, uint64_t ns)
{
	struct cot_progress_seen *seen = &c->progress;
	struct cot_progress *p = &c->tenant->progress;

	if (seen->knows_waits && n > seen->n_waits && ns >= seen->waited_ns) {
		p->n_waits += n - seen->n_waits;
		p->waited_ns += ns - seen->waited_ns;
	}
	seen->knows_waits = true;
	seen->n_waits = n;
	seen->waited_ns = ns;
}

static bool is_wanted(const struct roster *r)
{
	return cot_sched_policy(cot_host_sched(r->basis->host))->ops->measures != NULL;
}

static void tell(struct tenant *t, uint64_t until_ns, uint64_t now_ns)
{
	struct cot_progress *p = &t->progress;
	struct cot_event ev = {.type = COT_EV_PROGRESS, .id = t->id, .now_ns = now_ns};

	p->told = (struct cot_launches){.n = p->n,
					.span_ns = until_ns - p->since_ns,
					.at_ns = until_ns,
					.n_waits = p->n_waits,
					.waited_ns = p->waited_ns};
	p->n = p->n_waits = p->waited_ns = 0;
	p->since_ns = until_ns;
	ev.launches = p->told;
	if (is_wanted(t->in))
		(void)cot_host_event(t->basis->host, &ev);
}

void cot_progress_look(struct cot_timer *timer, uint64_t now_ns)
{
	struct roster *r = COT_CONTAINER_OF(timer, struct roster, rates);
	struct tenant *t;

	for_each_tenant (t, r) {
		struct cot_progress *p = &t->progress;

		if (p->counted_ns >= p->since_ns + SPAN_NS)
			tell(t, p->counted_ns, now_ns);
		else if (p->told.n && now_ns >= p->since_ns + STOPPED_NS)
			tell(t, now_ns, now_ns);
		if (p->told.n)
			look_at(r, p->since_ns + STOPPED_NS);
	}
}

bool cot_progress_rate(const struct tenant *t, uint64_t now_ns, double *ret_per_s)
{
	const struct cot_launches *l = &t->progress.told;

	if (!l->span_ns || now_ns > l->at_ns + 2 * STOPPED_NS)
		return false;
	*ret_per_s = (double)l->n * (double)COT_NS_PER_S / (double)l->span_ns;
	return true;
}
