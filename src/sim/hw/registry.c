#include <string.h>

#include "sim/hw/scheds.h"

/* The one list of hardware schedulers. */
const struct hw_sched_ops *const hw_scheds[] = {
	&hw_sched_fcfs,
	&hw_sched_npq,
	&hw_sched_ppq,
	&hw_sched_ppq_shared,
	&hw_sched_dss,
	&hw_sched_dss_printed,
	&hw_sched_timeslice,
	&hw_sched_smqos,
	&hw_sched_smqos_hasty,
	&hw_sched_smqos_printed,
	&hw_sched_spart,
	&hw_sched_spart_catchup,
	&hw_sched_rollover,
	&hw_sched_rollover_naive,
	&hw_sched_rollover_history,
	&hw_sched_rollover_elastic,
};
const unsigned hw_n_scheds = COT_ARRAY_LEN(hw_scheds);

const struct hw_sched_ops *hw_sched_find(const char *name)
{
	unsigned i;

	for (i = 0; i < hw_n_scheds; i++)
		if (!strcmp(hw_scheds[i]->name, name))
			return hw_scheds[i];
	return NULL;
}
