/*
 * The runtime compares a number of its own with one of the driver's, and goes on only if they are
 * equal: HMAC-MD2 (RFC 2104, RFC 1319) over what both know of the process and the devices.
 */
#ifndef COT_EMU_DRIVER_VALIDITY_H
#define COT_EMU_DRIVER_VALIDITY_H

#include <stdint.h>

#include "cuda/abi/calls.h"

struct cot_emu_validity {
	uint32_t runtime_version;
	uint64_t seconds;				  /* since 1970, as the runtime read them */
	uint64_t runtime_table, validity_table, function; /* addresses of ours */
};

CUresult cot_emu_validity_show(const struct cot_emu_validity *v, uint64_t ret_number[2]);

#endif
