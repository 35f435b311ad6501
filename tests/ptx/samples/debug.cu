// Small, for the text that -G and -lineinfo add.
struct item {
	int key;
	float value;
};

__device__ __noinline__ float pick(const item *list, int n)
{
	float best = 0;

	for (int i = 0; i < n; i++)
		if (list[i].value > best)
			best = list[i].value;
	return best;
}

__device__ inline float twice(float x) { return x * 2; }

__global__ void __launch_bounds__(64) best(const item *list, int n, float *out)
{
	out[threadIdx.x] = twice(pick(list + threadIdx.x, n));
}
