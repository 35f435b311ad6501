#include "sim/hw/owners.h"

bool hw_has_goal(const struct hw *hw, uint32_t app)
{
	return hw_scenario(hw)->apps[app].qos.ipc > 0.0;
}

bool hw_any_goal(const struct hw *hw)
{
	uint32_t i;

	for (i = 0; i < hw_scenario(hw)->n_apps; i++)
		if (hw_has_goal(hw, i))
			return true;
	return false;
}

void hw_owners_make(struct hw *hw, struct hw_owners *o)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	uint32_t n = sc->gpu.n_sms, share[COT_MAX_APPS], left = n % sc->n_apps, sm = 0, i, pass;

	for (i = 0; i < sc->n_apps; i++)
		share[i] = n / sc->n_apps;
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < sc->n_apps && left; i++)
			if (hw_has_goal(hw, i) == !pass) {
				share[i]++;
				left--;
			}
	for (i = 0; i < sc->n_apps; i++)
		while (share[i]--)
			o->of[sm++] = (uint8_t)i;
	o->made = true;
}

uint32_t hw_owners_count(const struct hw *hw, const struct hw_owners *o, uint32_t app)
{
	uint32_t i, n = 0;

	for (i = 0; i < hw_scenario(hw)->gpu.n_sms; i++)
		n += o->of[i] == app;
	return n;
}

bool hw_owners_move(struct hw *hw, struct hw_owners *o, uint32_t from, uint32_t to)
{
	struct hw_sm *sm, *best = NULL;

	hw_for_each_sm (sm, hw)
		if (o->of[sm->index] == from && (!best || sm->n_resident <= best->n_resident))
			best = sm;
	if (!best)
		return false;
	o->of[best->index] = (uint8_t)to;
	return true;
}

static struct hw_kernel *with_blocks(struct hw *hw, uint32_t app)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k->app == app && hw_unissued(k))
			return k;
	return NULL;
}

void hw_owners_apply(struct hw *hw, const struct hw_owners *o)
{
	struct hw_kernel *k;
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw) {
		uint32_t owner = o->of[sm->index];

		k = owner == HW_NOBODY ? NULL : with_blocks(hw, owner);
		switch (sm->state) {
		case HW_SM_RUNNING:
			if (sm->kernel->app == owner)
				break;
			if (k)
				hw_reserve(hw, sm, k);
			else
				hw_evict(hw, sm);
			break;
		case HW_SM_RESERVED:
			if (k && sm->next != k)
				hw_retarget(hw, sm, k);
			break;
		case HW_SM_IDLE:
		case HW_SM_GATED:
			if (k)
				hw_assign(hw, sm, k);
			else if (owner == HW_NOBODY && sm->state == HW_SM_IDLE)
				hw_gate(hw, sm);
			break;
		}
	}
}
