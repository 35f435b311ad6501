/*
 * A stand-in for libnvidia-ml.so.1: a GPU that draws 250 W for ever, counts its energy in steps of
 * 20 ms of it, as NVML does, and moves a quarter of what its memory can.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define API	__attribute__((visibility("default")))
#define WATTS	250
#define STEP_MS 20
#define PERCENT 25.0
#define DRAM	10u /* of the metrics */

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
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
API int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret);
API int nvmlDeviceGetMaxClockInfo(void *device, unsigned clock, unsigned *ret_mhz);
API int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *ret_bits);
API int nvmlGpmQueryDeviceSupport(void *device, void *support);
API int nvmlGpmSampleAlloc(void **ret);
API int nvmlGpmSampleFree(void *sample);
API int nvmlGpmSampleGet(void *device, void *sample);
API int nvmlGpmMetricsGet(void *metrics);

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

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
	*ret = &gpu;
	return index ? 6 : 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret)
{
	*ret = &gpu;
	return uuid[0] ? 0 : 2;
}

int nvmlDeviceGetMaxClockInfo(void *device, unsigned clock, unsigned *ret_mhz)
{
	return nvmlDeviceGetClockInfo(device, (int)clock, ret_mhz);
}

int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *ret_bits)
{
	*ret_bits = 6144;
	return device == &gpu ? 0 : 2;
}

/* ---- performance monitoring: who uses it has a sample of before and one of after ---- */

int nvmlGpmQueryDeviceSupport(void *device, void *support)
{
	unsigned *version_and_answer = support;

	version_and_answer[1] = 1;
	return device == &gpu && version_and_answer[0] == 1 ? 0 : 2;
}

int nvmlGpmSampleAlloc(void **ret)
{
	*ret = calloc(1, 1);
	return *ret ? 0 : 999;
}

int nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return 0;
}

int nvmlGpmSampleGet(void *device, void *sample)
{
	*(char *)sample = 1;
	return device == &gpu ? 0 : 2;
}

int nvmlGpmMetricsGet(void *metrics)
{
	struct {
		unsigned version, n;
		char *samples[2];
		struct {
			unsigned id;
			int rc;
			double value;
		} first;
	} *m = metrics;

	m->first.rc = m->first.id == DRAM && *m->samples[0] && *m->samples[1] ? 0 : 3;
	m->first.value = PERCENT;
	return m->version == 1 && m->n == 1 ? 0 : 2;
}
