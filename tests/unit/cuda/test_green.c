/*
 * Green contexts, against a driver of 132 SMs that this program plays: groups and what is left of
 * them, contexts on ranges of groups, and what is said of a driver that is too old or refuses.
 */
#include <errno.h>
#include <string.h>

#include "cuda/green.h"
#include "test.h"

#define N_SMS  132u
#define DEVICE 3

static struct {
	CUresult result;  /* of the next calls */
	unsigned least;	  /* SMs of a group */
	unsigned flags;	  /* of the last split */
	unsigned from, n; /* groups of the last description */
	unsigned n_sms;	  /* of the last description */
	int n_green;
	int priority;
} played;

static struct CUctx_st {
	int unused;
} context;

static CUresult resource(CUdevice device, CUdevResource *ret, CUdevResourceType type)
{
	assert_int_equal(device, DEVICE);
	assert_int_equal(type, CU_DEV_RESOURCE_TYPE_SM);
	memset(ret, 0, sizeof(*ret));
	ret->type = type;
	ret->sm.smCount = N_SMS;
	return played.result;
}

static CUresult split(CUdevResource *groups, unsigned *n, const CUdevResource *all,
		      CUdevResource *rest, unsigned flags, unsigned least)
{
	unsigned each = least > played.least ? least : played.least, i;

	assert_int_equal(all->sm.smCount, N_SMS);
	played.flags = flags;
	if (*n > N_SMS / each)
		*n = N_SMS / each;
	for (i = 0; i < *n; i++) {
		groups[i] = *all;
		groups[i].sm.smCount = each;
		groups[i].internal[0] =
			(unsigned char)i; /* what the driver keeps has to come back */
	}
	*rest = *all;
	rest->sm.smCount = N_SMS - *n * each;
	rest->internal[0] = (unsigned char)*n;
	return played.result;
}

static CUresult describe(CUdevResourceDesc *ret, CUdevResource *groups, unsigned n)
{
	unsigned i;

	played.from = groups[0].internal[0];
	played.n = n;
	played.n_sms = 0;
	for (i = 0; i < n; i++)
		played.n_sms += groups[i].sm.smCount;
	*ret = (CUdevResourceDesc)&played.n;
	return played.result;
}

static CUresult create(CUgreenCtx *ret, CUdevResourceDesc groups, CUdevice device, unsigned flags)
{
	assert_ptr_equal(groups, &played.n);
	assert_int_equal(device, DEVICE);
	assert_int_equal(flags, CU_GREEN_CTX_DEFAULT_STREAM);
	played.n_green++;
	*ret = (CUgreenCtx)&played.n_green;
	return 0;
}

static CUresult destroy(CUgreenCtx green)
{
	assert_ptr_equal(green, &played.n_green);
	played.n_green--;
	return 0;
}

static CUresult from_green(CUcontext *ret, CUgreenCtx green)
{
	assert_ptr_equal(green, &played.n_green);
	*ret = &context;
	return played.result;
}

static CUresult stream(CUstream *ret, CUgreenCtx green, unsigned flags, int priority)
{
	assert_ptr_equal(green, &played.n_green);
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	played.priority = priority;
	*ret = (CUstream)&played.priority;
	return played.result;
}

static CUresult name_of(CUresult result, const char **ret)
{
	assert_int_equal(result, 915);
	*ret = "CUDA_ERROR_PLAYED";
	return 0;
}

static struct cot_driver driver;
static struct cot_green green;

static int set_up(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	played.least = COT_GREEN_GROUP_SMS;
	driver = (struct cot_driver){
		.cuGetErrorName = name_of,
		.cuDeviceGetDevResource = resource,
		.cuDevSmResourceSplitByCount = split,
		.cuDevResourceGenerateDesc = describe,
		.cuGreenCtxCreate = create,
		.cuGreenCtxDestroy = destroy,
		.cuGreenCtxStreamCreate = stream,
		.cuCtxFromGreenCtx = from_green,
	};
	return cot_green_init(&green, &driver, DEVICE, NULL);
}

static void ranges_of_groups(void **state)
{
	struct cot_green_split s;
	CUgreenCtx made = NULL;
	CUcontext own = NULL;
	CUstream its = NULL;

	(void)state;
	assert_int_equal(cot_green_split(&green, COT_GREEN_GROUP_SMS, COT_GREEN_GROUPS_MAX,
					 CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, &s,
					 NULL),
			 0);
	assert_int_equal(played.flags, 2);
	assert_int_equal(s.n, 17);
	assert_int_equal(cot_green_n_sms(&s, 0, s.n), N_SMS);
	assert_int_equal(cot_green_n_sms(&s, 3, 3), 0);
	assert_int_equal(cot_green_create(&green, &s, 8, 17, &made, NULL), 0);
	assert_int_equal(played.from, 8);
	assert_int_equal(played.n, 9);
	assert_int_equal(played.n_sms, 68);
	assert_int_equal(cot_green_n_sms(&s, 8, 17), 68);
	assert_int_equal(cot_green_context(&green, made, &own, NULL), 0);
	assert_ptr_equal(own, &context);
	assert_int_equal(cot_green_stream(&green, made, -5, &its, NULL), 0);
	assert_int_equal(played.priority, -5);
	assert_non_null(its);
	cot_green_destroy(&green, made);
	cot_green_destroy(&green, NULL);
	assert_int_equal(played.n_green, 0);
}

static void numbers_of_groups(void **state)
{
	struct cot_green_split s;

	(void)state;
	/* As many as there is room for. */
	played.least = 1;
	assert_int_equal(cot_green_split(&green, 1, UINT32_MAX, 0, &s, NULL), 0);
	assert_int_equal(s.n, COT_GREEN_GROUPS_MAX + 1);
	assert_int_equal(cot_green_n_sms(&s, 0, s.n), N_SMS);
	/* Nothing is left. */
	assert_int_equal(cot_green_split(&green, 66, 2, 0, &s, NULL), 0);
	assert_int_equal(s.n, 2);
	/* As the benchmark has it: one, and the rest. */
	assert_int_equal(cot_green_split(&green, 64, 1, 0, &s, NULL), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(cot_green_n_sms(&s, 1, 2), 68);
}

static void what_is_refused(void **state)
{
	CUgreenCtx made = (CUgreenCtx)&made;
	CUcontext own;
	CUstream its;
	struct cot_green_split s;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_green_split(&green, 4, 2, 0, &s, &err), -ENOTSUP);
	assert_string_equal(err.text, "the driver makes a partition of 8 SMs; expected 4");
	assert_int_equal(cot_green_split(&green, N_SMS + 1, 2, 0, &s, &err), -ENOTSUP);
	assert_string_equal(err.text, "the driver makes a partition of 0 SMs; expected 133");
	assert_int_equal(cot_green_split(&green, 8, 32, 0, &s, &err), 0);
	played.result = 915;
	assert_int_equal(cot_green_init(&green, &driver, DEVICE, &err), -EIO);
	assert_string_equal(err.text, "cuDeviceGetDevResource failed: CUDA_ERROR_PLAYED (915)");
	assert_int_equal(cot_green_split(&green, 8, 32, 0, &s, &err), -EIO);
	assert_non_null(strstr(err.text, "cuDevSmResourceSplitByCount failed"));
	assert_int_equal(s.n, 17); /* as it was */
	assert_int_equal(cot_green_create(&green, &s, 0, 1, &made, &err), -EIO);
	assert_non_null(strstr(err.text, "cuDevResourceGenerateDesc failed"));
	assert_ptr_equal(made, &made);
	made = (CUgreenCtx)&played.n_green;
	assert_int_equal(cot_green_context(&green, made, &own, &err), -EIO);
	assert_non_null(strstr(err.text, "cuCtxFromGreenCtx failed"));
	assert_int_equal(cot_green_stream(&green, made, 0, &its, &err), -EIO);
	assert_non_null(strstr(err.text, "cuGreenCtxStreamCreate failed"));
}

/* Streams came a version later than the rest. */
static void old_drivers(void **state)
{
	struct cot_error err;

	(void)state;
	driver.cuGreenCtxStreamCreate = NULL;
	assert_int_equal(cot_green_init(&green, &driver, DEVICE, &err), -ENOSYS);
	assert_string_equal(err.text, "this driver has no cuGreenCtxStreamCreate, so there are no "
				      "green contexts");
	driver.cuDeviceGetDevResource = NULL;
	assert_int_equal(cot_green_init(&green, &driver, DEVICE, &err), -ENOSYS);
	assert_string_equal(err.text, "this driver has no cuDeviceGetDevResource, so there are no "
				      "green contexts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ranges_of_groups, set_up),
		cmocka_unit_test_setup(numbers_of_groups, set_up),
		cmocka_unit_test_setup(what_is_refused, set_up),
		cmocka_unit_test_setup(old_drivers, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
