#include "kernels/run/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NON_BLOCKING 1u

int cot_cuda_check(const struct cot_cuda *cuda, int result, const char *what, struct cot_error *err)
{
	const char *name = NULL;

	if (!result)
		return 0;
	if (cuda->error_name)
		cuda->error_name(result, &name);
	return cot_error_set(err, -EIO, "%s failed: %s (%d)", what, name ? name : "unknown error",
			     result);
}

static int find(void *library, const char *name, void *ret_function, struct cot_error *err)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		return cot_error_set(
			err, -ENOSYS,
			"libcuda.so.1 has no %s: expected the driver of CUDA 11 or later", name);
	/* The standard has no cast between pointers to data and to functions; dlsym needs one. */
	memcpy(ret_function, &symbol, sizeof(symbol));
	return 0;
}

static int open_library(struct cot_cuda *cuda, struct cot_error *err)
{
	int rc;

	cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda->library)
		return cot_error_set(
			err, -ENOENT,
			"there is no CUDA driver here (%s): expected a GPU's, or run this "
			"under the emulated one",
			dlerror());
#define F(symbol, name, parameters)                                  \
	rc = find(cuda->library, #symbol, (void *)&cuda->name, err); \
	if (rc)                                                      \
		return rc;
	COT_CUDA_CALLS(F)
#undef F
	if (find(cuda->library, "cuStreamWriteValue32_v2", (void *)&cuda->write_value, NULL))
		cuda->write_value = NULL;
	return 0;
}

static int open_device(struct cot_cuda *cuda, int ordinal, struct cot_error *err)
{
	int device, major = 0, minor = 0, rc;

	rc = cot_cuda_check(cuda, cuda->init(0), "cuInit", err);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->device(&device, ordinal), "cuDeviceGet", err);
	if (rc)
		return rc;
	cuda->version(&cuda->driver_version);
	cuda->device_name(cuda->name, sizeof(cuda->name), device);
	cuda->device_attribute(&cuda->n_sms, 16, device);
	cuda->device_attribute(&major, 75, device);
	cuda->device_attribute(&minor, 76, device);
	cuda->capability = 10 * major + minor;
	return cot_cuda_check(cuda, cuda->context_create(&cuda->context, 0, device), "cuCtxCreate",
			      err);
}

static int open_streams(struct cot_cuda *cuda, struct cot_error *err)
{
	int least = 0, greatest = 0, rc;

	cuda->priorities(&least, &greatest);
	rc = cot_cuda_check(cuda, cuda->stream_create(&cuda->stream, NON_BLOCKING, least),
			    "cuStreamCreateWithPriority", err);
	if (!rc)
		rc = cot_cuda_check(cuda,
				    cuda->stream_create(&cuda->urgent, NON_BLOCKING, greatest),
				    "cuStreamCreateWithPriority", err);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->alloc_host((void **)&cuda->word, sizeof(uint32_t)),
				    "cuMemAllocHost", err);
	return rc;
}

int cot_cuda_open(struct cot_cuda *cuda, int ordinal, struct cot_error *err)
{
	int rc;

	*cuda = (struct cot_cuda){0};
	rc = open_library(cuda, err);
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
		cuda->free_host(cuda->word);
	if (cuda->urgent)
		cuda->stream_destroy(cuda->urgent);
	if (cuda->stream)
		cuda->stream_destroy(cuda->stream);
	if (cuda->context)
		cuda->context_destroy(cuda->context);
	/* The driver keeps threads, so the library stays loaded. */
	*cuda = (struct cot_cuda){0};
}

int cot_cuda_load(const struct cot_cuda *cuda, const char *text, cot_cuda_module *ret_module,
		  struct cot_error *err)
{
	enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
	static int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
	char log[4096] = "";
	void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
	int result = cuda->module_load(ret_module, text, 2, options, values);

	if (!result)
		return 0;
	log[strcspn(log, "\n")] = '\0';
	if (!log[0])
		return cot_cuda_check(cuda, result, "cuModuleLoadDataEx", err);
	return cot_error_set(err, -EINVAL, "the driver refuses the PTX: %s", log);
}

int cot_cuda_poke(const struct cot_cuda *cuda, uint64_t address, uint32_t value,
		  cot_cuda_event begun, struct cot_error *err)
{
	int result = begun ? cuda->event_record(begun, cuda->urgent) : 0;

	if (result)
		return cot_cuda_check(cuda, result, "cuEventRecord", err);
	result = cuda->write_value ? cuda->write_value(cuda->urgent, address, value, 0) : -1;
	if (result) {
		*cuda->word = value;
		result = cuda->to_gpu_async(address, cuda->word, sizeof(value), cuda->urgent);
	}
	if (!result)
		result = cuda->stream_wait(cuda->urgent);
	return cot_cuda_check(cuda, result, "writing an eviction flag", err);
}
