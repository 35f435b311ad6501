/* Streams, events, asynchronous copies, default streams, callbacks, pools, a flag that is polled.
 */
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void scale(float *a, float by, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		a[i] *= by;
}

__global__ void wait_for(volatile int *flag, int *rounds)
{
	int n = 0;

	while (!*flag)
		n++;
	*rounds = n;
}

static const int n = 10000;
static int n_called;

static void count(void *data)
{
	*(int *)data += 1;
}

static void CUDART_CB called(cudaStream_t stream, cudaError_t status, void *data)
{
	(void)stream;
	REQUIRE(status == cudaSuccess);
	*(int *)data += 10;
}

static void copies_and_kernels(void)
{
	cudaStream_t s[4];
	float *host, *d[4];

	OK(cudaMallocHost((void **)&host, 4 * n * sizeof(float)));
	for (int i = 0; i < 4; i++) {
		OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		OK(cudaMallocAsync((void **)&d[i], n * sizeof(float), s[i]));
		for (int k = 0; k < n; k++)
			host[i * n + k] = (float)k;
		OK(cudaMemcpyAsync(d[i], host + i * n, n * sizeof(float), cudaMemcpyHostToDevice,
				   s[i]));
		scale<<<8, 128, 0, s[i]>>>(d[i], (float)(i + 1), n);
		OK(cudaMemcpyAsync(host + i * n, d[i], n * sizeof(float), cudaMemcpyDeviceToHost,
				   s[i]));
		OK(cudaLaunchHostFunc(s[i], count, &n_called));
		OK(cudaStreamAddCallback(s[i], called, &n_called, 0));
		OK(cudaFreeAsync(d[i], s[i]));
		OK(cudaStreamSynchronize(s[i]));
	}
	REQUIRE(n_called == 44);
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < n; k++)
			REQUIRE(host[i * n + k] == (float)k * (float)(i + 1));
		OK(cudaStreamDestroy(s[i]));
	}
	OK(cudaFreeHost(host));
}

static void events_order_streams(void)
{
	cudaStream_t a, b;
	cudaEvent_t done, begin, end;
	float *d, host[100], ms = -1;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	OK(cudaMalloc((void **)&d, sizeof(host)));
	for (int i = 0; i < 100; i++)
		host[i] = 1;
	OK(cudaMemcpy(d, host, sizeof(host), cudaMemcpyHostToDevice));
	OK(cudaEventRecord(begin, a));
	for (int round = 0; round < 5; round++) {
		scale<<<1, 32, 0, a>>>(d, 2, 100);
		OK(cudaEventRecord(done, a));
		OK(cudaStreamWaitEvent(b, done, 0));
		scale<<<1, 32, 0, b>>>(d, 3, 100);
		OK(cudaEventRecord(done, b));
		OK(cudaStreamWaitEvent(a, done, 0));
	}
	OK(cudaEventRecord(end, a));
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&ms, begin, end));
	REQUIRE(ms > 0);
	REQUIRE(cudaEventElapsedTime(&ms, begin, done) == cudaErrorInvalidResourceHandle);
	(void)cudaGetLastError();
	/* The legacy stream comes after both. */
	scale<<<1, 32>>>(d, 0.5f, 100);
	OK(cudaMemcpy(host, d, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 100; i++)
		REQUIRE(host[i] == 7776 * 0.5f);
	OK(cudaFree(d));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
}

static void a_running_kernel_sees_a_write_of_another_stream(void)
{
	cudaStream_t a, b;
	int *flag, *rounds, one = 1, seen = 0;

	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&flag, sizeof(int)));
	OK(cudaMalloc((void **)&rounds, sizeof(int)));
	OK(cudaMemset(flag, 0, sizeof(int)));
	wait_for<<<1, 1, 0, a>>>(flag, rounds);
	OK(cudaGetLastError());
	REQUIRE(cudaStreamQuery(a) == cudaErrorNotReady);
	(void)cudaGetLastError();
	OK(cudaMemcpyAsync(flag, &one, sizeof(int), cudaMemcpyHostToDevice, b));
	OK(cudaStreamSynchronize(a));
	OK(cudaMemcpy(&seen, rounds, sizeof(int), cudaMemcpyDeviceToHost));
	REQUIRE(seen >= 0);
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
}

static void plain_vectors(void)
{
	float *a, *b, *c, *h = (float *)malloc(3 * n * sizeof(float));

	OK(cudaMalloc((void **)&a, n * sizeof(float)));
	OK(cudaMalloc((void **)&b, n * sizeof(float)));
	OK(cudaMalloc((void **)&c, n * sizeof(float)));
	for (int i = 0; i < n; i++) {
		h[i] = (float)i;
		h[n + i] = (float)(2 * i);
	}
	OK(cudaMemcpy(a, h, n * sizeof(float), cudaMemcpyHostToDevice));
	OK(cudaMemcpy(b, h + n, n * sizeof(float), cudaMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(a, b, c, n);
	OK(cudaGetLastError());
	OK(cudaMemcpy(h + 2 * n, c, n * sizeof(float), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		REQUIRE(h[2 * n + i] == (float)(3 * i));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(c));
	free(h);
}

int main(void)
{
	cudaDeviceProp p;
	int count_of_devices = 0;

	OK(cudaGetDeviceCount(&count_of_devices));
	REQUIRE(count_of_devices == 1);
	OK(cudaGetDeviceProperties(&p, 0));
	REQUIRE(p.multiProcessorCount == 132 && p.major == 9);
	plain_vectors();
	copies_and_kernels();
	events_order_streams();
	a_running_kernel_sees_a_write_of_another_stream();
	OK(cudaDeviceReset());
	plain_vectors();
	printf("ok\n");
	return 0;
}
