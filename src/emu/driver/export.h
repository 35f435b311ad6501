/*
 * What the emulated MPS server asks of the emulated driver, through cuGetExportTable: a context
 * whose channels other processes may use.
 */
#ifndef COT_EMU_DRIVER_EXPORT_H
#define COT_EMU_DRIVER_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

#define COT_EMU_EXPORT_MPS_ID \
	((CUuuid){{'c', 'o', 't', '-', 'e', 'm', 'u', '-', 'm', 'p', 's', '-', '0', '0', '0', '1'}})

struct cot_emu_context;

struct cot_emu_export_mps {
	uint32_t size; /* of this structure */
	/* Makes a context with so many channels and writes their tokens. */
	CUresult (*create)(CUdevice device, unsigned n_channels, uint32_t *ret_tokens,
			   struct cot_emu_context **ret_context);
	void (*destroy)(struct cot_emu_context *context);
	bool (*faulted)(struct cot_emu_context *context);
	/* Lets go of the work of processes that have died. */
	void (*bury)(void);
};

#endif
