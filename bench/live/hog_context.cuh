/*
 * Kernels for hog's kind `context`: a known number of registers and shared memory that is alive all
 * the time, on every SM. So the state that a context switch has to save grows step by step.
 */
#ifndef COT_BENCH_LIVE_HOG_CONTEXT_CUH
#define COT_BENCH_LIVE_HOG_CONTEXT_CUH

#include <cuda_runtime.h>

/* N values in registers, each of which depends on its neighbour. */
template <int N, int MAX_THREADS, int PER_SM>
__global__ void __launch_bounds__(MAX_THREADS, PER_SM)
	context_kernel(unsigned *out, int iters, unsigned smem_words)
{
	extern __shared__ unsigned sm[];
	unsigned r[N], sum = 0;

	for (unsigned i = threadIdx.x; i < smem_words; i += blockDim.x)
		sm[i] = i * 2654435761u ^ blockIdx.x;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < N; i++)
		r[i] = (threadIdx.x + i * 7919u) * 2654435761u;
#pragma unroll 1
	for (int k = 0; k < iters; k++) {
#pragma unroll
		for (int i = 0; i < N; i++)
			r[i] = r[i] * 1664525u + (r[(i + 1) % N] >> 3);
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		sum ^= r[i] + i;
	for (unsigned i = threadIdx.x; i < smem_words; i += blockDim.x)
		sum += sm[i];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

typedef void (*context_kernel_fn)(unsigned *, int, unsigned);

struct context_variant {
	const char *name; /* registers per thread x threads per SM, shared memory per SM */
	context_kernel_fn kernel;
	int threads, per_sm, smem_kib;
};

static const struct context_variant context_variants[] = {
	{"32r x 128, 0K", context_kernel<16, 128, 1>, 128, 1, 0},
	{"32r x 1024, 0K", context_kernel<16, 1024, 1>, 1024, 1, 0},
	{"32r x 2048, 0K", context_kernel<16, 1024, 2>, 1024, 2, 0},
	{"64r x 1024, 0K", context_kernel<48, 1024, 1>, 1024, 1, 0},
	{"128r x 512, 0K", context_kernel<108, 512, 1>, 512, 1, 0},
	{"255r x 256, 0K", context_kernel<232, 256, 1>, 256, 1, 0},
	{"32r x 128, 50K", context_kernel<16, 128, 1>, 128, 1, 50},
	{"32r x 128, 100K", context_kernel<16, 128, 1>, 128, 1, 100},
	{"32r x 128, 200K", context_kernel<16, 128, 1>, 128, 1, 200},
	{"255r x 256, 200K", context_kernel<232, 256, 1>, 256, 1, 200},
};
static const int n_context_variants = sizeof(context_variants) / sizeof(context_variants[0]);

static inline void context_launch(const struct context_variant *v, unsigned *out, int iters,
				  int n_sms, cudaStream_t stream)
{
	v->kernel<<<n_sms * v->per_sm, v->threads, (size_t)v->smem_kib << 10, stream>>>(
		out, iters, (unsigned)(v->smem_kib << 8));
}

#endif
