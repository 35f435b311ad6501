/*
 * The energy that GPUs have taken, by NVML (libnvidia-ml.so.1, opened at run time; $COTENANT_NVML
 * is another file). Its calls may take long and hang, so the daemon has a process for them: it asks
 * with one byte and gets a struct cot_meter_answer. Nothing is ever set on a GPU.
 */
#ifndef COT_METER_METER_H
#define COT_METER_METER_H

#include <stdbool.h>
#include <stdint.h>

#define COT_METER_GPUS_MAX 16u
#define COT_METER_UUID_MAX 64u

/* GPUs in PCI order; "" where the UUID is not known: then that place counts. */
struct cot_meter_gpus {
	uint32_t n;
	char uuid[COT_METER_GPUS_MAX][COT_METER_UUID_MAX];
};

struct cot_meter_gpu {
	uint64_t energy_mj; /* since the driver was loaded; moves in steps */
	uint32_t power_mw;
	bool known;
};

struct cot_meter_answer {
	char why_not[128]; /* "": at least one GPU is known */
	struct cot_meter_gpu gpu[COT_METER_GPUS_MAX];
};

/* Answers until the other end is closed. */
void cot_meter_serve(int fd, const struct cot_meter_gpus *gpus);

#endif
