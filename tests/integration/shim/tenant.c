#include "tenant.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cotenant/share.h"
#include "cuda/abi/cuda.h"

#define THREADS	   32u
#define MAX_BLOCKS 4096u
#define MAX_SHARED 65536

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 launches;\n"
	/* out[i] += i, mixed `rounds` times. state[0] blocks run now, state[1] ran at most. */
	".visible .entry task(.param .u64 out, .param .u64 state, .param .u32 rounds)\n"
	"{\n"
	"  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<6>;\n"
	"  ld.param.u64 %rd1, [out];\n"
	"  ld.param.u64 %rd2, [state];\n"
	"  ld.param.u32 %r1, [rounds];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  setp.ne.u32 %p1, %r4, 0;\n"
	"  @%p1 bra begun;\n"
	"  atom.global.add.u32 %r5, [%rd2], 1;\n"
	"  add.u32 %r5, %r5, 1;\n"
	"  red.global.max.u32 [%rd2+4], %r5;\n"
	"  setp.ne.u32 %p2, %r2, 0;\n"
	"  @!%p2 red.global.add.u32 [launches], 1;\n"
	"begun:\n"
	"  bar.sync 0;\n"
	"  mad.lo.u32 %r6, %r2, %r3, %r4;\n"
	"  mov.u32 %r7, %r6;\n"
	"  mov.u32 %r8, 0;\n"
	"round:\n"
	"  mad.lo.u32 %r7, %r7, 1664525, 1013904223;\n"
	"  add.u32 %r8, %r8, 1;\n"
	"  setp.lt.u32 %p3, %r8, %r1;\n"
	"  @%p3 bra round;\n"
	"  mul.wide.u32 %rd3, %r6, 4;\n"
	"  add.u64 %rd4, %rd1, %rd3;\n"
	"  ld.global.u32 %r9, [%rd4];\n"
	"  add.u32 %r9, %r9, %r7;\n"
	"  st.global.u32 [%rd4], %r9;\n"
	"  bar.sync 0;\n"
	"  @%p1 bra end;\n"
	"  red.global.add.u32 [%rd2], -1;\n"
	"end: ret;\n"
	"}\n"
	/* Waits for another: is never rewritten. */
	".visible .entry other(.param .u64 flag)\n"
	"{\n"
	"  .reg .pred %p; .reg .b32 %r; .reg .b64 %rd;\n"
	"  ld.param.u64 %rd, [flag];\n"
	"again:\n"
	"  ld.volatile.global.u32 %r, [%rd];\n"
	"  setp.eq.u32 %p, %r, 0;\n"
	"  @%p bra again;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

static CUcontext context;
static CUmodule module;
static CUlibrary library;
static CUfunction task;
static CUstream stream;
static CUdeviceptr out, state;
static uint32_t expected[MAX_BLOCKS * THREADS];
static unsigned shared_bytes;
static char way[32] = "data", file[256];

static int failed(CUresult result, const char *what)
{
	if (result)
		fprintf(stderr, "tenant: %s: error %d\n", what, (int)result);
	return result != 0;
}

#define CHECK(call)                      \
	do {                             \
		if (failed(call, #call)) \
			_exit(4);        \
	} while (0)

static void load_module(void)
{
	int options[] = {5, 6}; /* where errors go */
	static char log[256];
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUkernel kernel;

	if (!strcmp(way, "dataex"))
		CHECK(cuModuleLoadDataEx(&module, text, 2, options, values));
	else if (!strcmp(way, "fat"))
		CHECK(cuModuleLoadFatBinary(&module, text));
	else if (!strcmp(way, "file"))
		CHECK(cuModuleLoad(&module, file));
	else if (strcmp(way, "library") != 0)
		CHECK(cuModuleLoadData(&module, text));
	if (strcmp(way, "library") != 0) {
		CHECK(cuModuleGetFunction(&task, module, "task"));
		return;
	}
	CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "task"));
	CHECK(cuLibraryGetModule(&module, library));
	task = (CUfunction)kernel; /* as the runtime does */
}

static void load(void)
{
	FILE *f = *file ? fopen(file, "w") : NULL;

	if (f) {
		fputs(text, f);
		fclose(f);
	}
	CHECK(cuInit(0));
	CHECK(cuCtxCreate(&context, 0, 0));
	load_module();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&out, sizeof(expected)));
	CHECK(cuMemAlloc(&state, 8));
	CHECK(cuMemsetD32(out, 0, sizeof(expected) / 4));
	CHECK(cuMemsetD32(state, 0, 2));
	memset(expected, 0, sizeof(expected));
}

static void expect(unsigned blocks, unsigned rounds)
{
	uint32_t a = 1, b = 0, a1 = 1664525, b1 = 1013904223;
	unsigned i;

	/* The mixing `rounds` times over is x * a + b. */
	for (; rounds; rounds >>= 1) {
		if (rounds & 1) {
			a *= a1;
			b = b * a1 + b1;
		}
		b1 = b1 * a1 + b1;
		a1 *= a1;
	}
	for (i = 0; i < blocks * THREADS; i++)
		expected[i] += i * a + b;
}

static CUresult launch_graph(unsigned blocks, void **params)
{
	CUgraphExec exec;
	CUgraph graph;
	CUresult result = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);

	if (!result)
		result = cuLaunchKernel(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes, stream,
					params, NULL);
	if (!result)
		result = cuStreamEndCapture(stream, &graph);
	if (!result)
		result = cuGraphInstantiateWithFlags(&exec, graph, 0);
	return result ? result : cuGraphLaunch(exec, stream);
}

static CUresult launch_with(const char *how, unsigned blocks, void **params, void **extra)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
	CUlaunchConfig config = {.grid = {blocks, 1, 1},
				 .block = {THREADS, 1, 1},
				 .sharedMemBytes = shared_bytes,
				 .hStream = stream,
				 .attrs = &attribute,
				 .numAttrs = 1};

	if (!strcmp(how, "extra"))
		return cuLaunchKernel(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes, stream, NULL,
				      extra);
	if (!strcmp(how, "thread"))
		return cuLaunchKernel_ptsz(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes, NULL,
					   params, NULL);
	if (!strcmp(how, "legacy"))
		return cuLaunchKernel(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes, NULL, params,
				      NULL);
	if (!strcmp(how, "cooperative"))
		return cuLaunchCooperativeKernel(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes,
						 stream, params);
	if (!strcmp(how, "graph"))
		return launch_graph(blocks, params);
	if (!strcmp(how, "cluster")) {
		attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		attribute.value.cooperative = 1;
	}
	if (!strcmp(how, "ex") || !strcmp(how, "cluster"))
		return cuLaunchKernelEx(&config, task, params, NULL);
	return cuLaunchKernel(task, blocks, 1, 1, THREADS, 1, 1, shared_bytes, stream, params,
			      NULL);
}

static CUresult launch(const char *how, unsigned blocks, unsigned rounds)
{
	struct {
		CUdeviceptr out, state;
		uint32_t rounds;
	} args = {out, state, rounds};
	void *params[] = {&args.out, &args.state, &args.rounds};
	size_t size = 20;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	CUresult result = launch_with(how, blocks, params, extra);

	/* What the launch was given is its own by now. */
	memset(&args, 0xa5, sizeof(args));
	if (!result)
		expect(blocks, rounds);
	return result;
}

/* Many launches, one behind the other; the first result that is not 0. */
static CUresult launch_many(unsigned n, unsigned blocks, unsigned rounds)
{
	CUresult result = CUDA_SUCCESS;

	while (n-- && !result)
		result = launch("params", blocks, rounds);
	return result;
}

/* One launch in each of so many streams; the first result that is not 0. */
static CUresult launch_in_streams(unsigned n, unsigned blocks, unsigned rounds)
{
	CUresult result = CUDA_SUCCESS;

	while (n-- && !result) {
		result = launch("params", blocks, rounds);
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	}
	return result;
}

static void answer_wait(void)
{
	static uint32_t seen[MAX_BLOCKS * THREADS];
	uint32_t states[2];
	unsigned wrong = 0, i;

	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(seen, out, sizeof(seen)));
	CHECK(cuMemcpyDtoH(states, state, sizeof(states)));
	CHECK(cuMemsetD32(state, 0, 2));
	for (i = 0; i < MAX_BLOCKS * THREADS; i++)
		wrong += seen[i] != expected[i];
	printf("wrong %u most %u\n", wrong + states[0], states[1]);
}

static void answer_count(void)
{
	CUfunction functions[16];
	const char *name;
	unsigned n, i, added = 0;

	CHECK(cuModuleGetFunctionCount(&n, module));
	memset(functions, 0, sizeof(functions));
	CHECK(cuModuleEnumerateFunctions(functions, 16, module));
	for (i = 0; i < 16 && functions[i]; i++)
		if (!cuFuncGetName(&name, functions[i]))
			added += strchr(name, '$') != NULL;
	printf("%u functions, %u listed, %u strange\n", n, i, added);
}

static void answer_global(void)
{
	CUdeviceptr at;
	uint32_t value;

	CHECK(cuModuleGetGlobal(&at, NULL, module, "launches"));
	CHECK(cuMemcpyDtoH(&value, at, sizeof(value)));
	printf("%u\n", value);
}

static int child(void)
{
	int n = 0;
	CUresult result = cuDeviceGetCount(&n);

	return result ? 7 : 5;
}

static void answer_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(child());
	(void)waitpid(pid, &status, 0);
	printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void answer_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	printf("%u\n", n > 2 ? n - 2 : 0);
}

static void unload(void)
{
	if (!strcmp(way, "library"))
		CHECK(cuLibraryUnload(library));
	else
		CHECK(cuModuleUnload(module));
}

static int say_share(const char *what, int method, const char *share)
{
	const char *given = strcmp(share, "-") ? share : NULL;

	if (!strcmp(what, "thread"))
		return cot_share_thread((enum cot_share_method)method, given);
	return cot_share_stream(strcmp(what, "legacy") ? stream : NULL,
				(enum cot_share_method)method, given);
}

static void obey(char *line)
{
	unsigned n, blocks, rounds;
	char how[32], share[32];
	int method;

	if (sscanf(line, "load %31s %255s", way, file) >= 1) {
		load();
		puts("loaded");
	} else if (sscanf(line, "launch %31s %u %u", how, &blocks, &rounds) == 3) {
		printf("%d\n", (int)launch(how, blocks, rounds));
	} else if (sscanf(line, "many %u %u %u", &n, &blocks, &rounds) == 3) {
		printf("%d\n", (int)launch_many(n, blocks, rounds));
	} else if (sscanf(line, "streams %u %u %u", &n, &blocks, &rounds) == 3) {
		printf("%d\n", (int)launch_in_streams(n, blocks, rounds));
	} else if (sscanf(line, "say %31s %d %31s", how, &method, share) == 3) {
		printf("%d\n", say_share(how, method, share));
	} else if (!strcmp(line, "new")) {
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		puts("made");
	} else if (!strcmp(line, "wait")) {
		answer_wait();
	} else if (!strcmp(line, "query")) {
		printf("%d\n", (int)cuStreamQuery(stream));
	} else if (!strcmp(line, "count")) {
		answer_count();
	} else if (!strcmp(line, "global")) {
		answer_global();
	} else if (sscanf(line, "shared %u", &shared_bytes) == 1) {
		CHECK(cuFuncSetAttribute(task, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					 MAX_SHARED));
		puts("set");
	} else if (!strcmp(line, "reload")) {
		unload();
		load_module();
		puts("loaded");
	} else if (!strcmp(line, "reset")) {
		CHECK(cuCtxDestroy(context));
		load();
		puts("loaded");
	} else if (!strcmp(line, "fork")) {
		answer_fork();
	} else if (!strcmp(line, "threads")) {
		answer_threads();
	} else {
		puts("what?");
	}
}

int tenant_main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "quit"))
			return 0;
		obey(line);
		fflush(stdout);
	}
	return 0;
}
