/* Built with a default stream per thread: four threads, each with its own <<<>>>. */
#include <pthread.h>

#include "check.h"

__global__ void wait_for(volatile int *flag)
{
	while (!*flag)
		;
}

__global__ void set(int *p, int v)
{
	*p = v;
}

static void *work(void *arg)
{
	int *p = (int *)arg, got = 0, me = (int)((long)arg % 1000);

	for (int i = 0; i < 20; i++) {
		set<<<1, 1>>>(p, me + i);
		OK(cudaMemcpyAsync(&got, p, sizeof(got), cudaMemcpyDeviceToHost, 0));
		OK(cudaStreamSynchronize(0));
		REQUIRE(got == me + i);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	int *p, *flag, one = 1;
	cudaStream_t other;

	OK(cudaMalloc((void **)&p, 5 * sizeof(int)));
	OK(cudaMalloc((void **)&flag, sizeof(int)));
	OK(cudaMemset(flag, 0, sizeof(int)));
	/* The main thread's own stream is busy; that is not the others' concern. */
	wait_for<<<1, 1>>>(flag);
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, work, p + i));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	REQUIRE(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
	(void)cudaGetLastError();
	OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	OK(cudaMemcpyAsync(flag, &one, sizeof(one), cudaMemcpyHostToDevice, other));
	OK(cudaDeviceSynchronize());
	printf("ok\n");
	return 0;
}
