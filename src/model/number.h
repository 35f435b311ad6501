/*
 * Functions of numbers that give the same bits everywhere. libm's logarithm does not; its square
 * root does, but what is loaded into programs links libc only. Pure; see model.h.
 */
#ifndef COT_MODEL_NUMBER_H
#define COT_MODEL_NUMBER_H

/* The natural logarithm of x > 0, with the same last bit everywhere; absolute error below 1e-15 for
 * results near 0, else a few units in the last place. */
double cot_model_log(double x);

/* The square root of a finite x >= 0, to the last bit or two. */
double cot_model_sqrt(double x);

#endif
