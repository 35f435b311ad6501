/*
 * Partitions of a GPU, against a driver that this program plays: the driver's functions are looked
 * up in the program itself. What is asked of it, in which order, and that all is given back.
 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/contention/partition.h"

#define DRIVER __attribute__((visibility("default")))
#define N_SMS  132u

/* As cuda.h of CUDA 13.0 has it. */
struct resource {
	int type;
	unsigned char internal[92];
	unsigned count, least, alignment;
	unsigned char rest[36];
};
_Static_assert(sizeof(struct resource) == 144, "CUdevResource of ABI version 1");

static struct {
	int n_primary, n_green, n_streams; /* held now */
	int n_made;
	int split_result, create_result;
	unsigned multiple; /* of which partitions are */
	void *current;
} driver;

static int primary_context, own_context;

#define PROTOTYPE(name, ...) DRIVER int name(__VA_ARGS__);
PROTOTYPE(cuDevicePrimaryCtxRetain, void **context, int device)
PROTOTYPE(cuDevicePrimaryCtxRelease_v2, int device)
PROTOTYPE(cuCtxSetCurrent, void *context)
PROTOTYPE(cuDeviceGetPCIBusId, char *text, int size, int device)
PROTOTYPE(cuDeviceGetDevResource, int device, struct resource *ret, int type)
PROTOTYPE(cuDevSmResourceSplitByCount, struct resource *first, unsigned *n,
	  const struct resource *all, struct resource *rest, unsigned flags, unsigned least)
PROTOTYPE(cuDevResourceGenerateDesc, void **ret, struct resource *sms, unsigned n)
PROTOTYPE(cuGreenCtxCreate, void **ret, void *description, int device, unsigned flags)
PROTOTYPE(cuGreenCtxDestroy, void *green)
PROTOTYPE(cuGreenCtxStreamCreate, void **ret, void *green, unsigned flags, int priority)

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	driver.n_primary += device == 3;
	*context = &primary_context;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	driver.n_primary -= device == 3;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	driver.current = context;
	return 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
	(void)device;
	assert_true(size > 2);
	memcpy(text, "0:", 3);
	return 0;
}

int cuDeviceGetDevResource(int device, struct resource *ret, int type)
{
	assert_int_equal(device, 3);
	assert_int_equal(type, 1);
	memset(ret, 0, sizeof(*ret));
	ret->type = type;
	ret->count = N_SMS;
	ret->least = ret->alignment = 8;
	ret->internal[91] = 7; /* what the driver keeps there has to come back */
	return 0;
}

int cuDevSmResourceSplitByCount(struct resource *first, unsigned *n, const struct resource *all,
				struct resource *rest, unsigned flags, unsigned least)
{
	assert_int_equal(flags, 0);
	assert_int_equal(*n, 1);
	assert_int_equal(all->count, N_SMS);
	assert_int_equal(all->internal[91], 7);
	if (driver.split_result)
		return driver.split_result;
	*first = *all;
	*rest = *all;
	first->count = (least + driver.multiple - 1) / driver.multiple * driver.multiple;
	rest->count = N_SMS - first->count;
	return 0;
}

int cuDevResourceGenerateDesc(void **ret, struct resource *sms, unsigned n)
{
	assert_int_equal(n, 1);
	assert_int_equal(sms->internal[91], 7);
	*ret = &driver.n_made;
	return 0;
}

int cuGreenCtxCreate(void **ret, void *description, int device, unsigned flags)
{
	assert_ptr_equal(description, &driver.n_made);
	assert_int_equal(device, 3);
	assert_int_equal(flags, 1);
	/* The second of a pair fails. */
	if (driver.create_result && driver.n_green % 2)
		return driver.create_result;
	driver.n_green++;
	driver.n_made++;
	*ret = &driver.n_green;
	return 0;
}

int cuGreenCtxDestroy(void *green)
{
	assert_ptr_equal(green, &driver.n_green);
	driver.n_green--;
	return 0;
}

int cuGreenCtxStreamCreate(void **ret, void *green, unsigned flags, int priority)
{
	assert_ptr_equal(green, &driver.n_green);
	assert_int_equal(flags, 1);
	assert_int_equal(priority, 0);
	driver.n_streams++;
	*ret = &driver.n_streams;
	return 0;
}

static int device(int *ret, int ordinal)
{
	*ret = ordinal + 3;
	return 0;
}

static int stream_create(cot_cuda_stream *ret, unsigned flags, int priority)
{
	assert_int_equal(flags, 1);
	assert_int_equal(priority, 0);
	driver.n_streams++;
	*ret = (cot_cuda_stream)&driver.n_streams;
	return 0;
}

static int stream_destroy(cot_cuda_stream stream)
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
		.library = dlopen(NULL, RTLD_NOW),
		.context = (cot_cuda_context)&own_context,
		.n_sms = N_SMS,
		.device = device,
		.stream_create = stream_create,
		.stream_destroy = stream_destroy,
	};
	return cuda.library ? 0 : -1;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_splits, set_up),
		cmocka_unit_test_setup(test_refusals, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
