/*
 * A stand-in for libnvidia-ml.so.1: a GPU that draws 250 W for ever, and counts its energy in steps
 * of 20 ms of it, as NVML does.
 */
#include <stdio.h>
#include <time.h>

#define API	__attribute__((visibility("default")))
#define WATTS	250
#define STEP_MS 20

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlSystemGetDriverVersion(char *text, unsigned size);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret);
API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret_mj);
API int nvmlDeviceGetPowerUsage(void *device, unsigned *ret_mw);
API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret_mw);
API int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *ret_mhz);
API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret_celsius);
API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret);

static int gpu;

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	snprintf(text, size, "999.1");
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **ret)
{
	*ret = &gpu;
	return bus_id[0] ? 0 : 2;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret_mj)
{
	struct timespec t;
	unsigned long long ms;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
	*ret_mj = ms / STEP_MS * STEP_MS * WATTS;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *ret_mw)
{
	*ret_mw = WATTS * 1000;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret_mw)
{
	*ret_mw = 700000;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *ret_mhz)
{
	*ret_mhz = clock == 1 ? 1980 : 3201;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret_celsius)
{
	*ret_celsius = 30 + (unsigned)sensor;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret)
{
	*ret = 1;
	return device == &gpu ? 0 : 2;
}
