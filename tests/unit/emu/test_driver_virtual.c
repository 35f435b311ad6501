/* Memory at addresses that the program chooses: mapped, shared by a descriptor, and what is
 * refused. */
#include <string.h>
#include <unistd.h>

#include "cuda/abi/cuda.h"
#include "emu_dir.h"
#include "test.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define AT	 0x210000000000ull
#define CHUNK	 ((size_t)4 << 20)

static const CUmemAllocationProp prop = {
	.type = 1, .requestedHandleTypes = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc access_all = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
					   .flags = 3};

static int setup(void **state)
{
	CUcontext context;

	if (emu_dir_setup(state))
		return -1;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	return 0;
}

static void two_mappings_are_one_memory(void **state)
{
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr at, base;
	uint32_t words[4] = {0};
	size_t bytes, free_before, free_now, total;
	int fd;

	(void)state;
	OK(cuMemGetAllocationGranularity(&bytes, &prop, 0));
	assert_int_equal(CHUNK % bytes, 0);
	OK(cuMemAddressReserve(&at, 4 * CHUNK, 0, AT, 0));
	assert_int_equal(at, AT);
	OK(cuMemGetInfo(&free_before, &total));
	OK(cuMemCreate(&handle, CHUNK, &prop, 0));
	OK(cuMemGetInfo(&free_now, &total));
	assert_int_equal(free_before - free_now, CHUNK);
	OK(cuMemExportToShareableHandle(&fd, handle, 1, 0));
	OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, 1));
	close(fd);
	OK(cuMemMap(AT, CHUNK, 0, handle, 0));
	OK(cuMemMap(AT + 2 * CHUNK, CHUNK, 0, again, 0));
	/* Not before access is given. */
	assert_int_not_equal(cuMemsetD32(AT, 7, 4), CUDA_SUCCESS);
	OK(cuMemSetAccess(AT, CHUNK, &access_all, 1));
	OK(cuMemSetAccess(AT + 2 * CHUNK, CHUNK, &access_all, 1));
	OK(cuMemRelease(handle));
	OK(cuMemRelease(again));
	OK(cuMemsetD32(AT, 7, 4));
	OK(cuMemcpyDtoH(words, AT + 2 * CHUNK, sizeof(words)));
	assert_int_equal(words[3], 7);
	OK(cuMemGetAddressRange_v2(&base, &bytes, AT + 5));
	assert_true(base == AT && bytes == CHUNK);
	assert_int_not_equal(cuMemFree(AT), CUDA_SUCCESS);
	assert_int_not_equal(cuMemAddressFree(AT, 4 * CHUNK), CUDA_SUCCESS);
	OK(cuMemUnmap(AT, CHUNK));
	OK(cuMemUnmap(AT + 2 * CHUNK, CHUNK));
	OK(cuMemGetInfo(&free_now, &total));
	assert_int_equal(free_before, free_now);
	assert_int_not_equal(cuMemsetD32(AT, 7, 4), CUDA_SUCCESS);
	OK(cuMemAddressFree(AT, 4 * CHUNK));
}

static void wrong_ones_are_refused(void **state)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp other = prop;
	CUdeviceptr at, there;

	(void)state;
	assert_int_not_equal(cuMemAddressReserve(&at, 4096, 0, 0, 0), CUDA_SUCCESS);
	OK(cuMemAddressReserve(&at, CHUNK, 0, AT, 0));
	OK(cuMemAddressReserve(&there, CHUNK, 0, AT, 0)); /* taken: elsewhere */
	assert_int_not_equal(there, AT);
	assert_int_not_equal(cuMemCreate(&handle, 4096, &prop, 0), CUDA_SUCCESS);
	other.requestedHandleTypes = 8;
	assert_int_not_equal(cuMemCreate(&handle, CHUNK, &other, 0), CUDA_SUCCESS);
	OK(cuMemCreate(&handle, CHUNK, &prop, 0));
	assert_int_not_equal(cuMemMap(AT + CHUNK, CHUNK, 0, handle, 0), CUDA_SUCCESS);
	assert_int_not_equal(cuMemMap(AT, CHUNK, 0, handle + 1, 0), CUDA_SUCCESS);
	OK(cuMemMap(AT, CHUNK, 0, handle, 0));
	assert_int_not_equal(cuMemMap(AT, CHUNK, 0, handle, 0), CUDA_SUCCESS);
	assert_int_not_equal(cuMemUnmap(AT, CHUNK / 2), CUDA_SUCCESS);
	assert_int_not_equal(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1, 1),
			     CUDA_SUCCESS);
	OK(cuMemUnmap(AT, CHUNK));
	OK(cuMemRelease(handle));
	assert_int_not_equal(cuMemRelease(handle), CUDA_SUCCESS);
	OK(cuMemAddressFree(at, CHUNK));
	OK(cuMemAddressFree(there, CHUNK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_mappings_are_one_memory),
		cmocka_unit_test(wrong_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, emu_dir_teardown);
}
