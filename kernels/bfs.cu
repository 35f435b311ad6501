/*
 * Breadth-first search, one launch per level (SHOC's BFS_kernel_warp). A warp takes `chunk` vertices
 * and looks at the neighbours of one after the other with all its lanes. Several threads may reach
 * a vertex at once; they all write the same level.
 */
#include "cuda_min.h"

#define UNREACHED 0xffffffffu

/* The neighbours of v are edges[first[v]] up to edges[first[v + 1]]. */
extern "C" __global__ void BFS_kernel_warp(unsigned *levels, const unsigned *first,
					   const unsigned *edges, int warp_size, int chunk,
					   unsigned n_vertices, unsigned level, int *any)
{
	unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned lane = thread % (unsigned)warp_size;
	unsigned begin = thread / (unsigned)warp_size * (unsigned)chunk;
	unsigned end = begin + (unsigned)chunk;

	if (begin >= n_vertices)
		return;
	if (end > n_vertices)
		end = n_vertices;
	for (unsigned v = begin; v < end; v++) {
		if (levels[v] != level)
			continue;
		for (unsigned i = first[v] + lane; i < first[v + 1]; i += (unsigned)warp_size) {
			if (levels[edges[i]] == UNREACHED) {
				levels[edges[i]] = level + 1;
				*any = 1;
			}
		}
	}
}
