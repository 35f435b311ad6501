/* PTX through the emulated driver: modules and libraries, kernels that run, streams, graphs,
 * faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cuda/abi/cuda.h"
#include "cuda/fatbin/fatbin.h"
#include "emu/driver/builtin.h"
#include "emu_dir.h"
#include "test.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define N	 1000u

/* clang-format off */
static const char ptx[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 number = 7;\n"
	".visible .const .align 4 .b8 table[16];\n"
	/* Adds v to each of n words. */
	".visible .entry add(.param .u64 words, .param .u32 n, .param .u32 v)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<5>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.param.u32 %r1, [n];\n"
	"  ld.param.u32 %r2, [v];\n"
	"  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
	"  mad.lo.u32 %r6, %r3, %r4, %r5;\n"
	"  setp.ge.u32 %p1, %r6, %r1;\n"
	"  @%p1 bra end;\n"
	"  mul.wide.u32 %rd2, %r6, 4;\n"
	"  add.u64 %rd3, %rd1, %rd2;\n"
	"  ld.global.u32 %r7, [%rd3];\n"
	"  add.u32 %r7, %r7, %r2;\n"
	"  st.global.u32 [%rd3], %r7;\n"
	"end: ret;\n"
	"}\n"
	/* Counts in words[1] until words[0] is not zero. */
	".visible .entry poll(.param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r2, 0;\n"
	"again:\n"
	"  add.u32 %r2, %r2, 1;\n"
	"  st.volatile.global.u32 [%rd1+4], %r2;\n"
	"  ld.volatile.global.u32 %r1, [%rd1];\n"
	"  setp.eq.u32 %p1, %r1, 0;\n"
	"  @%p1 bra again;\n"
	"  ret;\n"
	"}\n"
	/* out = number + table[0] */
	".visible .entry symbols(.param .u64 out)\n"
	"{\n"
	"  .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [out];\n"
	"  ld.global.u32 %r1, [number];\n"
	"  ld.const.u32 %r2, [table];\n"
	"  add.u32 %r3, %r1, %r2;\n"
	"  st.global.u32 [%rd1], %r3;\n"
	"  ret;\n"
	"}\n"
	".visible .entry broken(.param .u64 where)\n"
	"{\n"
	"  .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [where];\n"
	"  st.global.u64 [%rd1], %rd1;\n"
	"  ret;\n"
	"}\n"
	".visible .entry trapped() { trap; }\n";
/* clang-format on */

static CUcontext ctx;
static CUmodule module;
static CUfunction add, poll_flag;

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

static int setup(void **state)
{
	(void)state;
	return cuCtxCreate(&ctx, 0, 0) || cuModuleLoadData(&module, ptx) ||
	       cuModuleGetFunction(&add, module, "add") ||
	       cuModuleGetFunction(&poll_flag, module, "poll");
}

static int teardown(void **state)
{
	(void)state;
	return (int)cuCtxDestroy(ctx);
}

static CUresult launch_add(CUstream stream, CUdeviceptr words, unsigned n, unsigned v)
{
	void *params[] = {&words, &n, &v};

	return cuLaunchKernel(add, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL);
}

static CUresult launch_poll(CUstream stream, CUdeviceptr words)
{
	void *params[] = {&words};

	return cuLaunchKernel(poll_flag, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static CUdeviceptr make_words(unsigned n)
{
	CUdeviceptr d;

	OK(cuMemAlloc(&d, n * sizeof(uint32_t)));
	OK(cuMemsetD32(d, 0, n));
	return d;
}

static CUstream make_stream(unsigned flags)
{
	CUstream s;

	OK(cuStreamCreate(&s, flags));
	return s;
}

static uint32_t word(CUdeviceptr d, unsigned i)
{
	uint32_t v;

	OK(cuMemcpyDtoH(&v, d + i * sizeof(v), sizeof(v)));
	return v;
}

static void kernels_compute_in_stream_order(void **state)
{
	CUdeviceptr d = make_words(N);
	CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
	uint32_t host[N], i;
	CUevent from, to;
	float ms = -1;

	(void)state;
	OK(cuEventCreate(&from, 0));
	OK(cuEventCreate(&to, 0));
	OK(cuEventRecord(from, s));
	OK(launch_add(s, d, N, 5));
	OK(cuMemsetD32Async(d, 1, N / 2, s));
	OK(launch_add(s, d, N, 10));
	OK(cuEventRecord(to, s));
	OK(cuMemcpyDtoHAsync(host, d, sizeof(host), s));
	OK(cuStreamSynchronize(s));
	for (i = 0; i < N; i++)
		assert_int_equal(host[i], i < N / 2 ? 11 : 15);
	OK(cuEventElapsedTime(&ms, from, to));
	assert_true(ms > 0);
	OK(cuEventDestroy(from));
	OK(cuEventDestroy(to));
	OK(cuStreamDestroy(s));
}

static void the_legacy_stream_waits_for_the_others(void **state)
{
	CUstream s[3];
	CUdeviceptr d = make_words(N);
	unsigned i, round;

	(void)state;
	for (i = 0; i < 3; i++)
		s[i] = make_stream(0);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 3; i++) {
			OK(launch_add(s[i], d, N, 1));
			OK(launch_add(NULL, d, N, 1)); /* after s[i], and before the next one */
		}
	}
	assert_int_equal(word(d, N - 1), 24);
	for (i = 0; i < 3; i++)
		OK(cuStreamDestroy(s[i]));
}

static void a_thread_has_a_default_stream_of_its_own(void **state)
{
	CUdeviceptr d = make_words(4);
	int priority = 7;
	void *entry;

	(void)state;
	OK(launch_add(CU_STREAM_PER_THREAD, d, 4, 3));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_int_equal(word(d, 0), 3);
	OK(cuStreamGetPriority(CU_STREAM_PER_THREAD, &priority));
	assert_int_equal(priority, 0);
	/* The entry points of such programs are others. */
	OK(cuGetProcAddress_v2("cuLaunchKernel", &entry, 13000, 2, NULL));
	assert_true(entry != (void *)(uintptr_t)cuLaunchKernel);
	OK(cuGetProcAddress_v2("cuLaunchKernel", &entry, 13000, 0, NULL));
	assert_true(entry == (void *)(uintptr_t)cuLaunchKernel);
}

static void a_running_kernel_sees_what_other_streams_write(void **state)
{
	CUstream a = make_stream(CU_STREAM_NON_BLOCKING), b = make_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr d = make_words(2);
	uint32_t *words = (uint32_t *)(uintptr_t)d;

	(void)state;
	OK(launch_poll(a, d));
	/* It runs while the host goes on. */
	OK(cuStreamWaitValue32_v2(b, d + 4, 100, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamSynchronize(b));
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	assert_true(__atomic_load_n(&words[1], __ATOMIC_RELAXED) >= 100);
	OK(cuStreamWriteValue32_v2(b, d, 1, 0));
	OK(cuStreamSynchronize(a));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void destroying_a_context_stops_its_kernels(void **state)
{
	CUdeviceptr d = make_words(2);

	(void)state;
	OK(launch_poll(NULL, d));
	/* Nobody ever writes the flag. */
}

static void events_order_streams(void **state)
{
	CUstream a = make_stream(CU_STREAM_NON_BLOCKING), b = make_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr flag = make_words(2), d = make_words(N);
	CUevent e;

	(void)state;
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(launch_poll(a, flag));
	OK(launch_add(a, d, N, 1));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(launch_add(b, d, N, 1));
	assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	__atomic_store_n((uint32_t *)(uintptr_t)flag, 1, __ATOMIC_RELAXED);
	OK(cuStreamSynchronize(b));
	assert_int_equal(word(d, 3), 2);
	OK(cuEventSynchronize(e));
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void symbols_have_addresses(void **state)
{
	CUdeviceptr number, table, out = make_words(1);
	size_t bytes = 0;
	uint32_t v = 40;
	CUfunction f;
	void *params[] = {&out};

	(void)state;
	OK(cuModuleGetGlobal(&number, &bytes, module, "number"));
	assert_int_equal(bytes, 4);
	OK(cuModuleGetGlobal(&table, &bytes, module, "table"));
	assert_int_equal(bytes, 16);
	assert_int_equal(cuModuleGetGlobal(&number, &bytes, module, "none"), CUDA_ERROR_NOT_FOUND);
	OK(cuMemcpyHtoD(table, &v, sizeof(v)));
	assert_int_equal(cuMemcpyHtoD(table + 14, &v, sizeof(v)), CUDA_ERROR_INVALID_VALUE);
	OK(cuModuleGetFunction(&f, module, "symbols"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(word(out, 0), 47);
}

/* A fat binary with the text for sm_35 and machine code for sm_90. */
static void *make_fatbin(void)
{
	size_t n = (sizeof(ptx) + 7) / 8 * 8;
	uint64_t head[2] = {COT_FATBIN_MAGIC | 1ull << 32 | 16ull << 48, 64 + n + 64 + 8};
	uint64_t first[8] = {1 | 0x0101ull << 16 | 64ull << 32, n, 0, 35ull << 32, 0, 1, 0, 0};
	uint64_t second[8] = {2 | 0x0101ull << 16 | 64ull << 32, 8, 0, 90ull << 32, 0, 1, 0, 0};
	char *b = calloc(1, 16 + 64 + n + 64 + 8);

	first[3] = 0 | 35ull << 32;
	second[3] = 0 | 90ull << 32;
	memcpy(b, head, 16);
	memcpy(b + 16, first, 64);
	memcpy(b + 80, ptx, sizeof(ptx));
	memcpy(b + 80 + n, second, 64);
	memcpy(b + 80 + n + 64, "\177ELF", 4);
	return b;
}

static void libraries_get_a_module_in_each_context(void **state)
{
	void *fatbin = make_fatbin(), *words;
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = {COT_FATBIN_WRAPPER_MAGIC, 1, fatbin, NULL};
	CUdeviceptr here, there, d = make_words(8);
	unsigned n = 8, v = 9;
	CUcontext other;
	CUlibrary library;
	CUkernel kernel;
	CUfunction f;
	size_t offset, size;
	const char *name;
	void *params[] = {&words, &n, &v};

	(void)state;
	OK(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
	free(fatbin); /* the library has its own */
	OK(cuLibraryGetKernel(&kernel, library, "add"));
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
	OK(cuKernelGetName(&name, kernel));
	assert_string_equal(name, "add");
	OK(cuKernelGetParamInfo(kernel, 2, &offset, &size));
	assert_int_equal(offset, 12);
	assert_int_equal(size, 4);
	/* A kernel's name serves as a function. */
	words = (void *)(uintptr_t)d;
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(word(d, 7), 9);
	OK(cuLibraryGetGlobal(&here, NULL, library, "number"));
	OK(cuCtxCreate(&other, 0, 0));
	OK(cuLibraryGetGlobal(&there, NULL, library, "number"));
	assert_true(here != there);
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuCtxDestroy(other));
	OK(cuLibraryUnload(library));
}

static void code_that_cannot_run_is_refused(void **state)
{
	char log[200] = "", *text = strdup(ptx), *sm = strstr(text, "sm_35");
	int options[] = {5, 6};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule m;

	(void)state;
	assert_int_equal(
		cuModuleLoadDataEx(&m, ".version 7.0\n.target sm_35\nnonsense", 2, options, values),
		CUDA_ERROR_INVALID_PTX);
	assert_true(*log);
	assert_int_equal(cuModuleLoadData(&m, "\177ELF and so on"), CUDA_ERROR_NO_BINARY_FOR_GPU);
	memcpy(sm, "sm_99", 5);
	assert_int_equal(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_PTX);
	assert_int_equal(cuModuleLoad(&m, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
	free(text);
}

static void count_call(void *data)
{
	++*(int *)data;
}

static CUgraph capture(CUdeviceptr d, int *n_calls)
{
	CUstream a = make_stream(0), b = make_stream(0);
	CUevent fork, join;
	CUgraph graph;

	OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemsetD32Async(d, 0, N, a));
	OK(cuEventRecord(fork, a));
	assert_int_equal(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
	OK(cuStreamWaitEvent(b, fork, 0));
	OK(launch_add(a, d, N / 2, 1));
	OK(launch_add(b, d + N / 2 * 4, N / 2, 2));
	OK(cuEventRecord(join, b));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuLaunchHostFunc(a, count_call, n_calls));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuEventDestroy(fork));
	OK(cuEventDestroy(join));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	return graph;
}

static CUgraphNode find_kernel(CUgraph graph)
{
	CUgraphNode nodes[8];
	size_t n = COT_ARRAY_LEN(nodes), i;
	CUgraphNodeType type;

	OK(cuGraphGetNodes(graph, nodes, &n));
	assert_int_equal(n, 4);
	for (i = 0; i < n; i++) {
		OK(cuGraphNodeGetType(nodes[i], &type));
		if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			return nodes[i];
	}
	fail();
	return NULL;
}

static void captured_work_is_done_by_the_graph(void **state)
{
	CUDA_KERNEL_NODE_PARAMS params;
	CUdeviceptr d = make_words(N);
	CUgraphExecUpdateResultInfo info;
	unsigned n = N / 2, v = 50;
	CUgraph graph, clone;
	int n_calls = 0;
	CUgraphExec exec;
	CUgraphNode node;
	void *args[] = {&d, &n, &v};

	(void)state;
	graph = capture(d, &n_calls);
	assert_int_equal(n_calls, 0);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuMemsetD32(d, 77, N));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuStreamSynchronize(NULL));
	assert_int_equal(n_calls, 2);
	assert_int_equal(word(d, 0), 1);
	assert_int_equal(word(d, N - 1), 2);
	node = find_kernel(graph);
	OK(cuGraphKernelNodeGetParams_v2(node, &params));
	assert_int_equal(*(uint32_t *)params.kernelParams[2], 1);
	params.kernelParams = args;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
	OK(cuGraphLaunch(exec, NULL));
	assert_int_equal(word(d, 0), 50);
	/* The graph itself is as it was; an update brings it back. */
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphExecUpdate_v2(exec, clone, &info));
	OK(cuGraphLaunch(exec, NULL));
	assert_int_equal(word(d, 0), 1);
	OK(cuGraphNodeSetEnabled(exec, node, 0));
	OK(cuGraphLaunch(exec, NULL));
	assert_int_equal(word(d, 0), 0);
	OK(cuGraphDestroyNode(node));
	assert_int_equal(cuGraphExecUpdate_v2(exec, graph, &info),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(graph));
}

/* As llama.cpp does for each token: it exchanges one of the arguments in the array that it got,
 * once. */
static void arguments_that_were_got_are_given_again(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUDA_KERNEL_NODE_PARAMS params;
	CUdeviceptr d = make_words(N);
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;
	int n_calls = 0;
	unsigned v;

	(void)state;
	graph = capture(d, &n_calls);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	node = find_kernel(graph);
	OK(cuGraphKernelNodeGetParams_v2(node, &params));
	for (v = 60; v < 64; v++) {
		params.kernelParams[2] = &v;
		OK(cuGraphKernelNodeSetParams_v2(node, &params));
		OK(cuGraphExecUpdate_v2(exec, graph, &info));
		OK(cuGraphLaunch(exec, NULL));
		assert_int_equal(word(d, 0), v);
	}
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static void a_capture_is_spoiled_by_what_it_cannot_take(void **state)
{
	CUstream a = make_stream(0), b = make_stream(0);
	CUdeviceptr d = make_words(1), p;
	CUgraph graph;
	CUevent e;

	(void)state;
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	/* Work that the origin has not waited for. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(launch_add(b, d, 1, 1));
	assert_int_equal(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	assert_null(graph);
	/* The legacy stream would wait for it. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(launch_add(NULL, d, 1, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_int_equal(launch_add(a, d, 1, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(cuMemAlloc(&p, 8), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(word(d, 0), 0);
	OK(cuEventDestroy(e));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void a_capture_ends_with_its_stream(void **state)
{
	CUstream s = make_stream(CU_STREAM_NON_BLOCKING);
	CUdeviceptr d;

	(void)state;
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(cuMemAlloc(&d, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	OK(cuStreamDestroy(s));
	OK(cuMemAlloc(&d, 4));
	OK(cuMemFree(d));
}

static void memory_is_known_by_its_address(void **state)
{
	CUdeviceptr base, d = make_words(N), pooled;
	CUstream s = make_stream(0);
	unsigned type = 0;
	size_t size = 0;
	CUmemoryPool pool;
	uint64_t used = 1;
	void *host;

	(void)state;
	OK(cuMemGetAddressRange_v2(&base, &size, d + 100));
	assert_true(base == d && size == N * 4);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 100));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	OK(cuMemAllocHost(&host, 64));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	assert_int_equal(
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&type),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyHtoD(d + N * 4 - 4, host, 8), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree(d + 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFreeHost((char *)host + 8), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeHost(host));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&pooled, 4096, s));
	OK(launch_add(s, pooled, 1024, 1));
	OK(cuMemFreeAsync(pooled, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
	assert_true(used >= 4096);
	OK(cuStreamDestroy(s));
}

static void launches_are_checked(void **state)
{
	CUdeviceptr d = make_words(1);
	unsigned n = 1, v = 1;
	void *params[] = {&d, &n, &v};
	CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	CUlaunchConfig config = {
		.grid = {1, 1, 1}, .block = {32, 1, 1}, .attrs = &a, .numAttrs = 1};
	int blocks = 0, value = 0;

	(void)state;
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 50000, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
	OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 50000, NULL, params, NULL));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add));
	assert_int_equal(value, 100000);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
	assert_int_equal(blocks, 2);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 100000));
	assert_int_equal(blocks, 2);
	a.value.clusterDim.x = 2;
	a.value.clusterDim.y = a.value.clusterDim.z = 1;
	assert_int_equal(cuLaunchKernelEx(&config, add, params, NULL),
			 CUDA_ERROR_INVALID_CLUSTER_SIZE); /* of one block */
	a = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
	a.value.cooperative = 1;
	OK(cuLaunchKernelEx(&config, add, params, NULL));
	config.gridDimX = 132 * 64 + 1;
	assert_int_equal(cuLaunchKernelEx(&config, add, params, NULL),
			 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	assert_int_equal(word(d, 0), 2);
}

static void a_fault_stays(void **state)
{
	CUdeviceptr d = make_words(2), nowhere = 4096, crooked = d + 4;
	void *params[] = {&nowhere};
	CUfunction broken, trapped;
	CUcontext fresh;
	CUmodule m;

	(void)state;
	OK(cuModuleGetFunction(&broken, module, "broken"));
	OK(cuLaunchKernel(broken, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuMemAlloc(&d, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(launch_add(NULL, d, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	/* A new context is as new. */
	OK(cuCtxCreate(&fresh, 0, 0));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&broken, m, "broken"));
	params[0] = &crooked;
	OK(cuLaunchKernel(broken, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
	OK(cuCtxDestroy(fresh));
	OK(cuCtxCreate(&fresh, 0, 0));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&trapped, m, "trapped"));
	OK(cuLaunchKernel(trapped, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	OK(cuCtxDestroy(fresh));
}

static void built_in_kernels_and_ptx_go_together(void **state)
{
	uint64_t block_ns = 200000, counter = 0;
	CUdeviceptr sum = make_words(2), d = make_words(N);
	void *params[] = {&block_ns, &sum};
	CUfunction spin;
	CUmodule m;

	(void)state;
	OK(cuModuleLoadData(&m, COT_EMU_BUILTIN_IMAGE));
	OK(cuModuleGetFunction(&spin, m, "spin"));
	OK(cuLaunchKernel(spin, 10, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(launch_add(NULL, d, N, 4));
	OK(cuLaunchKernel(spin, 10, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&counter, sum, sizeof(counter)));
	assert_int_equal(counter, 20);
	assert_int_equal(word(d, 0), 4);
}

static void a_seed_decides_the_order(void **state)
{
	CUdeviceptr d = make_words(N);

	(void)state;
	setenv("COTENANT_EMU_SEED", "5", 1);
	OK(launch_add(NULL, d, N, 6));
	OK(cuCtxSynchronize());
	unsetenv("COTENANT_EMU_SEED");
	assert_int_equal(word(d, N - 1), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernels_compute_in_stream_order),
		TEST(the_legacy_stream_waits_for_the_others),
		TEST(a_thread_has_a_default_stream_of_its_own),
		TEST(a_running_kernel_sees_what_other_streams_write),
		TEST(destroying_a_context_stops_its_kernels),
		TEST(events_order_streams),
		TEST(symbols_have_addresses),
		TEST(libraries_get_a_module_in_each_context),
		TEST(code_that_cannot_run_is_refused),
		TEST(captured_work_is_done_by_the_graph),
		TEST(arguments_that_were_got_are_given_again),
		TEST(a_capture_is_spoiled_by_what_it_cannot_take),
		TEST(a_capture_ends_with_its_stream),
		TEST(memory_is_known_by_its_address),
		TEST(launches_are_checked),
		TEST(a_fault_stays),
		TEST(built_in_kernels_and_ptx_go_together),
		TEST(a_seed_decides_the_order),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
