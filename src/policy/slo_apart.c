/*
 * Parts: whether latency programs have the SMs beside the batch programs together, or each its own.
 *
 *      together ---- where the target was missed with the fewest SMs for batch programs ----> apart
 *      apart ------- the same ----> together
 *
 * Together each has the more, the seldomer the others have requests; apart none waits for another
 * one's long requests. Which it is nobody knows beforehand. Where turns missed the target of
 * several, batch programs were hardly in their way, so there they begin apart.
 */
#include "policy/slo.h"

/* So long the other way is tried at least, each time twice as long, up to 64 times. */
#define TRY_NS	  (20 * COT_NS_PER_S)
#define TRIES_MAX 6u

static bool turns_missed(const struct cot_policy *p, uint32_t gpu, const struct slo_need *need)
{
	struct slo_result r;
	uint32_t i;

	for (i = SLO_POOLS; i < SLO_N_TOPOLOGIES; i++)
		if (slo_in_turns(i) && cot_slo_home_learned(p, gpu, NULL, i, need, &r) &&
		    r.use > 1000)
			return true;
	return false;
}

/* Together all have the same part. */
bool cot_slo_apart_are(const struct cot_policy *p, uint32_t gpu)
{
	struct placing l = cot_placing_begin(p, gpu);
	const struct cot_tenant *t, *other = NULL;

	cot_for_each_tenant (t, p) {
		if (t->cls != COT_CLASS_LATENCY || !placing_is_dealt(p, &l, t) || !t->part.n)
			continue;
		if (other && other->part.first != t->part.first)
			return true;
		other = t;
	}
	return false;
}

void cot_slo_apart_begin(const struct cot_policy *p, struct slo_apart *a, uint32_t gpu, bool found)
{
	struct slo_need need = cot_slo_home_need(p, gpu, NULL);

	*a = (struct slo_apart){
		.on = found ? cot_slo_apart_are(p, gpu) : need.n > 1 && turns_missed(p, gpu, &need),
		.until_ns = p->now_ns,
	};
}

bool cot_slo_apart_look(struct slo_apart *a, const struct slo_climb *c, uint32_t n_latency,
			uint64_t now_ns)
{
	if (c->ladder.topology != SLO_PARTS || n_latency < 2 || !c->hopeless ||
	    now_ns < a->until_ns)
		return false;
	a->on = !a->on;
	a->until_ns = now_ns + (TRY_NS << a->n);
	a->n += a->n < TRIES_MAX;
	return true;
}
