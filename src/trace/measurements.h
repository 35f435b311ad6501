/*
 * Measurements to train the power model with, one run a line: what it was, its events, its power.
 * A CSV (csv.h) with the columns
 *
 *     workload   the program; its runs are never split between training and test
 *     seconds    length of the run
 *     power_w    mean power of the whole system (or board) meanwhile
 *     idle_w     the same when idle
 *     sms        SMs of the GPU, busy or not
 *     clock_mhz  SM clock
 *     set        optional: train or test
 *
 * and one column for each event: how often it occurred on the whole GPU during the run.
 */
#ifndef COT_TRACE_MEASUREMENTS_H
#define COT_TRACE_MEASUREMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/scenario.h"

#define COT_MEASUREMENTS_EVENTS_MAX 16u
#define COT_MEASUREMENTS_MAX	    4096u /* runs */

struct cot_measurements {
	uint32_t n, n_events, n_workloads;
	char events[COT_MEASUREMENTS_EVENTS_MAX][COT_NAME_MAX]; /* n_events names */
	char (*workloads)[COT_NAME_MAX]; /* n_workloads names, in the order of their first run */
	uint32_t *workload;		 /* of each run */
	double *rates;			 /* n rows: events per cycle and SM */
	double *dynamic_w, *idle_w;	 /* of each run; dynamic: above idle */
	bool has_set;
	bool *train; /* of each run, with has_set */
};

/* -EINVAL with file, line and column; -ENOMEM. Release with cot_measurements_finish(). */
int cot_measurements_parse(const char *name, const void *bytes, size_t size,
			   struct cot_measurements *ret, struct cot_error *err);
void cot_measurements_finish(struct cot_measurements *m);

#endif
