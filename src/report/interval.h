/*
 * The mean of a few independent values and how far it may be off: the 95 % interval of the mean by
 * Student's t distribution, for values that are roughly normal. Pure.
 */
#ifndef COT_REPORT_INTERVAL_H
#define COT_REPORT_INTERVAL_H

struct cot_interval {
	double mean; /* NAN: a value is not known */
	double half; /* the interval is mean +- half; NAN of a single value */
};

/* `n` >= 1 values, the next one `stride` behind each. One that is NAN makes the mean unknown, as
 * the mean of the others would be one of the lucky ones. */
struct cot_interval cot_interval_of(const double *values, unsigned n, unsigned stride);

/* The 97.5 % quantile of Student's t with so many degrees of freedom, >= 1; within 0.0005. */
double cot_interval_t(unsigned degrees);

#endif
