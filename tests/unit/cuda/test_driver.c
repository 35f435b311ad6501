/* The list of the driver's entry points, what names mean in it, and opening a driver. */
#include <errno.h>
#include <string.h>

#include "cuda/driver.h"
#include "test.h"

static const struct {
	const char *name;
	int since; /* 0: not known */
} entries[] = {
#define NAME(name)				   {#name, 0},
#define ENTRY(name, since, shim, emulated, params) {#name, since},
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params) \
	ENTRY(name, since, shim, emulated, params)
#include "cuda/abi/api.def"
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

/* So that each is found where one looks for it, and only once. */
static void the_list_is_in_order(void **state)
{
	size_t i;

	(void)state;
	for (i = 1; i < N_ENTRIES; i++)
		if (strcmp(entries[i - 1].name, entries[i].name) >= 0)
			fail_msg("%s stands before %s", entries[i - 1].name, entries[i].name);
}

/* Of two versions of a function the one with the higher number is the newer one. */
static void versions_follow_each_other(void **state)
{
	char symbol[128];
	size_t i, k;

	(void)state;
	for (i = 0; i < N_ENTRIES; i++) {
		assert_true(!entries[i].since || entries[i].since >= 2000);
		assert_true(entries[i].since <= COT_CUDA_VERSION);
		for (k = i + 1; k < N_ENTRIES && entries[i].since; k++) {
			strcpy(symbol, entries[i].name);
			if (strlen(symbol) > 3 && !strncmp(symbol + strlen(symbol) - 3, "_v", 2))
				symbol[strlen(symbol) - 3] = '\0';
			if (entries[k].since && cot_cuda_is_version_of(entries[k].name, symbol))
				assert_true(entries[i].since < entries[k].since);
		}
	}
}

static void names_of_versions(void **state)
{
	(void)state;
	assert_true(cot_cuda_is_version_of("cuInit", "cuInit"));
	assert_true(cot_cuda_is_version_of("cuMemAlloc_v2", "cuMemAlloc"));
	assert_true(cot_cuda_is_version_of("cuCtxCreate_v4", "cuCtxCreate"));
	assert_false(cot_cuda_is_version_of("cuMemAlloc_v2", "cuMemAlloc_v2"));
	assert_false(cot_cuda_is_version_of("cuMemAllocAsync", "cuMemAlloc"));
	assert_false(cot_cuda_is_version_of("cuMemAlloc", "cuMemAllocAsync"));
	assert_false(cot_cuda_is_version_of("cuLaunchKernel_ptsz", "cuLaunchKernel"));
	assert_false(cot_cuda_is_version_of("cuMemAlloc", ""));
	assert_false(cot_cuda_is_version_of("_v2", "x"));
}

/* On a machine without a GPU one sentence says so. */
static void opening(void **state)
{
	struct cot_driver driver;
	struct cot_error err = {""};
	int rc = cot_driver_open(&driver, &err);

	(void)state;
	if (rc == 0) {
		assert_non_null(driver.cuInit);
		assert_non_null(driver.cuLaunchKernel);
		return;
	}
	assert_int_equal(rc, -ENOENT);
	assert_non_null(strstr(err.text, "there is no CUDA driver here ("));
}

static CUresult allocate(CUdeviceptr *ret, size_t size)
{
	*ret = size;
	return size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult name_of(CUresult result, const char **ret)
{
	*ret = result == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : NULL;
	return CUDA_SUCCESS;
}

/* A failure's sentence has the function's name as programs call it, and the error's. */
static void calling(void **state)
{
	struct cot_driver d = {.cuMemAlloc_v2 = allocate};
	struct cot_error err = {""};
	CUdeviceptr at;

	(void)state;
	assert_int_equal(COT_DRIVER_CALL(&d, &err, cuMemAlloc_v2, &at, 7), 0);
	assert_int_equal(at, 7);
	assert_string_equal(err.text, "");
	assert_int_equal(COT_DRIVER_CALL(&d, &err, cuMemAlloc_v2, &at, 0), -EIO);
	assert_string_equal(err.text, "cuMemAlloc failed: unknown error (1)");
	d.cuGetErrorName = name_of;
	assert_int_equal(COT_DRIVER_CALL(&d, &err, cuMemAlloc_v2, &at, 0), -EIO);
	assert_string_equal(err.text, "cuMemAlloc failed: CUDA_ERROR_INVALID_VALUE (1)");
	assert_int_equal(cot_driver_check(&d, 0, "a kernel", &err), 0);
	assert_int_equal(cot_driver_check(&d, 999, "kernel_v2", &err), -EIO);
	assert_string_equal(err.text, "kernel_v2 failed: unknown error (999)");
	assert_int_equal(cot_driver_called(&d, 999, "_v2", &err), -EIO);
	assert_string_equal(err.text, "_v2 failed: unknown error (999)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_is_in_order),
		cmocka_unit_test(versions_follow_each_other),
		cmocka_unit_test(names_of_versions),
		cmocka_unit_test(opening),
		cmocka_unit_test(calling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
