/*
 * What the environment says about the emulated GPU. The first process fixes the physical values for
 * all processes (they are in the shared state); each process reads the rest for itself. No state;
 * safe from any thread as far as getenv is.
 */
#ifndef COT_EMU_GPU_CONFIG_H
#define COT_EMU_GPU_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/gpu/devices.h"
#include "emu/gpu/model.h"

struct cot_emu_config {
	struct cot_emu_params params;
	uint32_t preset;
	uint64_t scale_milli; /* wall time per GPU time, in thousandths */
	uint64_t control_ns;  /* GPU time that a control takes, as a call to the firmware does */
};

/*
 * COTENANT_EMU_DEVICE (h200, or k20c), COTENANT_EMU_SCALE (1; 10 lets the GPU run ten times
 * slower), COTENANT_EMU_GPUS (1), COTENANT_EMU_SMS (as many as the device has),
 * COTENANT_EMU_SWITCH_US (170), COTENANT_EMU_DRAINED_US (80), COTENANT_EMU_IDLE_US (0),
 * COTENANT_EMU_CONTROL_US (100). Wrong values count as not set; see cot_emu_config_wrong().
 */
struct cot_emu_config cot_emu_config_read(void);

/*
 * The i-th variable with a value that means nothing, as one sentence: what it is and what was
 * expected. False when there are not that many.
 */
bool cot_emu_config_wrong(unsigned i, char *text, size_t size);

/* COTENANT_EMU_DIR, or (ret_own) a folder of the user's own in shared memory. */
int cot_emu_config_dir(char path[PATH_MAX], bool *ret_own);

/* COTENANT_EMU_SEED: a number of the process's own that decides the order in which kernels run. */
bool cot_emu_config_seed(uint64_t *ret_seed);

/* Is `word` in COTENANT_EMU_CHECK, a comma-separated list of what to look for in kernels? */
bool cot_emu_config_check(const char *word);

/* Is `word` in COTENANT_EMU_QUIRKS, a comma-separated list of ways in which this GPU misbehaves? */
bool cot_emu_config_quirk(const char *word);

#endif
