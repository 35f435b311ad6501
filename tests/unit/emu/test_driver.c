/* The entry points of the emulated driver: order within and between streams, time, faults. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "base/compiler.h"
#include "cuda/abi/cuda.h"
#include "emu/driver/builtin.h"
#include "emu/driver/export.h"
#include "emu_dir.h"
#include "test.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

#define MAX_EVENTS 16

static CUcontext ctx;
static CUevent events[MAX_EVENTS];
static unsigned n_events;
static CUfunction spin, mix, trap;

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

static int setup(void **state)
{
	CUmodule module;

	(void)state;
	return cuCtxCreate(&ctx, 0, 0) || cuModuleLoadData(&module, COT_EMU_BUILTIN_IMAGE) ||
	       cuModuleGetFunction(&spin, module, "spin") ||
	       cuModuleGetFunction(&mix, module, "mix") ||
	       cuModuleGetFunction(&trap, module, "trap");
}

static int teardown(void **state)
{
	(void)state;
	while (n_events)
		cuEventDestroy(events[--n_events]);
	return (int)cuCtxDestroy(ctx);
}

static CUresult launch_spin(CUstream stream, unsigned blocks, uint64_t block_ns, uint64_t counter)
{
	void *params[] = {&block_ns, &counter};

	return cuLaunchKernel(spin, blocks, 1, 1, 256, 1, 1, 0, stream, params, NULL);
}

static CUstream make_stream(void)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static CUevent make_event(void)
{
	CUevent event;

	OK(cuEventCreate(&event, 0));
	assert_in_range(n_events, 0, MAX_EVENTS - 1);
	events[n_events++] = event;
	return event;
}

static void operations_of_a_stream_happen_in_order(void **state)
{
	uint64_t counter = 77, host = 5;
	CUstream s = make_stream();
	CUdeviceptr d;

	(void)state;
	OK(cuMemAlloc(&d, sizeof(counter)));
	OK(cuMemcpyHtoDAsync(d, &host, sizeof(host), s));
	host = 1000; /* the copy has been taken */
	OK(launch_spin(s, 4, 50000000, d));
	OK(cuMemcpyDtoHAsync(&counter, d, sizeof(counter), s));
	OK(cuMemsetD8Async(d, 0, sizeof(counter), s));
	assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	assert_int_equal(counter, 77);
	OK(cuStreamSynchronize(s));
	assert_int_equal(counter, 9);
	OK(cuMemcpyDtoH(&counter, d, sizeof(counter)));
	assert_int_equal(counter, 0);
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
}

static float elapsed_ms(CUevent from, CUevent to)
{
	float ms = -1;

	OK(cuEventElapsedTime(&ms, from, to));
	return ms;
}

static void events_tell_gpu_time(void **state)
{
	CUevent from = make_event(), to = make_event();
	CUstream s = make_stream();
	float ms;

	(void)state;
	/* 132 SMs hold 1056 blocks of 256 threads: two waves. */
	OK(launch_spin(s, 1, 1000, 0));
	OK(cuEventRecord(from, s));
	OK(launch_spin(s, 1057, 1000000, 0));
	OK(cuEventRecord(to, s));
	assert_int_equal(cuEventQuery(to), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuEventElapsedTime(&ms, from, to), CUDA_ERROR_NOT_READY);
	OK(cuEventSynchronize(to));
	ms = elapsed_ms(from, to);
	/* The CPU may have been away between two of these calls, but not from the GPU. */
	assert_true(ms >= 2.0f && ms < 500.0f);
	OK(cuStreamDestroy(s));
}

static void streams_run_side_by_side(void **state)
{
	CUstream a = make_stream(), b = make_stream();
	CUevent ea = make_event(), eb = make_event(), begin = make_event();

	(void)state;
	OK(cuEventRecord(begin, a));
	OK(launch_spin(a, 8, 50000000, 0));
	OK(launch_spin(b, 8, 1000000, 0));
	OK(cuEventRecord(ea, a));
	OK(cuEventRecord(eb, b));
	OK(cuStreamSynchronize(b));
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	OK(cuCtxSynchronize());
	assert_true(elapsed_ms(begin, ea) >= 50.0f);
	assert_true(elapsed_ms(eb, ea) > 0);
}

static void a_stream_waits_for_an_event_of_another(void **state)
{
	CUstream a = make_stream(), b = make_stream(), c = make_stream();
	CUevent ea = make_event(), eb = make_event(), ec = make_event();
	uint64_t value = 0;
	CUdeviceptr d;

	(void)state;
	OK(cuMemAlloc(&d, sizeof(value)));
	OK(cuMemsetD8(d, 0, sizeof(value)));
	OK(launch_spin(a, 2, 20000000, d));
	OK(cuEventRecord(ea, a));
	OK(launch_spin(c, 2, 1000000, 0));
	OK(cuEventRecord(ec, c));
	/* Two events: one by the GPU, one by waiting here. */
	OK(cuStreamWaitEvent(b, ea, 0));
	OK(cuStreamWaitEvent(b, ec, 0));
	OK(launch_spin(b, 3, 1000000, 0));
	OK(cuEventRecord(eb, b));
	OK(cuMemcpyDtoHAsync(&value, d, sizeof(value), b));
	OK(cuStreamSynchronize(b));
	assert_int_equal(value, 2);
	assert_true(elapsed_ms(ea, eb) >= 1.0f);
	OK(cuMemFree(d));
}

static void more_than_fits_into_a_queue(void **state)
{
	CUstream s = make_stream();
	uint64_t counter = 0;
	CUdeviceptr d;
	unsigned i;

	(void)state;
	OK(cuMemAlloc(&d, sizeof(counter)));
	OK(cuMemsetD8(d, 0, sizeof(counter)));
	for (i = 0; i < 1000; i++)
		OK(launch_spin(s, 1, 10000, d));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&counter, d, sizeof(counter)));
	assert_int_equal(counter, 1000);
	OK(cuMemFree(d));
}

static void *work_of_one_thread(void *arg)
{
	uint64_t counter = 0;
	CUdeviceptr d;
	CUstream s;
	int i, bad = 0;

	bad |= cuCtxSetCurrent(arg) || cuStreamCreate(&s, 0) || cuMemAlloc(&d, sizeof(counter)) ||
	       cuMemsetD8Async(d, 0, sizeof(counter), s);
	for (i = 0; i < 50 && !bad; i++)
		bad |= launch_spin(s, 2, 100000, d) || cuStreamSynchronize(s);
	bad |= cuMemcpyDtoHAsync(&counter, d, sizeof(counter), s) || cuStreamSynchronize(s) ||
	       counter != 100 || cuStreamDestroy(s);
	return (void *)(uintptr_t)bad;
}

static void threads_share_a_context(void **state)
{
	pthread_t threads[6];
	void *bad;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work_of_one_thread, ctx), 0);
	for (i = 0; i < COT_ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
}

static void a_trap_ends_its_context_only(void **state)
{
	uint64_t block_ns = 1000;
	void *params[] = {&block_ns};
	CUcontext other;

	(void)state;
	OK(cuLaunchKernel(trap, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(launch_spin(NULL, 1, 1000, 0), CUDA_ERROR_LAUNCH_FAILED);
	OK(cuCtxCreate(&other, 0, 0));
	OK(launch_spin(NULL, 1, 1000, 0));
	OK(cuCtxSynchronize());
	OK(cuCtxDestroy(other));
}

static void destroying_a_context_takes_its_work_along(void **state)
{
	CUcontext other;

	(void)state;
	OK(cuCtxCreate(&other, 0, 0));
	OK(launch_spin(NULL, 1056, 1000000000000ull, 0));
	OK(cuCtxDestroy(other));
	OK(launch_spin(NULL, 1056, 1000000, 0));
	OK(cuCtxSynchronize());
}

static void kernels_compute(void **state)
{
	uint32_t words[4], n = 4, rounds = 2;
	uint64_t block_ns = 1000, address;
	struct {
		uint64_t block_ns, address;
		uint32_t n, rounds;
	} packed;
	size_t size = sizeof(packed);
	void *params[] = {&block_ns, &address, &n, &rounds};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};
	uint32_t again[4];
	CUdeviceptr d;

	(void)state;
	OK(cuMemAlloc(&d, sizeof(words)));
	address = d;
	packed.block_ns = block_ns;
	packed.address = d;
	packed.n = n;
	packed.rounds = rounds;
	OK(cuMemsetD32(d, 7, 4));
	OK(cuLaunchKernel(mix, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(words, d, sizeof(words)));
	OK(cuMemsetD32(d, 7, 4));
	OK(cuLaunchKernel(mix, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH(again, d, sizeof(again)));
	assert_memory_equal(words, again, sizeof(words));
	assert_int_not_equal(words[0], 7);
	assert_int_not_equal(words[0], words[1]);
	OK(cuMemFree(d));
}

static void wrong_calls_are_refused(void **state)
{
	CUmodule module;
	CUfunction f;
	CUdeviceptr d;
	CUdevice dev;
	void *entry;
	int status = -1;

	(void)state;
	assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGet(&dev, 7), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuModuleLoadData(&module, ".version 8.0"), CUDA_ERROR_INVALID_PTX);
	assert_int_equal(cuModuleLoadData(&module, "\177ELF machine code"),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	OK(cuModuleLoadData(&module, COT_EMU_BUILTIN_IMAGE));
	assert_int_equal(cuModuleGetFunction(&f, module, "nothing"), CUDA_ERROR_NOT_FOUND);
	OK(cuModuleUnload(module));
	assert_int_equal(cuMemAlloc(&d, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAlloc(&d, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(launch_spin(NULL, 0, 1000, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(spin, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress_v2("cuNothing", &entry, 13000, 0, &status),
			 CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, 1);
	assert_int_equal(cuGetProcAddress_v2("cuCtxCreate", &entry, 2000, 0, &status),
			 CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, 2);
	OK(cuGetProcAddress_v2("cuGetProcAddress", &entry, 11030, 0, &status));
	assert_true(entry == (void *)(uintptr_t)cuGetProcAddress);
	OK(cuGetProcAddress_v2("cuGetProcAddress", &entry, 12000, 0, &status));
	assert_true(entry == (void *)(uintptr_t)cuGetProcAddress_v2);
}

static void a_forked_child_is_not_initialised(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
				      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_shared_context_has_tokens(void **state)
{
	static const CUuuid id = COT_EMU_EXPORT_MPS_ID;
	const struct cot_emu_export_mps *mps;
	struct cot_emu_context *shared;
	uint32_t tokens[96];
	const void *table;

	(void)state;
	OK(cuGetExportTable(&table, &id));
	mps = table;
	OK(mps->create(0, COT_ARRAY_LEN(tokens), tokens, &shared));
	assert_int_not_equal(tokens[0], tokens[95]);
	assert_false(mps->faulted(shared));
	mps->destroy(shared);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(operations_of_a_stream_happen_in_order),
		CASE(events_tell_gpu_time),
		CASE(streams_run_side_by_side),
		CASE(a_stream_waits_for_an_event_of_another),
		CASE(more_than_fits_into_a_queue),
		CASE(threads_share_a_context),
		CASE(a_trap_ends_its_context_only),
		CASE(destroying_a_context_takes_its_work_along),
		CASE(kernels_compute),
		CASE(wrong_calls_are_refused),
		CASE(a_forked_child_is_not_initialised),
		CASE(a_shared_context_has_tokens),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
