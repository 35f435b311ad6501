/* `laius`: what it keeps of a program, of a latency program or of a batch program. */
#include "policy/laius_inside.h"

void cot_laius_renew(const struct cot_tenant *t)
{
	struct laius_program *own = laius_program(t);
	uint8_t cls = (uint8_t)(t->cls + 1);

	if (own->cls == cls)
		return;
	own->cls = cls;
	own->counts = false;
	if (t->cls == COT_CLASS_LATENCY)
		own->flow = (struct laius_flow){.slow_milli = 1000};
	else
		own->stay = (struct laius_stay){0};
}

struct laius_flow *cot_laius_flow(const struct cot_tenant *t)
{
	cot_laius_renew(t);
	return &laius_program(t)->flow;
}

struct laius_stay *cot_laius_stay(const struct cot_tenant *t)
{
	cot_laius_renew(t);
	return &laius_program(t)->stay;
}
