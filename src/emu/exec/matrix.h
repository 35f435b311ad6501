/*
 * Matrix instructions, for which the lanes of a warp meet as for other instructions of the warp.
 * Private to src/emu/exec.
 */
#ifndef COT_EMU_EXEC_MATRIX_H
#define COT_EMU_EXEC_MATRIX_H

#include "emu/exec/lower.h"

enum cot_exec_matrix { COT_EXEC_MATRIX_MMA, COT_EXEC_MATRIX_MEMORY, COT_EXEC_MATRIX_LOAD };

/* Emits *in as an instruction for which all lanes meet. */
void cot_exec_emit_matrix(struct cot_exec_lower *l, enum cot_exec_matrix kind,
			  const struct cot_exec_insn *in);

enum cot_exec_flow cot_exec_do_mma(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m);
enum cot_exec_flow cot_exec_do_wmma_memory(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					   uint32_t m);
enum cot_exec_flow cot_exec_do_ldmatrix(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					uint32_t m);

#endif
