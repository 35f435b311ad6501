/*
 * The check for races: accesses of shared or global memory by two threads, one of them a write,
 * with nothing that orders them. Private to src/emu/exec.
 */
#ifndef COT_EMU_EXEC_RACE_H
#define COT_EMU_EXEC_RACE_H

#include "emu/exec/inside.h"

/* To be called before each access; p as cot_exec_access() found them. */
enum cot_exec_flow cot_exec_race_check(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				       uint32_t m, uint32_t bytes, uint8_t *const p[LANES]);

/* All threads of the block have met. */
void cot_exec_race_barrier(struct cot_exec_block *b);
/* Lanes of the warp have met. */
void cot_exec_race_warp(struct cot_exec_warp *w);

#endif
