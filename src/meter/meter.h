/*
 * The energy that GPUs have taken, what they may draw, and what processes have of their memory, by
 * NVML. Its calls may take long and hang, so the daemon has a process for them: it asks with one
 * byte and gets a struct cot_meter_answer. Nothing is ever set on a GPU.
 */
#ifndef COT_METER_METER_H
#define COT_METER_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/nvml.h"

#define COT_METER_GPUS_MAX	16u
#define COT_METER_UUID_MAX	64u
#define COT_METER_PROCESSES_MAX 512u /* of all GPUs; of more the rest is not known */

/* Bytes that ask: for the energy alone, which is cheap, or for memory as well. */
#define COT_METER_ENERGY 'e'
#define COT_METER_MEMORY 'm'

/* GPUs in PCI order; "" where the UUID is not known: then that place counts. */
struct cot_meter_gpus {
	uint32_t n;
	char uuid[COT_METER_GPUS_MAX][COT_METER_UUID_MAX];
};

struct cot_meter_gpu {
	uint64_t energy_mj;    /* since the driver was loaded; moves in steps */
	uint64_t memory_bytes; /* that programs can have, as of the last time that it was asked; 0:
				  not known */
	uint32_t power_mw;
	uint32_t limit_mw; /* that it draws at most, as it was last said; 0: never */
	bool known;
};

struct cot_meter_process {
	uint64_t bytes;
	uint32_t pid, gpu;
};

struct cot_meter_answer {
	char why_not[COT_NVML_WHY_MAX]; /* "": the energy or the memory of at least one GPU is known
					 */
	struct cot_meter_gpu gpu[COT_METER_GPUS_MAX];
	bool has_memory; /* it was asked for, and at least one GPU says it */
	uint32_t n_processes;
	struct cot_meter_process process[COT_METER_PROCESSES_MAX];
};

/* Answers until the other end is closed. */
void cot_meter_serve(int fd, const struct cot_meter_gpus *gpus);

#endif
