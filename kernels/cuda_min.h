/*
 * What the kernels need of CUDA, in the same words for clang without a CUDA toolkit and for nvcc,
 * which has it all built in. Device code only.
 */
#ifndef COT_KERNELS_CUDA_MIN_H
#define COT_KERNELS_CUDA_MIN_H

#if defined(__CUDA__) && !defined(__NVCC__)

#define __global__	__attribute__((global))
#define __device__	__attribute__((device))
#define __shared__	__attribute__((shared))
#define __constant__	__attribute__((constant))
#define __noinline__	__attribute__((noinline))
#define __forceinline__ __inline__ __attribute__((always_inline))

struct cot_uint3 {
	unsigned x, y, z;
};

#define COT_SREG(name)                                          \
	(cot_uint3{(unsigned)__nvvm_read_ptx_sreg_##name##_x(), \
		   (unsigned)__nvvm_read_ptx_sreg_##name##_y(), \
		   (unsigned)__nvvm_read_ptx_sreg_##name##_z()})
#define threadIdx COT_SREG(tid)
#define blockIdx  COT_SREG(ctaid)
#define blockDim  COT_SREG(ntid)
#define gridDim	  COT_SREG(nctaid)

struct alignas(8) float2 {
	float x, y;
};

#define fabsf __builtin_fabsf
#define sqrtf __nvvm_sqrt_rn_f
#define sqrt  __nvvm_sqrt_rn_d

#endif /* clang */

#endif
