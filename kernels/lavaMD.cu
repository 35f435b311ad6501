/*
 * Forces between particles within a cut-off (Rodinia's lavaMD). Space is cut into boxes; a block takes
 * one box, and for it and each of its neighbours lets every pair of particles interact.
 */
#include "cuda_min.h"
#include "exact_math.h"

#define PARTICLES 100 /* in each box */
#define NEIGHBOURS 26

struct vec4 {
	double v, x, y, z;
};

struct box {
	int first; /* its first particle */
	int n_neighbours;
	int neighbours[NEIGHBOURS];
};

struct parameters {
	double alpha;
	int n_boxes;
};

static __device__ __forceinline__ double dot(const struct vec4 &a, const struct vec4 &b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

extern "C" __global__ void kernel_gpu_cuda(struct parameters par, const struct box *boxes,
					   const struct vec4 *positions, const double *charges,
					   struct vec4 *forces)
{
	__shared__ struct vec4 home[PARTICLES];
	__shared__ struct vec4 there[PARTICLES];
	__shared__ double charge[PARTICLES];
	double a2 = 2.0 * par.alpha * par.alpha;
	int here = blockIdx.x;
	const struct box *box;

	if (here >= par.n_boxes)
		return;
	box = &boxes[here];
	for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x)
		home[i] = positions[box->first + i];
	for (int k = 0; k < 1 + box->n_neighbours; k++) {
		int first = k ? boxes[box->neighbours[k - 1]].first : box->first;

		__syncthreads();
		for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x) {
			there[i] = positions[first + i];
			charge[i] = charges[first + i];
		}
		__syncthreads();
		for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x) {
			struct vec4 sum = forces[box->first + i];

			for (int j = 0; j < PARTICLES; j++) {
				double r2 = home[i].v + there[j].v - dot(home[i], there[j]);
				double vij = cot_exp_f64(-(a2 * r2));
				double fs = 2.0 * vij;

				sum.v += charge[j] * vij;
				sum.x += charge[j] * (fs * (home[i].x - there[j].x));
				sum.y += charge[j] * (fs * (home[i].y - there[j].y));
				sum.z += charge[j] * (fs * (home[i].z - there[j].z));
			}
			forces[box->first + i] = sum;
		}
	}
}
