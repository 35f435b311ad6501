/*
 * Fixed parts: programs run side by side in one MPS server, each on SMs of its own as far as that
 * goes, and nothing is switched.
 *
 *      SM 0                                                              the last
 *      | batch with --sms | batch | ... | batch | latency | ... | latency with --sms |
 *
 * What users asked for, as a limit or a reservation, goes first. Latency programs that said nothing
 * share config->latency_permille of the SMs by weight, each its own; all that is free if there is
 * no batch program. Batch programs that said nothing share the rest, and all of the GPU that is not
 * reserved when no latency program is active: by weight, too, each its own. On the same SMs one
 * with large kernels starves the others: measured on an H200, a training beside a matrix product
 * keeps 0.00 to 0.04 of its rate there.
 *
 * A latency program that is the only one, and has no limit, runs on all of the GPU: its share is
 * what batch programs stay out of. Measured on an H200 in a probe: with a GEMM on 64 of 132 SMs
 * the p99 of requests at high load is 1.30 times that alone, and 1.42 if they have to stay on the
 * other 68.
 */
#include "policy/parts.h"

#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/works.h"

bool cot_parts_is_active(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct parts_program *own = t->own;

	if (t->entity && t->entity->held)
		return false;
	return policy_lingers(p, t, own->idle_since_ns, p->config->linger_ns, wake_ns);
}

/* A latency program without a limit or a reservation. */
static bool is_silent(const struct cot_policy *p, const struct cot_tenant *t)
{
	return t->cls == COT_CLASS_LATENCY && !placing_is_asked(t) && !placing_reserves(p, t);
}

static void count_latency(struct parts_crowd *c, const struct cot_policy *p,
			  const struct placing *l, const struct cot_tenant *t)
{
	c->n_latency++;
	if (!is_silent(p, t))
		return;
	c->n_free_latency++;
	if (!placing_has(l, t))
		return;
	c->n_placed++;
	c->weight += t->weight;
}

static struct parts_crowd look(const struct cot_policy *p, const struct placing *l,
			       uint64_t *wake_ns)
{
	const struct cot_tenant *t;
	struct parts_crowd c = {0};

	cot_for_each_tenant (t, p) {
		if (!(t->gpu_mask >> l->gpu & 1))
			continue;
		if (t->cls == COT_CLASS_LATENCY) {
			c.latency_active |= cot_parts_is_active(p, t, wake_ns);
			count_latency(&c, p, l, t);
		} else if (!placing_is_asked(t)) {
			c.free_batch = true;
			if (parts_is_free_batch(l, t)) {
				c.n_batch++;
				c.batch_weight += t->weight;
			}
		}
	}
	return c;
}

/* Where the SMs of latency programs that said nothing begin; they end at l->top. */
static uint32_t latency_begin(const struct cot_policy *p, const struct placing *l,
			      const struct parts_crowd *c)
{
	uint32_t share = l->n_sms * p->config->latency_permille / 1000, least, begin;

	if (!c->n_free_latency)
		return l->top;
	if (!c->free_batch)
		return l->bottom;
	/* The batch programs keep a unit: without one nothing of theirs could run. */
	least = l->bottom < l->whole ? l->bottom + l->unit : l->top;
	begin = l->top > share ? cot_placing_round(l, l->top - share) : least;
	if (begin < least)
		begin = least;
	return begin < l->top ? begin : l->top;
}

static void place_latency(struct cot_policy *p, const struct placing *l,
			  const struct parts_crowd *c, uint32_t begin)
{
	uint32_t left = c->n_placed, end;
	bool apart = cot_placing_pieces(l, begin, l->top) >= left && c->n_latency > 1;
	uint64_t weight = c->weight;
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		if (!is_silent(p, t) || !placing_has(l, t))
			continue;
		if (!apart) {
			(void)placing_place(p, t, (struct cot_part){0});
			continue;
		}
		end = cot_placing_share_end(l, begin, l->top, t->weight, weight, --left);
		(void)placing_place(p, t, cot_placing_part(l, begin, end));
		begin = end;
		weight -= t->weight;
	}
}

void cot_parts_range(const struct parts_deal *d, uint32_t *ret_begin, uint32_t *ret_end)
{
	*ret_begin = d->crowd.latency_active ? d->l.bottom : 0;
	*ret_end = d->crowd.latency_active ? d->latency_begin : d->l.limit;
	if (*ret_end <= *ret_begin) {
		*ret_begin = 0;
		*ret_end = d->l.unit;
	}
}

void cot_parts_place_batch(struct cot_policy *p, const struct parts_deal *d)
{
	uint32_t left = d->crowd.n_batch, begin, top, end;
	uint64_t weight = d->crowd.batch_weight;
	const struct placing *l = &d->l;
	struct cot_tenant *t;
	bool apart;

	cot_parts_range(d, &begin, &top);
	apart = left > 1 && cot_placing_pieces(l, begin, top) >= left;
	cot_for_each_tenant (t, p) {
		if (!parts_is_free_batch(l, t))
			continue;
		end = apart ? cot_placing_share_end(l, begin, top, t->weight, weight, --left) : top;
		(void)placing_place(p, t, cot_placing_part(l, begin, end));
		if (apart)
			begin = end;
		weight -= t->weight;
	}
}

struct parts_deal cot_parts_begin(struct cot_policy *p, uint32_t gpu, uint64_t *wake_ns)
{
	struct parts_deal d = {.l = cot_placing_begin(p, gpu)};

	d.crowd = look(p, &d.l, wake_ns);
	d.l.apart = d.crowd.n_latency > 1;
	cot_placing_asked(p, &d.l);
	d.latency_begin = latency_begin(p, &d.l, &d.crowd);
	place_latency(p, &d.l, &d.crowd, d.latency_begin);
	return d;
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER, gpus;
	struct parts_deal d;

	cot_works_leave_entities(p);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1) {
		d = cot_parts_begin(p, (uint32_t)__builtin_ctzll(gpus), &wake_ns);
		cot_parts_place_batch(p, &d);
	}
	return wake_ns;
}

void cot_parts_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	struct parts_program *own = t->own;

	if ((what & COT_CHANGED_ACTIVITY) && t->activity == COT_ACTIVITY_IDLE)
		own->idle_since_ns = p->now_ns;
}

const struct cot_policy_ops cot_policy_parts = {
	.name = "parts",
	.summary = "one pool; each program on its part of the SMs, latency programs first",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.places = true,
	.tenant_bytes = sizeof(struct parts_program),
	.tenant_changed = cot_parts_changed,
	.tick = tick,
};
