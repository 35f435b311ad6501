/* C = A * B by tiles in shared memory (NVIDIA's sample), one thread per element of a tile. */
#include "cuda_min.h"

#define TILE 32

/* A is rows * inner, B is inner * columns; all are multiples of the tile. */
extern "C" __global__ void matrixMulCUDA(float *c, const float *a, const float *b, int inner,
					 int columns)
{
	__shared__ float tile_a[TILE][TILE];
	__shared__ float tile_b[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y;
	int column = blockIdx.x * TILE + x;
	float sum = 0.0f;

	for (int k = 0; k < inner; k += TILE) {
		tile_a[y][x] = a[row * inner + k + x];
		tile_b[y][x] = b[(k + y) * columns + column];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < TILE; i++)
			sum += tile_a[y][i] * tile_b[i][x];
		__syncthreads();
	}
	c[row * columns + column] = sum;
}
