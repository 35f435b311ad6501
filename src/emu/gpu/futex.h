/* Sleeping on a word of shared memory. Thread-safe. */
#ifndef COT_EMU_GPU_FUTEX_H
#define COT_EMU_GPU_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Returns when the word is not `seen`, at `until_ns` of CLOCK_MONOTONIC, or sooner. */
void cot_emu_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns);
void cot_emu_futex_wake_all(_Atomic uint32_t *word);

#endif
