/* Green contexts of the emulated driver: splits, parts, streams whose kernels run there, errors. */
#include "green.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "emu/driver/builtin.h"
#include "emu_dir.h"

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

/* ---- resources ---- */

static void a_device_has_sms_to_divide(void **state)
{
	CUdevResource all;
	int n;

	(void)state;
	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(all.type, CU_DEV_RESOURCE_TYPE_SM);
	OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_int_equal(all.sm.smCount, n);
	assert_int_equal(all.sm.smCount, N_SMS);
	assert_int_equal(all.sm.minSmPartitionSize, UNIT);
	assert_int_equal(all.sm.smCoscheduledAlignment, UNIT);
	OK(cuCtxGetDevResource(green.primary, &all, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(all.sm.smCount, N_SMS);
	assert_int_equal(cuDeviceGetDevResource(0, &all, (CUdevResourceType)1000),
			 CUDA_ERROR_INVALID_RESOURCE_TYPE);
	assert_int_equal(cuDeviceGetDevResource(1, &all, CU_DEV_RESOURCE_TYPE_SM),
			 CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCtxGetDevResource(green.primary, &all, (CUdevResourceType)0),
			 CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

static void splits_are_in_eights(void **state)
{
	static const struct {
		unsigned flags, least, asked, n, each, rest;
	} cases[] = {
		{0, 8, 16, 15, 8, 12},	{0, 0, 1, 1, 8, 124},	{0, 1, 1, 1, 8, 124},
		{0, 64, 1, 1, 64, 68},	{0, 60, 1, 1, 64, 68},	{0, 112, 1, 1, 112, 20},
		{0, 11, 6, 6, 16, 36},	{1, 11, 6, 6, 12, 60},	{1, 2, 66, 66, 2, 0},
		{2, 64, 1, 1, 64, 68},	{0, 64, 9, 2, 64, 4},	{1, 132, 1, 1, 132, 0},
		{2, 8, 100, 15, 8, 12}, {2, 16, 100, 8, 16, 4}, {0, 128, 1, 1, 128, 4},
	};
	CUdevResource all, parts[100], left;
	unsigned n, i, k;

	(void)state;
	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		n = cases[i].asked;
		OK(cuDevSmResourceSplitByCount(parts, &n, &all, &left, cases[i].flags,
					       cases[i].least));
		assert_int_equal(n, cases[i].n);
		for (k = 0; k < n; k++)
			assert_int_equal(parts[k].sm.smCount, cases[i].each);
		assert_int_equal(left.sm.smCount, cases[i].rest);
		/* The number alone. */
		OK(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, cases[i].flags,
					       cases[i].least));
		assert_int_equal(n, cases[i].each == UNIT ? N_UNITS : N_SMS / cases[i].each);
	}
}

static void groups_say_how_they_can_be_split(void **state)
{
	CUdevResource all, pair, left;
	unsigned n = 1;

	(void)state;
	assert_int_equal(green.units[0].sm.minSmPartitionSize, UNIT);
	assert_int_equal(green.units[0].sm.smCoscheduledAlignment, UNIT);
	/* What is left over is not a multiple of eight. */
	assert_int_equal(green.rest.sm.smCoscheduledAlignment, 1);
	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	OK(cuDevSmResourceSplitByCount(&pair, &n, &all, &left,
				       CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 2));
	assert_int_equal(pair.sm.minSmPartitionSize, 2);
	assert_int_equal(left.sm.smCoscheduledAlignment, 2);
	n = 2;
	/* All SMs: nothing is left. */
	OK(cuDevSmResourceSplitByCount(&pair, &n, &all, &left,
				       CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, N_SMS));
	assert_int_equal(n, 1);
	assert_int_equal(left.type, 0);
	assert_int_equal(left.sm.smCount, 0);
}

static void wrong_splits_are_refused(void **state)
{
	CUdevResource all, part, other;
	unsigned n = 1;

	(void)state;
	OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, N_SMS + 1),
			 CUDA_ERROR_INVALID_VALUE);
	/* No multiple of eight is as many, and fits. */
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, N_SMS),
			 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 4, 8),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDevSmResourceSplitByCount(&part, NULL, &all, NULL, 0, 8),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, NULL, NULL, 0, 8),
			 CUDA_ERROR_INVALID_VALUE);
	n = 0;
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 8),
			 CUDA_ERROR_INVALID_VALUE);
	n = 1;
	/* A part has to become a green context first. */
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &green.units[0], NULL, 0, 8),
			 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
	other = all;
	other.type = (CUdevResourceType)7;
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &other, NULL, 0, 8),
			 CUDA_ERROR_INVALID_RESOURCE_TYPE);
	memset(&other, 0, sizeof(other));
	other.type = CU_DEV_RESOURCE_TYPE_SM;
	assert_int_equal(cuDevSmResourceSplitByCount(&part, &n, &other, NULL, 0, 8),
			 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

static void descriptions_are_of_one_split(void **state)
{
	CUdevResource again[N_UNITS], pair[2];
	CUdevResourceDesc a, b;
	CUgreenCtx part;

	(void)state;
	OK(cuDevResourceGenerateDesc(&a, green.units, 3));
	OK(cuDevResourceGenerateDesc(&b, green.units, 3));
	OK(cuGreenCtxCreate(&part, a, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	OK(cuGreenCtxDestroy(part));
	/* Nothing, one SM twice, and parts of two splits. */
	assert_int_equal(cuDevResourceGenerateDesc(&a, green.units, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDevResourceGenerateDesc(NULL, green.units, 1), CUDA_ERROR_INVALID_VALUE);
	pair[0] = pair[1] = green.units[4];
	assert_int_equal(cuDevResourceGenerateDesc(&a, pair, 2),
			 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
	green_units(again, NULL, 0);
	pair[1] = again[5];
	assert_int_equal(cuDevResourceGenerateDesc(&a, pair, 2),
			 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
	pair[1] = green.units[5];
	pair[1].type = (CUdevResourceType)0;
	assert_int_equal(cuDevResourceGenerateDesc(&a, pair, 2), CUDA_ERROR_INVALID_RESOURCE_TYPE);
	assert_int_equal(cuGreenCtxCreate(&part, (CUdevResourceDesc)(void *)&a, 0,
					  CU_GREEN_CTX_DEFAULT_STREAM),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGreenCtxCreate(&part, b, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGreenCtxCreate(&part, b, 7, CU_GREEN_CTX_DEFAULT_STREAM),
			 CUDA_ERROR_INVALID_DEVICE);
}

/* ---- where kernels run ---- */

static void kernels_run_on_their_part(void **state)
{
	CUgreenCtx low = green_make(green.units, 0, 2), high = green_make(green.units, 5, 3);
	CUgreenCtx left = green_make(&green.rest, 0, 1);
	CUstream plain;

	(void)state;
	OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	green_check(green_stream(low), 0, 16);
	green_check(green_stream(high), 40, 24);
	green_check(green_stream(left), 120, 12);
	green_check(plain, 0, N_SMS);
	OK(cuGreenCtxDestroy(low));
	OK(cuGreenCtxDestroy(high));
	OK(cuGreenCtxDestroy(left));
	green_check(plain, 0, N_SMS);
}

static void a_part_may_have_gaps(void **state)
{
	CUdevResource ends[] = {green.units[1], green.units[14], green.rest}, got;
	CUgreenCtx part = green_make(ends, 0, 3);
	struct green_seen seen;
	CUstream s = green_stream(part);

	(void)state;
	OK(cuGreenCtxGetDevResource(part, &got, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(got.sm.smCount, 28);
	OK(green_launch_where(s));
	OK(cuStreamSynchronize(s));
	seen = green_look();
	assert_in_range(seen.least, 8, 15);
	assert_in_range(seen.most, 120, 131);
	assert_in_range(seen.n, 15, 28);
	OK(cuGreenCtxDestroy(part));
}

static void a_part_can_be_split_again(void **state)
{
	CUgreenCtx part = green_make(green.units, 2, 4), inner;
	CUdevResource got, halves[2];
	unsigned n = 2;

	(void)state;
	OK(cuGreenCtxGetDevResource(part, &got, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(got.sm.smCount, 32);
	OK(cuDevSmResourceSplitByCount(halves, &n, &got, NULL, 0, 16));
	inner = green_make(halves, 1, 1);
	green_check(green_stream(inner), 32, 16);
	OK(cuCtxGetDevResource(green_ctx(inner), &got, CU_DEV_RESOURCE_TYPE_SM));
	assert_int_equal(got.sm.smCount, 16);
	OK(cuGreenCtxDestroy(inner));
	OK(cuGreenCtxDestroy(part));
}

static void a_part_can_be_current(void **state)
{
	CUgreenCtx part = green_make(green.units, 3, 2), found;
	CUcontext ctx = green_ctx(part), now;
	unsigned long long id, same, other;
	CUdevice device = 7;
	CUstream s;

	(void)state;
	assert_ptr_equal(green_ctx(part), ctx);
	assert_ptr_not_equal(ctx, green.primary);
	OK(cuCtxPushCurrent(ctx));
	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, ctx);
	OK(cuCtxGetDevice(&device));
	assert_int_equal(device, 0);
	OK(cuGreenCtxGetId(part, &id));
	OK(cuGreenCtxGetId(NULL, &same));
	OK(cuCtxGetId(ctx, &other));
	assert_int_equal(id, same);
	assert_int_equal(id, other);
	/* The default stream, and a stream that is made now, are the green context's. */
	green_check(NULL, 24, 16);
	green_check(CU_STREAM_PER_THREAD, 24, 16);
	OK(cuStreamCreate(&s, 0));
	green_check(s, 24, 16);
	OK(cuStreamGetGreenCtx(s, &found));
	assert_ptr_equal(found, part);
	OK(cuStreamGetGreenCtx(NULL, &found));
	assert_ptr_equal(found, part);
	assert_int_equal(cuCtxDestroy(ctx), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxPopCurrent(&now));
	assert_ptr_equal(now, ctx);
	green_check(NULL, 0, N_SMS);
	OK(cuStreamGetGreenCtx(NULL, &found));
	assert_null(found);
	assert_int_equal(cuGreenCtxGetId(NULL, &id), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuStreamDestroy(s));
	OK(cuGreenCtxDestroy(part));
}

/* ---- streams ---- */

static void streams_know_their_part(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1), found;
	CUstream s, plain;
	CUcontext ctx;
	unsigned flags;
	int priority;

	(void)state;
	assert_int_equal(cuGreenCtxStreamCreate(&s, part, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGreenCtxStreamCreate(NULL, part, CU_STREAM_NON_BLOCKING, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(
		cuGreenCtxStreamCreate(&s, (CUgreenCtx)(void *)&s, CU_STREAM_NON_BLOCKING, 0),
		CUDA_ERROR_INVALID_CONTEXT);
	OK(cuGreenCtxStreamCreate(&s, part, CU_STREAM_NON_BLOCKING, -3));
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, -3);
	OK(cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetCtx(s, &ctx));
	assert_ptr_equal(ctx, green_ctx(part));
	OK(cuStreamGetCtx_v2(s, &ctx, &found));
	assert_ptr_equal(ctx, green.primary);
	assert_ptr_equal(found, part);
	OK(cuStreamCreate(&plain, 0));
	OK(cuStreamGetCtx_v2(plain, &ctx, &found));
	assert_ptr_equal(ctx, green.primary);
	assert_null(found);
	OK(cuStreamDestroy(plain));
	OK(cuStreamDestroy(s));
	OK(cuGreenCtxDestroy(part));
}

static void streams_of_a_destroyed_part_are_detached(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1), found;
	CUstream s = green_stream(part);
	CUcontext ctx = green_ctx(part), now;
	unsigned flags;

	(void)state;
	OK(green_launch_where(s));
	OK(cuCtxPushCurrent(ctx));
	OK(cuGreenCtxDestroy(part));
	/* It is current no longer. */
	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, green.primary);
	assert_int_equal(cuGreenCtxDestroy(part), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuGreenCtxStreamCreate(&s, part, CU_STREAM_NON_BLOCKING, 0),
			 CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(green_launch_where(s), CUDA_ERROR_STREAM_DETACHED);
	assert_int_equal(cuStreamGetFlags(s, &flags), CUDA_ERROR_STREAM_DETACHED);
	assert_int_equal(cuStreamGetGreenCtx(s, &found), CUDA_ERROR_STREAM_DETACHED);
	assert_int_equal(cuCtxGetDevice_v2(NULL, ctx), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuStreamDestroy(s));
	OK(cuCtxSynchronize());
	green_assert_on(0, 8); /* what was queued was done */
}

/* It keeps the primary context, which the program need not hold. */
static void a_part_holds_the_primary_context(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	int active;

	(void)state;
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, NULL, &active));
	assert_int_equal(active, 1);
	green_check(green_stream(part), 0, 8);
	OK(cuGreenCtxDestroy(part));
	OK(cuDevicePrimaryCtxGetState(0, NULL, &active));
	assert_int_equal(active, 0);
}

static void a_part_survives_the_reset_of_its_context(void **state)
{
	CUgreenCtx part = green_make(green.units, 0, 1);
	CUstream s;

	(void)state;
	OK(cuDevicePrimaryCtxReset_v2(0));
	assert_int_equal(cuGreenCtxStreamCreate(&s, part, CU_STREAM_NON_BLOCKING, 0),
			 CUDA_ERROR_INVALID_CONTEXT);
	OK(cuGreenCtxDestroy(part));
	assert_int_equal(cuGreenCtxDestroy(part), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&green.primary, 0));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, green_setup, green_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_device_has_sms_to_divide),
		CASE(splits_are_in_eights),
		CASE(groups_say_how_they_can_be_split),
		CASE(wrong_splits_are_refused),
		CASE(descriptions_are_of_one_split),
		CASE(kernels_run_on_their_part),
		CASE(a_part_may_have_gaps),
		CASE(a_part_can_be_split_again),
		CASE(a_part_can_be_current),
		CASE(streams_know_their_part),
		CASE(streams_of_a_destroyed_part_are_detached),
		CASE(a_part_holds_the_primary_context),
		CASE(a_part_survives_the_reset_of_its_context),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
