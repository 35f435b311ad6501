/*
 * The actions and questions of hw.h about power, counted instructions and lanes.
 */
#include "sim/inside.h"

uint32_t hw_n_slots(const struct hw *hw)
{
	return hw->sim->n_slots;
}

double hw_insts(const struct hw *hw, uint32_t app)
{
	return hw->sim->contend ? cot_contend_qos_insts(hw->sim, app) : 0.0;
}

void hw_gate(struct hw *hw, struct hw_sm *sm)
{
	if (sm->state != HW_SM_IDLE || hw_has_lanes(hw)) {
		hw_refuse(hw);
		return;
	}
	sm->state = HW_SM_GATED;
	hw->n_idle--;
	cot_touch(hw->sim, &hw->sim->sms[sm->index]);
	cot_sm_observe(hw->sim, &hw->sim->sms[sm->index]);
}

struct needs {
	uint64_t blocks, regs, shmem, threads;
};

static void add_needs(struct needs *sum, const struct cot_kernel *k, uint64_t n)
{
	sum->blocks += n;
	sum->regs += n * k->regs_per_block;
	sum->shmem += n * k->shmem_per_block;
	sum->threads += n * k->work.warps * 32;
}

bool hw_limit_fits(const struct hw *hw, const struct hw_sm *lane, const struct hw_kernel *k,
		   uint32_t n)
{
	const struct cot_gpu *gpu = &hw->sim->sc->gpu;
	struct needs sum = {0};
	uint32_t blocks, slot;

	add_needs(&sum, k->desc, n);
	for (slot = lane->sm; slot < hw->sim->n_slots; slot += gpu->n_sms) {
		const struct hw_sm *other = &hw->sms[slot];

		if (other == lane)
			continue;
		blocks = other->limit > other->n_resident ? other->limit : other->n_resident;
		if (blocks)
			add_needs(&sum, other->room, blocks);
	}
	return sum.blocks <= gpu->blocks_per_sm && sum.regs <= gpu->regs_per_sm &&
	       sum.shmem <= gpu->shmem_config_bytes[gpu->n_shmem_configs - 1] &&
	       sum.threads <= gpu->threads_per_sm;
}

bool hw_set_limit(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k, uint32_t n)
{
	struct sm *sm = &hw->sim->sms[lane->index];
	bool more = n > lane->limit;

	if (!hw_has_lanes(hw) || (!n && lane->kernel) || (lane->kernel && lane->kernel != k) ||
	    n > k->desc->blocks_per_sm || (more && !hw_limit_fits(hw, lane, k, n))) {
		hw_refuse(hw);
		return false;
	}
	lane->limit = n;
	lane->room = k->desc;
	if (lane->state == HW_SM_RUNNING && lane->n_resident > n)
		cot_sm_shed(hw->sim, sm);
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
		hw_refuse(hw);
		return;
	}
	if (lane->kernel && !sm->saving)
		cot_sm_bring_up_to_date(sim, sm);
	sm->meter->quota_ps = ps < 9e18 ? (uint64_t)ps : QUOTA_NONE;
	cot_touch(sim, sm);
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
