/*
 * The cheapest way through a grid from its first row to its last, by dynamic programming (Rodinia's
 * pathfinder). A block works on several rows at once without hearing from its neighbours: it
 * reads `border` columns more on both sides; with each row the outermost of them becomes wrong, so
 * `border` is at least the number of rows.
 */
#include "cuda_min.h"

#define BLOCK 256

static __device__ __forceinline__ int min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

/* `before` is what the way costs up to the row before `row`; `n_rows` rows from there are added. */
extern "C" __global__ void dynproc_kernel(int n_rows, int row, const int *wall, const int *before,
					  int *after, int columns, int border)
{
	__shared__ int previous[BLOCK];
	__shared__ int current[BLOCK];
	int x = threadIdx.x;
	int width = BLOCK - 2 * border;
	int column = (int)blockIdx.x * width - border + x;
	bool inside = column >= 0 && column < columns;
	int west = x > 0 && column > 0 ? x - 1 : x;
	int east = x < BLOCK - 1 && column < columns - 1 ? x + 1 : x;

	previous[x] = inside ? before[column] : 0;
	__syncthreads();
	for (int end = row + n_rows; row < end; row++) {
		current[x] = min3(previous[west], previous[x], previous[east]);
		if (inside)
			current[x] += wall[(long long)row * columns + column];
		__syncthreads();
		previous[x] = current[x];
		__syncthreads();
	}
	if (inside && x >= border && x < BLOCK - border)
		after[column] = previous[x];
}
