/*
 * cuGetProcAddress() under the shim: which answers of the driver are ours instead. The unit is in a
 * shared library, so its source is here; the driver, and the table of entry points, are played.
 */
#include "guest/shim/entry_proc.c"
#include "test.h"

_Atomic int cot_shim_state = COT_SHIM_ON;
void *cot_real_cuGetProcAddress, *cot_real_cuGetProcAddress_v2;

bool cot_shim_begin(void)
{
	return false;
}

/* As the driver exports them; ours beside those that we have. */
static char exported[6], mine[6];
static void *slots[6] = {&exported[0], &exported[1], &exported[2],
			 &exported[3], &exported[4], &exported[5]};
const struct cot_shim_entry cot_shim_entries[] = {
	{"cuCtxDestroy", &slots[0], &mine[0], 2000},
	{"cuCtxDestroy_v2", &slots[1], &mine[1], 4000},
	{"cuLaunchKernel", &slots[2], &mine[2], 4000},
	{"cuLaunchKernel_ptsz", &slots[3], &mine[3], 4000},
	{"cuStreamQuery", &slots[4], NULL, 2000},
	{"cuStreamDestroy_v2", &slots[5], &mine[5], 4000},
};
const size_t cot_shim_n_entries = COT_ARRAY_LEN(cot_shim_entries);

static void *answer; /* the driver's */
static int result;

static int proc(const char *symbol, void **function, int version, uint64_t flags)
{
	(void)symbol;
	(void)version;
	(void)flags;
	if (function)
		*function = answer;
	return result;
}

static int proc_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
	*status = 9;
	return proc(symbol, function, version, flags);
}

static int set_up(void **state)
{
	(void)state;
	cot_real_cuGetProcAddress = (void *)(uintptr_t)proc;
	cot_real_cuGetProcAddress_v2 = (void *)(uintptr_t)proc_v2;
	result = 0;
	atomic_store(&cot_shim_state, COT_SHIM_ON);
	return 0;
}

/* What the program gets where the driver answers with that; the same of both functions. */
static void *get(const char *symbol, void *from_driver, int version, uint64_t flags)
{
	void *old = NULL, *new = NULL;
	int status = 0;

	answer = from_driver;
	assert_int_equal(cuGetProcAddress(symbol, &old, version, flags), result);
	assert_int_equal(cuGetProcAddress_v2(symbol, &new, version, flags, &status), result);
	assert_int_equal(status, 9);
	assert_ptr_equal(old, new);
	return new;
}

/* A function is known by its address, whatever it was asked for by. */
static void by_address(void **state)
{
	(void)state;
	assert_ptr_equal(get("cuCtxDestroy", &exported[1], 12000, 0), &mine[1]);
	assert_ptr_equal(get("cuCtxDestroy", &exported[0], 12000, 0), &mine[0]);
	assert_ptr_equal(get("of another name", &exported[5], 99000, 0), &mine[5]);
	assert_ptr_equal(get("cuStreamQuery", &exported[4], 12000, 0), &exported[4]);
}

/* One with another address than the exported one: by its name, and the version asked for. */
static void by_name(void **state)
{
	static char inside;

	(void)state;
	assert_ptr_equal(get("cuCtxDestroy", &inside, 3999, 0), &mine[0]);
	assert_ptr_equal(get("cuCtxDestroy", &inside, 4000, 0), &mine[1]);
	assert_ptr_equal(get("cuCtxDestroy", &inside, 1999, 0), &inside);
	assert_ptr_equal(get("cuStreamDestroy", &inside, 12000, 0), &mine[5]);
	assert_ptr_equal(get("cuLaunchKernel", &inside, 12000, 0), &mine[2]);
	assert_ptr_equal(get("cuLaunchKernel", &inside, 12000,
			     CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
			 &mine[3]);
	assert_ptr_equal(
		get("cuCtxDestroy", &inside, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
		&mine[1]);
	assert_ptr_equal(get("cuLaunchKernel", &inside, COT_CUDA_VERSION, 0), &mine[2]);
	/* Of a newer CUDA nobody knows what it means. */
	assert_ptr_equal(get("cuLaunchKernel", &inside, COT_CUDA_VERSION + 1, 0), &inside);
	assert_ptr_equal(get("cuSomethingElse", &inside, 12000, 0), &inside);
}

static void left_as_it_is(void **state)
{
	int status;

	(void)state;
	assert_null(get("cuCtxDestroy", NULL, 12000, 0));
	assert_ptr_equal(get(NULL, &exported[1], 12000, 0), &exported[1]);
	assert_int_equal(cuGetProcAddress("cuCtxDestroy", NULL, 12000, 0), 0);
	assert_int_equal(cuGetProcAddress_v2("cuCtxDestroy", NULL, 12000, 0, &status), 0);
	result = 500;
	assert_ptr_equal(get("cuCtxDestroy", &exported[1], 12000, 0), &exported[1]);
	result = 0;
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	assert_ptr_equal(get("cuCtxDestroy", &exported[1], 12000, 0), &exported[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(by_address, set_up),
		cmocka_unit_test_setup(by_name, set_up),
		cmocka_unit_test_setup(left_as_it_is, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
