/*
 * Kernels for the analytical models: one GPU, what its power goes into, and kernels as counts per
 * warp (docs/models.md). Reads them from YAML, schema "cotenant.kernels/1". Every mistake is one
 * sentence "FILE:LINE:COL: what is wrong; what was expected". No state: any number of threads may
 * read at once.
 */
#ifndef COT_TRACE_KERNELS_H
#define COT_TRACE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/power.h"
#include "trace/scenario.h"

#define COT_KERNELS_MAX	       COT_MODEL_SET_MAX /* different kernels of one file */
#define COT_KERNELS_COPIES_MAX 64u
#define COT_KERNELS_BLOCKS_MAX ((1u << 26) - 1) /* all copies together stay below 2^32 */
#define COT_KERNELS_LAYOUT_MAX 9u

/* SMs whose blocks the file gives. */
struct cot_kernels_sms {
	uint32_t sms;
	double blocks[COT_KERNELS_MAX];
};

/* A kind of events, with what one takes per cycle of the virtual SM, or how many a warp makes. */
struct cot_kernels_event {
	char name[COT_NAME_MAX];
	double value;
};

struct cot_kernels {
	char gpu_name[COT_NAME_MAX];
	struct cot_model_gpu gpu;
	bool has_power;
	struct cot_model_power power;
	struct cot_kernels_event events[COT_MODEL_EXTRA_MAX]; /* of power.extra_w */
	uint32_t n_events;
	uint32_t n;
	char names[COT_KERNELS_MAX][COT_NAME_MAX];
	struct cot_model_kernel kernels[COT_KERNELS_MAX];
	uint32_t pending[COT_KERNELS_MAX]; /* instances */
	uint32_t n_layout;		   /* 0: none given */
	struct cot_kernels_sms layout[COT_KERNELS_LAYOUT_MAX];
};

/* `name` is for messages. -EINVAL, -ENOMEM. */
int cot_kernels_parse(const char *name, const void *bytes, size_t size,
		      struct cot_kernels *ret_kernels, struct cot_error *err);

/* `path` "-" is standard input. */
int cot_kernels_read(const char *path, struct cot_kernels *ret_kernels, struct cot_error *err);

#endif
