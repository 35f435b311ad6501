#include "meter/meter.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* As NVML has it. */
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

typedef int processes_fn(void *device, unsigned *n, struct nvml_process *found);

struct calls {
	int (*by_index)(unsigned index, void **device);
	int (*by_uuid)(const char *uuid, void **device);
	int (*energy)(void *device, unsigned long long *mj);
	int (*power)(void *device, unsigned *mw);
	int (*limit)(void *device, unsigned *mw); /* optional, as all below */
	/* The second: the clients of MPS servers. */
	processes_fn *processes, *mps_processes;
	int (*memory)(void *device, struct nvml_memory *ret);
};

static const struct cot_nvml_call names[] = {
	{"nvmlDeviceGetHandleByIndex_v2", offsetof(struct calls, by_index), false},
	{"nvmlDeviceGetHandleByUUID", offsetof(struct calls, by_uuid), false},
	{"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct calls, energy), false},
	{"nvmlDeviceGetPowerUsage", offsetof(struct calls, power), false},
	{"nvmlDeviceGetEnforcedPowerLimit", offsetof(struct calls, limit), true},
	{"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct calls, processes), true},
	{"nvmlDeviceGetMPSComputeRunningProcesses_v3", offsetof(struct calls, mps_processes), true},
	{"nvmlDeviceGetMemoryInfo_v2", offsetof(struct calls, memory), true},
};

static void *device_of(const struct calls *calls, const struct cot_meter_gpus *gpus, uint32_t i)
{
	void *device = NULL;
	int rc = gpus->uuid[i][0] ? calls->by_uuid(gpus->uuid[i], &device)
				  : calls->by_index(i, &device);

	return rc ? NULL : device;
}

/* What one of the two calls says of a GPU; a process that both name counts once. */
static bool add_processes(processes_fn *list, void *device, uint32_t gpu,
			  struct cot_meter_answer *answer)
{
	static struct nvml_process found[COT_METER_PROCESSES_MAX];
	unsigned n = COT_METER_PROCESSES_MAX;
	uint32_t i, k;

	if (!list || list(device, &n, found))
		return false;
	for (i = 0; i < n && i < COT_METER_PROCESSES_MAX; i++) {
		for (k = 0; k < answer->n_processes; k++)
			if (answer->process[k].pid == found[i].pid && answer->process[k].gpu == gpu)
				break;
		/* In some containers and virtual machines NVML knows the process and not this. */
		if (k < answer->n_processes || k == COT_METER_PROCESSES_MAX ||
		    found[i].used_bytes == ULLONG_MAX)
			continue;
		answer->process[answer->n_processes++] = (struct cot_meter_process){
			.pid = found[i].pid, .gpu = gpu, .bytes = found[i].used_bytes};
	}
	return true;
}

/* Without what the driver keeps for itself. */
static uint64_t memory_of(const struct calls *calls, void *device)
{
	struct nvml_memory m = {.version = MEMORY_VERSION};

	if (!calls->memory || calls->memory(device, &m) || m.reserved > m.total)
		return 0;
	return m.total - m.reserved;
}

static void look_at_memory(const struct calls *calls, void *const *devices, uint32_t n,
			   struct cot_meter_answer *answer)
{
	uint32_t i;

	answer->has_memory = false;
	answer->n_processes = 0;
	for (i = 0; i < n; i++) {
		if (!devices[i])
			continue;
		answer->gpu[i].memory_bytes = memory_of(calls, devices[i]);
		answer->has_memory |= add_processes(calls->processes, devices[i], i, answer);
		answer->has_memory |= add_processes(calls->mps_processes, devices[i], i, answer);
	}
}

static void look(const struct calls *calls, void *const *devices, uint32_t n,
		 struct cot_meter_answer *answer)
{
	unsigned long long mj;
	bool any = calls->processes != NULL;
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct cot_meter_gpu *gpu = &answer->gpu[i];
		unsigned mw = 0;

		if (devices[i] && calls->limit && !calls->limit(devices[i], &mw))
			gpu->limit_mw = mw;
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
	static struct cot_meter_answer answer;
	void *devices[COT_METER_GPUS_MAX] = {NULL};
	static struct calls calls;
	uint32_t i, n = gpus->n < COT_METER_GPUS_MAX ? gpus->n : COT_METER_GPUS_MAX;
	bool opened =
		cot_nvml_open(names, sizeof(names) / sizeof(names[0]), &calls, answer.why_not);
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
		answer.has_memory = false;
		if (opened)
			look(&calls, devices, n, &answer);
		if (opened && byte == COT_METER_MEMORY)
			look_at_memory(&calls, devices, n, &answer);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			return;
	}
}
