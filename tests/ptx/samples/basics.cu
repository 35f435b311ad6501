// Templates, printf, shared memory, atomics, tables, calls through pointers, a switch.
#include <cstdio>

__device__ int counter;
__constant__ float weights[4] = {1, 2.5f, -3, 4};
__device__ double table[3] = {0.5, 1.5, 2.5};
__managed__ int shared_with_host = 7;
__device__ const char *names[2] = {"first", "second"};

typedef int (*function)(int);
__device__ __noinline__ int triple(int a) { return a * 3 + counter; }
__device__ __noinline__ int less(int a) { return a - 1; }
__device__ function functions[2] = {triple, less};

struct pair {
	int a;
	double b;
	char c[5];
};

__device__ __noinline__ pair combine(pair p, float f)
{
	p.b += f;
	p.c[1] = 'x';
	return p;
}

template <typename T, int N>
__global__ void reduce(const T *in, T *out, int n)
{
	__shared__ T part[N];
	int t = threadIdx.x, i = blockIdx.x * N + t;

	part[t] = i < n ? in[i] : T(0);
	__syncthreads();
	for (int s = N / 2; s; s >>= 1) {
		if (t < s)
			part[t] += part[t + s];
		__syncthreads();
	}
	if (!t)
		atomicAdd(out, part[0]);
}

template __global__ void reduce<float, 128>(const float *, float *, int);
template __global__ void reduce<int, 64>(const int *, int *, int);
template __global__ void reduce<double, 32>(const double *, double *, int);

__global__ void __launch_bounds__(256, 2) mixed(float *out, int n, const char *text, pair p)
{
	extern __shared__ int dynamic[];
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	out[i] = functions[i & 1](i) + dynamic[i] + weights[i & 3] + (float)table[i % 3];
	printf("%d %s %s\n", i, text, names[i & 1]);
	p = combine(p, out[i]);
	out[i + 1] = (float)p.b + p.c[1] + shared_with_host;
	switch (n) {
	case 0: out[1] = 3; break;
	case 1: out[2] = sinf(out[3]); break;
	case 2: out[5] = expf(out[4]); break;
	case 3: out[7] = __fdividef(out[1], out[2]); break;
	case 4: out[9] = 1 / out[8]; break;
	case 5: atomicAdd(out, 1.f); break;
	case 6: out[3] = sqrtf(out[2]); break;
	case 7: out[4] = powf(out[1], out[2]); break;
	}
}

__device__ unsigned long long big;

__global__ void integers(unsigned *a, long long *b, short *h, unsigned char *c)
{
	int t = threadIdx.x;

	a[t] = __popc(a[t]) + __clz(a[t]) + __ffs(a[t]) + __brev(a[t]) + __byte_perm(a[t], a[t + 1], 0x3210);
	a[t + 1] = __umulhi(a[t], a[t + 2]) + __funnelshift_l(a[t], a[t + 1], 5) + a[t] % 7 + a[t] / a[t + 1];
	b[t] = b[t] * b[t + 1] + __mul64hi(b[t], 5) + __clzll(b[t]) + (b[t] >> 3) + (b[t] % b[t + 2]);
	h[t] = (short)(h[t] * 3 + c[t]);
	c[t] = (unsigned char)(c[t] ^ 0x5a);
	atomicMax(&a[0], a[t]);
	atomicCAS(&a[1], 1u, 2u);
	atomicExch(&a[2], 3u);
	atomicInc(&a[3], 99u);
	atomicAnd(&a[4], 0xffu);
	atomicAdd(&big, 1ull);
	a[5] = __vabsdiffu4(a[6], a[7]) + __dp4a(a[1], a[2], a[3]) + __usad(a[1], a[2], a[3]);
	asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %1, 0;\n\t@p bra AGAIN;\n\tadd.u32 %0, %1, 1;\nAGAIN:\n\t}"
		     : "=r"(a[9]) : "r"(a[8]));
}
