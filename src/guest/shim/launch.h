/* A launch: left as it is (original.c), or made into workers. */
#ifndef COT_GUEST_SHIM_LAUNCH_H
#define COT_GUEST_SHIM_LAUNCH_H

#include "guest/shim/counts.h"
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

/* Whether workers can be launched with these attributes. */
bool cot_shim_attributes_allow(const CUlaunchConfig *config);

/*
 * A kernel that the program has written as workers (cotenant/workers.h), over the grid of all
 * tasks; of `n_params` without struct cot_workers_args. The driver's result. Unless *ret_why is
 * COT_SHIM_WHY_NOT nothing is launched.
 */
int cot_shim_launch_by_hand(const struct cot_shim_original *asked, uint32_t n_params,
			    enum cot_shim_why *ret_why);

/* The driver's result. */
int cot_shim_launch(const struct cot_shim_original *asked);

struct cot_shim_ref;
/* The daemon hears of the program, though this launch does not ask it for anything. */
void cot_shim_launch_tell(struct cot_shim_ref *r);

#endif
