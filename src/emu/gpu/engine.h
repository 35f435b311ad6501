/*
 * The engines of a model: which group has the GPU, for how long, and what its kernels do meanwhile.
 * Only for gpu/model.c; times and rules are explained in model.h.
 */
#ifndef COT_EMU_GPU_ENGINE_H
#define COT_EMU_GPU_ENGINE_H

#include "emu/gpu/model.h"

void cot_emu_engine_init(struct cot_emu_engine *e, uint64_t now_ns);

/* When this engine changes by itself. */
uint64_t cot_emu_engine_next(const struct cot_emu_model *m, const struct cot_emu_engine *e);

/* Books the work done until m->now_ns, on all engines; call it before anything changes. */
void cot_emu_engines_book(struct cot_emu_model *m);

/* Makes all changes that are due at m->now_ns; call it after anything has changed. */
void cot_emu_engines_settle(struct cot_emu_model *m);

/* Takes the group off its engine now (draining first where the mode says so). */
void cot_emu_engine_expel(struct cot_emu_model *m, uint32_t group);

/* The group is about to be freed: its context is thrown away, not saved. */
void cot_emu_engine_forget(struct cot_emu_model *m, uint32_t group);

bool cot_emu_engine_resident(const struct cot_emu_model *m, uint32_t group);

/* What a queued open kernel may do now. */
enum cot_emu_leave_to cot_emu_engine_leave_to(const struct cot_emu_model *m, uint32_t kernel);

/* Unlinks a queued kernel from its channel. */
void cot_emu_kernel_unlink(struct cot_emu_model *m, uint32_t kernel);

/* Ends every kernel of the group with a fault and lets it run nothing more. */
void cot_emu_group_fault(struct cot_emu_model *m, uint32_t group);

#endif
