/*
 * The table of kernels of a trace: reads the rows of one benchmark. Private to the trace reader.
 */
#ifndef COT_TRACE_TRACE_TABLE_H
#define COT_TRACE_TRACE_TABLE_H

#include "text/csv.h"
#include "trace/trace.h"

/* free() the kernels; there is at least one. -EINVAL with a sentence, -ENOMEM. */
int cot_trace_table_read(const char *name, const void *bytes, size_t size, const char *benchmark,
			 struct cot_trace_kernel **ret_kernels, uint32_t *ret_n,
			 struct cot_error *err);

#endif
