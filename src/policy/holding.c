#include "policy/holding.h"

#include "policy/shared.h"

void cot_holding_place(struct cot_policy *p, struct cot_tenant *t, struct cot_part part,
		       uint64_t *held_ns, uint64_t *wake_ns)
{
	uint64_t for_ns = part.hold && *held_ns ? p->now_ns - *held_ns : 0;

	if (!part.hold) {
		*held_ns = 0;
	} else if (!*held_ns || for_ns >= HOLDING_MAX_NS + HOLDING_RELIEF_NS) {
		*held_ns = p->now_ns;
		for_ns = 0;
	}
	if (for_ns >= HOLDING_MAX_NS) {
		part.hold = false;
		policy_earlier(wake_ns, *held_ns + HOLDING_MAX_NS + HOLDING_RELIEF_NS);
	} else if (part.hold) {
		policy_earlier(wake_ns, *held_ns + HOLDING_MAX_NS);
		policy_earlier(wake_ns, p->now_ns + COT_HOLD_MAX_NS / 2);
	}
	(void)placing_place(p, t, part);
}
