/*
 * The GPUs of this machine, as far as one can tell without the CUDA libraries: from
 * /proc/driver/nvidia/gpus, else from the device nodes. $COTENANT_GPUS (a number) overrides both;
 * then all are called $COTENANT_GPU_MODEL.
 */
#ifndef COT_DAEMON_GPUS_H
#define COT_DAEMON_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#define COT_GPUS_MAX	  16u
#define COT_GPU_UUID_MAX  64u
#define COT_GPUS_TEXT_MAX (COT_GPUS_MAX * COT_GPU_UUID_MAX) /* a list of all, with the NUL */

struct cot_gpu_info {
	unsigned minor;
	char uuid[COT_GPU_UUID_MAX]; /* "GPU-..."; empty when not known */
	char model[64];
};

struct cot_gpus {
	unsigned n; /* at least 1: a machine that shows none is taken to have one */
	bool found;
	struct cot_gpu_info gpu[COT_GPUS_MAX]; /* in PCI order, as nvidia-smi */
};

void cot_gpus_find(struct cot_gpus *ret_gpus);

/*
 * The GPUs that a text means, a bit each: "" the first, "all", or a list of indices and UUIDs (or
 * their beginnings) with commas. 0 when it means none.
 */
uint64_t cot_gpus_mask(const struct cot_gpus *gpus, const char *text);

/* What to write into CUDA_VISIBLE_DEVICES for these GPUs. */
void cot_gpus_visible(const struct cot_gpus *gpus, uint64_t mask, char *text, unsigned size);

#endif
