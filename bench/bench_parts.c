/*
 * What the driver does with green contexts, on which the parts of programs rely (docs/shim.md,
 * docs/decisions/0011): what they cost, which orders hold between their streams and others, which
 * clusters they take, and how a graph gets onto one. A line each: what was expected and what was
 * seen. Exit status 1: something is otherwise than expected. Without a driver it says so and ends.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cuda/green.h"

#define BLOCKS	528u
#define REPEATS 5
#define CALLS	5000
#define NODES	100u
#define SLOW_NS 50000000u /* a kernel whose end can be told from its beginning */

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	/* words[block] = %smid, words[1000] = value, after that many nanoseconds */
	".visible .entry mark(.param .u64 words, .param .u64 ns, .param .u32 value)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<8>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.param.u64 %rd2, [ns];\n"
	"  ld.param.u32 %r1, [value];\n"
	"  mov.u64 %rd3, %globaltimer;\n"
	"again:\n"
	"  mov.u64 %rd4, %globaltimer;\n"
	"  sub.u64 %rd5, %rd4, %rd3;\n"
	"  setp.lt.u64 %p1, %rd5, %rd2;\n"
	"  @%p1 bra again;\n"
	"  mov.u32 %r2, %ctaid.x;\n"
	"  mov.u32 %r3, %smid;\n"
	"  mul.wide.u32 %rd6, %r2, 4;\n"
	"  add.u64 %rd7, %rd1, %rd6;\n"
	"  st.global.u32 [%rd7], %r3;\n"
	"  st.global.u32 [%rd1+4000], %r1;\n"
	"  ret;\n"
	"}\n"
	".visible .entry copy(.param .u64 words)\n"
	"{\n"
	"  .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.global.u32 %r1, [%rd1+4000];\n"
	"  st.global.u32 [%rd1+4004], %r1;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

struct part {
	CUgreenCtx green;
	CUcontext context;
	CUstream stream;
	uint32_t n_sms;
};

static struct cot_driver cu;
static struct cot_green green;
static struct cot_green_split split;
static CUcontext primary;
static CUfunction mark, copy;
static CUkernel mark_kernel;
static CUdeviceptr words;
static unsigned n_wrong;

static void check(CUresult result, const char *what)
{
	struct cot_error err;

	if (!cot_driver_check(&cu, result, what, &err))
		return;
	fprintf(stderr, "bench_parts: %s\n", err.text);
	exit(1);
}

#define CHECK(name, ...) check(cu.name(__VA_ARGS__), #name)

static void expect(bool seen, bool expected, const char *what)
{
	printf("%-8s %s: %s\n", seen == expected ? "as ever" : "CHANGED", what,
	       seen ? "yes" : "no");
	n_wrong += seen != expected;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static CUresult launch(CUfunction function, CUstream stream, unsigned blocks, uint64_t ns,
		       uint32_t value)
{
	void *params[] = {&words, &ns, &value};

	return cu.cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, stream, params, NULL);
}

static uint32_t word(unsigned i)
{
	uint32_t value = 0;

	CHECK(cuMemcpyDtoH_v2, &value, words + i * 4, 4);
	return value;
}

static unsigned count_sms(void)
{
	static uint32_t seen[BLOCKS];
	bool used[1024] = {false};
	unsigned i, n = 0;

	CHECK(cuCtxSynchronize);
	CHECK(cuMemcpyDtoH_v2, seen, words, sizeof(seen));
	for (i = 0; i < BLOCKS; i++) {
		n += seen[i] < 1024 && !used[seen[i]];
		used[seen[i] % 1024] = true;
	}
	return n;
}

/* ---- beginning ---- */

static void load(void)
{
	CUlibrary library;
	CUkernel copy_kernel;

	CHECK(cuLibraryLoadData, &library, text, NULL, NULL, 0, NULL, NULL, 0);
	CHECK(cuLibraryGetKernel, &mark_kernel, library, "mark");
	CHECK(cuLibraryGetKernel, &copy_kernel, library, "copy");
	CHECK(cuKernelGetFunction, &mark, mark_kernel);
	CHECK(cuKernelGetFunction, &copy, copy_kernel);
	CHECK(cuMemAlloc_v2, &words, 1 << 16);
}

static bool begin(void)
{
	struct cot_error err;
	char name[128] = "";
	CUdevice device;
	int version = 0;

	if (cot_driver_open(&cu, &err)) {
		printf("bench_parts: %s\n", err.text);
		return false;
	}
	CHECK(cuInit, 0);
	CHECK(cuDeviceGet, &device, 0);
	CHECK(cuDevicePrimaryCtxRetain, &primary, device);
	CHECK(cuCtxSetCurrent, primary);
	CHECK(cuDeviceGetName, name, sizeof(name), device);
	CHECK(cuDriverGetVersion, &version);
	load();
	if (cot_green_init(&green, &cu, device, &err) ||
	    cot_green_split(&green, COT_GREEN_GROUP_SMS, COT_GREEN_GROUPS_MAX,
			    CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, &split, &err)) {
		printf("bench_parts: %s\n", err.text);
		return false;
	}
	printf("%s, CUDA %d.%d: %u groups, %u SMs\n", name, version / 1000, version % 1000 / 10,
	       split.n, cot_green_n_sms(&split, 0, split.n));
	return true;
}

static struct part make(uint32_t from, uint32_t to)
{
	struct part p = {.n_sms = cot_green_n_sms(&split, from, to)};
	struct cot_error err;

	if (cot_green_create(&green, &split, from, to, &p.green, &err) ||
	    cot_green_context(&green, p.green, &p.context, &err) ||
	    cot_green_stream(&green, p.green, 0, &p.stream, &err)) {
		fprintf(stderr, "bench_parts: %s\n", err.text);
		exit(1);
	}
	return p;
}

/* ---- costs ---- */

static double least(double a, double b)
{
	return a < b ? a : b;
}

static void show_making(void)
{
	double at, context = 1e9, stream = 1e9;
	size_t before, after, total;
	struct cot_error err;
	CUstream s[REPEATS];
	CUgreenCtx g;
	unsigned i;

	CHECK(cuMemGetInfo_v2, &before, &total);
	for (i = 0; i < REPEATS; i++) {
		at = now_us();
		if (cot_green_create(&green, &split, i, i + 2, &g, &err))
			exit(1);
		context = least(context, now_us() - at);
	}
	CHECK(cuMemGetInfo_v2, &after, &total);
	printf("a part: %.0f us, %.1f MB\n", context, (double)(before - after) / REPEATS / 1e6);
	for (i = 0; i < REPEATS; i++) {
		at = now_us();
		if (cot_green_stream(&green, g, 0, &s[i], &err))
			exit(1);
		stream = least(stream, now_us() - at);
	}
	CHECK(cuMemGetInfo_v2, &before, &total);
	printf("a stream of it: %.1f us, %.2f MB\n", stream,
	       (double)(after - before) / REPEATS / 1e6);
}

/* Why a part is better made before the program has anything to do: a stream that waits for what is
 * launched later would wait for ever. */
static void show_waiting(void)
{
	struct part p;
	double at;

	CHECK(cuCtxSynchronize);
	check(launch(mark, NULL, 1, SLOW_NS, 0), "cuLaunchKernel");
	at = now_us();
	p = make(0, 1);
	expect(now_us() - at > SLOW_NS / 2e3, true,
	       "the making of a part waits for what was launched before");
	CHECK(cuStreamDestroy_v2, p.stream);
	cot_green_destroy(&green, p.green);
}

static void show_calls(const struct part *p)
{
	double at, pair = 1e9, current = 1e9, home = 1e9, there = 1e9;
	CUcontext context;
	CUstream plain;
	CUevent event;
	unsigned i, k;

	CHECK(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
	CHECK(cuStreamCreate, &plain, CU_STREAM_NON_BLOCKING);
	for (k = 0; k < REPEATS; k++) {
		at = now_us();
		for (i = 0; i < CALLS; i++) {
			(void)cu.cuEventRecord(event, i & 1 ? plain : p->stream);
			(void)cu.cuStreamWaitEvent(i & 1 ? p->stream : plain, event, 0);
		}
		pair = least(pair, (now_us() - at) / CALLS);
		at = now_us();
		for (i = 0; i < CALLS; i++)
			(void)cu.cuCtxGetCurrent(&context);
		current = least(current, (now_us() - at) / CALLS);
		at = now_us();
		for (i = 0; i < CALLS; i++)
			(void)launch(copy, plain, 1, 0, 0);
		home = least(home, (now_us() - at) / CALLS);
		CHECK(cuCtxSynchronize);
		at = now_us();
		for (i = 0; i < CALLS; i++)
			(void)launch(copy, p->stream, 1, 0, 0);
		there = least(there, (now_us() - at) / CALLS);
		CHECK(cuCtxSynchronize);
	}
	printf("an event and a wait for it: %.2f us; cuCtxGetCurrent: %.4f us; a launch: %.2f us, on a part %.2f us\n",
	       pair, current, home, there);
}

/* ---- orders ---- */

static void show_sms(const struct part *a, const struct part *b)
{
	CHECK(cuMemsetD32_v2, words, 0xffff, BLOCKS);
	check(launch(mark, a->stream, BLOCKS, 20000, 1), "cuLaunchKernel");
	expect(count_sms() == a->n_sms, true, "a kernel on a part is on that many SMs");
	check(launch(mark, b->stream, BLOCKS, 20000, 1), "cuLaunchKernel");
	expect(count_sms() == b->n_sms, true, "and on the rest on those");
}

static void show_orders(const struct part *a, const struct part *b)
{
	CUevent event, from, to;
	CUdeviceptr other;
	CUstream blocking, wrong;
	float ms = -1;

	CHECK(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
	CHECK(cuEventCreate, &from, 0);
	CHECK(cuEventCreate, &to, 0);
	expect(!cu.cuEventRecord(event, a->stream) && !cu.cuStreamWaitEvent(b->stream, event, 0) &&
		       !cu.cuStreamWaitEvent(NULL, event, 0),
	       true, "an event of the primary context goes into streams of parts");
	CHECK(cuEventRecord, from, a->stream);
	check(launch(mark, a->stream, 1, 1000000, 1), "cuLaunchKernel");
	CHECK(cuEventRecord, event, a->stream);
	CHECK(cuStreamWaitEvent, NULL, event, 0);
	CHECK(cuEventRecord, to, NULL);
	CHECK(cuEventSynchronize, to);
	expect(!cu.cuEventElapsedTime_v2(&ms, from, to) && ms >= 0.99f, true,
	       "and measures time between a part and the whole GPU");

	check(launch(mark, a->stream, 1, SLOW_NS, 2), "cuLaunchKernel");
	CHECK(cuCtxSynchronize);
	expect(word(1000) == 2, true, "cuCtxSynchronize of the primary context waits for parts");
	check(launch(mark, a->stream, 1, SLOW_NS, 3), "cuLaunchKernel");
	expect(word(1000) == 3, false, "a copy in the default stream waits for parts");
	CHECK(cuMemAlloc_v2, &other, 4096);
	check(launch(mark, a->stream, 1, SLOW_NS, 4), "cuLaunchKernel");
	CHECK(cuMemFree_v2, other);
	expect(word(1000) == 4, true, "cuMemFree waits for parts");

	CHECK(cuStreamCreate, &blocking, 0);
	check(launch(mark, blocking, 1, SLOW_NS, 5), "cuLaunchKernel");
	CHECK(cuEventRecord, event, NULL);
	CHECK(cuStreamWaitEvent, a->stream, event, 0);
	check(launch(copy, a->stream, 1, 0, 0), "cuLaunchKernel");
	CHECK(cuCtxSynchronize);
	expect(word(1001) == 5, true, "an event in the default stream waits for blocking streams");
	check(launch(mark, a->stream, 1, SLOW_NS, 6), "cuLaunchKernel");
	CHECK(cuEventRecord, event, a->stream);
	CHECK(cuStreamWaitEvent, NULL, event, 0);
	check(launch(copy, blocking, 1, 0, 0), "cuLaunchKernel");
	CHECK(cuCtxSynchronize);
	expect(word(1001) == 6, true,
	       "blocking streams wait for what the default stream waits for");
	expect(!cu.cuGreenCtxStreamCreate(&wrong, a->green, 0, 0), false,
	       "a part has blocking streams");
}

/* ---- clusters, and cooperative launches ---- */

static CUresult launch_clusters(CUstream stream, unsigned blocks)
{
	uint64_t ns = 0;
	uint32_t value = 0;
	void *params[] = {&words, &ns, &value};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	CUlaunchConfig config = {.grid = {64, 1, 1},
				 .block = {128, 1, 1},
				 .hStream = stream,
				 .attrs = &attribute,
				 .numAttrs = 1};

	attribute.value.clusterDim.x = blocks;
	attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
	return cu.cuLaunchKernelEx(&config, mark, params, NULL);
}

static void show_clusters(const struct part *a)
{
	struct cot_green_split one;
	struct cot_error err;
	CUstream stream;
	CUgreenCtx whole;

	if (cu.cuFuncSetAttribute(mark, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
		return;
	expect(!launch_clusters(a->stream, 8), true,
	       "clusters of 8 run on a part of several groups");
	expect(!launch_clusters(a->stream, 16), false, "clusters of 16 do");
	if (cot_green_split(&green, 64, 1, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE,
			    &one, &err) ||
	    cot_green_create(&green, &one, 0, 1, &whole, &err) ||
	    cot_green_stream(&green, whole, 0, &stream, &err))
		return;
	expect(!launch_clusters(stream, 16), true, "clusters of 16 run on 64 SMs in one piece");
	CHECK(cuCtxSynchronize);
}

/* ---- graphs ---- */

static CUgraph record(CUstream stream)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	check(launch(mark, stream, BLOCKS, 20000, 1), "cuLaunchKernel");
	CHECK(cuStreamEndCapture, stream, &graph);
	return graph;
}

static unsigned sms_of(CUgraph graph, CUstream stream)
{
	CUgraphExec exec;

	CHECK(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CHECK(cuGraphLaunch, exec, stream);
	return count_sms();
}

/* As programs have them that load modules: the node's context is the current one. */
static void show_function(const struct part *a, CUstream plain)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};
	CUcontext before;
	CUgraphExec exec;
	CUgraphNode node;
	CUmodule module;
	CUfunction library_mark = mark;
	CUgraph graph;
	size_t n = 1;

	CHECK(cuModuleLoadData, &module, text);
	CHECK(cuModuleGetFunction, &mark, module, "mark");
	graph = record(plain);
	mark = library_mark;
	CHECK(cuGraphGetNodes, graph, &node, &n);
	CHECK(cuGraphKernelNodeGetParams_v2, node, &params);
	expect(params.kern != NULL, false, "a module's function is a kernel, too");
	CHECK(cuCtxPushCurrent_v2, a->context);
	CHECK(cuGraphKernelNodeSetParams_v2, node, &params);
	CHECK(cuCtxPopCurrent_v2, &before);
	expect(sms_of(graph, plain) == a->n_sms, true, "its node goes to the current context");
	CHECK(cuGraphInstantiateWithFlags, &exec, graph, 0);
	expect(!cu.cuGraphExecKernelNodeSetParams_v2(exec, node, &params), false,
	       "an executable graph takes it from another context");
	CHECK(cuCtxPushCurrent_v2, a->context);
	expect(!cu.cuGraphExecKernelNodeSetParams_v2(exec, node, &params), true,
	       "and from its own");
	CHECK(cuCtxPopCurrent_v2, &before);
}

static void show_graph_in_graph(CUgraph inside)
{
	CUgraph graph, child, clone;
	CUgraphNode node, inner, found;
	size_t n = 1;

	CHECK(cuGraphCreate, &graph, 0);
	CHECK(cuGraphAddChildGraphNode, &node, graph, NULL, 0, inside);
	CHECK(cuGraphChildGraphNodeGetGraph, node, &child);
	CHECK(cuGraphGetNodes, child, &inner, &n);
	CHECK(cuGraphClone, &clone, graph);
	expect(!cu.cuGraphNodeFindInClone(&found, inner, clone), false,
	       "a clone knows the nodes of graphs in it");
	CHECK(cuGraphNodeFindInClone, &found, node, clone);
	CHECK(cuGraphChildGraphNodeGetGraph, found, &child);
	expect(!cu.cuGraphNodeFindInClone(&found, inner, child), true, "those graphs do");
}

static void show_graphs(const struct part *a)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};
	CUgraph graph, clone;
	CUgraphNode node;
	CUstream plain;
	size_t n = 1;

	CHECK(cuStreamCreate, &plain, CU_STREAM_NON_BLOCKING);
	graph = record(plain);
	expect(sms_of(graph, a->stream) == a->n_sms, false, "a graph runs where it is launched");
	CHECK(cuGraphClone, &clone, graph);
	CHECK(cuGraphGetNodes, clone, &node, &n);
	CHECK(cuGraphKernelNodeGetParams_v2, node, &params);
	params.ctx = a->context;
	params.kern = NULL;
	(void)cu.cuGraphKernelNodeSetParams_v2(node, &params);
	expect(sms_of(clone, plain) == a->n_sms, false, "a node takes a context with a function");
	params.func = NULL;
	params.kern = mark_kernel;
	CHECK(cuGraphKernelNodeSetParams_v2, node, &params);
	expect(sms_of(clone, plain) == a->n_sms, true, "a node takes a context with a kernel");
	show_function(a, plain);
	show_graph_in_graph(graph);
}

/* ---- graphs that are changed node by node ---- */

static CUDA_KERNEL_NODE_PARAMS params_of(CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};

	CHECK(cuGraphKernelNodeGetParams_v2, node, &params);
	params.func = NULL;
	return params;
}

static void show_changes(const struct part *a)
{
	double at, set = 1e9, exec_set = 1e9, update = 1e9;
	CUgraph one, graph;
	CUgraphNode nodes[NODES];
	CUDA_KERNEL_NODE_PARAMS params;
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;
	size_t n = 1;
	unsigned i, k;

	one = record(a->stream);
	CHECK(cuGraphGetNodes, one, nodes, &n);
	params = params_of(nodes[0]);
	CHECK(cuGraphCreate, &graph, 0);
	for (i = 0; i < NODES; i++)
		CHECK(cuGraphAddKernelNode_v2, &nodes[i], graph, i ? &nodes[i - 1] : NULL, i > 0,
		      &params);
	CHECK(cuGraphInstantiateWithFlags, &exec, graph, 0);
	for (k = 0; k < REPEATS; k++) {
		at = now_us();
		for (i = 0; i < NODES; i++)
			CHECK(cuGraphKernelNodeSetParams_v2, nodes[i], &params);
		set = least(set, (now_us() - at) / NODES);
		at = now_us();
		for (i = 0; i < NODES; i++)
			CHECK(cuGraphExecKernelNodeSetParams_v2, exec, nodes[i], &params);
		exec_set = least(exec_set, (now_us() - at) / NODES);
		at = now_us();
		CHECK(cuGraphExecUpdate_v2, exec, graph, &info);
		update = least(update, (now_us() - at) / NODES);
	}
	printf("a node of a graph: changed %.2f us, in an executable one %.2f us, all of those updated "
	       "from a graph %.2f us\n",
	       set, exec_set, update);
	CHECK(cuGraphNodeSetEnabled, exec, nodes[1], 0);
	CHECK(cuGraphExecUpdate_v2, exec, graph, &info);
	CHECK(cuGraphNodeGetEnabled, exec, nodes[1], &i);
	expect(!i, true, "what is off stays so when a graph is updated");
}

int main(void)
{
	struct part a, b;

	if (!begin())
		return 0;
	if (split.n < 4)
		return 0;
	a = make(0, split.n / 2);
	b = make(split.n / 2, split.n);
	show_making();
	show_waiting();
	show_calls(&a);
	show_sms(&a, &b);
	show_orders(&a, &b);
	show_clusters(&a);
	show_graphs(&a);
	show_changes(&a);
	return n_wrong != 0;
}
