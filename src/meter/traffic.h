/*
 * What a GPU's memory moves, by NVML's performance monitoring (GPM), which H100s and later GPUs
 * have and which needs no rights, other than the counters of NVIDIA's profiler: in the mean between
 * two looks, of all programs on the GPU together. Calls may take milliseconds. Belongs to one
 * thread; of a process there is one at a time. Nothing is ever set on a GPU.
 */
#ifndef COT_METER_TRAFFIC_H
#define COT_METER_TRAFFIC_H

#include <stdint.h>

#include "meter/nvml.h"

struct cot_traffic;

/* Of the GPU with this UUID; "": of that number. NULL: `why_not` is a sentence. */
struct cot_traffic *cot_traffic_open(const char *uuid, uint32_t index,
				     char why_not[COT_NVML_WHY_MAX]);
void cot_traffic_close(struct cot_traffic *t); /* takes NULL */

/* Begins. -EIO: the library says no. */
int cot_traffic_begin(struct cot_traffic *t);
/* Bytes per second, read and written, since then: a tenth of a second at least. -EIO, and where the
 * library has no number. */
int cot_traffic_end(struct cot_traffic *t, double *ret_bytes_per_s);

#endif
