/*
 * Partitions of a GPU, against a driver that this program plays. What is asked of it, in which
 * order, and that all is given back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/contention/partition.h"
#include "test.h"

#define N_SMS 132u

static struct {
	int n_primary, n_green, n_streams; /* held now */
	int n_made;
	int split_result, create_result;
	unsigned multiple; /* of which partitions are */
	void *current;
} driver;

static struct CUctx_st {
	int unused;
} primary_context, own_context;

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
	driver.n_primary += device == 3;
	*context = &primary_context;
	return 0;
}

static CUresult primary_release(CUdevice device)
{
	driver.n_primary -= device == 3;
	return 0;
}

static CUresult set_current(CUcontext context)
{
	driver.current = context;
	return 0;
}

static CUresult bus_id(char *text, int size, CUdevice device)
{
	(void)device;
	assert_true(size > 2);
	memcpy(text, "0:", 3);
	return 0;
}

static CUresult resource(CUdevice device, CUdevResource *ret, CUdevResourceType type)
{
	assert_int_equal(device, 3);
	assert_int_equal(type, 1);
	memset(ret, 0, sizeof(*ret));
	ret->type = type;
	ret->sm.smCount = N_SMS;
	ret->sm.minSmPartitionSize = ret->sm.smCoscheduledAlignment = 8;
	ret->internal[91] = 7; /* what the driver keeps there has to come back */
	return 0;
}

static CUresult split_by_count(CUdevResource *first, unsigned *n, const CUdevResource *all,
			       CUdevResource *rest, unsigned flags, unsigned least)
{
	assert_int_equal(flags, 0);
	assert_int_equal(*n, 1);
	assert_int_equal(all->sm.smCount, N_SMS);
	assert_int_equal(all->internal[91], 7);
	if (driver.split_result)
		return driver.split_result;
	*first = *all;
	*rest = *all;
	first->sm.smCount = (least + driver.multiple - 1) / driver.multiple * driver.multiple;
	rest->sm.smCount = N_SMS - first->sm.smCount;
	return 0;
}

static CUresult describe(CUdevResourceDesc *ret, CUdevResource *sms, unsigned n)
{
	assert_int_equal(n, 1);
	assert_int_equal(sms->internal[91], 7);
	*ret = (CUdevResourceDesc)&driver.n_made;
	return 0;
}

static CUresult green_create(CUgreenCtx *ret, CUdevResourceDesc description, CUdevice device,
			     unsigned flags)
{
	assert_ptr_equal(description, &driver.n_made);
	assert_int_equal(device, 3);
	assert_int_equal(flags, 1);
	/* The second of a pair fails. */
	if (driver.create_result && driver.n_green % 2)
		return driver.create_result;
	driver.n_green++;
	driver.n_made++;
	*ret = (CUgreenCtx)&driver.n_green;
	return 0;
}

static CUresult green_destroy(CUgreenCtx green)
{
	assert_ptr_equal(green, &driver.n_green);
	driver.n_green--;
	return 0;
}

static CUresult green_stream(CUstream *ret, CUgreenCtx green, unsigned flags, int priority)
{
	assert_ptr_equal(green, &driver.n_green);
	assert_int_equal(flags, 1);
	assert_int_equal(priority, 0);
	driver.n_streams++;
	*ret = (CUstream)&driver.n_streams;
	return 0;
}

static CUresult green_context(CUcontext *ret, CUgreenCtx green)
{
	(void)ret;
	(void)green;
	fail_msg("nobody here needs it");
	return 1;
}

static CUresult device(CUdevice *ret, int ordinal)
{
	*ret = ordinal + 3;
	return 0;
}

static CUresult stream_create(CUstream *ret, unsigned flags, int priority)
{
	assert_int_equal(flags, 1);
	assert_int_equal(priority, 0);
	driver.n_streams++;
	*ret = (CUstream)&driver.n_streams;
	return 0;
}

static CUresult stream_destroy(CUstream stream)
{
	assert_ptr_equal(stream, &driver.n_streams);
	driver.n_streams--;
	return 0;
}

static struct cot_cuda cuda;

static int set_up(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.multiple = 8;
	cuda = (struct cot_cuda){
		.context = &own_context,
		.n_sms = N_SMS,
		.api = {.cuDeviceGet = device,
			.cuDeviceGetPCIBusId = bus_id,
			.cuDevicePrimaryCtxRetain = primary_retain,
			.cuDevicePrimaryCtxRelease_v2 = primary_release,
			.cuCtxSetCurrent = set_current,
			.cuStreamCreateWithPriority = stream_create,
			.cuStreamDestroy_v2 = stream_destroy,
			.cuDeviceGetDevResource = resource,
			.cuDevSmResourceSplitByCount = split_by_count,
			.cuDevResourceGenerateDesc = describe,
			.cuGreenCtxCreate = green_create,
			.cuGreenCtxDestroy = green_destroy,
			.cuGreenCtxStreamCreate = green_stream,
			.cuCtxFromGreenCtx = green_context},
	};
	return 0;
}

static void nothing_is_held(void)
{
	assert_int_equal(driver.n_primary, 0);
	assert_int_equal(driver.n_green, 0);
	assert_int_equal(driver.n_streams, 0);
}

static void test_splits(void **state)
{
	const struct cot_partition_split *a, *b, *again;
	struct cot_partitions p;
	struct cot_error err = {""};
	char text[8];

	(void)state;
	assert_int_equal(cot_partitions_init(&p, &cuda, 0, &err), 0);
	assert_true(p.has_green);
	assert_int_equal(p.whole.n_sms, N_SMS);
	assert_ptr_equal(driver.current, &primary_context);
	assert_int_equal(cot_partitions_split(&p, 64, &a, &err), 0);
	assert_int_equal(a->first.n_sms, 64);
	assert_int_equal(a->rest.n_sms, 68);
	assert_int_equal(cot_partitions_split(&p, 8, &b, &err), 0);
	assert_int_equal(b->rest.n_sms, 124);
	assert_int_equal(driver.n_made, 4);
	/* Two kernels may share any part. */
	assert_int_equal(driver.n_streams, COT_PARTITION_STREAMS * (1 + driver.n_made));
	/* The same is not made twice. */
	assert_int_equal(cot_partitions_split(&p, 64, &again, &err), 0);
	assert_ptr_equal(a, again);
	assert_int_equal(driver.n_made, 4);
	assert_int_equal(cot_partitions_use_own(&p, &err), 0);
	assert_ptr_equal(driver.current, &own_context);
	cot_partitions_bus_id(&p, text, sizeof(text));
	assert_string_equal(text, "0:");
	cot_partitions_finish(&p);
	nothing_is_held();
}

static void test_refusals(void **state)
{
	const struct cot_partition_split *split;
	struct cot_partitions p;
	struct cot_error err = {""};

	(void)state;
	assert_int_equal(cot_partitions_init(&p, &cuda, 0, &err), 0);
	/* Another number of SMs than asked for is no use. */
	assert_int_equal(cot_partitions_split(&p, 12, &split, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "makes a partition of 16 SMs; expected 12"));
	driver.split_result = 915;
	assert_int_equal(cot_partitions_split(&p, 16, &split, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "cuDevSmResourceSplitByCount failed"));
	/* The first context of a split is given back when there is none for the rest. */
	driver.split_result = 0;
	driver.create_result = 2;
	assert_int_equal(cot_partitions_split(&p, 16, &split, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "cuGreenCtxCreate failed"));
	assert_int_equal(driver.n_green, 0);
	driver.create_result = 0;
	assert_int_equal(cot_partitions_split(&p, 16, &split, &err), 0);
	assert_int_equal(split->first.n_sms, 16);
	cot_partitions_finish(&p);
	nothing_is_held();
	cot_partitions_finish(&p); /* twice does no harm */
}

/* The whole GPU is there all the same. */
static void test_old_driver(void **state)
{
	const struct cot_partition_split *split;
	struct cot_partitions p;
	struct cot_error err = {""};

	(void)state;
	cuda.api.cuDeviceGetDevResource = NULL;
	assert_int_equal(cot_partitions_init(&p, &cuda, 0, &err), 0);
	assert_false(p.has_green);
	assert_string_equal(p.why_not.text,
			    "this driver has no cuDeviceGetDevResource, so there are no green "
			    "contexts: measured on the whole GPU only");
	assert_int_equal(cot_partitions_split(&p, 64, &split, &err), -ENOTSUP);
	assert_string_equal(err.text, p.why_not.text);
	cot_partitions_finish(&p);
	nothing_is_held();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_splits, set_up),
		cmocka_unit_test_setup(test_refusals, set_up),
		cmocka_unit_test_setup(test_old_driver, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
