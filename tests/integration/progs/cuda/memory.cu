/* Managed, mapped, pitched and pooled memory, symbols, attributes of pointers. */
#include <cstring>

#include "check.h"

__constant__ int table[64];
__device__ int counter = 3;
__device__ float matrix[4][8];
__managed__ int shared_number = 11;

__global__ void use_symbols(int *out)
{
	out[threadIdx.x] = table[threadIdx.x] * 2 + shared_number;
	atomicAdd(&counter, 1);
	if (threadIdx.x < 32)
		matrix[threadIdx.x / 8][threadIdx.x % 8] = (float)threadIdx.x;
	if (!threadIdx.x)
		shared_number = 12;
}

__global__ void transpose(const float *in, size_t in_pitch, float *out, size_t out_pitch, int w,
			  int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		*((float *)((char *)out + x * out_pitch) + y) =
			*((const float *)((const char *)in + y * in_pitch) + x);
}

__global__ void twice(int *p, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		p[i] *= 2;
}

static void symbols(void)
{
	int host[64], *d, count = 0;
	float m[4][8];
	void *address;
	size_t size;

	for (int i = 0; i < 64; i++)
		host[i] = i * i;
	OK(cudaMalloc((void **)&d, sizeof(host)));
	OK(cudaMemcpyToSymbol(table, host, sizeof(host)));
	use_symbols<<<1, 64>>>(d);
	OK(cudaDeviceSynchronize());
	REQUIRE(shared_number == 12);
	OK(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
	REQUIRE(count == 3 + 64);
	OK(cudaMemcpyFromSymbol(m, matrix, sizeof(m)));
	REQUIRE(m[3][7] == 31);
	OK(cudaGetSymbolAddress(&address, counter));
	OK(cudaGetSymbolSize(&size, matrix));
	REQUIRE(address && size == sizeof(m));
	OK(cudaMemcpy(host, d, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		REQUIRE(host[i] == 2 * i * i + 11 || host[i] == 2 * i * i + 12);
	OK(cudaFree(d));
}

static void managed_and_mapped(void)
{
	int *m, *h, *mapped, *plain = (int *)malloc(100 * sizeof(int));
	cudaPointerAttributes a;

	OK(cudaMallocManaged((void **)&m, 100 * sizeof(int)));
	OK(cudaHostAlloc((void **)&h, 100 * sizeof(int), cudaHostAllocMapped));
	for (int i = 0; i < 100; i++)
		m[i] = h[i] = plain[i] = i;
	OK(cudaHostGetDevicePointer((void **)&mapped, h, 0));
	OK(cudaHostRegister(plain, 100 * sizeof(int), cudaHostRegisterDefault));
	twice<<<1, 32>>>(m, 100);
	twice<<<1, 32>>>(mapped, 100);
	twice<<<1, 32>>>(plain, 100);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 100; i++)
		REQUIRE(m[i] == 2 * i && h[i] == 2 * i && plain[i] == 2 * i);
	OK(cudaPointerGetAttributes(&a, m));
	REQUIRE(a.type == cudaMemoryTypeManaged);
	OK(cudaPointerGetAttributes(&a, h));
	REQUIRE(a.type == cudaMemoryTypeHost);
	OK(cudaHostUnregister(plain));
	OK(cudaPointerGetAttributes(&a, plain));
	REQUIRE(a.type == cudaMemoryTypeUnregistered);
	OK(cudaFreeHost(h));
	OK(cudaFree(m));
	free(plain);
}

static void pitched(void)
{
	const int w = 50, h = 30;
	static float in[30][50], out[50][30];
	size_t in_pitch, out_pitch;
	float *a, *b;

	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			in[y][x] = (float)(100 * y + x);
	OK(cudaMallocPitch((void **)&a, &in_pitch, w * sizeof(float), h));
	OK(cudaMallocPitch((void **)&b, &out_pitch, h * sizeof(float), w));
	REQUIRE(in_pitch % 512 == 0);
	OK(cudaMemset2D(b, out_pitch, 0xff, h * sizeof(float), w));
	OK(cudaMemcpy2D(a, in_pitch, in, w * sizeof(float), w * sizeof(float), h,
			cudaMemcpyHostToDevice));
	transpose<<<dim3(4, 2), dim3(16, 16)>>>(a, in_pitch, b, out_pitch, w, h);
	OK(cudaMemcpy2D(out, h * sizeof(float), b, out_pitch, h * sizeof(float), w,
			cudaMemcpyDeviceToHost));
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			REQUIRE(out[x][y] == in[y][x] || x >= 64 || y >= 32);
	OK(cudaFree(a));
	OK(cudaFree(b));
}

static void solid(void)
{
	cudaExtent extent = make_cudaExtent(16, 4, 3);
	cudaMemcpy3DParms p = {};
	unsigned char in[3][4][16], out[3][4][16];
	cudaPitchedPtr d;

	for (unsigned i = 0; i < sizeof(in); i++)
		((unsigned char *)in)[i] = (unsigned char)i;
	memset(out, 0, sizeof(out));
	OK(cudaMalloc3D(&d, extent));
	p.srcPtr = make_cudaPitchedPtr(in, 16, 16, 4);
	p.dstPtr = d;
	p.extent = extent;
	p.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&p));
	p.srcPtr = d;
	p.dstPtr = make_cudaPitchedPtr(out, 16, 16, 4);
	p.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&p));
	REQUIRE(!memcmp(in, out, sizeof(in)));
	OK(cudaFree(d.ptr));
}

static void limits(void)
{
	size_t free_bytes, total;
	void *p;

	OK(cudaMemGetInfo(&free_bytes, &total));
	REQUIRE(total > (100ull << 30));
	REQUIRE(cudaMalloc(&p, total + 1) == cudaErrorMemoryAllocation);
	REQUIRE(cudaGetLastError() == cudaErrorMemoryAllocation);
	OK(cudaMalloc(&p, 20ull << 30)); /* costs nothing until it is touched */
	OK(cudaFree(p));
	REQUIRE(cudaFree((char *)p + 8) == cudaErrorInvalidValue);
	(void)cudaGetLastError();
}

int main(void)
{
	symbols();
	managed_and_mapped();
	pitched();
	solid();
	limits();
	printf("ok\n");
	return 0;
}
