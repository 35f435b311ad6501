/*
 * The approximate functions of PTX (ex2, lg2, sin, cos, tanh, rsqrt), computed in double precision
 * with +, -, *, / and sqrt only, so that every compiler and C library gives the same bits. Errors
 * before the last rounding are below 2^-38 (relative; of sin and cos absolute), far inside what
 * PTX allows. Subnormals are kept: flushing is the caller's. Pure functions.
 */
#ifndef COT_EMU_EXEC_APPROX_H
#define COT_EMU_EXEC_APPROX_H

#include <stdint.h>

/* Arguments and results of f32 functions are floats in double precision, not yet rounded. */
double cot_approx_ex2(double x);
double cot_approx_lg2(double x);
double cot_approx_tanh(double x);
double cot_approx_rsqrt(double x);
/* Exact reduction: right for arguments of any size. */
double cot_approx_sin(float x);
double cot_approx_cos(float x);

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper 32 bits, the lower ones are zero. */
double cot_approx_rcp64(double x);
double cot_approx_rsqrt64(double x);

#endif
