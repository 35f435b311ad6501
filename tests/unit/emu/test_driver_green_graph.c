/* Graphs and green contexts of the emulated driver: a kernel node runs where its context is. */
#include "green.h"

#include <stdlib.h>

#include "emu_dir.h"

static CUgreenCtx low, high; /* the SMs 0 to 31 and 64 to 119 */
static CUstream in_low, in_high, plain;

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

static int setup(void **state)
{
	green_setup(state);
	low = green_make(green.units, 0, 4);
	high = green_make(green.units, 8, 7);
	in_low = green_stream(low);
	in_high = green_stream(high);
	OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	return 0;
}

static int teardown(void **state)
{
	OK(cuCtxSynchronize());
	OK(cuGreenCtxDestroy(low));
	OK(cuGreenCtxDestroy(high));
	return green_teardown(state);
}

/* A graph of one `where`. */
static CUgraph capture(CUstream s)
{
	CUgraph graph;

	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(green_launch_where(s));
	OK(cuStreamEndCapture(s, &graph));
	return graph;
}

static CUgraphExec instance(CUgraph graph)
{
	CUgraphExec exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void check_exec(CUgraphExec exec, CUstream s, uint32_t first, uint32_t n)
{
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	green_assert_on(first, n);
}

static CUgraphNode only_node(CUgraph graph)
{
	CUgraphNode node = NULL;
	size_t n = 1;

	OK(cuGraphGetNodes(graph, &node, &n));
	assert_int_equal(n, 1);
	return node;
}

static void a_graph_runs_where_it_was_captured(void **state)
{
	CUgraph of_low = capture(in_low), of_all = capture(plain);
	CUgraphExec low_exec = instance(of_low), all_exec = instance(of_all);
	CUDA_KERNEL_NODE_PARAMS params;

	(void)state;
	check_exec(low_exec, in_low, 0, 32);
	check_exec(low_exec, in_high, 0, 32);
	check_exec(low_exec, plain, 0, 32);
	check_exec(low_exec, NULL, 0, 32);
	check_exec(all_exec, plain, 0, N_SMS);
	check_exec(all_exec, in_low, 0, N_SMS);
	OK(cuGraphKernelNodeGetParams_v2(only_node(of_low), &params));
	assert_ptr_equal(params.ctx, green_ctx(low));
	OK(cuGraphKernelNodeGetParams_v2(only_node(of_all), &params));
	assert_ptr_equal(params.ctx, green.primary);
	OK(cuGraphExecDestroy(low_exec));
	OK(cuGraphExecDestroy(all_exec));
	OK(cuGraphDestroy(of_low));
	OK(cuGraphDestroy(of_all));
}

/* One instance for each part, from one graph: what a program's part that changes needs. */
static void clones_may_have_other_parts(void **state)
{
	const struct {
		CUcontext ctx;
		uint32_t first, n;
	} where[] = {{green_ctx(low), 0, 32}, {green_ctx(high), 64, 56}, {green.primary, 0, N_SMS}};
	CUgraph graph = capture(plain), clone;
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphExec execs[3], first;
	CUgraphNode node;
	unsigned i, round;

	(void)state;
	first = instance(graph);
	for (i = 0; i < 3; i++) {
		OK(cuGraphClone(&clone, graph));
		OK(cuGraphNodeFindInClone(&node, only_node(graph), clone));
		OK(cuGraphKernelNodeGetParams_v2(node, &params));
		params.func = NULL; /* which would say where it runs */
		params.ctx = where[i].ctx;
		OK(cuGraphKernelNodeSetParams_v2(node, &params));
		execs[i] = instance(clone);
		OK(cuGraphDestroy(clone));
	}
	for (round = 0; round < 2; round++)
		for (i = 0; i < 3; i++)
			check_exec(execs[i], plain, where[i].first, where[i].n);
	check_exec(first, in_high, 0, N_SMS);
	for (i = 0; i < 3; i++)
		OK(cuGraphExecDestroy(execs[i]));
	OK(cuGraphExecDestroy(first));
	OK(cuGraphDestroy(graph));
}

/* As programs of the CUDA runtime have them: in a library, without a context. */
static void kernels_of_libraries_can_be_placed(void **state)
{
	void *args[] = {&green.words};
	CUDA_KERNEL_NODE_PARAMS params;
	CUlibrary library;
	CUgraphExec exec;
	CUkernel kernel;
	CUgraph graph;

	(void)state;
	OK(cuLibraryLoadData(&library, green_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "where"));
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchKernel((CUfunction)kernel, GREEN_BLOCKS, 1, 1, 32, 1, 1, 0, plain, args, NULL));
	OK(cuStreamEndCapture(plain, &graph));
	OK(cuGraphKernelNodeGetParams_v2(only_node(graph), &params));
	assert_ptr_equal(params.kern, kernel);
	params.func = NULL;
	params.ctx = green_ctx(high);
	OK(cuGraphKernelNodeSetParams_v2(only_node(graph), &params));
	exec = instance(graph);
	check_exec(exec, plain, 64, 56);
	OK(cuGraphExecDestroy(exec));
	/* The kernel instead of a function: what is current counts. */
	params.func = (CUfunction)kernel;
	params.kernelParams = args; /* those of before went with the change */
	OK(cuGraphKernelNodeSetParams_v2(only_node(graph), &params));
	exec = instance(graph);
	check_exec(exec, plain, 0, N_SMS);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuLibraryUnload(library));
}

/* A function belongs to a context, and the context of an instance's kernel is fixed. */
static void functions_and_instances_cannot_be_moved(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = capture(in_high), plain_graph = capture(plain);
	CUgraphExec exec = instance(graph);
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	CUDA_KERNEL_NODE_PARAMS *p = &any.kernel;

	(void)state;
	OK(cuGraphKernelNodeGetParams_v2(only_node(graph), p));
	assert_non_null(p->func);
	assert_non_null(p->kern);
	/* With the same context all else may change; without one, it is the function's. */
	p->func = NULL;
	p->gridDimX = GREEN_BLOCKS - 1;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, only_node(graph), p));
	p->ctx = green_ctx(low);
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, only_node(graph), p),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphExecNodeSetParams(exec, only_node(graph), &any),
			 CUDA_ERROR_INVALID_VALUE);
	p->ctx = green_ctx(high);
	p->func = green.where;
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, only_node(graph), p),
			 CUDA_ERROR_INVALID_VALUE);
	p->gridDimX = GREEN_BLOCKS;
	p->func = NULL;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, only_node(graph), p));
	check_exec(exec, plain, 64, 56);
	assert_int_equal(cuGraphExecUpdate_v2(exec, plain_graph, &info),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
	/* In the graph itself the function takes the node to its own context. */
	p->func = green.where;
	OK(cuGraphKernelNodeSetParams_v2(only_node(graph), p));
	OK(cuGraphKernelNodeGetParams_v2(only_node(graph), p));
	assert_ptr_equal(p->ctx, green.primary);
	check_exec(exec, plain, 64, 56);
	OK(cuGraphExecDestroy(exec));
	exec = instance(graph);
	OK(cuGraphExecUpdate_v2(exec, plain_graph, &info));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(plain_graph));
}

/* Seen on an H200: the function of a module goes where the current context is, in the graph as in
 * an instance that is there already, whatever context the parameters name. */
static void functions_go_to_the_current_part(void **state)
{
	CUDA_KERNEL_NODE_PARAMS p = {.gridDimX = GREEN_BLOCKS,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1};
	void *args[] = {&green.words};
	CUgraphExec exec;
	CUmodule module;
	CUgraph graph;
	CUgraphNode node;
	CUcontext was;

	(void)state;
	OK(cuModuleLoadData(&module, green_ptx));
	OK(cuModuleGetFunction(&p.func, module, "where"));
	p.kernelParams = args;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p));
	p.ctx = green_ctx(low);
	OK(cuGraphKernelNodeSetParams_v2(node, &p));
	OK(cuGraphKernelNodeGetParams_v2(node, &p));
	assert_null(p.kern);
	assert_ptr_equal(p.ctx, green.primary);
	OK(cuCtxPushCurrent(green_ctx(low)));
	OK(cuGraphKernelNodeSetParams_v2(node, &p));
	OK(cuCtxPopCurrent(&was));
	exec = instance(graph);
	check_exec(exec, plain, 0, 32);
	p.kernelParams = args;
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, node, &p),
			 CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxPushCurrent(green_ctx(low)));
	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
	OK(cuGraphExecKernelNodeSetParams(exec, node, &p));
	OK(cuCtxPopCurrent(&was));
	check_exec(exec, plain, 0, 32);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* Seen on an H200: an instance takes changes of nodes of graphs inside it, and a graph inside it as
 * a whole if its parts are the same; what is switched off stays so. */
static void graphs_inside_can_be_changed(void **state)
{
	CUgraph of_low = capture(in_low), of_all = capture(plain), graph, child, clone;
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraphExecUpdateResultInfo info;
	CUgraphNode outer, inner, found;
	CUgraphExec exec;
	unsigned enabled;

	(void)state;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddChildGraphNode(&outer, graph, NULL, 0, of_low));
	OK(cuGraphChildGraphNodeGetGraph(outer, &child));
	inner = only_node(child);
	exec = instance(graph);
	OK(cuGraphKernelNodeGetParams_v2(inner, &p));
	p.func = NULL;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, inner, &p));
	OK(cuGraphExecChildGraphNodeSetParams(exec, outer, of_low));
	assert_int_equal(cuGraphExecChildGraphNodeSetParams(exec, outer, of_all),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	check_exec(exec, plain, 0, 32);
	OK(cuGraphNodeSetEnabled(exec, inner, 0));
	OK(cuGraphExecUpdate_v2(exec, graph, &info));
	OK(cuGraphNodeGetEnabled(exec, inner, &enabled));
	assert_int_equal(enabled, 0);
	/* A node inside is found in the clone's child, not in the clone. */
	OK(cuGraphClone(&clone, graph));
	assert_int_equal(cuGraphNodeFindInClone(&found, inner, clone), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphNodeFindInClone(&found, outer, clone));
	OK(cuGraphChildGraphNodeGetGraph(found, &child));
	OK(cuGraphNodeFindInClone(&found, inner, child));
	assert_ptr_equal(found, only_node(child));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(of_low));
	OK(cuGraphDestroy(of_all));
}

/* A launch waits for those before it, and does what it was when it was launched. */
static void launches_of_one_graph_come_one_after_the_other(void **state)
{
	CUgraph graph = capture(plain);
	CUgraphExec exec = instance(graph);
	CUgraphNode node = only_node(graph);
	CUdeviceptr others;
	void *args[] = {&others};
	CUDA_KERNEL_NODE_PARAMS p;

	(void)state;
	OK(cuMemAlloc(&others, GREEN_BLOCKS * sizeof(uint32_t)));
	OK(cuGraphKernelNodeGetParams_v2(node, &p));
	p.kernelParams = args;
	OK(green_launch_poll(in_low));
	OK(cuGraphLaunch(exec, in_low));
	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
	OK(cuGraphLaunch(exec, in_high));
	assert_int_equal(cuStreamQuery(in_high), CUDA_ERROR_NOT_READY);
	green_release();
	OK(cuStreamSynchronize(in_high));
	OK(cuStreamQuery(in_low));
	green_assert_on(0, N_SMS); /* in words, which the second launch has not written */
	OK(cuMemFree(others));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static void built_nodes_name_their_context(void **state)
{
	void *args[] = {&green.words};
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	CUgraphExec exec;
	CUgraph graph;
	CUgraphNode node;
	CUcontext was;

	(void)state;
	p.kernel = (CUDA_KERNEL_NODE_PARAMS){.kern = (CUkernel)green.where,
					     .gridDimX = GREEN_BLOCKS,
					     .gridDimY = 1,
					     .gridDimZ = 1,
					     .blockDimX = 32,
					     .blockDimY = 1,
					     .blockDimZ = 1,
					     .kernelParams = args,
					     .ctx = green_ctx(high)};
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddNode(&node, graph, NULL, 0, &p));
	exec = instance(graph);
	check_exec(exec, plain, 64, 56);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	/* Without a name, the one that is current. */
	p.kernel.ctx = NULL;
	OK(cuCtxPushCurrent(green_ctx(low)));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p.kernel));
	OK(cuCtxPopCurrent(&was));
	exec = instance(graph);
	check_exec(exec, plain, 0, 32);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* A capture that goes through three streams has nodes on three parts. */
static void one_graph_may_have_several_parts(void **state)
{
	CUdeviceptr words[3];
	CUstream streams[3] = {plain, in_low, in_high};
	const uint32_t first[3] = {0, 0, 64}, n[3] = {N_SMS, 32, 56};
	CUevent fork, join;
	CUgraphExec exec;
	CUgraph graph;
	unsigned i;

	(void)state;
	OK(cuEventCreate(&fork, 0));
	OK(cuEventCreate(&join, 0));
	for (i = 0; i < 3; i++)
		OK(cuMemAlloc(&words[i], GREEN_BLOCKS * sizeof(uint32_t)));
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuEventRecord(fork, plain));
	for (i = 0; i < 3; i++) {
		void *args[] = {&words[i]};

		if (i)
			OK(cuStreamWaitEvent(streams[i], fork, 0));
		OK(cuLaunchKernel(green.where, GREEN_BLOCKS, 1, 1, 32, 1, 1, 0, streams[i], args,
				  NULL));
		if (!i)
			continue;
		OK(cuEventRecord(join, streams[i]));
		OK(cuStreamWaitEvent(plain, join, 0));
	}
	OK(cuStreamEndCapture(plain, &graph));
	exec = instance(graph);
	OK(cuGraphLaunch(exec, in_low));
	OK(cuStreamSynchronize(in_low));
	for (i = 0; i < 3; i++) {
		OK(cuMemcpyDtoD(green.words, words[i], GREEN_BLOCKS * sizeof(uint32_t)));
		green_assert_on(first[i], n[i]);
	}
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuEventDestroy(fork));
	OK(cuEventDestroy(join));
}

/* What was launched with a node's attributes stays so when the node is changed. */
static void nodes_keep_their_attributes(void **state)
{
	void *args[] = {&green.flag};
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphExec exec;
	CUgraph graph;
	int per_sm;

	(void)state;
	green_release();
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, green.poll, 1024, 0));
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchCooperativeKernel(green.poll, 56 * (unsigned)per_sm, 1, 1, 1024, 1, 1, 0, plain,
				     args));
	OK(cuStreamEndCapture(plain, &graph));
	exec = instance(graph);
	OK(cuGraphKernelNodeGetParams_v2(only_node(graph), &params));
	params.func = NULL;
	params.ctx = green_ctx(low);
	assert_int_equal(cuGraphKernelNodeSetParams_v2(only_node(graph), &params),
			 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	params.ctx = green_ctx(high);
	OK(cuGraphKernelNodeSetParams_v2(only_node(graph), &params));
	OK(cuGraphExecDestroy(exec));
	exec = instance(graph);
	OK(cuGraphLaunch(exec, plain));
	OK(cuStreamSynchronize(plain));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* The default stream of a part can be captured, that of the context cannot. */
static void the_default_stream_of_a_part_can_be_captured(void **state)
{
	CUgraphExec exec;
	CUcontext was;
	CUgraph graph;

	(void)state;
	assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
			 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	OK(cuCtxPushCurrent(green_ctx(low)));
	graph = capture(NULL);
	OK(cuCtxPopCurrent(&was));
	exec = instance(graph);
	check_exec(exec, plain, 0, 32);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_graph_runs_where_it_was_captured),
		CASE(clones_may_have_other_parts),
		CASE(kernels_of_libraries_can_be_placed),
		CASE(functions_and_instances_cannot_be_moved),
		CASE(functions_go_to_the_current_part),
		CASE(graphs_inside_can_be_changed),
		CASE(launches_of_one_graph_come_one_after_the_other),
		CASE(built_nodes_name_their_context),
		CASE(one_graph_may_have_several_parts),
		CASE(nodes_keep_their_attributes),
		CASE(the_default_stream_of_a_part_can_be_captured),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
