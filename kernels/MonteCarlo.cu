/* Values of European options by random paths: the patent's Monte Carlo. A block is an option. */
#include "cuda_min.h"

#include "monte_carlo.h"

extern "C" __global__ void monte_carlo(float *value, const float *price, const float *strike,
				       const float *years, float rate, float volatility,
				       unsigned key, int n_pairs)
{
	__shared__ float sums[COT_MC_THREADS];
	unsigned thread = threadIdx.x, half;
	struct cot_mc_option o = {price[blockIdx.x], strike[blockIdx.x], years[blockIdx.x], rate,
				  volatility};

	sums[thread] = cot_mc_paths(&o, blockIdx.x, thread, key, n_pairs);
	for (half = COT_MC_THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (thread < half)
			sums[thread] += sums[thread + half];
	}
	if (thread == 0)
		value[blockIdx.x] = cot_mc_value(&o, sums[0], n_pairs);
}
