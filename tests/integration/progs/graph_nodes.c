/*
 * An executable graph that is changed node by node, in every way that there is, as XLA and others
 * do it: two kernels (one of them in a graph inside), a memset, a copy, a callback and events.
 * After each change it is launched, and does what was asked.
 *
 *     graph_nodes [--first SM]
 *
 * With --first it waits until it is on a part that begins there: no block runs on a lower SM.
 * Prints a line "NAME least N" for each change: the lowest SM that a block was on. Exit status 1:
 * something was wrong.
 */
#include <stdbool.h>

#include "common.h"

#define BLOCKS 264u
#define WAIT_S 20

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	/* words[2 * block] = salt, words[2 * block + 1] = %smid */
	".visible .entry mark(.param .u64 words, .param .u32 salt)\n"
	"{\n"
	"  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.param.u32 %r1, [salt];\n"
	"  mov.u32 %r2, %ctaid.x;\n"
	"  mov.u32 %r3, %smid;\n"
	"  mul.wide.u32 %rd2, %r2, 8;\n"
	"  add.u64 %rd3, %rd1, %rd2;\n"
	"  st.global.u32 [%rd3], %r1;\n"
	"  st.global.u32 [%rd3+4], %r3;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

enum { KERNEL, SET, COPY, CALL, RECORD, WAIT, INSIDE, NODES };

static CUcontext context;
static CUstream stream;
static CUfunction function;
static CUkernel kernel;
static CUdeviceptr outer_words, inner_words, set_words, copy_words;
static CUevent events[2];
static CUgraph graph, inside, child;
static CUgraphExec exec;
static CUgraphNode node[NODES], inner, model;
static unsigned n_wrong, n_called[2];

/* What it is to do. */
static uint32_t outer_salt = 1, inner_salt = 2, value = 3, n_copied = 1;
static unsigned called;
static bool kernel_is_off;

static CUDA_KERNEL_NODE_PARAMS mark(void **args, bool by_kernel)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = by_kernel ? NULL : function,
					 .kern = by_kernel ? kernel : NULL,
					 .gridDimX = BLOCKS,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = args};
}

static CUDA_MEMSET_NODE_PARAMS set_params(void)
{
	return (CUDA_MEMSET_NODE_PARAMS){
		.dst = set_words, .value = value, .elementSize = 4, .width = 2, .height = 1};
}

static CUDA_MEMCPY3D copy_params(void)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = set_words,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = copy_words,
			       .WidthInBytes = n_copied * 4,
			       .Height = 1,
			       .Depth = 1};
}

static void count(void *data)
{
	++*(unsigned *)data;
}

static void build(void)
{
	void *outer_args[] = {&outer_words, &outer_salt},
	     *inner_args[] = {&inner_words, &inner_salt};
	CUDA_KERNEL_NODE_PARAMS outer = mark(outer_args, false), in = mark(inner_args, true);
	CUDA_MEMSET_NODE_PARAMS set = set_params();
	CUDA_MEMCPY3D copy = copy_params();
	CUDA_HOST_NODE_PARAMS host = {count, &n_called[0]};
	size_t one = 1;

	PROG_CHECK(cuGraphCreate(&inside, 0));
	PROG_CHECK(cuGraphAddKernelNode_v2(&model, inside, NULL, 0, &in));
	PROG_CHECK(cuGraphCreate(&graph, 0));
	PROG_CHECK(cuGraphAddKernelNode_v2(&node[KERNEL], graph, NULL, 0, &outer));
	PROG_CHECK(cuGraphAddMemsetNode(&node[SET], graph, NULL, 0, &set, context));
	PROG_CHECK(cuGraphAddMemcpyNode(&node[COPY], graph, &node[SET], 1, &copy, context));
	PROG_CHECK(cuGraphAddHostNode(&node[CALL], graph, &node[COPY], 1, &host));
	PROG_CHECK(cuGraphAddEventRecordNode(&node[RECORD], graph, &node[CALL], 1, events[0]));
	PROG_CHECK(cuGraphAddEventWaitNode(&node[WAIT], graph, &node[RECORD], 1, events[0]));
	PROG_CHECK(cuGraphAddChildGraphNode(&node[INSIDE], graph, &node[WAIT], 1, inside));
	PROG_CHECK(cuGraphChildGraphNodeGetGraph(node[INSIDE], &child));
	PROG_CHECK(cuGraphGetNodes(child, &inner, &one));
	PROG_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
}

/* ---- the changes ---- */

static void as_built(void)
{
}

static void set_outer(bool any)
{
	void *args[] = {&outer_words, &outer_salt};
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	outer_salt += 100;
	p.kernel = mark(args, false);
	if (any)
		PROG_CHECK(cuGraphExecNodeSetParams(exec, node[KERNEL], &p));
	else
		PROG_CHECK(cuGraphExecKernelNodeSetParams_v2(exec, node[KERNEL], &p.kernel));
}

static void change_kernel(void)
{
	set_outer(false);
}

static void change_by_type(void)
{
	set_outer(true);
}

static void change_as_before_cuda_12(void)
{
	void *args[] = {&outer_words, &outer_salt};
	CUDA_KERNEL_NODE_PARAMS p = mark(args, false);

	outer_salt += 100;
	PROG_CHECK(cuGraphExecKernelNodeSetParams(exec, node[KERNEL], &p));
}

static void change_set(void)
{
	CUDA_MEMSET_NODE_PARAMS p;

	value += 100;
	p = set_params();
	PROG_CHECK(cuGraphExecMemsetNodeSetParams(exec, node[SET], &p, context));
}

static void change_copy(void)
{
	CUDA_MEMCPY3D p;

	n_copied = 2;
	p = copy_params();
	PROG_CHECK(cuGraphExecMemcpyNodeSetParams(exec, node[COPY], &p, context));
}

static void change_call(void)
{
	CUDA_HOST_NODE_PARAMS p = {count, &n_called[1]};

	called = 1;
	PROG_CHECK(cuGraphExecHostNodeSetParams(exec, node[CALL], &p));
}

static void change_events(void)
{
	PROG_CHECK(cuGraphExecEventRecordNodeSetEvent(exec, node[RECORD], events[1]));
	PROG_CHECK(cuGraphExecEventWaitNodeSetEvent(exec, node[WAIT], events[1]));
}

static void change_inner(void)
{
	void *args[] = {&inner_words, &inner_salt};
	CUDA_KERNEL_NODE_PARAMS p = mark(args, true);

	inner_salt += 100;
	PROG_CHECK(cuGraphExecKernelNodeSetParams_v2(exec, inner, &p));
}

static void change_inside(void)
{
	void *args[] = {&inner_words, &inner_salt};
	CUDA_KERNEL_NODE_PARAMS p = mark(args, true);

	inner_salt += 100;
	PROG_CHECK(cuGraphKernelNodeSetParams_v2(model, &p));
	PROG_CHECK(cuGraphExecChildGraphNodeSetParams(exec, node[INSIDE], inside));
}

static void switch_off(void)
{
	kernel_is_off = true;
	PROG_CHECK(cuGraphNodeSetEnabled(exec, node[KERNEL], 0));
}

static void switch_on(void)
{
	kernel_is_off = false;
	PROG_CHECK(cuGraphNodeSetEnabled(exec, node[KERNEL], 1));
}

/* As the graph says: what only the executable one was told is forgotten. */
static void update(void)
{
	CUgraphExecUpdateResultInfo info;

	outer_salt = 1;
	inner_salt = 2;
	value = 3;
	n_copied = 1;
	called = 0;
	PROG_CHECK(cuGraphExecUpdate_v2(exec, graph, &info));
}

static const struct {
	const char *name;
	void (*change)(void);
} steps[] = {
	{"built", as_built},
	{"kernel", change_kernel},
	{"kernel-again", change_kernel},
	{"any", change_by_type},
	{"first-version", change_as_before_cuda_12},
	{"memset", change_set},
	{"memcpy", change_copy},
	{"host", change_call},
	{"events", change_events},
	{"inner", change_inner},
	{"child", change_inside},
	{"inner-of-child", change_inner},
	{"off", switch_off},
	{"off-changed", change_kernel},
	{"on", switch_on},
	{"update", update},
	{"kernel-after-update", change_kernel},
	{"off-after-update", switch_off},
	{"updated-while-off", update},
	{"on-after-update", switch_on},
};

/* ---- what it did ---- */

static uint32_t least_of(const uint32_t *words, uint32_t least)
{
	unsigned i;

	for (i = 0; i < BLOCKS; i++)
		least = words[2 * i + 1] < least ? words[2 * i + 1] : least;
	return least;
}

static void expect(bool right, const char *name, const char *what)
{
	if (right)
		return;
	n_wrong++;
	printf("wrong: %s, %s\n", name, what);
}

static void read_back(CUdeviceptr from, uint32_t *words, unsigned n)
{
	PROG_CHECK(cuMemcpyDtoH(words, from, n * 4));
	PROG_CHECK(cuMemsetD32(from, 0, n));
}

static void look(const char *name, const unsigned *called_before)
{
	uint32_t words[2 * BLOCKS], set[2], least = UINT32_MAX;

	read_back(outer_words, words, 2 * BLOCKS);
	expect(words[0] == (kernel_is_off ? 0 : outer_salt), name, "the kernel");
	if (!kernel_is_off)
		least = least_of(words, least);
	read_back(inner_words, words, 2 * BLOCKS);
	expect(words[0] == inner_salt, name, "the kernel inside");
	least = least_of(words, least);
	read_back(copy_words, set, 2);
	expect(set[0] == value && set[1] == (n_copied == 2 ? value : 0), name, "the copy");
	expect(n_called[called] == called_before[called] + 1 &&
		       n_called[!called] == called_before[!called],
	       name, "the callback");
	printf("%s least %u\n", name, least);
}

static void begin(void)
{
	CUlibrary library;
	CUmodule module;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&function, module, "mark"));
	PROG_CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	PROG_CHECK(cuLibraryGetKernel(&kernel, library, "mark"));
	PROG_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemAlloc(&outer_words, BLOCKS * 8));
	PROG_CHECK(cuMemAlloc(&inner_words, BLOCKS * 8));
	PROG_CHECK(cuMemAlloc(&set_words, 8));
	PROG_CHECK(cuMemAlloc(&copy_words, 8));
	PROG_CHECK(cuMemsetD32(copy_words, 0, 2));
	PROG_CHECK(cuEventCreate(&events[0], CU_EVENT_DISABLE_TIMING));
	PROG_CHECK(cuEventCreate(&events[1], CU_EVENT_DISABLE_TIMING));
}

static bool wait_for_part(uint32_t first)
{
	double until = prog_now_us() + WAIT_S * 1e6;
	void *args[] = {&outer_words, &outer_salt};
	uint32_t words[2 * BLOCKS];

	do {
		PROG_CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, 32, 1, 1, 0, stream, args, NULL));
		PROG_CHECK(cuStreamSynchronize(stream));
		read_back(outer_words, words, 2 * BLOCKS);
		if (least_of(words, UINT32_MAX) >= first)
			return true;
	} while (prog_now_us() < until);
	return false;
}

int main(int argc, char **argv)
{
	unsigned called_before[2], i;

	begin();
	if (!wait_for_part((uint32_t)prog_option(argc, argv, "--first", 0))) {
		printf("wrong: it is not on a part\n");
		return 1;
	}
	build();
	for (i = 0; i < COT_ARRAY_LEN(steps); i++) {
		steps[i].change();
		memcpy(called_before, n_called, sizeof(called_before));
		PROG_CHECK(cuGraphLaunch(exec, stream));
		PROG_CHECK(cuStreamSynchronize(stream));
		look(steps[i].name, called_before);
	}
	printf("wrong %u\n", n_wrong);
	return n_wrong != 0;
}
