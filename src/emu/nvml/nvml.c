/*
 * NVML, for the emulated GPU: what each process has of its memory; and its counter of energy: 120
 * W, and up to 480 W more in proportion to the SMs that have work. Made up, but it follows from
 * what runs. The counter moves every 20 ms of the GPU's time. Only what cotenant asks for is here.
 * Results are NVML's: 0, 1 not initialised, 2 a wrong argument, 3 not supported, 6 no such GPU, 999
 * another error.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "emu/gpu/config.h"
#include "emu/gpu/devices.h"
#include "emu/gpu/engine.h"
#include "emu/gpu/shared.h"

#define IDLE_W	     120u
#define BUSY_W	     480u
#define STEP_NS	     20000000u
#define UJ_PER_MJ    1000u
#define NS_PER_US    1000u
#define LIMIT_MW     700000u
#define MHZ_SM	     1980u
#define MHZ_MEMORY   3201u
#define CELSIUS	     40u
#define LOOK_BACK_NS 100000000u

enum {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_ARGUMENT = 2,
	NVML_NOT_FOUND = 6,
	NVML_TOO_SMALL = 7,
	NVML_OTHER = 999
};

typedef struct nvml_device *nvmlDevice_t;

struct nvml_process {
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

struct nvml_memory {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

#define MEMORY_VERSION (sizeof(struct nvml_memory) | 2u << 24)

struct nvml_device {
	uint32_t index;
	uint64_t energy_uj, power_uj, power_ns; /* the last step; since when power is the mean */
	uint64_t at_ns;
	unsigned power_mw;
};

static struct cot_emu_gpu *machine;
static struct nvml_device devices[COT_EMU_MAX_GPUS];

COT_EXPORT int nvmlInit_v2(void);
COT_EXPORT int nvmlShutdown(void);
COT_EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
COT_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device);
COT_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
COT_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device);
COT_EXPORT int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj);
COT_EXPORT int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *mw);
COT_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n,
						       struct nvml_process *found);
COT_EXPORT int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct nvml_memory *ret);
COT_EXPORT int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *mw);
COT_EXPORT int nvmlDeviceGetClockInfo(nvmlDevice_t device, int kind, unsigned *mhz);
COT_EXPORT int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius);
COT_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
							 unsigned long long *reasons);

int nvmlInit_v2(void)
{
	uint32_t i;

	if (machine)
		return NVML_OK;
	if (cot_emu_gpu_observe(&machine))
		return NVML_OTHER;
	for (i = 0; i < COT_EMU_MAX_GPUS; i++)
		devices[i] = (struct nvml_device){.index = i};
	return NVML_OK;
}

int nvmlShutdown(void)
{
	cot_emu_gpu_detach(machine);
	machine = NULL;
	return NVML_OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	(void)snprintf(text, size, "emulated");
	return NVML_OK;
}

static int find(uint32_t index, nvmlDevice_t *device)
{
	struct cot_emu_model *m;
	bool there;

	if (!machine || !(m = cot_emu_gpu_begin(machine)))
		return NVML_UNINITIALIZED;
	there = index < m->params.n_gpus;
	cot_emu_gpu_commit(machine, false);
	if (!there)
		return NVML_NOT_FOUND;
	*device = &devices[index];
	return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	return find(index, device);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	(void)uuid;
	(void)device;
	return NVML_NOT_FOUND;
}

/* As cuDeviceGetPCIBusId(): 0000:BUS:00.0, and GPU n on bus n + 1. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	char *rest;
	unsigned long bus;

	(void)strtoul(id, &rest, 16);
	if (rest == id || *rest != ':')
		return NVML_ARGUMENT;
	bus = strtoul(rest + 1, &rest, 16);
	if (*rest != ':' || !bus || bus > UINT_MAX)
		return NVML_ARGUMENT;
	return find((unsigned)bus - 1, device);
}

static int look(nvmlDevice_t device)
{
	struct cot_emu_model *m;
	uint64_t now_ns, busy_ns, uj;

	if (!machine || !(m = cot_emu_gpu_begin(machine)))
		return NVML_UNINITIALIZED;
	cot_emu_engines_book(m);
	now_ns = m->now_ns;
	busy_ns = m->engines[device->index].busy_ns;
	cot_emu_gpu_commit(machine, false);
	if (device->at_ns && now_ns - device->at_ns < STEP_NS)
		return NVML_OK;
	device->at_ns = now_ns;
	uj = (now_ns * IDLE_W + busy_ns * BUSY_W) / NS_PER_US;
	if (now_ns - device->power_ns >= LOOK_BACK_NS || !device->power_mw) {
		if (now_ns > device->power_ns && uj > device->power_uj)
			device->power_mw = (unsigned)((uj - device->power_uj) * 1000 * NS_PER_US /
						      (now_ns - device->power_ns));
		device->power_uj = uj;
		device->power_ns = now_ns;
	}
	device->energy_uj = uj;
	return NVML_OK;
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj)
{
	int rc = look(device);

	*mj = device->energy_uj / UJ_PER_MJ;
	return rc;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *mw)
{
	int rc = look(device);

	*mw = device->power_mw;
	return rc;
}

/* Those that have some memory; `*n`: room, then how many there are. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n,
					    struct nvml_process *found)
{
	unsigned room = *n, there = 0;
	struct cot_emu_model *m;
	uint64_t bytes;
	uint32_t i;

	if (!machine || !(m = cot_emu_gpu_begin(machine)))
		return NVML_UNINITIALIZED;
	for (i = 0; i < m->n_clients; i++) {
		bytes = m->clients[i].used ? cot_emu_gpu_memory(machine, i, device->index) : 0;
		if (bytes && there++ < room)
			found[there - 1] = (struct nvml_process){.pid = (unsigned)m->clients[i].pid,
								 .used_bytes = bytes,
								 .gpu_instance = UINT_MAX,
								 .compute_instance = UINT_MAX};
	}
	cot_emu_gpu_commit(machine, false);
	*n = there;
	return there > room ? NVML_TOO_SMALL : NVML_OK;
}

/* The driver keeps nothing for itself. */
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct nvml_memory *ret)
{
	struct cot_emu_model *m;
	uint32_t i;

	if (ret->version != MEMORY_VERSION)
		return NVML_ARGUMENT;
	if (!machine || !(m = cot_emu_gpu_begin(machine)))
		return NVML_UNINITIALIZED;
	ret->total = cot_emu_devices[cot_emu_gpu_config(machine)->preset % COT_EMU_N_PRESETS]
			     .memory_bytes;
	ret->reserved = ret->used = 0;
	for (i = 0; i < m->n_clients; i++)
		ret->used += m->clients[i].used ? cot_emu_gpu_memory(machine, i, device->index) : 0;
	cot_emu_gpu_commit(machine, false);
	ret->free = ret->total > ret->used ? ret->total - ret->used : 0;
	return NVML_OK;
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *mw)
{
	(void)device;
	*mw = LIMIT_MW;
	return NVML_OK;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, int kind, unsigned *mhz)
{
	(void)device;
	*mhz = kind == 2 ? MHZ_MEMORY : MHZ_SM;
	return NVML_OK;
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
	(void)device;
	(void)sensor;
	*celsius = CELSIUS;
	return NVML_OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	(void)device;
	*reasons = 0;
	return NVML_OK;
}
