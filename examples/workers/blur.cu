/*
 * A kernel that is its own persistent workers (include/cotenant/workers.h): each task blurs a tile of
 * a picture. Needs nothing of the CUDA toolkit:
 *
 *   clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib \
 *         -Iinclude -O2 -S examples/workers/blur.cu -o blur.ptx
 *   nvcc -arch=sm_90 -Iinclude -ptx examples/workers/blur.cu -o blur.ptx      does as well
 */
#include <cotenant/workers.h>

#if defined(__CUDA__) && !defined(__CUDACC_VER_MAJOR__) && !defined(__shared__)
/* What the toolkit's headers would bring. */
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define THREAD_X   ((int)__nvvm_read_ptx_sreg_tid_x())
#define THREAD_Y   ((int)__nvvm_read_ptx_sreg_tid_y())
#else
#define THREAD_X ((int)threadIdx.x)
#define THREAD_Y ((int)threadIdx.y)
#endif

#define TILE 16

static __attribute__((device)) int inside(int at, int end)
{
	return at < 0 ? 0 : at < end ? at : end - 1;
}

/* Each pixel becomes the mean of itself and its four neighbours, `rounds` times within the tile. */
extern "C" __global__ void blur(const unsigned *from, unsigned *to, int width, int height, int rounds,
				struct cot_workers_args workers)
{
	__shared__ unsigned tile[TILE][TILE];
	struct cot_workers_task task = cot_workers_begin(workers);
	int tx = THREAD_X, ty = THREAD_Y;

	while (cot_workers_next(workers, task)) {
		int x = (int)task.x * TILE + tx, y = (int)task.y * TILE + ty;
		unsigned pixel = from[inside(y, height) * width + inside(x, width)];

		for (int i = 0; i < rounds; i++) {
			tile[ty][tx] = pixel;
			__syncthreads();
			pixel += tile[ty][inside(tx - 1, TILE)] + tile[ty][inside(tx + 1, TILE)] +
				 tile[inside(ty - 1, TILE)][tx] + tile[inside(ty + 1, TILE)][tx];
			pixel /= 5;
			__syncthreads();
		}
		if (x < width && y < height)
			to[y * width + x] = pixel;
	}
}
