/* Prices of European options by the formula of Black and Scholes (NVIDIA's sample). */
#include "cuda_min.h"
#include "exact_math.h"

/* The normal distribution: Abramowitz and Stegun 26.2.17. */
static __device__ __forceinline__ float normal_cdf(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
	float tail = 1.330274429f;

	tail = tail * k + -1.821255978f;
	tail = tail * k + 1.781477937f;
	tail = tail * k + -0.356563782f;
	tail = tail * k + 0.31938153f;
	tail = tail * k * 0.39894228f * cot_exp_f32(-0.5f * d * d);
	return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void BlackScholesGPU(float *call, float *put, const float *price,
					   const float *strike, const float *years, float rate,
					   float volatility, int n)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	float root, d1, d2, cdf1, cdf2, discounted;

	if (i >= n)
		return;
	root = volatility * sqrtf(years[i]);
	d1 = (cot_log_f32(price[i] / strike[i]) +
	      (rate + 0.5f * volatility * volatility) * years[i]) /
	     root;
	d2 = d1 - root;
	cdf1 = normal_cdf(d1);
	cdf2 = normal_cdf(d2);
	discounted = strike[i] * cot_exp_f32(-rate * years[i]);
	call[i] = price[i] * cdf1 - discounted * cdf2;
	put[i] = discounted * (1.0f - cdf2) - price[i] * (1.0f - cdf1);
}
