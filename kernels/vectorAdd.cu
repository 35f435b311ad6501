/* c = a + b, as in NVIDIA's sample of this name: blocks that are over in no time. */
#include "cuda_min.h"

extern "C" __global__ void vectorAdd(const float *a, const float *b, float *c, int n)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}
