#include "kernels/launch/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int cot_cuda_check(const struct cot_cuda *cuda, int result, const char *what, struct cot_error *err)
{
	return cot_driver_check(&cuda->api, result, what, err);
}

static int open_device(struct cot_cuda *cuda, int ordinal, struct cot_error *err)
{
	int device, major = 0, minor = 0, rc;

	rc = COT_CUDA_CALL(cuda, err, cuInit, 0);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuDeviceGet, &device, ordinal);
	if (rc)
		return rc;
	cuda->api.cuDriverGetVersion(&cuda->driver_version);
	cuda->api.cuDeviceGetName(cuda->name, sizeof(cuda->name), device);
	cuda->api.cuDeviceGetAttribute(&cuda->n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				       device);
	cuda->api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				       device);
	cuda->api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				       device);
	cuda->capability = 10 * major + minor;
	return COT_CUDA_CALL(cuda, err, cuCtxCreate_v2, &cuda->context, 0, device);
}

static int open_streams(struct cot_cuda *cuda, struct cot_error *err)
{
	int least = 0, greatest = 0, rc;

	cuda->api.cuCtxGetStreamPriorityRange(&least, &greatest);
	rc = COT_CUDA_CALL(cuda, err, cuStreamCreateWithPriority, &cuda->stream,
			   CU_STREAM_NON_BLOCKING, least);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuStreamCreateWithPriority, &cuda->urgent,
				   CU_STREAM_NON_BLOCKING, greatest);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuMemAllocHost_v2, (void **)&cuda->word,
				   sizeof(uint32_t));
	return rc;
}

int cot_cuda_open(struct cot_cuda *cuda, int ordinal, struct cot_error *err)
{
	int rc;

	*cuda = (struct cot_cuda){0};
	rc = cot_driver_open(&cuda->api, err);
	if (!rc)
		rc = open_device(cuda, ordinal, err);
	if (!rc)
		rc = open_streams(cuda, err);
	if (rc)
		cot_cuda_close(cuda);
	return rc;
}

void cot_cuda_close(struct cot_cuda *cuda)
{
	if (cuda->word)
		cuda->api.cuMemFreeHost(cuda->word);
	if (cuda->urgent)
		cuda->api.cuStreamDestroy_v2(cuda->urgent);
	if (cuda->stream)
		cuda->api.cuStreamDestroy_v2(cuda->stream);
	if (cuda->context)
		cuda->api.cuCtxDestroy_v2(cuda->context);
	*cuda = (struct cot_cuda){0};
}

int cot_cuda_load(const struct cot_cuda *cuda, const char *text, CUmodule *ret_module,
		  struct cot_error *err)
{
	enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
	static int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
	char log[4096] = "";
	void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
	int result = cuda->api.cuModuleLoadDataEx(ret_module, text, 2, options, values);

	if (!result)
		return 0;
	log[strcspn(log, "\n")] = '\0';
	if (!log[0])
		return cot_cuda_check(cuda, result, "cuModuleLoadDataEx", err);
	return cot_error_set(err, -EINVAL, "the driver refuses the PTX: %s", log);
}

int cot_cuda_poke(const struct cot_cuda *cuda, uint64_t address, uint32_t value, CUevent begun,
		  struct cot_error *err)
{
	int result = begun ? cuda->api.cuEventRecord(begun, cuda->urgent) : 0;

	if (result)
		return cot_cuda_check(cuda, result, "cuEventRecord", err);
	result = cuda->api.cuStreamWriteValue32_v2
			 ? cuda->api.cuStreamWriteValue32_v2(cuda->urgent, address, value, 0)
			 : CUDA_ERROR_NOT_SUPPORTED;
	if (result) {
		*cuda->word = value;
		result = cuda->api.cuMemcpyHtoDAsync_v2(address, cuda->word, sizeof(value),
							cuda->urgent);
	}
	if (!result)
		result = cuda->api.cuStreamSynchronize(cuda->urgent);
	return cot_cuda_check(cuda, result, "writing an eviction flag", err);
}
