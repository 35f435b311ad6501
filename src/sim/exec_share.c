/*
 * The actions and questions of hw.h about power, counted instructions and lanes.
 */
#include "sim/engine.h"

uint32_t hw_n_slots(const struct hw *hw)
{
	return hw->sim->n_slots;
}

double hw_insts(const struct hw *hw, uint32_t app)
{
	return hw->sim->contend ? cot_contend_qos_insts(hw->sim, app) : 0.0;
}

bool hw_gate(struct hw *hw, struct hw_sm *sm)
{
	if (sm->state != HW_SM_IDLE || hw_has_lanes(hw))
		return hw_refuse(hw);
	sm->state = HW_SM_GATED;
	hw->n_idle--;
	cot_touch(hw->sim);
	cot_sm_observe(hw->sim, &hw->sim->sms[sm->index]);
	return true;
}

/*
 * The part of an SM that n blocks take: of whatever resource k needs most of, so that blocks of
 * several kernels fit together if their parts do.
 */
static uint64_t part_q32(uint64_t n, uint32_t blocks_per_sm)
{
	return (n << 32) / blocks_per_sm;
}

bool hw_limit_fits(const struct hw *hw, const struct hw_sm *lane, const struct hw_kernel *k,
		   uint32_t n)
{
	uint64_t sum = part_q32(n, k->desc->blocks_per_sm);
	uint32_t blocks, slot;

	for (slot = lane->sm; slot < hw->sim->n_slots; slot += hw->sim->sc->gpu.n_sms) {
		const struct hw_sm *other = &hw->sms[slot];

		if (other == lane)
			continue;
		blocks = other->limit > other->n_resident ? other->limit : other->n_resident;
		if (blocks)
			sum += part_q32(blocks, other->room_of);
	}
	return sum <= 1ull << 32;
}

bool hw_set_limit(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k, uint32_t n)
{
	struct sm *sm = &hw->sim->sms[lane->index];
	bool more = n > lane->limit;

	if (!hw_has_lanes(hw) || (lane->kernel && lane->kernel != k) ||
	    n > k->desc->blocks_per_sm || (more && !hw_limit_fits(hw, lane, k, n)))
		return hw_refuse(hw);
	lane->limit = n;
	lane->room_of = k->desc->blocks_per_sm;
	if (more && lane->state == HW_SM_RUNNING && hw_unissued(k) && k->issue)
		cot_sm_refill(hw->sim, sm);
	return true;
}

void hw_set_quota(struct hw *hw, struct hw_sm *lane, double insts)
{
	struct cot_sim *sim = hw->sim;
	struct sm *sm = &sim->sms[lane->index];
	double ps = insts * 1e6 / sim->sc->gpu.clock_mhz;

	if (!sm->meter || !(insts >= 0.0)) {
		(void)hw_refuse(hw);
		return;
	}
	if (lane->kernel && !sm->saving)
		cot_sm_bring_up_to_date(sim, sm);
	sm->meter->quota_ps = ps < 9e18 ? (uint64_t)ps : QUOTA_NONE;
	sim->contend->touched = true;
	if (lane->kernel)
		cot_sm_retime(sim, sm);
}

double hw_quota_left(const struct hw *hw, const struct hw_sm *lane)
{
	const struct meter *m = hw->sim->sms[lane->index].meter;

	if (!m || m->quota_ps == QUOTA_NONE)
		return HW_QUOTA_NONE;
	return (double)m->quota_ps * hw->sim->sc->gpu.clock_mhz / 1e6;
}

double hw_idle_warps(struct hw *hw, struct hw_sm *lane)
{
	struct cot_sim *sim = hw->sim;
	struct sm *sm = &sim->sms[lane->index];
	uint64_t dt;
	double mean;

	if (!sm->meter)
		return 0.0;
	if (lane->kernel && !sm->saving)
		cot_sm_bring_up_to_date(sim, sm);
	dt = sim->now_ps - sm->meter->idle_since_ps;
	mean = dt ? (double)sm->meter->idle_ps / 65536.0 / (double)dt : 0.0;
	sm->meter->idle_ps = 0;
	sm->meter->idle_since_ps = sim->now_ps;
	return mean;
}
