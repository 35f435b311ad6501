/* Compares two arrays where they are: for results too large to be copied to the CPU each time. */
#include "cuda_min.h"

extern "C" __global__ void count_differences(const unsigned *a, const unsigned *b,
					     unsigned long long n, unsigned *n_different)
{
	unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
	unsigned found = 0;

	for (; i < n; i += step)
		found += a[i] != b[i];
	if (found)
		__nvvm_atom_add_gen_i((int *)n_different, (int)found);
}
