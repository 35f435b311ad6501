/* Graphs: captured from streams that fork and join, built by hand, changed, launched again. */
#include "check.h"

__global__ void set(int *p, int v)
{
	*p = v;
}

__global__ void add_to(int *p, const int *q)
{
	atomicAdd(p, *q);
}

static void bump(void *data)
{
	++*(int *)data;
}

static void captured(void)
{
	int *d, host = 0, n_bumps = 0;
	cudaStream_t a, b;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t n = 0;

	OK(cudaMalloc((void **)&d, 4 * sizeof(int)));
	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	OK(cudaMemsetAsync(d, 0, 4 * sizeof(int), a));
	OK(cudaEventRecord(fork, a));
	OK(cudaStreamWaitEvent(b, fork, 0));
	set<<<1, 1, 0, a>>>(d, 5);
	set<<<1, 1, 0, b>>>(d + 1, 7);
	OK(cudaEventRecord(join, b));
	OK(cudaStreamWaitEvent(a, join, 0));
	add_to<<<1, 4, 0, a>>>(d, d + 1);
	OK(cudaMemcpyAsync(&host, d, sizeof(int), cudaMemcpyDeviceToHost, a));
	OK(cudaLaunchHostFunc(a, bump, &n_bumps));
	REQUIRE(host == 0);
	OK(cudaStreamEndCapture(a, &graph));
	OK(cudaGraphGetNodes(graph, NULL, &n));
	REQUIRE(n == 6);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++) {
		host = 0;
		OK(cudaGraphLaunch(exec, a));
		OK(cudaStreamSynchronize(a));
		REQUIRE(host == 5 + 4 * 7);
	}
	REQUIRE(n_bumps == 3);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
	OK(cudaFree(d));
}

static void by_hand(void)
{
	int *d, host[2] = {0, 0}, one = 1, two = 2;
	cudaGraph_t graph, child;
	cudaGraphExec_t exec;
	cudaGraphNode_t first, second, inner, copy;
	cudaStream_t s;
	cudaKernelNodeParams p = {};
	int *q;

	OK(cudaMalloc((void **)&d, 2 * sizeof(int)));
	q = d + 1;
	OK(cudaStreamCreate(&s));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphCreate(&child, 0));
	p.func = (void *)set;
	p.gridDim = dim3(1);
	p.blockDim = dim3(1);
	void *args[] = {&d, &one};
	p.kernelParams = args;
	OK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &p));
	void *inner_args[] = {&q, &two};
	p.kernelParams = inner_args;
	OK(cudaGraphAddKernelNode(&inner, child, NULL, 0, &p));
	OK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
	OK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, host, d, sizeof(host),
				    cudaMemcpyDeviceToHost));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	REQUIRE(host[0] == 1 && host[1] == 2);
	int nine = 9;
	void *other[] = {&d, &nine};
	p.kernelParams = other;
	OK(cudaGraphExecKernelNodeSetParams(exec, first, &p));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	REQUIRE(host[0] == 9 && host[1] == 2);
	OK(cudaGraphKernelNodeSetParams(first, &p));
	cudaGraphExecUpdateResultInfo info;
	OK(cudaGraphExecUpdate(exec, graph, &info));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	REQUIRE(host[0] == 9);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaGraphDestroy(child));
	OK(cudaStreamDestroy(s));
	OK(cudaFree(d));
}

static void what_a_capture_forbids(void)
{
	cudaStream_t s;
	cudaGraph_t graph = (cudaGraph_t)1;
	cudaStreamCaptureStatus status;
	void *p;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	REQUIRE(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
	OK(cudaStreamIsCapturing(s, &status));
	REQUIRE(status == cudaStreamCaptureStatusInvalidated);
	REQUIRE(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated);
	REQUIRE(graph == NULL);
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	REQUIRE(cudaMalloc(&p, 100) == cudaErrorStreamCaptureUnsupported);
	REQUIRE(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated);
	(void)cudaGetLastError();
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	OK(cudaMalloc(&p, 100));
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(p));
	OK(cudaStreamDestroy(s));
}

int main(void)
{
	captured();
	by_hand();
	what_a_capture_forbids();
	printf("ok\n");
	return 0;
}
