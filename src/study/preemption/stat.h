/*
 * Means with their uncertainty, as the figures of an evaluation need them. Pure.
 */
#ifndef COT_STUDY_PREEMPTION_STAT_H
#define COT_STUDY_PREEMPTION_STAT_H

#include <stdbool.h>

/* Running sums of a sample. Zero to start. */
struct cot_accu {
	unsigned n;
	double sum, sum_sq, sum_log;
	double above, below; /* of ratios: sums of what they divide */
};

struct cot_mean {
	unsigned n; /* values behind it; 0: there is no mean */
	double mean;
	double half_width; /* 1.96 standard errors; 0 when n < 2 */
	double geomean;	   /* 0 when it is not known */
	double of_means;   /* of ratios: the ratio of the means instead; 0 when it is not known */
};

void cot_accu_add(struct cot_accu *a, double x); /* x > 0 */
void cot_accu_add_ratio(struct cot_accu *a, double above, double below);
struct cot_mean cot_accu_mean(const struct cot_accu *a);

/* The arithmetic mean of the means of the members that have values: every member counts once,
 * however many values it has. The geometric means are averaged in the same way, and of ratios both
 * sides. */
struct cot_mean cot_mean_of_groups(const struct cot_accu *groups, const bool *member, unsigned n);

/* A share of n cases, with the interval of a binomial. */
struct cot_mean cot_share_mean(double share, unsigned n);

#endif
