// Shuffles, votes, matches, cooperative groups, grid barriers, textures and surfaces.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void warps(int *a, unsigned *m)
{
	int v = a[threadIdx.x];
	unsigned mask = __activemask();

	v += __shfl_xor_sync(0xffffffffu, v, 16);
	v += __shfl_down_sync(mask, v, 4);
	v += __shfl_up_sync(mask, v, 2, 8);
	v += __shfl_sync(mask, v, 3);
	m[0] = __ballot_sync(mask, v > 3);
	m[1] = __any_sync(mask, v > 4) + __all_sync(mask, v > 5);
	__syncwarp(mask);
	m[2] = __syncthreads_count(v > 1) + __syncthreads_or(v > 2) + __syncthreads_and(v > 9);
#if __CUDA_ARCH__ >= 700
	int pred;
	m[3] = __match_any_sync(mask, v) + __match_all_sync(mask, v, &pred);
	m[4] = pred;
#endif
#if __CUDA_ARCH__ >= 800
	m[5] = __reduce_add_sync(mask, m[4]) + __reduce_max_sync(mask, v);
#endif
	__nanosleep(100);
	__threadfence();
	__threadfence_block();
	__threadfence_system();
	a[threadIdx.x] = v;
}

__global__ void groups(int *a)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);

	a[grid.thread_rank()] += cg::reduce(tile, a[block.thread_rank()], cg::plus<int>());
	grid.sync();
	a[block.thread_rank()] += tile.shfl(a[grid.thread_rank()], 0) + clock64() + clock();
	block.sync();
	auto active = cg::coalesced_threads();
	if (active.thread_rank() == 0)
		atomicAdd(a, (int)active.size());
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *out)
{
	int x = threadIdx.x, y = threadIdx.y;

	out[x] = tex2D<float4>(t, x + .5f, y + .5f);
	out[x + 1] = tex3D<float4>(t, x, y, 3.f);
	out[x + 2].x = tex1Dfetch<float>(t, x);
	out[x + 3] = tex2DLod<float4>(t, x, y, 2.f);
	out[x + 4] = tex2DLayered<float4>(t, x, y, 1);
	out[x + 5] = tex2Dgather<float4>(t, x, y, 1);
	surf2Dwrite(out[x].x, s, x * 4, y);
	out[x + 6].y = surf2Dread<float>(s, x * 4, y);
}

__device__ __noinline__ int fails(int a)
{
	if (a < 0)
		__trap();
	return a;
}

#include <cassert>

__global__ void asserts(int *a)
{
	assert(a[0] > 0);
	a[1] = fails(a[0]);
	int *p = (int *)malloc(16);
	p[threadIdx.x & 3] = 1;
	a[2] = p[1];
	free(p);
	if (a[3] == 7)
		asm volatile("exit;");
	volatile int *v = a;
	v[5] = v[6];
}
