/* Green contexts of the emulated driver: what waits for what, and how long kernels take. */
#include "green.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "emu/driver/builtin.h"
#include "emu_dir.h"

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

/* A host function that lets `poll` end, behind all that the stream has. */
static void release(void *data)
{
	(void)data;
	green_release();
}

static CUstream make_stream(unsigned flags)
{
	CUstream s;

	OK(cuStreamCreate(&s, flags));
	return s;
}

static CUevent make_event(void)
{
	CUevent e;

	OK(cuEventCreate(&e, 0));
	return e;
}

static void the_primary_context_waits_for_its_parts(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1), other = green_make(green.units, 1, 1);
	CUstream s = green_stream(part), plain = make_stream(CU_STREAM_NON_BLOCKING);
	CUcontext was;
	CUdeviceptr d;

	(void)state;
	OK(green_launch_poll(s));
	/* The other part has nothing to wait for. */
	OK(cuCtxSynchronize_v2(green_ctx(other)));
	assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	OK(cuLaunchHostFunc(plain, release, NULL));
	OK(cuCtxSynchronize());
	OK(cuStreamQuery(s));
	/* So does freeing memory, whatever is current. */
	OK(cuMemAlloc(&d, 4));
	OK(cuMemsetD32(green.flag, 0, 1));
	OK(green_launch_poll(s));
	OK(cuLaunchHostFunc(plain, release, NULL));
	OK(cuCtxPushCurrent(green_ctx(other)));
	OK(cuMemFree(d));
	OK(cuStreamQuery(s));
	OK(cuCtxPopCurrent(&was));
	/* And a part for its own streams. */
	OK(cuMemsetD32(green.flag, 0, 1));
	OK(green_launch_poll(s));
	OK(cuLaunchHostFunc(plain, release, NULL));
	OK(cuCtxSynchronize_v2(green_ctx(part)));
	OK(cuStreamQuery(s));
	OK(cuGreenCtxDestroy(part));
	OK(cuGreenCtxDestroy(other));
}

/* The legacy stream and blocking streams wait for each other, but not for those of a part. */
static void the_legacy_stream_does_not_wait_for_parts(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	CUstream s = green_stream(part), blocking = make_stream(0), inside;
	CUcontext was;

	(void)state;
	OK(cuCtxPushCurrent(green_ctx(part)));
	inside = make_stream(0);
	OK(cuCtxPopCurrent(&was));
	OK(green_launch_poll(s));
	OK(green_launch_poll(inside));
	green_check(NULL, 0, N_SMS);
	green_check(blocking, 0, N_SMS);
	assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	/* The part has a default stream of its own, which waits for its blocking streams. */
	OK(cuCtxPushCurrent(green_ctx(part)));
	OK(green_launch_where(NULL));
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	green_release();
	OK(cuStreamSynchronize(NULL));
	OK(cuStreamQuery(inside));
	OK(cuCtxPopCurrent(&was));
	green_assert_on(0, 8);
	OK(cuGreenCtxDestroy(part));
}

static void events_order_parts(void **state)
{
	CUgreenCtx low = green_make(green.units, 0, 8), high = green_make(green.units, 8, 7);
	CUstream a = green_stream(low), b = green_stream(high);
	CUstream plain = make_stream(CU_STREAM_NON_BLOCKING);
	CUevent e = make_event(), f = make_event();
	unsigned i;

	(void)state;
	OK(green_launch_poll(a));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(green_launch_where(b));
	OK(cuEventRecord(f, b));
	assert_int_equal(cuEventQuery(f), CUDA_ERROR_NOT_READY);
	green_release();
	OK(cuEventSynchronize(f));
	green_assert_on(64, 56);
	/* Back and forth, as a program does whose part changes. */
	for (i = 0; i < 6; i++) {
		CUstream from = i % 2 ? a : plain, to = i % 2 ? plain : a;

		OK(green_launch_where(from));
		OK(cuEventRecord(e, from));
		OK(cuStreamWaitEvent(to, e, 0));
		OK(green_launch_where(to));
		OK(cuStreamSynchronize(to));
		green_assert_on(0, i % 2 ? N_SMS : 64);
	}
	OK(cuEventDestroy(e));
	OK(cuEventDestroy(f));
	OK(cuGreenCtxDestroy(low));
	OK(cuGreenCtxDestroy(high));
}

static void an_event_stands_for_all_streams_of_a_part(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 2), other = green_make(green.units, 2, 2);
	CUstream a = green_stream(part), b = green_stream(part), c = green_stream(other), late;
	CUevent e = make_event();
	CUdeviceptr mine; /* of the stream `late` alone: nothing orders it after `c` */

	(void)state;
	OK(cuMemAlloc(&mine, GREEN_BLOCKS * 4));
	OK(cuGreenCtxRecordEvent(part, e));
	OK(cuEventSynchronize(e));
	OK(green_launch_where(a));
	OK(green_launch_poll(b));
	OK(cuGreenCtxRecordEvent(part, e));
	OK(cuStreamSynchronize(a));
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	OK(cuGreenCtxWaitEvent(other, e));
	late = green_stream(other);
	/* What would be done at once. */
	OK(cuMemsetD32Async(green.words, 1, GREEN_BLOCKS, c));
	OK(cuMemsetD32Async(mine, 1, GREEN_BLOCKS, late));
	OK(green_launch_where(c));
	assert_int_equal(cuStreamQuery(c), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(late), CUDA_ERROR_NOT_READY);
	green_release();
	OK(cuStreamSynchronize(c));
	OK(cuEventQuery(e));
	OK(cuStreamSynchronize(late));
	OK(cuMemFree(mine));
	assert_int_equal(cuGreenCtxRecordEvent(part, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuGreenCtxWaitEvent(NULL, e), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuGreenCtxDestroy(part));
	OK(cuGreenCtxDestroy(other));
	OK(cuEventDestroy(e));
}

/* The legacy stream waits for blocking streams, so it cannot be used while one captures: that of
 * the same place. */
static void captures_bar_the_default_stream_of_their_place(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	CUstream outside = make_stream(0), inside;
	CUgraph graph;
	CUcontext was;

	(void)state;
	OK(cuCtxPushCurrent(green_ctx(part)));
	inside = make_stream(0);
	OK(cuStreamBeginCapture(outside, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(green_launch_where(NULL));
	OK(cuStreamEndCapture(outside, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamBeginCapture(inside, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	assert_int_equal(green_launch_where(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_int_equal(cuStreamEndCapture(inside, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuCtxPopCurrent(&was));
	OK(cuCtxSynchronize());
	green_assert_on(0, 8);
	OK(cuGreenCtxDestroy(part));
}

static void captured_streams_spoil_events_of_all(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	CUstream s = green_stream(part), plain = make_stream(CU_STREAM_NON_BLOCKING);
	CUevent e = make_event();
	CUgraph graph;

	(void)state;
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_int_equal(cuGreenCtxRecordEvent(part, e), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	/* A capture that has come to a part ends with it. */
	OK(cuStreamBeginCapture(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, plain));
	OK(cuStreamWaitEvent(s, e, 0));
	OK(cuGreenCtxDestroy(part));
	assert_int_equal(cuStreamEndCapture(plain, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED),
			 CUDA_ERROR_STREAM_DETACHED);
	OK(cuStreamDestroy(s));
	OK(cuEventDestroy(e));
}

/* ---- time: built-in kernels, in a context of their own, last as long as they are told ---- */

#define BLOCK_MS 10u
#define GATE_MS	 400u /* so long has the program to queue the kernels that are to begin together */

/* A kernel that fills so many SMs. */
static void spin(CUfunction f, CUstream s, unsigned n_sms, unsigned ms)
{
	uint64_t block_ns = ms * 1000000ull, counter = 0;
	void *params[] = {&block_ns, &counter};

	OK(cuLaunchKernel(f, n_sms * 2, 1, 1, 1024, 1, 1, 0, s, params, NULL));
}

/* Two kernels begin together, on the units 0 to 3 and on four from `second` on. */
static void assert_beside(CUfunction f, unsigned second, float expected_ms)
{
	CUgreenCtx parts[] = {green_make(green.units, 0, 4), green_make(green.units, second, 4),
			      green_make(green.units, 14, 1)};
	CUstream gate = green_stream(parts[2]), s;
	CUevent open = make_event(), ends[2];
	unsigned i;
	float ms;

	spin(f, gate, 8, GATE_MS);
	OK(cuEventRecord(open, gate));
	for (i = 0; i < 2; i++) {
		s = green_stream(parts[i]);
		ends[i] = make_event();
		OK(cuStreamWaitEvent(s, open, 0));
		spin(f, s, 32, BLOCK_MS);
		OK(cuEventRecord(ends[i], s));
	}
	for (i = 0; i < 2; i++) {
		OK(cuEventSynchronize(ends[i]));
		OK(cuEventElapsedTime(&ms, open, ends[i]));
		assert_true(ms > expected_ms - 0.01f && ms < expected_ms + 0.01f);
		OK(cuEventDestroy(ends[i]));
	}
	OK(cuEventDestroy(open));
	for (i = 0; i < 3; i++)
		OK(cuGreenCtxDestroy(parts[i]));
}

/* A context that has built-in kernels and nothing else yet. */
static CUfunction only_spin(void)
{
	CUmodule m;
	CUfunction f;

	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuDevicePrimaryCtxRetain(&green.primary, 0));
	OK(cuCtxSetCurrent(green.primary));
	OK(cuModuleLoadData(&m, COT_EMU_BUILTIN_IMAGE));
	OK(cuModuleGetFunction(&f, m, "spin"));
	return f;
}

static void parts_slow_each_other_where_they_overlap(void **state)
{
	CUfunction f = only_spin();

	(void)state;
	assert_beside(f, 4, 10);
	assert_beside(f, 0, 20);
	/* Half of the SMs do half as much. */
	assert_beside(f, 2, 40.0f / 3);
}

/* Of the context and of its parts; a stream that is made later waits, too. */
static void an_event_stands_for_all_streams_of_a_context(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 2);
	CUstream in_part = green_stream(part), plain, late;
	CUevent e = make_event(), all = make_event();
	CUdeviceptr mine;

	(void)state;
	OK(cuMemAlloc(&mine, GREEN_BLOCKS * 4));
	OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	OK(green_launch_poll(in_part));
	OK(cuCtxRecordEvent(green.primary, e));
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	OK(cuCtxWaitEvent(green.primary, e));
	OK(cuStreamCreate(&late, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32Async(green.words, 1, GREEN_BLOCKS, plain));
	OK(cuMemsetD32Async(mine, 1, GREEN_BLOCKS, late));
	assert_int_equal(cuStreamQuery(plain), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(late), CUDA_ERROR_NOT_READY);
	OK(cuCtxRecordEvent(NULL, all));
	green_release();
	OK(cuEventSynchronize(all));
	OK(cuStreamQuery(plain));
	OK(cuStreamQuery(late));
	OK(cuEventQuery(e));
	assert_int_equal(cuCtxRecordEvent(green.primary, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuCtxWaitEvent(green.primary, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemFree(mine));
	OK(cuStreamDestroy(plain));
	OK(cuStreamDestroy(late));
	OK(cuGreenCtxDestroy(part));
	OK(cuEventDestroy(e));
	OK(cuEventDestroy(all));
}

static void events_of_all_streams_order_built_in_kernels(void **state)
{
	CUfunction f = only_spin();
	CUgreenCtx low = green_make(green.units, 0, 1), high = green_make(green.units, 1, 1);
	CUstream a = green_stream(low), b = green_stream(high);
	CUevent all = make_event(), end_a = make_event(), end_b = make_event();
	float ms;

	(void)state;
	spin(f, a, 8, 50);
	OK(cuEventRecord(end_a, a));
	OK(cuGreenCtxRecordEvent(low, all));
	OK(cuGreenCtxWaitEvent(high, all));
	spin(f, b, 8, BLOCK_MS);
	OK(cuEventRecord(end_b, b));
	OK(cuEventSynchronize(end_b));
	OK(cuEventElapsedTime(&ms, end_a, end_b));
	assert_true(ms >= BLOCK_MS - 0.01f);
	OK(cuEventDestroy(all));
	OK(cuEventDestroy(end_a));
	OK(cuEventDestroy(end_b));
	OK(cuGreenCtxDestroy(low));
	OK(cuGreenCtxDestroy(high));
}

/* ---- launches that do not fit ---- */

static CUresult launch_clusters(CUstream s, unsigned n)
{
	CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	CUlaunchConfig config = {.grid = {GREEN_BLOCKS / 16 * 16, 1, 1},
				 .block = {32, 1, 1},
				 .hStream = s,
				 .attrs = &a,
				 .numAttrs = 1};
	void *params[] = {&green.words};

	a.value.clusterDim.x = n;
	a.value.clusterDim.y = a.value.clusterDim.z = 1;
	return cuLaunchKernelEx(&config, green.where, params, NULL);
}

/* One group of so many SMs. */
static CUgreenCtx make_group(unsigned n_sms, unsigned flags)
{
	CUdevResource all, group;
	unsigned n = 1;

	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	OK(cuDevSmResourceSplitByCount(&group, &n, &all, NULL, flags, n_sms));
	return green_make(&group, 0, 1);
}

static void large_clusters_need_a_group_for_them(void **state)
{
	CUdevResource units[N_UNITS];
	CUgreenCtx parts[4];
	CUstream wide, plain, together, fine;
	unsigned i;

	(void)state;
	green_units(units, NULL, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE);
	parts[0] = make_group(64, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE);
	parts[1] = make_group(64, 0);
	parts[2] = green_make(units, 0, 8);
	parts[3] = make_group(4, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
	wide = green_stream(parts[0]);
	plain = green_stream(parts[1]);
	together = green_stream(parts[2]);
	fine = green_stream(parts[3]);
	/* More than eight only where the program asks for it. */
	assert_int_equal(launch_clusters(wide, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	OK(cuFuncSetAttribute(green.where, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	OK(launch_clusters(NULL, 16));
	OK(launch_clusters(wide, 16));
	assert_int_equal(launch_clusters(plain, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	assert_int_equal(launch_clusters(together, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	OK(launch_clusters(plain, 8));
	OK(launch_clusters(together, 8));
	assert_int_equal(launch_clusters(fine, 8), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	OK(launch_clusters(fine, 2));
	assert_int_equal(launch_clusters(NULL, 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	assert_int_equal(launch_clusters(NULL, 7), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	OK(cuCtxSynchronize());
	for (i = 0; i < 4; i++)
		OK(cuGreenCtxDestroy(parts[i]));
}

static void cooperative_launches_have_to_fit_the_part(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	CUstream s = green_stream(part);
	void *params[] = {&green.flag};
	int per_sm;

	(void)state;
	green_release();
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, green.poll, 1024, 0));
	OK(cuLaunchCooperativeKernel(green.poll, 8 * (unsigned)per_sm, 1, 1, 1024, 1, 1, 0, s,
				     params));
	assert_int_equal(cuLaunchCooperativeKernel(green.poll, 8 * (unsigned)per_sm + 1, 1, 1, 1024,
						   1, 1, 0, s, params),
			 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(cuLaunchCooperativeKernel(green.poll, 8 * (unsigned)per_sm + 1, 1, 1, 1024, 1, 1, 0,
				     NULL, params));
	OK(cuCtxSynchronize());
	OK(cuGreenCtxDestroy(part));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, green_setup, green_teardown)

struct making {
	CUcontext context;
	CUgreenCtx part;
	_Atomic bool made;
};

static void *make_part(void *arg)
{
	struct making *m = arg;

	OK(cuCtxSetCurrent(m->context));
	m->part = green_make(green.units, 0, 1);
	atomic_store(&m->made, true);
	return NULL;
}

static void note(void *data)
{
	atomic_store((_Atomic bool *)data, true);
}

/* A part is made when what was submitted is done; what is submitted meanwhile begins after that. */
static void a_new_part_waits(void **state)
{
	CUstream s = make_stream(CU_STREAM_NON_BLOCKING),
		 other = make_stream(CU_STREAM_NON_BLOCKING);
	struct making m = {NULL, NULL, false};
	_Atomic bool later = true;
	pthread_t thread;
	unsigned tries;

	(void)state;
	OK(cuCtxGetCurrent(&m.context));
	OK(green_launch_poll(s));
	assert_int_equal(pthread_create(&thread, NULL, make_part, &m), 0);
	for (tries = 0; tries < 2000 && atomic_load(&later); tries++) { /* until it has begun */
		atomic_store(&later, false);
		OK(cuLaunchHostFunc(other, note, &later));
		usleep(10000);
	}
	assert_false(atomic_load(&later));
	assert_false(atomic_load(&m.made));
	green_release();
	pthread_join(thread, NULL);
	OK(cuStreamSynchronize(other));
	assert_true(atomic_load(&later));
	assert_non_null(m.part);
	OK(cuGreenCtxDestroy(m.part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_new_part_waits),
		CASE(the_primary_context_waits_for_its_parts),
		CASE(the_legacy_stream_does_not_wait_for_parts),
		CASE(events_order_parts),
		CASE(an_event_stands_for_all_streams_of_a_part),
		CASE(an_event_stands_for_all_streams_of_a_context),
		CASE(captures_bar_the_default_stream_of_their_place),
		CASE(captured_streams_spoil_events_of_all),
		CASE(parts_slow_each_other_where_they_overlap),
		CASE(events_of_all_streams_order_built_in_kernels),
		CASE(large_clusters_need_a_group_for_them),
		CASE(cooperative_launches_have_to_fit_the_part),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
