/*
 * What CUDA says of streams, word by word, while the program's part of the GPU may change: each
 * case orders two steps of a chain by one thing that CUDA offers, and the result says whether the
 * order was kept. parts.c does the usual things at random; here are the others.
 *
 *     stream_cases [--seconds S]
 *
 * Prints "rounds N wrong N". Exit status 1: something was wrong.
 */
#include <pthread.h>
#include <stdbool.h>

#include "common.h"

#define WORDS 4096u
#define UNIT  8u /* SMs of a part of the program's own */

/* clang-format off */
#define KERNEL(name)                                            \
	".visible .entry " name "(.param .u64 words, .param .u32 salt)\n" \
	"{\n"                                                   \
	"  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n" \
	"  ld.param.u64 %rd1, [words];\n"                       \
	"  ld.param.u32 %r1, [salt];\n"                         \
	"  mov.u32 %r2, %ctaid.x;\n"                            \
	"  mov.u32 %r3, %ntid.x;\n"                             \
	"  mov.u32 %r4, %tid.x;\n"                              \
	"  mad.lo.u32 %r5, %r2, %r3, %r4;\n"                    \
	"  setp.ge.u32 %p1, %r5, 4096;\n"                       \
	"  @%p1 bra done;\n"                                    \
	"  mov.u32 %r6, 0;\n"                                   \
	"wait:\n"                                               \
	"  add.u32 %r6, %r6, 1;\n"                              \
	"  setp.lt.u32 %p2, %r6, 20;\n"                         \
	"  @%p2 bra wait;\n"                                    \
	"  mul.wide.u32 %rd2, %r5, 4;\n"                        \
	"  add.u64 %rd3, %rd1, %rd2;\n"                         \
	"  ld.global.u32 %r7, [%rd3];\n"                        \
	"  mad.lo.u32 %r7, %r7, 3, %r1;\n"                      \
	"  st.global.u32 [%rd3], %r7;\n"                        \
	"done:\n"                                               \
	"  ret;\n"                                              \
	"}\n"
static const char text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	/* words[i] = 3 * words[i] + salt */
	KERNEL("step")
	/* Named as one that waits for others: it stays where the program put it. */
	KERNEL("ncclDevKernel_like");
/* clang-format on */

static CUcontext context;
static CUfunction step_kernel, waiting_kernel;
static CUdeviceptr words, flag;
static CUstream a, b, own;
static CUevent event;
static CUgreenCtx own_part;
static CUlibrary library;
static uint32_t expected, salt, n_flags;
static unsigned n_wrong;

static void step_of(CUfunction function, CUstream stream)
{
	void *params[] = {&words, &salt};

	salt++;
	PROG_CHECK(cuLaunchKernel(function, WORDS / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL));
	expected = expected * 3 + salt;
}

static void step(CUstream stream)
{
	step_of(step_kernel, stream);
}

/* `next` comes after `stream`, by an event. */
static void join(CUstream next, CUstream stream)
{
	PROG_CHECK(cuEventRecord(event, stream));
	PROG_CHECK(cuStreamWaitEvent(next, event, 0));
}

static void check(const char *name, bool right)
{
	if (right)
		return;
	if (n_wrong++ < 5)
		printf("wrong: %s\n", name);
}

static void check_words(const char *name)
{
	static uint32_t back[WORDS];
	unsigned i, n = 0;

	PROG_CHECK(cuCtxSynchronize());
	PROG_CHECK(cuMemcpyDtoH(back, words, WORDS * 4));
	for (i = 0; i < WORDS; i++)
		n += back[i] != expected;
	check(name, !n);
	if (!n)
		return;
	expected = 0;
	PROG_CHECK(cuMemsetD32(words, 0, WORDS));
}

/* ---- the cases ---- */

static void events_of_a_context(void)
{
	step(a);
	PROG_CHECK(cuCtxRecordEvent(context, event));
	PROG_CHECK(cuCtxWaitEvent(context, event));
	step(b);
}

static void own_green_contexts(void)
{
	CUgreenCtx green = NULL;

	step(a);
	join(own, a);
	step(own);
	PROG_CHECK(cuStreamGetGreenCtx(own, &green));
	check("its own part", green == own_part);
	join(b, own);
	step(b);
	PROG_CHECK(cuGreenCtxRecordEvent(own_part, event));
	join(own, b);
	step(own);
}

/* More blocks than a part of half the GPU holds. */
static void large_cooperative_launches(void)
{
	void *params[] = {&words, &salt};
	int per_sm, n_sms;

	PROG_CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, step_kernel, 1024, 0));
	PROG_CHECK(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	step(a);
	salt++;
	PROG_CHECK(cuLaunchCooperativeKernel(step_kernel, (unsigned)(n_sms * per_sm), 1, 1, 1024, 1,
					     1, 0, a, params));
	expected = expected * 3 + salt;
	step(a);
}

static void kernels_that_wait_for_others(void)
{
	step(a);
	step_of(waiting_kernel, a);
	step(a);
}

static void values(void)
{
	step(a);
	n_flags++;
	PROG_CHECK(cuStreamWriteValue32_v2(a, flag, n_flags, 0));
	PROG_CHECK(cuStreamWaitValue32_v2(b, flag, n_flags, 0));
	step(b);
}

/* Memory of one stream that another one uses, and that a third one gives back. */
static void memory_of_streams(void)
{
	CUmemoryPool pool;
	CUdeviceptr between;

	PROG_CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
	step(a);
	PROG_CHECK(cuMemAllocFromPoolAsync(&between, WORDS * 4, pool, a));
	join(b, a);
	PROG_CHECK(cuMemcpyDtoDAsync(between, words, WORDS * 4, b));
	step(b);
	PROG_CHECK(cuMemcpyDtoDAsync(words, between, WORDS * 4, b));
	expected = (expected - salt) * 2863311531u; /* one third */
	join(a, b);
	PROG_CHECK(cuMemFreeAsync(between, a));
	PROG_CHECK(cuMemAllocAsync(&between, WORDS * 4, a));
	PROG_CHECK(cuMemsetD32Async(between, 7, WORDS, a));
	PROG_CHECK(cuMemFreeAsync(between, a));
	step(a);
}

static void copies_of_two_dimensions(void)
{
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = words,
			      .srcPitch = 256,
			      .dstPitch = 256,
			      .WidthInBytes = 256,
			      .Height = WORDS * 4 / 256};
	CUdeviceptr between;

	PROG_CHECK(cuMemAlloc(&between, WORDS * 4));
	copy.dstDevice = between;
	step(a);
	PROG_CHECK(cuMemcpy2DAsync_v2(&copy, a));
	PROG_CHECK(cuMemsetD2D32Async(words, 256, 0, 64, WORDS / 64, a));
	copy.srcDevice = between;
	copy.dstDevice = words;
	PROG_CHECK(cuMemcpy2DAsync_v2(&copy, a));
	step(a);
	PROG_CHECK(cuMemFree(between));
}

static void what_a_stream_is(void)
{
	CUlaunchAttributeValue value = {.pad = {0}};
	unsigned long long id, again;
	unsigned flags;
	CUcontext of;
	CUstream s;
	int priority;

	PROG_CHECK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -1));
	PROG_CHECK(cuStreamGetId(s, &id));
	join(s, a);
	step(s);
	value.priority = -2;
	PROG_CHECK(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	step(s);
	value.priority = 0;
	PROG_CHECK(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	PROG_CHECK(cuStreamGetPriority(s, &priority));
	PROG_CHECK(cuStreamGetFlags(s, &flags));
	PROG_CHECK(cuStreamGetCtx(s, &of));
	PROG_CHECK(cuStreamGetId(s, &again));
	check("priority", priority == -2 && value.priority == -2);
	check("flags", flags == CU_STREAM_NON_BLOCKING);
	check("context and number", of == context && id == again);
	join(a, s);
	PROG_CHECK(cuStreamDestroy(s));
	step(a);
}

/* As cuFFT gets its kernels: no name is ever asked for. */
static void kernels_without_names(void)
{
	CUkernel kernels[2];
	unsigned i;

	PROG_CHECK(cuLibraryEnumerateKernels(kernels, 2, library));
	step(a);
	for (i = 0; i < 2; i++)
		step_of((CUfunction)kernels[i], a); /* they do the same */
	step(a);
}

/* A thread ends while its default stream has work. */
static void *on_a_thread(void *unused)
{
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
	step(CU_STREAM_PER_THREAD);
	PROG_CHECK(cuEventRecord(event, CU_STREAM_PER_THREAD));
	return unused;
}

static void streams_of_threads(void)
{
	pthread_t thread;

	step(a);
	PROG_CHECK(cuEventRecord(event, a));
	if (pthread_create(&thread, NULL, on_a_thread, NULL))
		exit(2);
	pthread_join(thread, NULL);
	PROG_CHECK(cuStreamWaitEvent(b, event, 0));
	step(b);
}

static CUDA_KERNEL_NODE_PARAMS step_params(void **args)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = step_kernel,
					 .gridDimX = WORDS / 64,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 64,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = args};
}

static CUgraph make_steps(CUgraphNode *ret_nodes, const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUgraph graph;

	PROG_CHECK(cuGraphCreate(&graph, 0));
	PROG_CHECK(cuGraphAddKernelNode_v2(&ret_nodes[0], graph, NULL, 0, params));
	PROG_CHECK(cuGraphAddKernelNode_v2(&ret_nodes[1], graph, ret_nodes, 1, params));
	return graph;
}

/* A node is switched off while the graph is like another one, whose nodes have other names: it
 * stays off when the graph is like the first one again. */
static void graphs_like_another(void)
{
	void *args[] = {&words, &salt};
	CUDA_KERNEL_NODE_PARAMS params = step_params(args);
	CUgraphExecUpdateResultInfo info;
	CUgraphNode nodes[2], others[2];
	CUgraph graph = make_steps(nodes, &params), other = make_steps(others, &params);
	CUgraphExec exec;

	PROG_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	PROG_CHECK(cuGraphExecUpdate_v2(exec, other, &info));
	PROG_CHECK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &params));
	PROG_CHECK(cuGraphNodeSetEnabled(exec, nodes[1], 0));
	PROG_CHECK(cuGraphExecUpdate_v2(exec, graph, &info));
	PROG_CHECK(cuGraphLaunch(exec, a));
	expected = expected * 3 + salt;
	PROG_CHECK(cuGraphExecDestroy(exec));
	PROG_CHECK(cuGraphDestroy(other));
	PROG_CHECK(cuGraphDestroy(graph));
}

/* A graph runs once at a time, also where nothing else orders its launches. */
static void a_graph_in_all_streams(void)
{
	const CUstream in[] = {a, own, b, own};
	void *args[] = {&words, &salt};
	CUDA_KERNEL_NODE_PARAMS params = step_params(args);
	CUgraphNode nodes[2];
	CUgraph graph = make_steps(nodes, &params);
	CUgraphExec exec;
	unsigned i;

	PROG_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (i = 0; i < COT_ARRAY_LEN(in); i++) {
		PROG_CHECK(cuGraphLaunch(exec, in[i]));
		expected = (expected * 3 + salt) * 3 + salt;
	}
	PROG_CHECK(cuGraphExecDestroy(exec));
	PROG_CHECK(cuGraphDestroy(graph));
}

/* The context that is current changes from call to call, in each thread its own. */
static void other_contexts(void)
{
	CUcontext other, was;

	PROG_CHECK(cuCtxFromGreenCtx(&other, own_part));
	step(NULL);
	PROG_CHECK(cuCtxPushCurrent(other));
	PROG_CHECK(cuCtxPopCurrent(&was));
	step(NULL);
	PROG_CHECK(cuCtxSetCurrent(NULL));
	PROG_CHECK(cuCtxSetCurrent(context));
	step(NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"events of a context", events_of_a_context},
	{"green contexts of its own", own_green_contexts},
	{"large cooperative launches", large_cooperative_launches},
	{"kernels that wait for others", kernels_that_wait_for_others},
	{"values", values},
	{"memory of streams", memory_of_streams},
	{"copies of two dimensions", copies_of_two_dimensions},
	{"what a stream is", what_a_stream_is},
	{"kernels without names", kernels_without_names},
	{"streams of threads", streams_of_threads},
	{"other contexts", other_contexts},
	{"graphs like another", graphs_like_another},
	{"a graph in all streams", a_graph_in_all_streams},
};

static void make_own_part(void)
{
	CUdevResource all, unit, rest;
	CUdevResourceDesc desc;
	unsigned n = 1;

	PROG_CHECK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	PROG_CHECK(cuDevSmResourceSplitByCount(&unit, &n, &all, &rest, 0, UNIT));
	PROG_CHECK(cuDevResourceGenerateDesc(&desc, &unit, 1));
	PROG_CHECK(cuGreenCtxCreate(&own_part, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	PROG_CHECK(cuGreenCtxStreamCreate(&own, own_part, CU_STREAM_NON_BLOCKING, 0));
}

static void begin(void)
{
	CUmodule module;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&step_kernel, module, "step"));
	PROG_CHECK(cuModuleGetFunction(&waiting_kernel, module, "ncclDevKernel_like"));
	PROG_CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	PROG_CHECK(cuMemAlloc(&words, WORDS * 4));
	PROG_CHECK(cuMemAlloc(&flag, 4));
	PROG_CHECK(cuMemsetD32(words, 0, WORDS));
	PROG_CHECK(cuMemsetD32(flag, 0, 1));
	PROG_CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	make_own_part();
}

int main(int argc, char **argv)
{
	double until = prog_now_us() + prog_option(argc, argv, "--seconds", 2) * 1e6;
	unsigned n_rounds = 0, i;

	begin();
	do {
		for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
			cases[i].run();
			check_words(cases[i].name);
		}
		n_rounds++;
	} while (prog_now_us() < until);
	printf("rounds %u wrong %u\n", n_rounds, n_wrong);
	return n_wrong != 0;
}
