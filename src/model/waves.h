/*
 * How long a program takes on ever fewer SMs, as kernels of whole waves: one of `b` blocks takes
 * ceil(b / sms) times the time of a block. Pure.
 */
#ifndef COT_MODEL_WAVES_H
#define COT_MODEL_WAVES_H

#include <stdint.h>

#define COT_WAVES_MAX 16u /* kernels, and numbers of SMs measured */

struct cot_waves_sample {
	uint32_t sms;
	double us; /* more than 0 */
};

struct cot_waves {
	uint32_t n;
	uint32_t blocks[COT_WAVES_MAX];
	double block_us[COT_WAVES_MAX]; /* of the kernel, more than 0 */
};

/*
 * The kernels whose times on the numbers of SMs of the samples are nearest to them: least squares
 * of the relative errors, no time below 0. A kernel has as many blocks as a sample has SMs.
 */
void cot_waves_fit(const struct cot_waves_sample *samples, uint32_t n, struct cot_waves *ret);
double cot_waves_us(const struct cot_waves *w, uint32_t sms);

#endif
