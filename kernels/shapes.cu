/*
 * Kernels with the shapes that passes have trouble with, each small enough to follow by hand. All
 * write to `out` what depends on their block and thread index, so that a task that is lost, done
 * twice or mixed with another shows. kernels/host/shapes.c does the same on the CPU.
 */
#include "cuda_min.h"

#define BLOCK 100 /* threads; not a multiple of a warp */

/* Values that a lost or repeated step changes. */
static __device__ __forceinline__ unsigned mix(unsigned a, unsigned b)
{
	a = (a ^ b) * 0x9e3779b1u;
	return a ^ a >> 15;
}

/* Some threads return before a barrier. */
extern "C" __global__ void early_return(unsigned *out, unsigned n)
{
	__shared__ unsigned part[BLOCK], other[BLOCK];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	part[t] = mix(i, 1);
	other[t] = mix(i, 2);
	if (i % 7 == 3 || i >= n)
		return;
	__syncthreads();
	out[i] = mix(out[i], part[(t + 1) % blockDim.x] + other[(t + 2) % blockDim.x]);
}

/* Each thread returns after rounds of its own, and all others go on meeting at barriers. */
extern "C" __global__ void rounds(unsigned *out, unsigned n)
{
	__shared__ unsigned sum;
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t, seen = 0;

	if (t == 0)
		sum = blockIdx.x;
	__syncthreads();
	for (unsigned k = 0; k < mix(i, 5) % 9; k++) {
		unsigned before = sum;

		__syncthreads();
		if (t == blockDim.x - 1 || t % 32 == k)
			__nvvm_atom_add_gen_i((int *)&sum, (int)(t + k));
		__syncthreads();
		seen = mix(seen, before);
	}
	if (i < n)
		out[i] = mix(out[i], seen);
}

/* A barrier in a loop whose length is the same for the block, and differs between blocks. */
extern "C" __global__ void sums(unsigned *out, const unsigned *lengths, unsigned n)
{
	__shared__ unsigned part[BLOCK];
	unsigned t = threadIdx.x, total = 0;

	for (unsigned k = 0; k < lengths[blockIdx.x]; k++) {
		part[t] = mix(k, t + blockIdx.x);
		__syncthreads();
		total = mix(total, part[(t * 3 + 1) % blockDim.x]);
		__syncthreads();
	}
	if (blockIdx.x * blockDim.x + t < n)
		out[blockIdx.x * blockDim.x + t] = mix(out[blockIdx.x * blockDim.x + t], total);
}

/* All of the index of a three-dimensional grid, and two-dimensional blocks. */
extern "C" __global__ void volume(unsigned *out)
{
	unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	unsigned t = threadIdx.x + blockDim.x * threadIdx.y;
	unsigned i = block * blockDim.x * blockDim.y + t;

	out[i] = mix(mix(out[i], blockIdx.x), mix(blockIdx.y, blockIdx.z + gridDim.z));
}

/* Only the planes of the grid matter. */
extern "C" __global__ void planes(unsigned *out)
{
	__nvvm_atom_add_gen_i((int *)&out[blockIdx.z], (int)(threadIdx.x + 1));
}

/* The index read in called functions, directly and one call further. */
static __device__ __noinline__ unsigned place(unsigned k)
{
	return blockIdx.x + gridDim.x * blockIdx.y + k * 1000;
}

static __device__ __noinline__ unsigned outer_place(unsigned k)
{
	if (k & 1)
		return place(k) ^ blockIdx.y;
	return place(k + 1) + gridDim.y;
}

extern "C" __global__ void calls(unsigned *out)
{
	unsigned i = (blockIdx.x + gridDim.x * blockIdx.y) * blockDim.x + threadIdx.x;

	out[i] = mix(out[i], outer_place(threadIdx.x));
}

/* The sum of a block by warps: lanes of one warp go on, the other warps return. */
extern "C" __global__ void warp_sum(unsigned *out)
{
	__shared__ unsigned part[32];
	unsigned t = threadIdx.x, v = mix(blockIdx.x, t);

	if (t < 32)
		part[t] = 0;
	__syncthreads();
	__nvvm_atom_add_gen_i((int *)&part[t % 32], (int)v);
	__syncthreads();
	if (t >= 32)
		return;
	v = part[t];
	for (int d = 16; d; d /= 2)
		v += __nvvm_shfl_sync_down_i32(~0u, (int)v, d, 31);
	if (t == 0)
		out[blockIdx.x] = mix(out[blockIdx.x], v);
}

/* Two groups of threads with barriers of their own. */
extern "C" __global__ void groups(unsigned *out)
{
	__shared__ unsigned part[128];
	unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;

	part[t] = mix(i, 77);
	if (t < 64)
		__nvvm_barrier_sync_cnt(1, 64);
	else
		__nvvm_barrier_sync_cnt(2, 64);
	out[i] = mix(out[i], part[t ^ 33]);
}

/* Shared memory that the launch sizes. */
extern __shared__ unsigned dynamic[];

extern "C" __global__ void dynamic_shared(unsigned *out)
{
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	dynamic[t] = mix(i, 9);
	__syncthreads();
	out[i] = mix(out[i], dynamic[blockDim.x - 1 - t]);
}

/* A variable of the module, which the original kernel and the new one share. */
__device__ unsigned total;

extern "C" __global__ void module_variable(unsigned *out)
{
	unsigned old = (unsigned)__nvvm_atom_add_gen_i((int *)&total, (int)(blockIdx.x + 1));

	if (old == ~0u)
		out[0] = 1;
}

/* Neither its index nor the grid's size is read. */
extern "C" __global__ void no_index(unsigned *out)
{
	__nvvm_atom_add_gen_i((int *)&out[threadIdx.x], 1);
}

/* An array in local memory, indexed by a value. */
extern "C" __global__ void local_array(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, a[16];

	for (unsigned k = 0; k < 16; k++)
		a[k] = mix(i, k);
	for (unsigned k = 0; k < 40; k++)
		a[a[k & 15] & 15] = mix(a[k & 15], k);
	out[i] = mix(out[i], a[i & 15]);
}
