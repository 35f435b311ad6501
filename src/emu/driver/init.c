/* Initialisation, devices and errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/driver/driver.h"
#include "emu/driver/export.h"
#include "emu/mps/client.h"
#include "emu/rm/rm.h"

#define DEVICE_NAME   "cotenant emulated GPU"
#define DEVICE_MEMORY (139ull << 30)

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int init_pid; /* the process that has called cuInit */
static CUresult init_result;
static struct cot_emu_gpu *machine;
static bool under_mps;
static int visible[COT_EMU_MAX_GPUS];
static int n_visible;

/* "1,0" chooses and orders; the first bad entry ends the list, as with the real driver. */
static void read_visible(int n_gpus)
{
	const char *s = getenv("CUDA_VISIBLE_DEVICES");
	char *end;
	long v;
	int i;

	n_visible = 0;
	if (!s) {
		for (i = 0; i < n_gpus; i++)
			visible[n_visible++] = i;
		return;
	}
	while (*s && n_visible < (int)COT_EMU_MAX_GPUS) {
		v = strtol(s, &end, 10);
		if (end == s || v < 0 || v >= n_gpus)
			return;
		visible[n_visible++] = (int)v;
		s = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return;
	}
}

static CUresult result_of_attach(int err)
{
	switch (-err) {
	case 0:
		return CUDA_SUCCESS;
	case ENOSPC:
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case EPROTO:
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	case EAGAIN:
		return CUDA_ERROR_NOT_INITIALIZED;
	default:
		return CUDA_ERROR_NO_DEVICE;
	}
}

static CUresult initialise(void)
{
	CUresult result;
	int err = cot_emu_node_open();

	if (!err)
		err = cot_emu_gpu_attach(&machine);
	if (err)
		return result_of_attach(err);
	read_visible((int)cot_emu_gpu_config(machine)->params.n_gpus);
	if (!n_visible)
		return CUDA_ERROR_NO_DEVICE;
	result = cot_mps_probe(&under_mps);
	return result;
}

CUresult cuInit(unsigned flags)
{
	int pid = atomic_load(&init_pid);

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	/* Before the lock, which a fork may have copied while it was taken. */
	if (pid && pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&init_pid)) {
		init_result = initialise();
		/* Where there is an MPS server that takes nobody now, there may be one later. */
		if (init_result == CUDA_SUCCESS)
			atomic_store(&init_pid, getpid());
	}
	pthread_mutex_unlock(&init_lock);
	return init_result;
}

CUresult cot_emu_ready(void)
{
	return atomic_load(&init_pid) == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct cot_emu_gpu *cot_emu_machine(void)
{
	return machine;
}

bool cot_emu_under_mps(void)
{
	return under_mps;
}

int cot_emu_visible(CUdevice device)
{
	return device >= 0 && device < n_visible ? visible[device] : -1;
}

static CUresult check_device(CUdevice device, const void *out)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_visible(device) < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = COT_EMU_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = check_device(ordinal, device);

	if (!result)
		*device = ordinal;
	return result;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = n_visible;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	CUresult result = check_device(device, name);

	if (result)
		return result;
	if (size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", DEVICE_NAME);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	CUresult result = check_device(device, uuid);

	if (result)
		return result;
	memcpy(uuid->bytes, "cotenant-emu-gp", 15);
	uuid->bytes[15] = (unsigned char)('0' + cot_emu_visible(device));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return cuDeviceGetUuid(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result = check_device(device, bytes);

	if (!result)
		*bytes = DEVICE_MEMORY;
	return result;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	CUresult result = check_device(device, value);

	if (result)
		return result;
	switch (what) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = COT_EMU_MAX_THREADS;
		break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
		*value = 32;
		break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = 1980000;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = (int)cot_emu_gpu_config(machine)->params.n_sms;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*value = 2048;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = 0;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
		*value = 1;
		break;
	case CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
		*value = under_mps;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define E(code, text)             \
	{                         \
		code, #code, text \
	}
	E(CUDA_SUCCESS, "no error"),
	E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for the emulated GPU"),
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context is active"),
	E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	E(CUDA_ERROR_NOT_READY, "device not ready"),
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	E(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
	E(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "another version of the emulated GPU is in use"),
	E(CUDA_ERROR_MPS_CONNECTION_FAILED,
	  "MPS client failed to connect to the MPS control daemon"),
	E(CUDA_ERROR_MPS_RPC_FAILURE,
	  "the remote procedural call between the MPS server and the MPS client failed"),
	E(CUDA_ERROR_MPS_SERVER_NOT_READY,
	  "MPS server is not ready to accept new MPS client requests"),
	E(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
	  "the hardware resources required to create MPS client have been exhausted"),
	E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

CUresult cuGetErrorName(CUresult error, const char **name)
{
	size_t i;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = NULL;
	for (i = 0; i < COT_ARRAY_LEN(errors); i++)
		if (errors[i].code == error)
			*name = errors[i].name;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	size_t i;

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = NULL;
	for (i = 0; i < COT_ARRAY_LEN(errors); i++)
		if (errors[i].code == error)
			*text = errors[i].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
