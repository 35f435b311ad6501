/*
 * The SMs of a GPU in parts: the primary context, and green contexts on some of its SMs, each with
 * two streams, as two kernels may share its SMs. Kernels that are loaded in the primary context run
 * on any of these streams. A driver without green contexts has the whole GPU only. One thread.
 */
#ifndef COT_BENCH_CONTENTION_PARTITION_H
#define COT_BENCH_CONTENTION_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/green.h"
#include "kernels/launch/cuda.h"

#define COT_PARTITION_SPLITS  32u
#define COT_PARTITION_STREAMS 2u

struct cot_partition {
	uint32_t n_sms;
	CUgreenCtx green;
	CUstream streams[COT_PARTITION_STREAMS];
};

/* So many SMs, and what is left of the GPU. */
struct cot_partition_split {
	struct cot_partition first, rest;
};

struct cot_partitions {
	struct cot_cuda *cuda; /* not owned; its own context is for other kernels */
	CUcontext primary;
	int device;
	struct cot_partition whole;
	bool has_green;
	struct cot_error why_not; /* there are none */
	struct cot_partition_split splits[COT_PARTITION_SPLITS];
	uint32_t n_splits;
	struct cot_green green;
};

/* Makes the primary context current. Without green contexts it succeeds as well: has_green. */
int cot_partitions_init(struct cot_partitions *p, struct cot_cuda *cuda, int ordinal,
			struct cot_error *err);
void cot_partitions_finish(struct cot_partitions *p);

/*
 * The split whose first part has just n_sms; made when it is first asked for. -ENOTSUP: there are
 * no green contexts, or the driver gives another number.
 */
int cot_partitions_split(struct cot_partitions *p, uint32_t n_sms,
			 const struct cot_partition_split **ret_split, struct cot_error *err);

/* For kernels of the primary context, and of the one that cot_cuda_open() made. */
int cot_partitions_use_primary(struct cot_partitions *p, struct cot_error *err);
int cot_partitions_use_own(struct cot_partitions *p, struct cot_error *err);

/* "0000:1b:00.0" */
void cot_partitions_bus_id(const struct cot_partitions *p, char *ret_text, int size);

#endif
