#include "policy/works.h"

/* Of equals the youngest: they are in order of their start. */
static struct cot_work *victim(const struct cot_policy *p, uint32_t gpu, uint32_t keep, bool last,
			       cot_works_may_give_fn *may, const void *arg)
{
	struct cot_work *w, *best = NULL;

	cot_for_each_running(w, p, gpu)
	{
		if (works_kept(w) <= keep || (last && !w->settled) || !may(p, w, arg))
			continue;
		if (!best || works_kept(w) >= works_kept(best))
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
	uint32_t taken = take(p, gpu, gap, keep, false, may, arg);

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
