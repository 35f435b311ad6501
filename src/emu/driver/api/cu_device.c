/* Devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/inside.h"

static CUresult check_device(CUdevice device, const void *out)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_visible(device) < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
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
	*count = cot_emu_n_visible();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	CUresult result = check_device(device, name);

	if (result)
		return result;
	if (size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)size, "%s", cot_emu_device_name());
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	CUresult result = check_device(device, uuid);

	if (result)
		return result;
	*uuid = cot_emu_device_uuid(device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return cuDeviceGetUuid(uuid, device);
}

CUresult cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device)
{
	CUresult result = check_device(device, luid);

	if (result)
		return result;
	memset(luid, 0, 8);
	if (mask)
		*mask = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result = check_device(device, bytes);

	if (!result)
		*bytes = cot_emu_device_memory();
	return result;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult result = check_device(device, major);

	if (result || !minor)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*major = (int)cot_emu_device_target() / 10;
	*minor = (int)cot_emu_device_target() % 10;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	CUresult result = check_device(device, value);

	if (result)
		return result;
	return cot_emu_device_ask(device, (int)what, value) ? CUDA_SUCCESS
							    : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
	CUresult result = check_device(device, text);

	if (result)
		return result;
	if (size < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(text, (size_t)size, "0000:%02X:00.0", (unsigned)cot_emu_visible(device) + 1);
	return CUDA_SUCCESS;
}

/* "domain:bus:slot.function", or "bus:slot.function", in hexadecimal. */
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
	CUresult result = check_device(0, device);
	unsigned long part[3] = {0, 0, 0};
	char *end;
	int n = 0, i;

	if (result)
		return result;
	for (; text && n < 3; text = end + 1) {
		part[n] = strtoul(text, &end, 16);
		if (end == text)
			return CUDA_ERROR_INVALID_VALUE;
		n++;
		if (*end != ':')
			break;
	}
	if (n < 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < cot_emu_n_visible(); i++)
		if (!part[n - 1] && (n == 2 || !part[0]) &&
		    part[n - 2] == (unsigned long)cot_emu_visible(i) + 1) {
			*device = i;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* Each GPU is alone, although all memory is the process's. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult result = check_device(device, can);

	if (!result && cot_emu_visible(peer) < 0)
		result = CUDA_ERROR_INVALID_DEVICE;
	if (!result)
		*can = 0;
	return result;
}

CUresult cuDeviceGetP2PAttribute(int *value, int what, CUdevice from, CUdevice to)
{
	(void)what;
	return from == to ? CUDA_ERROR_INVALID_DEVICE : cuDeviceCanAccessPeer(value, from, to);
}
