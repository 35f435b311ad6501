/*
 * Which workloads are drawn, and under which assumptions they are simulated.
 */
#ifndef COT_STUDY_PREEMPTION_SAMPLES_H
#define COT_STUDY_PREEMPTION_SAMPLES_H

#include "study/preemption/preemption.h"

/* Fills r->samples with their workloads; `printed` and the user's choices are there. 0 or -ENOMEM.
 */
int cot_preemption_samples_make(struct cot_preemption *r);

#endif
