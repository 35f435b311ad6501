#include "metrics/meter.h"

#define NOW_NS_MAX (COT_NEVER / 2) /* so that a second more is no overflow */

void cot_meter_init(struct cot_meter *m)
{
	*m = (struct cot_meter){.due_ns = COT_NEVER};
}

static uint64_t second_after(uint64_t t_ns)
{
	return (t_ns / COT_NS_PER_S + 1) * COT_NS_PER_S;
}

void cot_meter_add(struct cot_meter *m, uint64_t now_ns, uint64_t n)
{
	if (now_ns > NOW_NS_MAX)
		now_ns = NOW_NS_MAX;
	m->n += n;
	if (m->due_ns != COT_NEVER)
		return;
	/* Nothing happened since the second began, or since the count was taken in it. */
	m->due_ns = second_after(now_ns);
	if (m->since_ns < m->due_ns - COT_NS_PER_S)
		m->since_ns = m->due_ns - COT_NS_PER_S;
	else if (m->due_ns - m->since_ns < COT_NS_PER_S / 2)
		m->due_ns += COT_NS_PER_S;
}

bool cot_meter_take(struct cot_meter *m, uint64_t now_ns, uint64_t *ret_n, uint64_t *ret_span_ns)
{
	if (now_ns > NOW_NS_MAX)
		now_ns = NOW_NS_MAX;
	if (m->due_ns > now_ns)
		return false;
	*ret_n = m->n;
	*ret_span_ns = now_ns - m->since_ns;
	m->due_ns = m->n ? second_after(now_ns + COT_NS_PER_S / 2 - 1) : COT_NEVER;
	m->n = 0;
	m->since_ns = now_ns;
	return true;
}
