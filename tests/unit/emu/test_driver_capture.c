/* What the emulated driver allows while a stream captures, in the thread that does and in others,
 * as an H200 does with driver 580; captures into a graph; whose events a stream takes. */
#include <pthread.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "cuda/abi/cuda.h"
#include "emu_dir.h"
#include "test.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static CUcontext ctx;
static CUstream captured, other;
static CUevent event;
static CUgraph empty;

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

static int setup(void **state)
{
	(void)state;
	OK(cuCtxCreate(&ctx, 0, 0));
	OK(cuStreamCreate(&captured, 0));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(event, other));
	OK(cuGraphCreate(&empty, 0));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	OK(cuGraphDestroy(empty));
	OK(cuEventDestroy(event));
	OK(cuStreamDestroy(captured));
	OK(cuStreamDestroy(other));
	return (int)cuCtxDestroy(ctx);
}

/* ---- what might wait for captured work ---- */

static CUresult query_event(void)
{
	return cuEventQuery(event);
}

static CUresult wait_for_event(void)
{
	return cuEventSynchronize(event);
}

static CUresult query_stream(void)
{
	return cuStreamQuery(other);
}

static CUresult wait_for_stream(void)
{
	return cuStreamSynchronize(other);
}

static CUresult instantiate(void)
{
	CUgraphExec exec;
	CUresult result = cuGraphInstantiateWithFlags(&exec, empty, 0);

	if (!result)
		OK(cuGraphExecDestroy(exec));
	return result;
}

static CUresult allocate(void)
{
	CUdeviceptr p;
	CUresult result = cuMemAlloc(&p, 8);

	if (!result)
		OK(cuMemFree(p));
	return result;
}

static CUresult (*const unsafe[])(void) = {query_event,	    wait_for_event, query_stream,
					   wait_for_stream, instantiate,    allocate};

struct act {
	CUresult (*call)(void);
	CUstreamCaptureMode mode; /* of the thread */
	CUresult result;
};

static void *act(void *arg)
{
	struct act *a = arg;
	CUstreamCaptureMode mode = a->mode;

	OK(cuCtxSetCurrent(ctx));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	a->result = a->call();
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	return NULL;
}

static void expect(CUresult (*call)(void), CUstreamCaptureMode mode, bool same_thread, bool allowed)
{
	struct act a = {.call = call, .mode = mode};
	pthread_t thread;
	CUgraph graph;

	OK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
	if (same_thread) {
		act(&a);
	} else {
		assert_int_equal(pthread_create(&thread, NULL, act, &a), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(a.result, allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(captured, &graph),
			 allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	if (allowed)
		OK(cuGraphDestroy(graph));
}

static void a_global_capture_forbids_waits(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(unsafe); i++) {
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_GLOBAL, true, false);
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true, false);
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_RELAXED, true, true);
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_GLOBAL, false, false);
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, true);
		expect(unsafe[i], CU_STREAM_CAPTURE_MODE_RELAXED, false, true);
	}
}

/* It is no use of it. */
static void the_legacy_stream_may_be_asked_for(void **state)
{
	CUstreamCaptureStatus status;
	CUgraph graph;

	(void)state;
	OK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	OK(cuStreamEndCapture(captured, &graph));
	OK(cuGraphDestroy(graph));
}

/* ---- into a graph ---- */

static void count(void *data)
{
	unsigned *n = data;

	*n = *n * 10 + 2;
}

static void count_first(void *data)
{
	unsigned *n = data;

	*n = *n * 10 + 1;
}

static void a_capture_goes_into_a_graph(void **state)
{
	unsigned n = 0;
	CUDA_HOST_NODE_PARAMS params = {.fn = count_first, .userData = &n};
	CUgraph same = NULL, graph;
	CUgraphNode node, foreign;
	CUgraphExec exec;
	size_t n_nodes = 0;

	(void)state;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
	OK(cuGraphAddHostNode(&foreign, empty, NULL, 0, &params));
	assert_int_equal(cuStreamBeginCaptureToGraph(captured, NULL, NULL, NULL, 0,
						     CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamBeginCaptureToGraph(captured, graph, &foreign, NULL, 1,
						     CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamBeginCaptureToGraph(captured, graph, &node, NULL, 1,
				       CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchHostFunc(captured, count, &n));
	OK(cuStreamEndCapture(captured, &same));
	assert_ptr_equal(same, graph);
	OK(cuGraphGetNodes(graph, NULL, &n_nodes));
	assert_int_equal(n_nodes, 2);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, other));
	OK(cuStreamSynchronize(other));
	assert_int_equal(n, 12);
	/* A capture that fails leaves it to the program. */
	OK(cuStreamBeginCaptureToGraph(captured, graph, NULL, NULL, 0,
				       CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(query_event(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(captured, &same),
			 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* ---- events ---- */

static void an_event_is_of_its_context(void **state)
{
	CUcontext another;
	CUevent of_another;

	(void)state;
	OK(cuCtxCreate(&another, 0, 0));
	OK(cuEventCreate(&of_another, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(of_another, NULL));
	assert_int_equal(cuEventRecord(of_another, other), CUDA_ERROR_INVALID_HANDLE);
	OK(cuStreamWaitEvent(other, of_another, 0));
	OK(cuEventRecord(event, other));
	OK(cuEventDestroy(of_another));
	OK(cuCtxDestroy(another));
	OK(cuCtxSetCurrent(ctx));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_global_capture_forbids_waits),
		CASE(the_legacy_stream_may_be_asked_for),
		CASE(a_capture_goes_into_a_graph),
		CASE(an_event_is_of_its_context),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
