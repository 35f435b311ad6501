/* Launches: arguments, shape and attributes. No state. */
#ifndef COT_EMU_DRIVER_LAUNCH_H
#define COT_EMU_DRIVER_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

struct cot_emu_place;
struct cot_emu_task;

/* What a launch asks for beside its shape. */
struct cot_emu_wishes {
	uint32_t cluster[3];
	bool cooperative;
	CUevent after; /* to be recorded when the kernel has ended; NULL: none */
};

/* Adds what the attributes say to the wishes, which the caller has begun. */
CUresult cot_emu_wishes_read(const CUlaunchConfig *config, struct cot_emu_wishes *w);
/* Packs arguments and checks the shape; the task owns the arguments. */
CUresult cot_emu_task_launch(struct cot_emu_place place, const CUlaunchConfig *config,
			     CUfunction function, void **params, void **extra,
			     const struct cot_emu_wishes *w, struct cot_emu_task *ret_task);

#endif
