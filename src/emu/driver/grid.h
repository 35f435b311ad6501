/*
 * A PTX kernel on the emulated GPU. In the shared model it is an open kernel of a channel: it has
 * the GPU when its channel group has. Its threads are CPU threads of this process, and go through
 * a gate that is open while the model lets the kernel run. One more thread per stream watches the
 * model meanwhile.
 *
 *   model:   queued --- RUN --- LEAVE ............ SWITCH --- others --- RUN --- ended
 *   gate:    closed     open    closed                                   open
 *   threads: none       run     stop, the last     stand                 run     the last one
 *                               one says: parked                                 says: ended
 *
 * So a freeze or the end of a slice really stops a kernel: the group has not left the GPU before
 * its threads stand.
 */
#ifndef COT_EMU_DRIVER_GRID_H
#define COT_EMU_DRIVER_GRID_H

#include <stddef.h>

#include "cuda/abi/calls.h"

struct CUstream_st;
struct cot_emu_context;
struct cot_emu_launch;

/* Runs the launch, in stream order, and returns when it has ended. */
CUresult cot_emu_grid_execute(struct CUstream_st *s, const struct cot_emu_launch *launch);

/* ---- print.c: what kernels print appears when the program waits, as with the real driver ---- */

void cot_emu_print(const char *text, size_t length);
void cot_emu_print_flush(void);

#endif
