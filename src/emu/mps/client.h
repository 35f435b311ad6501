/*
 * The client's side of the emulated MPS, inside the emulated driver: find the control daemon, get
 * channels of its server's group. One connection per process. Thread-safe.
 */
#ifndef COT_EMU_MPS_CLIENT_H
#define COT_EMU_MPS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/mps/wire.h"

/*
 * Connects if there is a daemon at CUDA_MPS_PIPE_DIRECTORY. Without one the program runs on its
 * own and the call succeeds; a daemon or server that refuses makes it fail.
 */
CUresult cot_emu_mps_probe(bool *ret_under_mps);

/* Channels for a context on this GPU: `wanted`, or two, or fewer than wanted. Leave with the slot.
 */
CUresult cot_emu_mps_join(int gpu, uint32_t wanted, int *ret_slot,
			  uint32_t ret_tokens[COT_EMU_MPS_MAX_CLIENTS], uint32_t *ret_n_tokens);
void cot_emu_mps_leave(int slot);

#endif
