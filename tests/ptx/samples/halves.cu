// Half precision, bfloat16, 8-bit floats and matrix instructions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>

using namespace nvcuda;

__global__ void halves(half *h, half2 *p, float *f, __nv_bfloat16 *b)
{
	int t = threadIdx.x;

	h[t] = __hfma(h[t], h[t + 1], h[t + 2]) + hexp(h[t]) + hsqrt(h[t + 1]);
	p[t] = __hfma2(p[t], p[t + 1], __float2half2_rn(f[t])) + h2rcp(p[t]);
	f[t] = __half2float(h[t]) + __bfloat162float(b[t]) + __low2float(p[t]);
	if (__hgt(h[t], h[t + 1]) && __hbgt2(p[t], p[t + 1]))
		b[t] = __hmul(b[t], __float2bfloat16(f[t]));
	h[t] = __float2half_rz(f[t]) * __int2half_rn(t) + __hmax(h[t], h[0]);
	atomicAdd(p, p[t]);
	__nv_fp8_e4m3 e = __nv_fp8_e4m3(f[t]);
	f[t + 1] = (float)e;
}

__global__ void matrices(const half *a, const half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.f);
	for (int k = 0; k < 64; k += 16) {
		wmma::load_matrix_sync(fa, a + k, 64);
		wmma::load_matrix_sync(fb, b + k, 64);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void matrices_int(const signed char *a, const signed char *b, int *c)
{
	wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 8, 32, 16, int> fc;

	wmma::load_matrix_sync(fa, a, 64);
	wmma::load_matrix_sync(fb, b, 64);
	wmma::fill_fragment(fc, 0);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void mma(unsigned *r, float *d, const void *shared_row)
{
	__shared__ __align__(16) half tile[16 * 16];
	unsigned a[4], b[2], row = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * 8);

	tile[threadIdx.x] = ((const half *)shared_row)[threadIdx.x];
	__syncthreads();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(row));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		     : "=r"(b[0]), "=r"(b[1]) : "r"(row));
#if __CUDA_ARCH__ >= 800
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
		     "{%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, "
		     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
	r[5] = a[0] + b[1];
}
