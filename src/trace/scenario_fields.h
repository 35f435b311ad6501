/*
 * Every key of a scenario and of a workload: its limits, and where it goes. Private to src/trace.
 */
#ifndef COT_TRACE_SCENARIO_FIELDS_H
#define COT_TRACE_SCENARIO_FIELDS_H

#include "text/yaml.h"
#include "trace/scenario.h"
#include "trace/trace.h"

/* A scenario, and what the file says besides. */
struct cot_scenario_file {
	struct cot_scenario sc;
	enum cot_block_time block_time;
};

/* The rows of the file; they fill a struct cot_scenario_file whose GPU is a preset. */
extern const struct cot_field cot_scenario_fields[];
/* The same of a workload, for a struct cot_workload. */
extern const struct cot_field cot_workload_fields[];

#endif
