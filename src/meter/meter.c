#include "meter/meter.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct calls {
	int (*init)(void);
	int (*by_index)(unsigned index, void **device);
	int (*by_uuid)(const char *uuid, void **device);
	int (*energy)(void *device, unsigned long long *mj);
	int (*power)(void *device, unsigned *mw);
};

static const struct {
	const char *name;
	size_t at;
} names[] = {
	{"nvmlInit_v2", offsetof(struct calls, init)},
	{"nvmlDeviceGetHandleByIndex_v2", offsetof(struct calls, by_index)},
	{"nvmlDeviceGetHandleByUUID", offsetof(struct calls, by_uuid)},
	{"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct calls, energy)},
	{"nvmlDeviceGetPowerUsage", offsetof(struct calls, power)},
};

/* false: answer->why_not says why. */
static bool open_library(struct calls *calls, struct cot_meter_answer *answer)
{
	const char *file = getenv("COTENANT_NVML");
	void *library = dlopen(file && *file ? file : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t i;
	int rc;

	for (i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol) {
			(void)snprintf(answer->why_not, sizeof(answer->why_not),
				       "libnvidia-ml.so.1 has no %s", names[i].name);
			return false;
		}
		memcpy((char *)calls + names[i].at, &symbol, sizeof(symbol));
	}
	rc = library ? calls->init() : -1;
	if (rc)
		(void)snprintf(answer->why_not, sizeof(answer->why_not),
			       library ? "nvmlInit failed (%d)" : "there is no libnvidia-ml.so.1",
			       rc);
	return !rc;
}

static void *device_of(const struct calls *calls, const struct cot_meter_gpus *gpus, uint32_t i)
{
	void *device = NULL;
	int rc = gpus->uuid[i][0] ? calls->by_uuid(gpus->uuid[i], &device)
				  : calls->by_index(i, &device);

	return rc ? NULL : device;
}

static void look(const struct calls *calls, void *const *devices, uint32_t n,
		 struct cot_meter_answer *answer)
{
	unsigned long long mj;
	bool any = false;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct cot_meter_gpu *gpu = &answer->gpu[i];
		unsigned mw = 0;

		gpu->known = devices[i] && !calls->energy(devices[i], &mj);
		if (!gpu->known)
			continue;
		any = true;
		gpu->energy_mj = mj;
		gpu->power_mw = calls->power(devices[i], &mw) ? 0 : mw;
	}
	(void)snprintf(answer->why_not, sizeof(answer->why_not), "%s",
		       any ? "" : "NVML counts no energy of these GPUs");
}

void cot_meter_serve(int fd, const struct cot_meter_gpus *gpus)
{
	struct cot_meter_answer answer = {.why_not = ""};
	void *devices[COT_METER_GPUS_MAX] = {NULL};
	struct calls calls;
	uint32_t i, n = gpus->n < COT_METER_GPUS_MAX ? gpus->n : COT_METER_GPUS_MAX;
	bool opened = open_library(&calls, &answer);
	ssize_t got;
	char byte;

	for (i = 0; opened && i < n; i++)
		devices[i] = device_of(&calls, gpus, i);
	for (;;) {
		got = recv(fd, &byte, 1, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != 1)
			return;
		if (opened)
			look(&calls, devices, n, &answer);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			return;
	}
}
