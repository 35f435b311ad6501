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

/* True when `name` is a built-in trace or looks like a file's; `list` says what there is. */
bool cot_trace_known(const char *name, bool *ret_is_file, char *list, size_t list_size);

#endif
