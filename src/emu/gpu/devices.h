/* The GPUs that can be emulated. What else they tell programs is in driver/device.c. */
#ifndef COT_EMU_GPU_DEVICES_H
#define COT_EMU_GPU_DEVICES_H

#include <stdint.h>

#include "base/gpu_sheet.h"

/* Which GPU it looks like; the first is the default. */
enum cot_emu_preset { COT_EMU_H200, COT_EMU_K20C, COT_EMU_N_PRESETS };

/* In this order, the words of COTENANT_EMU_DEVICE. */
#define COT_EMU_DEVICE_WORDS(between) "h200" between "k20c"

static const struct cot_emu_device {
	const char *name;
	uint32_t n_sms;
	uint64_t memory_bytes; /* as its driver says */
} cot_emu_devices[COT_EMU_N_PRESETS] = {
	{"cotenant emulated GPU (H200)", COT_H200_SMS, COT_H200_MEMORY_MIB << 20},
	{"cotenant emulated GPU (Tesla K20c)", COT_K20C_SMS, COT_K20C_MEMORY_MIB << 20},
};

#endif
