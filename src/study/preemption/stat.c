#include "study/preemption/stat.h"

#include <math.h>

#define Z95 1.96

void cot_accu_add(struct cot_accu *a, double x)
{
	a->n++;
	a->sum += x;
	a->sum_sq += x * x;
	a->sum_log += log(x);
}

void cot_accu_add_ratio(struct cot_accu *a, double above, double below)
{
	cot_accu_add(a, above / below);
	a->above += above;
	a->below += below;
}

static double ratio(double above, double below)
{
	return below > 0.0 ? above / below : 0.0;
}

/* Square of the standard error of the mean. */
static double error_sq(const struct cot_accu *a)
{
	double mean = a->sum / a->n, variance;

	if (a->n < 2)
		return 0.0;
	variance = (a->sum_sq - a->n * mean * mean) / (a->n - 1);
	return variance > 0.0 ? variance / a->n : 0.0;
}

struct cot_mean cot_accu_mean(const struct cot_accu *a)
{
	if (!a->n)
		return (struct cot_mean){0};
	return (struct cot_mean){.n = a->n,
				 .mean = a->sum / a->n,
				 .half_width = Z95 * sqrt(error_sq(a)),
				 .geomean = exp(a->sum_log / a->n),
				 .of_means = ratio(a->above, a->below)};
}

struct cot_mean cot_mean_of_groups(const struct cot_accu *groups, const bool *member, unsigned n)
{
	double sum = 0.0, sum_error_sq = 0.0, sum_geomean = 0.0, above = 0.0, below = 0.0;
	unsigned i, n_members = 0;

	for (i = 0; i < n; i++) {
		if (!member[i] || !groups[i].n)
			continue;
		n_members++;
		sum += groups[i].sum / groups[i].n;
		sum_error_sq += error_sq(&groups[i]);
		sum_geomean += exp(groups[i].sum_log / groups[i].n);
		above += groups[i].above / groups[i].n;
		below += groups[i].below / groups[i].n;
	}
	if (!n_members)
		return (struct cot_mean){0};
	return (struct cot_mean){.n = n_members,
				 .mean = sum / n_members,
				 .half_width = Z95 * sqrt(sum_error_sq) / n_members,
				 .geomean = sum_geomean / n_members,
				 .of_means = ratio(above, below)};
}

struct cot_mean cot_share_mean(double share, unsigned n)
{
	if (!n)
		return (struct cot_mean){0};
	return (struct cot_mean){
		.n = n, .mean = share, .half_width = Z95 * sqrt(share * (1.0 - share) / n)};
}
