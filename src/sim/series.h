/*
 * Logarithm and exponential made with + - * / alone: the C library's differ in the last bit between
 * machines, these do not.
 */
#ifndef COT_SIM_SERIES_H
#define COT_SIM_SERIES_H

/* ln(x) for 1 <= x <= 5, by the series of 2 atanh((x - 1) / (x + 1)). */
double cot_ln_series(double x);
double cot_exp_series(double x);

#endif
