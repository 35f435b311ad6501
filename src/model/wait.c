#include "model/wait.h"

#include "model/tree.h"

/* The mean is over about so many; and what is so many times as long as it says nothing more. */
#define GAPS	 256u
#define FAR	 8u
#define GAPS_MIN 16u /* fewer say nothing */

void cot_gaps_add(struct cot_gaps *g, uint64_t gap_ns)
{
	double gap, mean = (double)g->mean_ns;

	if (g->n >= GAPS_MIN && gap_ns / FAR > g->mean_ns)
		gap_ns = FAR * g->mean_ns;
	g->n += g->n < GAPS;
	gap = (double)gap_ns;
	mean += (gap - mean) / g->n;
	g->square += (gap * gap - g->square) / g->n;
	g->mean_ns = mean > 1.0 ? (uint64_t)mean : 1;
}

uint32_t cot_gaps_scatter_milli(const struct cot_gaps *g)
{
	double mean = (double)g->mean_ns, scatter = g->n ? g->square / (mean * mean) - 1.0 : 0.0;

	return scatter > 0.0 ? (uint32_t)(1000.0 * scatter) : 0;
}

uint64_t cot_wait_p99_ns(uint64_t service_ns, const struct cot_gaps *g)
{
	double load, mean_ns;

	if (g->n < GAPS_MIN)
		return 0;
	if (service_ns >= g->mean_ns)
		return COT_WAIT_FOR_EVER;
	load = (double)service_ns / (double)g->mean_ns;
	if (load <= 0.01)
		return 0;
	mean_ns = (double)service_ns * cot_gaps_scatter_milli(g) / 1000.0 / (2.0 * (1.0 - load));
	return (uint64_t)(mean_ns * cot_model_log(100.0 * load));
}
