/*
 *      SM 0                                                                    the last
 *      | asked | batch, each its own | latency, each its own           | asked |   parts
 *      | asked | batch, each its own                                   | asked |   batch pool
 *
 * A latency program that is the only one has the whole GPU: what batch programs stay out of is its
 * share. Batch programs have SMs of their own by weight, because in the same ones a program of
 * large kernels starves the others: measured on an H200, a training beside a matrix product keeps
 * 0.00 to 0.02 of its rate.
 */
#include "policy/shared.h"
#include "policy/slo.h"

/* Programs that share a range of SMs, each on its own. */
struct group {
	enum cot_class cls;
	bool inside; /* of batch programs: with a latency program in one entity */
	uint32_t begin, end;
	uint32_t n; /* those that are active and can be placed */
	uint64_t weight;
};

static bool is_of(const struct cot_policy *p, const struct placing *l, const struct group *g,
		  const struct cot_tenant *t)
{
	if (t->cls != g->cls || !placing_has(l, t) || placing_is_asked(t) || placing_reserves(p, t))
		return false;
	return g->cls == COT_CLASS_LATENCY || (t->entity && slo_serves(t->entity)) == g->inside;
}

static void count(const struct cot_policy *p, const struct placing *l, struct group *g,
		  uint64_t *wake_ns)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		if (!is_of(p, l, g, t) || !cot_slo_is_active(p, t, wake_ns))
			continue;
		g->n++;
		g->weight += t->weight;
	}
}

/* An idle program may lie over others: it gets SMs of its own when it goes on. */
static void place_group(struct cot_policy *p, const struct placing *l, struct group *g,
			uint64_t *wake_ns)
{
	uint32_t begin = g->begin, left;
	uint64_t weight;
	struct cot_tenant *t;
	bool apart;

	count(p, l, g, wake_ns);
	apart = g->n > 1 && cot_placing_pieces(l, g->begin, g->end) >= g->n;
	left = g->n;
	weight = g->weight;
	cot_for_each_tenant (t, p) {
		uint32_t end;

		if (!is_of(p, l, g, t))
			continue;
		if (!apart || !cot_slo_is_active(p, t, wake_ns)) {
			(void)placing_place(p, t, cot_placing_part(l, g->begin, g->end));
			continue;
		}
		end = cot_placing_share_end(l, begin, g->end, t->weight, weight, --left);
		(void)placing_place(p, t, cot_placing_part(l, begin, end));
		begin = end;
		weight -= t->weight;
	}
}

static uint32_t n_latency(const struct cot_policy *p, const struct placing *l)
{
	const struct cot_tenant *t;
	uint32_t n = 0;

	cot_for_each_tenant (t, p)
		n += t->cls == COT_CLASS_LATENCY && (t->gpu_mask >> l->gpu & 1);
	return n;
}

/* Those of this GPU that cannot be placed on it need no order; of the others nobody is left out. */
void cot_slo_place(struct cot_policy *p, uint32_t gpu, const struct slo_ladder *ladder,
		   uint32_t rung, bool favour, uint64_t *wake_ns)
{
	struct placing l = cot_placing_begin(p, gpu);
	struct group inside = {.cls = COT_CLASS_BATCH, .inside = true};
	struct group outside = {.cls = COT_CLASS_BATCH};
	struct group latency = {.cls = COT_CLASS_LATENCY};
	bool parts = favour && ladder->topology == SLO_PARTS;
	uint32_t end;

	l.apart = parts && n_latency(p, &l) > 1;
	cot_placing_asked(p, &l);
	if (l.bottom < l.limit)
		outside.begin = inside.begin = l.bottom;
	outside.end = inside.end = l.limit;
	latency.end = l.n_sms;
	if (parts) {
		end = cot_slo_ladder_sms(ladder, &l, rung);
		inside.end =
			end > l.bottom + l.unit ? end : cot_placing_round(&l, l.bottom + l.unit);
		if (inside.end > l.limit)
			inside.end = l.limit;
		if (l.apart && inside.end < l.top) {
			latency.begin = inside.end;
			latency.end = l.top;
		}
	}
	place_group(p, &l, &inside, wake_ns);
	place_group(p, &l, &outside, wake_ns);
	place_group(p, &l, &latency, wake_ns);
}
