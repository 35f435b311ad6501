/*
 * The sweep of the consolidation study: the same decisions with other counts of the kernels. Main
 * thread only.
 */
#ifndef COT_STUDY_CONSOLIDATION_SWEEP_H
#define COT_STUDY_CONSOLIDATION_SWEEP_H

#include "report/model.h"
#include "study/consolidation/consolidation.h"

/* The two scenarios, the kernel of 15 blocks first in each. -ENOMEM. */
int cot_consolidation_sweep_run(const struct cot_model_input *first,
				const struct cot_model_input *second,
				struct cot_consolidation_sweep *ret_sweep);

#endif
