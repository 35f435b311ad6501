/* What is predicted of batch programs, and what `laius` keeps of a program. */
#include "policy/laius_inside.h"

/* A kernel of which nothing is known: longer than most. Our choice. */
#define UNKNOWN_NS (100 * COT_NS_PER_MS)

void cot_laius_renew(const struct cot_tenant *t)
{
	struct laius_program *own = laius_program(t);
	uint8_t cls = (uint8_t)(t->cls + 1);

	if (own->cls == cls)
		return;
	own->cls = cls;
	own->counts = false;
	if (t->cls == COT_CLASS_LATENCY)
		own->flow = (struct laius_flow){.late = LAIUS_LATE_FIRST};
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

const struct cot_prediction *cot_laius_row_below(const struct cot_tenant *t, uint32_t sms)
{
	uint32_t i = t->n_predictions - 1;

	while (i && t->predictions[i].sms > sms)
		i--;
	return &t->predictions[i];
}

/* Of one that was only seen to launch it is the mean. */
uint64_t cot_laius_kernel_ns(const struct cot_tenant *t, uint32_t sms)
{
	const struct cot_prediction *row;
	uint64_t ns;

	if (!t->n_predictions)
		return t->launches.n ? t->launches.span_ns / t->launches.n : UNKNOWN_NS;
	row = cot_laius_row_below(t, sms);
	ns = row->kernel_ns ? row->kernel_ns : row->duration_ns;
	return row->sms > sms ? ns / sms * row->sms : ns;
}
