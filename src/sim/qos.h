/*
 * Promises to applications: what a part of "alone on the GPU" is in instructions per cycle.
 */
#ifndef COT_SIM_QOS_H
#define COT_SIM_QOS_H

#include <stdbool.h>

#include "trace/scenario.h"

/* Whether some kernel says what its blocks do, so that instructions are counted. */
bool cot_qos_is_counted(const struct cot_scenario *sc);

/*
 * Warp instructions per cycle of app `index` alone on all SMs, as far as they count towards its
 * promise: for as long as the scenario takes when that is a time, else for as many runs.
 * -ENOMEM; -EDEADLK when the app never ends.
 */
int cot_qos_isolated_ipc(const struct cot_scenario *sc, uint32_t index, double *ret_ipc);

/* Turns every qos.percent into qos.ipc. Errors as above. */
int cot_qos_resolve(struct cot_scenario *sc);

#endif
