/* Reductions in shared memory, in warps and over a whole cooperative grid; printf. */
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

template <typename T> __global__ void reduce(const T *in, T *out, int n)
{
	extern __shared__ unsigned char raw[];
	T *part = (T *)raw;
	T sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = part[0];
}

__global__ void warp_sums(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
	int v = in[block.thread_rank()];

	for (int d = warp.size() / 2; d; d /= 2)
		v += warp.shfl_down(v, d);
	if (!warp.thread_rank())
		out[warp.meta_group_rank()] = v;
	unsigned even = __ballot_sync(0xffffffff, threadIdx.x % 2 == 0);
	if (!threadIdx.x && even != 0x55555555)
		out[0] = -1;
}

__global__ void over_the_grid(int *data, int *sums, int n)
{
	cg::grid_group grid = cg::this_grid();
	int sum = 0;

	for (int i = grid.thread_rank(); i < n; i += grid.size())
		data[i] = i;
	grid.sync();
	/* Others have written what is read now. */
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		sum += data[n - 1 - i];
	atomicAdd(&sums[0], sum);
	grid.sync();
	if (grid.thread_rank() == 0)
		sums[1] = sums[0];
}

__global__ void hello(void)
{
	if (threadIdx.x < 2)
		printf("block %d thread %d of %s: %.2f\n", blockIdx.x, threadIdx.x, "hello", 1.5);
}

int main(void)
{
	const int n = 5000;
	static int in[n];
	static double din[n];
	int *d, *out, sums[64], total = 0;
	double *dd, *dout, dsums[16], dtotal = 0;

	for (int i = 0; i < n; i++) {
		in[i] = i;
		din[i] = i * 0.5;
	}
	OK(cudaMalloc((void **)&d, sizeof(in)));
	OK(cudaMalloc((void **)&out, sizeof(sums)));
	OK(cudaMalloc((void **)&dd, sizeof(din)));
	OK(cudaMalloc((void **)&dout, sizeof(dsums)));
	OK(cudaMemcpy(d, in, sizeof(in), cudaMemcpyHostToDevice));
	OK(cudaMemcpy(dd, din, sizeof(din), cudaMemcpyHostToDevice));
	reduce<int><<<16, 128, 128 * sizeof(int)>>>(d, out, n);
	reduce<double><<<16, 128, 128 * sizeof(double)>>>(dd, dout, n);
	OK(cudaMemcpy(sums, out, 16 * sizeof(int), cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(dsums, dout, 16 * sizeof(double), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 16; i++) {
		total += sums[i];
		dtotal += dsums[i];
	}
	REQUIRE(total == n * (n - 1) / 2);
	REQUIRE(dtotal == n * (n - 1) / 2 * 0.5);

	warp_sums<<<1, 128>>>(d, out);
	OK(cudaMemcpy(sums, out, 4 * sizeof(int), cudaMemcpyDeviceToHost));
	REQUIRE(sums[0] == 496 && sums[3] == 496 + 32 * 96);

	int can = 0, m = 3000, blocks = 0;
	OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
	REQUIRE(can);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, over_the_grid, 64, 0));
	REQUIRE(blocks > 0 && blocks <= 32);
	OK(cudaMemset(out, 0, sizeof(sums)));
	void *args[] = {&d, &out, &m};
	OK(cudaLaunchCooperativeKernel((void *)over_the_grid, dim3(12), dim3(64), args, 0, 0));
	OK(cudaMemcpy(sums, out, 2 * sizeof(int), cudaMemcpyDeviceToHost));
	REQUIRE(sums[0] == m * (m - 1) / 2 && sums[1] == sums[0]);
	REQUIRE(cudaLaunchCooperativeKernel((void *)over_the_grid, dim3(132 * 32 + 1), dim3(64),
					    args, 0, 0) == cudaErrorCooperativeLaunchTooLarge);
	(void)cudaGetLastError();

	int grid = 0, block = 0;
	OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, warp_sums, 0, 0));
	REQUIRE(block >= 32 && grid >= 132);

	fflush(stdout);
	hello<<<2, 32>>>();
	OK(cudaDeviceSynchronize());
	printf("ok\n");
	return 0;
}
