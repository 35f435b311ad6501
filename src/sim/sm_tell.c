/*
 * Reports about an SM to observers. Apart from sm.c because most simulations have none.
 */
#include "sim/inside.h"

static enum cot_sm_activity activity_of(const struct sm *sm)
{
	if (sm->hw->state == HW_SM_GATED)
		return COT_SM_GATED;
	if (sm->hw->state == HW_SM_IDLE)
		return COT_SM_IDLE;
	if (sm->saving)
		return COT_SM_SAVE;
	if (sm->hw->state == HW_SM_RESERVED)
		return COT_SM_DRAIN;
	return sm->n_waiting == sm->n_cohorts ? COT_SM_RESTORE : COT_SM_RUN;
}

/* Observers see one kernel on an SM: of its lanes, the one with the most blocks. */
static struct sm *main_lane(struct cot_sim *sim, struct sm *sm)
{
	struct sm *best = &sim->sms[sm->hw->sm];
	uint32_t slot;

	for (slot = sm->hw->sm; slot < sim->n_slots; slot += sim->sc->gpu.n_sms)
		if (sim->hw.sms[slot].n_resident > best->hw->n_resident)
			best = &sim->sms[slot];
	return best;
}

void cot_sm_tell(struct cot_sim *sim, struct sm *sm)
{
	struct sm *seen = &sim->sms[sm->hw->sm];
	const struct hw_kernel *k;
	enum cot_sm_activity activity;
	uint64_t seq;

	if (!sim->obs->sm_changed)
		return;
	sm = main_lane(sim, sm);
	k = sm->hw->kernel;
	seq = k ? k->seq : 0;
	activity = activity_of(sm);
	if (activity == seen->seen_activity && seq == seen->seen_seq)
		return;
	seen->seen_activity = activity;
	seen->seen_seq = seq;
	sim->obs->sm_changed(sim->obs_arg, sim->now_ps, sm->hw->sm, activity,
			     k ? k->app : COT_NO_APP, k ? k->desc->name : NULL);
}
