#include "model/wait.h"

#include "model/number.h"

/* The mean is over about so many, and how much they scatter over more: of few it is hardly to be
 * seen. What is so many times as long as the mean says nothing more. */
#define GAPS	 512u
#define SCATTER	 4096u
#define FAR	 8u
#define GAPS_MIN 4u  /* fewer say nothing */
#define GAPS_FEW 16u /* fewer show too little of how much they scatter */

#define EVEN	   0.01 /* gaps that scatter no more: nobody waits */
#define STEPS_MAX  32u
#define LONGEST_NS 0x1p62

void cot_gaps_add(struct cot_gaps *g, uint64_t gap_ns)
{
	double gap, mean = (double)g->mean_ns;

	if (g->n >= GAPS_FEW && gap_ns / FAR > g->mean_ns)
		gap_ns = FAR * g->mean_ns;
	g->n += g->n < SCATTER;
	gap = (double)gap_ns;
	mean += (gap - mean) / (g->n < GAPS ? g->n : GAPS);
	if (g->n > GAPS) /* other gaps in the mean, as much scatter */
		g->square *= mean * mean / ((double)g->mean_ns * (double)g->mean_ns);
	g->square += (gap * gap - g->square) / g->n;
	g->mean_ns = mean > 1.0 ? (uint64_t)mean : 1;
}

uint32_t cot_gaps_scatter_milli(const struct cot_gaps *g)
{
	double mean = (double)g->mean_ns, scatter = g->n ? g->square / (mean * mean) - 1.0 : 0.0;

	return scatter > 0.0 ? (uint32_t)(1000.0 * scatter) : 0;
}

/*
 * The rate at which the tail of the wait falls, times the service: the x > 0 with
 * (1 + x / (load * shape))^shape = e^x, for gaps of a gamma distribution of that shape. Newton's
 * method from above; the function is concave.
 */
static double rate_of_tail(double load, double shape)
{
	double x = shape / load, step;
	unsigned i;

	for (i = 0; i < STEPS_MAX; i++) {
		step = (shape * cot_model_log(1.0 + x / (load * shape)) - x) /
		       (1.0 / (load + x / shape) - 1.0);
		x -= step;
		if (step < x / 256.0)
			break;
	}
	return x;
}

/* Of a few hundred gaps of a Poisson process the scatter is off by a fifth: what is more than its
 * is taken to be that until more of them say so. */
static double scatter_of(const struct cot_gaps *g)
{
	double scatter = (double)cot_gaps_scatter_milli(g) / 1000.0;

	if (g->n < GAPS_FEW)
		scatter *= (double)(g->n + 1) / (g->n - 1);
	if (scatter > 1.0)
		scatter = 1.0 + (scatter - 1.0) * g->n / (g->n + GAPS);
	return scatter;
}

uint64_t cot_wait_p99_ns(uint64_t service_ns, const struct cot_gaps *g)
{
	double load, scatter, poisson, tail, rate;

	if (g->n < GAPS_MIN)
		return 0;
	if (service_ns >= g->mean_ns)
		return COT_WAIT_FOR_EVER;
	load = (double)service_ns / (double)g->mean_ns;
	scatter = scatter_of(g);
	if (load <= 0.01 || scatter < EVEN)
		return 0;
	poisson = rate_of_tail(load, 1.0);
	tail = cot_model_log((1.0 - load) / (load + poisson - 1.0));
	tail = cot_model_log(100.0) + (scatter > 1.0 ? tail / scatter : tail);
	if (tail <= 0.0)
		return 0;
	rate = rate_of_tail(load, 1.0 / scatter);
	if (!(rate > 0.0) || (double)service_ns * tail / rate >= LONGEST_NS)
		return COT_WAIT_FOR_EVER; /* it is as good as full */
	return (uint64_t)((double)service_ns * tail / rate);
}
