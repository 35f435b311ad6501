/* k nearest neighbours: the distance of every record from one place (Rodinia's nn, euclid). */
#include "cuda_min.h"

extern "C" __global__ void euclid(const float2 *records, float *distances, int n_records, float lat,
				  float lng)
{
	/* A grid of two dimensions serves more records than one dimension may have blocks. */
	int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
	float2 record;

	if (i >= n_records)
		return;
	record = records[i];
	distances[i] =
		sqrtf((lat - record.x) * (lat - record.x) + (lng - record.y) * (lng - record.y));
}
