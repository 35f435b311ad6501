/* The bound of memory (memory.h), for units that only meet it: there is none. */
#ifndef COT_TESTS_NO_MEMORY_H
#define COT_TESTS_NO_MEMORY_H

#include "guest/shim/memory.h"

bool cot_shim_memory_tell(int device, bool always, struct cot_msg_memory *ret_m)
{
	(void)device;
	(void)always;
	(void)ret_m;
	return false;
}

void cot_shim_memory_context_gone(CUcontext context)
{
	(void)context;
}

void cot_shim_memory_forget(void)
{
}

#endif
