/*
 * One frame of a particle filter that follows a disk in a noisy picture (Rodinia's particlefilter):
 * particles move at random, weigh themselves by how much the picture around them looks like the
 * disk, and are drawn anew in proportion to their weights. Weights are integers, so that sums do
 * not depend on their order.
 */
#include "cuda_min.h"
#include "exact_math.h"

#define BLOCK 128

struct picture {
	const unsigned char *pixels;
	int width, height;
	int n_disk; /* offsets of the pixels of the disk */
	const short *disk_x, *disk_y;
};

/* A uniform number in [0, 1) of 24 bits. */
static __device__ __forceinline__ float uniform(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (float)(*seed >> 8) * (1.0f / 16777216.0f);
}

/* Mean 0, variance 1: the sum of twelve uniform numbers, close enough to a normal one. */
static __device__ __forceinline__ float noise(unsigned *seed)
{
	float sum = -6.0f;

	for (int i = 0; i < 12; i++)
		sum += uniform(seed);
	return sum;
}

static __device__ __forceinline__ int clamp(int x, int end)
{
	return x < 0 ? 0 : x < end ? x : end - 1;
}

extern "C" __global__ void likelihood_kernel(float *x, float *y, unsigned *seeds, unsigned *weights,
					     struct picture picture, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned seed;
	int column, row, sum = 0;

	if (i >= n)
		return;
	seed = seeds[i];
	x[i] = x[i] + 1.0f + 5.0f * noise(&seed);
	y[i] = y[i] - 2.0f + 2.0f * noise(&seed);
	seeds[i] = seed;
	column = (int)cot_round_f32(x[i]);
	row = (int)cot_round_f32(y[i]);
	for (int k = 0; k < picture.n_disk; k++) {
		int pixel = picture.pixels[clamp(row + picture.disk_y[k], picture.height) *
						   picture.width +
					   clamp(column + picture.disk_x[k], picture.width)];

		/* The background is 100, the disk 228. */
		sum += (pixel - 100) * (pixel - 100) - (pixel - 228) * (pixel - 228);
	}
	weights[i] = 1 + (unsigned)(65536.0f * cot_exp_f32((float)sum / (4096.0f * picture.n_disk)));
}

/* sums[b] = the weights of block b. */
extern "C" __global__ void sum_kernel(const unsigned *weights, unsigned long long *sums, int n)
{
	__shared__ unsigned long long part[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? weights[i] : 0;
	for (unsigned half = BLOCK / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = part[0];
}

/* cdf[i] = the weights up to and with particle i. */
extern "C" __global__ void cdf_kernel(const unsigned *weights, const unsigned long long *sums,
				      unsigned long long *cdf, int n)
{
	__shared__ unsigned long long part[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long before = 0, base;

	for (unsigned b = threadIdx.x; b < blockIdx.x; b += BLOCK)
		before += sums[b];
	part[threadIdx.x] = before;
	for (unsigned half = BLOCK / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	__syncthreads();
	base = part[0];
	__syncthreads();
	part[threadIdx.x] = i < n ? weights[i] : 0;
	for (unsigned reach = 1; reach < BLOCK; reach *= 2) {
		unsigned long long left;

		__syncthreads();
		left = threadIdx.x >= reach ? part[threadIdx.x - reach] : 0;
		__syncthreads();
		part[threadIdx.x] += left;
	}
	if (i < n)
		cdf[i] = base + part[threadIdx.x];
}

/* Particle i goes where the first particle is whose cdf exceeds offset + i * total / n. */
extern "C" __global__ void kernel(const float *x, const float *y, const unsigned long long *cdf,
				  float *new_x, float *new_y, unsigned offset, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long wanted;
	int chosen = n - 1;

	if (i >= n)
		return;
	wanted = cdf[n - 1] / (unsigned)n * (unsigned)i + offset % (cdf[n - 1] / (unsigned)n);
	for (int k = 0; k < n; k++) {
		if (cdf[k] > wanted) {
			chosen = k;
			break;
		}
	}
	new_x[i] = x[chosen];
	new_y[i] = y[chosen];
}
