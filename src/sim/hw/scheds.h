/* Declarations for the table in registry.c; each scheduler is described in its own file. */
#ifndef COT_SIM_HW_SCHEDS_H
#define COT_SIM_HW_SCHEDS_H

#include "sim/hw/hw.h"

extern const struct hw_sched_ops hw_sched_fcfs;
extern const struct hw_sched_ops hw_sched_npq;
extern const struct hw_sched_ops hw_sched_ppq;
extern const struct hw_sched_ops hw_sched_ppq_shared;
extern const struct hw_sched_ops hw_sched_dss;
extern const struct hw_sched_ops hw_sched_dss_printed;
extern const struct hw_sched_ops hw_sched_timeslice;
extern const struct hw_sched_ops hw_sched_smqos;
extern const struct hw_sched_ops hw_sched_smqos_hasty;
extern const struct hw_sched_ops hw_sched_smqos_printed;
extern const struct hw_sched_ops hw_sched_spart;
extern const struct hw_sched_ops hw_sched_spart_catchup;
extern const struct hw_sched_ops hw_sched_rollover;
extern const struct hw_sched_ops hw_sched_rollover_naive;
extern const struct hw_sched_ops hw_sched_rollover_history;
extern const struct hw_sched_ops hw_sched_rollover_elastic;

#endif
