/*
 * From a trace's file to its program. Private to src/trace: the scenario reader builds the programs
 * of several apps into stores of its own.
 */
#ifndef COT_TRACE_TRACE_INSIDE_H
#define COT_TRACE_TRACE_INSIDE_H

#include "trace/program.h"
#include "trace/trace.h"

/* Reads the trace `name` (see cot_trace_read) and fills the empty store with its program. */
int cot_trace_load(const char *name, const char *beside, enum cot_block_time mode,
		   const struct cot_gpu *gpu, struct cot_program_store *store,
		   struct cot_error *err);

/* Whether there is one of that name, or it names a file; what is expected of a name otherwise. */
bool cot_trace_known(const char *name, bool *ret_is_file);
#define TRACE_EXPECTED "a file *.yaml or one that `cotenant list traces` shows"

#endif
