/* A kernel that does something wrong, by its argument; the error stays. */
#include <cassert>
#include <cstring>

#include "check.h"

__global__ void wrong(int *p, int what)
{
	if (what == 0 && threadIdx.x == 3)
		p[1 << 28] = 1;
	if (what == 1 && threadIdx.x == 3)
		*(int *)((char *)p + 1) = 1;
	if (what == 2)
		assert(threadIdx.x < 7 && "seven");
	if (what == 3 && threadIdx.x == 5)
		__trap();
}

int main(int argc, char **argv)
{
	const cudaError_t expected[] = {cudaErrorIllegalAddress, cudaErrorMisalignedAddress,
					cudaErrorAssert, cudaErrorLaunchFailure};
	int what = argc > 1 ? atoi(argv[1]) : 0;
	int *p;
	void *q;

	OK(cudaMalloc((void **)&p, 1024));
	wrong<<<2, 32>>>(p, 9);
	OK(cudaDeviceSynchronize());
	wrong<<<2, 32>>>(p, what);
	OK(cudaGetLastError());
	cudaError_t e = cudaDeviceSynchronize();
	if (e != expected[what]) {
		printf("got %s, expected %s\n", cudaGetErrorName(e),
		       cudaGetErrorName(expected[what]));
		return 1;
	}
	REQUIRE(cudaMalloc(&q, 10) == expected[what]);
	REQUIRE(cudaDeviceSynchronize() == expected[what]);
	printf("ok\n");
	return 0;
}
