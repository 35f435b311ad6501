/* What is known of a function, and settings; and how many of its blocks fit on an SM. */
#include "emu/driver/inside.h"

#define SHARED_OPT_IN 97 /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */

static CUresult find(CUfunction handle, struct cot_emu_function **ret_function)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	return result ? result : cot_emu_function_get(handle, c, ret_function);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result || !value)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	switch (what) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = (int)f->max_threads;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)f->shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)f->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = (int)f->n_registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = (int)(f->target ? f->target : cot_emu_device_target());
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION: /* as if it had been compiled when it was loaded */
		*value = (int)cot_emu_device_target();
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = (int)cot_emu_dynamic_shared(f);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = atomic_load(&f->carveout) - 1;
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*value = atomic_load(&f->non_portable_cluster);
		break;
	default:
		if ((unsigned)what > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
			return CUDA_ERROR_INVALID_VALUE;
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);
	uint32_t most;

	if (result)
		return result;
	switch (what) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		most = (uint32_t)cot_emu_device_attribute(SHARED_OPT_IN);
		if (value < 0 || (uint32_t)value + f->shared_bytes > most)
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&f->max_dynamic_shared, (uint32_t)value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&f->carveout, value + 1);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		atomic_store(&f->non_portable_cluster, value != 0);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute what, CUkernel kernel,
			      CUdevice device)
{
	(void)device; /* all are alike */
	return cuFuncGetAttribute(value, what, (CUfunction)kernel);
}

CUresult cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel kernel,
			      CUdevice device)
{
	(void)device;
	return cuFuncSetAttribute((CUfunction)kernel, what, value);
}

/* Caches are not emulated. */
CUresult cuFuncSetCacheConfig(CUfunction function, int config)
{
	struct cot_emu_function *f;

	(void)config;
	return find(function, &f);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
	(void)device;
	return cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, int config)
{
	return cuFuncSetCacheConfig(function, config);
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result || !name)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result || !module)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*module = (CUmodule)f->module;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result)
		return result;
	if (index >= f->n_params || !offset)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->params[index].offset;
	if (size)
		*size = f->params[index].size;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return cuFuncGetParamInfo((CUfunction)kernel, index, offset, size);
}

CUresult cuFuncIsLoaded(int *state, CUfunction function)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result || !state)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*state = 1;
	return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
	struct cot_emu_function *f;

	return find(function, &f);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction function,
							      int block_size, size_t shared,
							      unsigned flags)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);

	if (result)
		return result;
	if (!n || block_size <= 0 || flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	*n = shared > UINT32_MAX / 2
		     ? 0
		     : (int)cot_emu_occupancy(f, (uint32_t)block_size, (uint32_t)shared);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function, int block_size,
						     size_t shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, function, block_size, shared,
								    0);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, CUfunction function,
					  size_t (*shared_of)(int block_size), size_t shared,
					  int limit)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);
	uint32_t threads, blocks, most = 0;

	if (result)
		return result;
	if (!grid_size || !block_size || limit < 0)
		return CUDA_ERROR_INVALID_VALUE;
	*grid_size = *block_size = 0;
	for (threads = 32; threads <= f->max_threads; threads += 32) {
		if (limit && threads > (uint32_t)limit)
			break;
		if (shared_of)
			shared = shared_of((int)threads);
		if (shared > UINT32_MAX / 2)
			continue;
		blocks = cot_emu_occupancy(f, threads, (uint32_t)shared);
		if (blocks * threads >= most && blocks) {
			most = blocks * threads;
			*block_size = (int)threads;
			*grid_size = (int)(blocks * cot_emu_n_sms());
		}
	}
	return CUDA_SUCCESS;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int n_blocks,
						 int block_size)
{
	struct cot_emu_function *f;
	CUresult result = find(function, &f);
	uint32_t shared, most = (uint32_t)cot_emu_device_attribute(SHARED_OPT_IN);

	if (result)
		return result;
	if (!bytes || n_blocks <= 0 || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* Granted in units; the largest that still lets so many blocks in. */
	for (shared = most; shared >= 128; shared -= 128)
		if (cot_emu_occupancy(f, (uint32_t)block_size, shared) >= (uint32_t)n_blocks)
			break;
	*bytes = shared >= 128 ? shared : 0;
	return CUDA_SUCCESS;
}
