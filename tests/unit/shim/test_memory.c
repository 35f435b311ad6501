/* The account of a bound of memory. The unit is in a shared library, and the driver is this test.
 */
#include "guest/shim/memory.c"
#include "test.h"

#define MIB  1048576ull
#define HAS  (100 * MIB)
#define CTX  ((CUcontext)(uintptr_t)0x10)
#define POOL ((CUmemoryPool)(uintptr_t)0x20)

struct cot_settings cot_shim_settings;
_Atomic int cot_shim_state = COT_SHIM_ON;

static uint64_t pool_used, pool_has;
static unsigned n_trims;
static int device_now;

bool cot_shim_begin(void)
{
	return true;
}

static CUresult get_device(CUdevice *device)
{
	*device = device_now;
	return device_now < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
	*context = CTX;
	return CUDA_SUCCESS;
}

static CUresult get_pool(CUmemoryPool *pool, CUdevice device)
{
	*pool = device ? NULL : POOL;
	return device ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult get_attribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
	assert_ptr_equal(pool, POOL);
	*(uint64_t *)value = what == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? pool_used : pool_has;
	return CUDA_SUCCESS;
}

static CUresult trim(CUmemoryPool pool, size_t keep)
{
	(void)pool;
	assert_int_equal(keep, 0);
	pool_has = pool_used;
	n_trims++;
	return CUDA_SUCCESS;
}

static CUresult total_memory(size_t *bytes, CUdevice device)
{
	*bytes = 4 * HAS;
	return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

void *cot_real_cuDeviceTotalMem_v2 = total_memory, *cot_real_cuCtxGetDevice = get_device,
     *cot_real_cuCtxGetCurrent = get_current, *cot_real_cuDeviceGetDefaultMemPool = get_pool,
     *cot_real_cuDeviceGetMemPool = get_pool, *cot_real_cuMemPoolGetAttribute = get_attribute,
     *cot_real_cuMemPoolTrimTo = trim;

static int set_up(void **state)
{
	(void)state;
	cot_shim_memory_forget();
	cot_shim_settings.memory_bytes = HAS;
	pool_used = pool_has = n_trims = 0;
	device_now = 0;
	return 0;
}

static CUresult take(enum cot_shim_memory_kind kind, uint64_t name, uint64_t bytes)
{
	struct cot_shim_memory_claim c;
	CUresult rc = cot_shim_memory_claim(kind == COT_SHIM_MEMORY_HANDLE ? 0 : -1, bytes, &c);

	if (!rc)
		cot_shim_memory_settle(&c, CUDA_SUCCESS, kind, name);
	return rc;
}

static void has(uint64_t bytes, uint64_t n_refused)
{
	struct cot_msg_memory m = {0};

	assert_true(cot_shim_memory_tell(0, true, &m));
	assert_int_equal(m.limit_bytes, HAS);
	assert_int_equal(m.used_bytes, bytes);
	assert_true(m.gpu_bytes == 0 || m.gpu_bytes == 4 * HAS);
	assert_int_equal(m.n_refused, n_refused);
	assert_true(m.most_bytes >= bytes);
}

/* To the byte, and again what is given back; each GPU by itself. */
static void test_addresses(void **state)
{
	(void)state;
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 1, HAS - 1), CUDA_SUCCESS);
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 2, 2), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 2, UINT64_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 2, 1), CUDA_SUCCESS);
	has(HAS, 2);
	cot_shim_memory_drop(COT_SHIM_MEMORY_ARRAY, 1); /* another thing with that number */
	cot_shim_memory_drop(COT_SHIM_MEMORY_ADDRESS, 3);
	has(HAS, 2);
	device_now = 1;
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 4, HAS), CUDA_SUCCESS);
	device_now = 0;
	cot_shim_memory_drop(COT_SHIM_MEMORY_ADDRESS, 1);
	has(1, 2);
	assert_int_equal(take(COT_SHIM_MEMORY_ARRAY, 1, HAS - 1), CUDA_SUCCESS);
	has(HAS, 2);
}

/* What the driver has not made does not count; nor where there is no context. */
static void test_failures(void **state)
{
	struct cot_shim_memory_claim c;

	(void)state;
	assert_int_equal(cot_shim_memory_claim(-1, HAS, &c), CUDA_SUCCESS);
	has(HAS, 0);
	cot_shim_memory_settle(&c, CUDA_ERROR_OUT_OF_MEMORY, COT_SHIM_MEMORY_ADDRESS, 0);
	has(0, 0);
	device_now = -1;
	assert_int_equal(cot_shim_memory_claim(-1, 2 * HAS, &c), CUDA_SUCCESS);
	cot_shim_memory_settle(&c, CUDA_ERROR_INVALID_CONTEXT, COT_SHIM_MEMORY_ADDRESS, 0);
	has(0, 0);
}

/* A pool counts with what it has taken from the device, and gives back what it only keeps. */
static void test_pools(void **state)
{
	struct cot_shim_memory_claim c;

	(void)state;
	assert_int_equal(cot_shim_memory_claim_pool(NULL, HAS, &c), CUDA_SUCCESS);
	pool_used = pool_has = HAS;
	cot_shim_memory_settle(&c, CUDA_SUCCESS, COT_SHIM_MEMORY_POOL, 0);
	has(HAS, 0);
	assert_int_equal(cot_shim_memory_claim_pool(NULL, 1, &c), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(n_trims, 1);
	pool_used = HAS / 2;
	assert_int_equal(cot_shim_memory_claim_pool(NULL, HAS / 2, &c), CUDA_SUCCESS);
	assert_int_equal(n_trims, 1); /* the pool has that */
	assert_int_equal(c.bytes, 0);
	cot_shim_memory_settle(&c, CUDA_SUCCESS, COT_SHIM_MEMORY_POOL, 0);
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 1, HAS / 2), CUDA_SUCCESS);
	assert_int_equal(n_trims, 2);
	has(HAS, 1);
}

/* It is there until it is released and not mapped, in either order. */
static void test_physical(void **state)
{
	(void)state;
	assert_int_equal(take(COT_SHIM_MEMORY_HANDLE, 7, HAS / 2), CUDA_SUCCESS);
	cot_shim_memory_map(7, 1000);
	cot_shim_memory_map(7, 2000);
	cot_shim_memory_map(8, 3000); /* another process's */
	cot_shim_memory_drop(COT_SHIM_MEMORY_HANDLE, 7);
	cot_shim_memory_unmap(1000, 1000);
	has(HAS / 2, 0);
	cot_shim_memory_unmap(1500, 1000);
	has(0, 0);
	assert_int_equal(take(COT_SHIM_MEMORY_HANDLE, 7, HAS), CUDA_SUCCESS);
	cot_shim_memory_map(7, 1000);
	cot_shim_memory_hold(7);
	cot_shim_memory_unmap(0, 5000);
	cot_shim_memory_drop(COT_SHIM_MEMORY_HANDLE, 7);
	has(HAS, 0);
	cot_shim_memory_drop(COT_SHIM_MEMORY_HANDLE, 7);
	has(0, 0);
}

/* With a context ends what was made in it, but no physical memory. */
static void test_contexts(void **state)
{
	(void)state;
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 1, 10), CUDA_SUCCESS);
	assert_int_equal(take(COT_SHIM_MEMORY_ARRAY, 2, 20), CUDA_SUCCESS);
	assert_int_equal(take(COT_SHIM_MEMORY_HANDLE, 3, 40), CUDA_SUCCESS);
	cot_shim_memory_context_gone(NULL);
	has(70, 0);
	cot_shim_memory_context_gone(CTX);
	has(40, 0);
}

static void test_told(void **state)
{
	struct cot_msg_memory m;
	size_t n_free, total = 7;

	(void)state;
	assert_false(cot_shim_memory_tell(0, false, &m));
	assert_int_equal(take(COT_SHIM_MEMORY_ADDRESS, 1, HAS / 4), CUDA_SUCCESS);
	assert_true(cot_shim_memory_tell(0, false, &m));
	assert_false(cot_shim_memory_tell(0, false, &m));
	pool_has = HAS / 4;
	n_free = SIZE_MAX;
	cot_shim_memory_info(&n_free, &total); /* a GPU smaller than the bound */
	assert_int_equal(n_free, HAS / 2);
	assert_int_equal(total, 7);
	total = SIZE_MAX;
	pool_has = HAS;
	cot_shim_memory_info(&n_free, &total);
	assert_int_equal(n_free, 0);
	assert_int_equal(total, HAS);
	cot_shim_settings.memory_bytes = 0;
	assert_false(cot_shim_memory_tell(0, true, &m));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_addresses), TEST(test_failures), TEST(test_pools),
		TEST(test_physical),  TEST(test_contexts), TEST(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
