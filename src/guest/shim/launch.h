/* A launch: left as it is (original.c), or made into workers. */
#ifndef COT_GUEST_SHIM_LAUNCH_H
#define COT_GUEST_SHIM_LAUNCH_H

#include "guest/shim/driver.h"

/* What the program has asked for, and of which entry point. */
struct cot_shim_original {
	cot_shim_handle function;
	const CUlaunchConfig *config;
	void **params, **extra;
	bool per_thread, with_attributes, cooperative;
};

/* Launches just that. The driver's result. */
int cot_shim_original_launch(const struct cot_shim_original *o);

/* The driver's result. */
int cot_shim_launch(const struct cot_shim_original *asked);

#endif
