#include "policy/works.h"

uint64_t cot_works_gpus(const struct cot_policy *p)
{
	const struct cot_work *w;
	uint64_t gpus = 0;

	cot_for_each_work(w, p) gpus |= 1ull << w->gpu;
	return gpus;
}

static bool gives_before(const struct cot_work *a, const struct cot_work *b)
{
	if (works_kept(a) != works_kept(b))
		return works_kept(a) > works_kept(b);
	/* The table is in order of arrival, so `a`, which comes later, is not older. */
	return a->running_since_ns >= b->running_since_ns;
}

static struct cot_work *victim(const struct cot_policy *p, uint32_t gpu, uint32_t keep, bool last,
			       cot_works_may_give_fn *may, const void *arg)
{
	struct cot_work *w, *best = NULL;

	cot_for_each_work(w, p)
	{
		if (!works_is_on(w, gpu) || works_kept(w) <= keep || (last && !w->settled) ||
		    !may(p, w, arg))
			continue;
		if (!best || gives_before(w, best))
			best = w;
	}
	return best;
}

static uint32_t take(struct cot_policy *p, uint32_t gpu, uint32_t gap, uint32_t keep, bool last,
		     cot_works_may_give_fn *may, const void *arg)
{
	struct cot_work *w;
	uint32_t n, taken = 0;

	while (taken < gap && (w = victim(p, gpu, keep, last, may, arg)) != NULL) {
		n = works_kept(w) - keep;
		if (n > gap - taken)
			n = gap - taken;
		if (cot_evict(p, w, w->evicted + n))
			break;
		taken += n;
	}
	return taken;
}

uint32_t cot_works_adjust(struct cot_policy *p, uint32_t gpu, uint32_t gap, uint32_t keep,
			  bool last, cot_works_may_give_fn *may, const void *arg)
{
	uint32_t taken = take(p, gpu, gap, keep ? keep : 1, false, may, arg);

	if (last && taken < gap)
		taken += take(p, gpu, gap - taken, 0, true, may, arg);
	return taken;
}

void cot_works_leave_entities(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		(void)cot_thaw(p, e);
		(void)cot_set_slice(p, e, COT_SLICE_DRIVER);
		(void)cot_set_mode(p, e, COT_MODE_SWITCH);
	}
}
