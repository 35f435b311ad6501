/* Between rm.c and channels.c: the table of objects and its lock. */
#ifndef COT_EMU_RM_INSIDE_H
#define COT_EMU_RM_INSIDE_H

#include "cuda/abi/rm.h"
#include "emu/gpu/shared.h"
#include "emu/rm/objects.h"

/* Copies the object if it exists. Takes and drops the table's lock. */
bool cot_emu_rm_lookup(uint32_t client, uint32_t handle, struct cot_emu_rm_object *ret_object);

/* When this process last set channels up or took some down (CLOCK_MONOTONIC); 0 = never. */
uint64_t cot_emu_rm_changed_ns(void);

/* A control of an object that exists; returns the resource manager's status. */
uint32_t cot_emu_rm_control(struct cot_emu_gpu *gpu, const struct cot_emu_rm_object *o,
			    const struct cot_nv_control *c);

uint32_t cot_emu_rm_status(int err);

#endif
