/*
 * The contention model (sim/fluid.h) beside what bench_contention measured: the parameters that
 * follow from a few of the measurements, and what the model then says of the others. Main thread
 * only.
 */
#ifndef COT_STUDY_CONTENTION_CHECK_H
#define COT_STUDY_CONTENTION_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "report/origin.h"
#include "sim/fluid.h"
#include "trace/contention.h"

#define COT_CHECK_SUBJECTS_MAX 128u

/* A kernel with so many warps on an SM, and what it is in the model. */
struct cot_check_subject {
	uint32_t kernel; /* of the file */
	enum cot_contention_memory memory;
	uint32_t warps;
	bool fitted; /* it ran alone on the numbers of SMs that one trains with */
	struct cot_kernel_work work;
	char name[COT_NAME_MAX + 16];
};

/* A mix, with the median of its repeats. Rates are warp instructions per cycle. */
struct cot_check_point {
	uint32_t n;
	bool on_rest, shared;
	uint32_t subject[COT_CONTENTION_PARTS_MAX], sms[COT_CONTENTION_PARTS_MAX];
	uint32_t n_repeats;
	double mhz; /* the SM clock meanwhile: a GPU at its power limit lowers it */
	double measured[COT_CONTENTION_PARTS_MAX];
	double spread; /* of the repeats, over their median: the larger of the parts' */
	double predicted[COT_CONTENTION_PARTS_MAX];
	bool train;
	bool slots_full; /* the kernels share SMs and, says the model, use all issue slots */
};

/* The GPU in the model. */
struct cot_check_gpu {
	double clock_mhz;	      /* median */
	double issue_width, sm_bytes; /* per cycle */
	double dram_gbps, queueing, load_max;
	double latency; /* of memory, unloaded */
};

struct cot_check {
	const struct cot_contention *file;
	struct cot_check_gpu gpu;
	uint32_t n_subjects;
	struct cot_check_subject subjects[COT_CHECK_SUBJECTS_MAX];
	uint32_t n_points;
	struct cot_check_point *points;
};

/*
 * Finds subjects and points, derives the GPU's and the subjects' parameters from the points with
 * `train`, and predicts all points. `name` is the file's, for messages. -EINVAL, -ENOMEM; release
 * with cot_check_finish() in any case.
 */
int cot_check_make(const struct cot_contention *file, const char *name, struct cot_check *ret,
		   struct cot_error *err);
void cot_check_finish(struct cot_check *c);

/* Points apart by what they test. */
enum cot_check_group {
	COT_CHECK_TRAINED, /* trained with */
	COT_CHECK_ALONE,   /* alone on other numbers of SMs, and other SMs */
	COT_CHECK_PAIRS,
	COT_CHECK_CACHE, /* any of these with data in the level 2 cache, which is not modelled */
	COT_CHECK_N_ERROR_GROUPS,
	COT_CHECK_SHARED = COT_CHECK_N_ERROR_GROUPS, /* two kernels on the same SMs */
	COT_CHECK_N_GROUPS,
};
enum cot_check_group cot_check_group_of(const struct cot_check *c,
					const struct cot_check_point *point);

/* Of the parts of the points of a group, but those that share SMs: |predicted - measured| /
 * measured. */
struct cot_check_errors {
	uint32_t n_points, n, n_within; /* parts; with at most 10 % */
	double mean, worst;
	uint32_t worst_point, worst_part;
};
void cot_check_errors(const struct cot_check *c, enum cot_check_group group,
		      struct cot_check_errors *ret);
/*
 * Two kernels on the same SMs, in parts of the rate that each has alone on as many: one of them may
 * get nothing, so that errors over what was measured would say nothing.
 */
struct cot_check_sharing {
	uint32_t n_points, n, n_within; /* parts; with at most 0.1 between the two */
	double mean;			/* |predicted - measured| */
	double measured[COT_CONTENTION_PARTS_MAX], predicted[COT_CONTENTION_PARTS_MAX]; /* means */
	/* Instructions of both together, measured over predicted, mean: what sharing an SM costs
	 * that the model does not have, whoever gets the slots. */
	double together;
};
enum cot_check_slots {
	COT_CHECK_SLOTS_LEFT,	/* says the model */
	COT_CHECK_SLOTS_USED,	/* all of them, and the second kernel waits for memory at times */
	COT_CHECK_SLOTS_GREEDY, /* all of them, and it never waits */
	COT_CHECK_N_SLOTS,
};
void cot_check_sharing(const struct cot_check *c, enum cot_check_slots slots,
		       struct cot_check_sharing *ret);

/* Over what was measured, which must not be 0. */
double cot_check_error_of(const struct cot_check_point *point, uint32_t part);

/* "read16x2/64 on 64 SMs + fma4/64 on 68 SMs", "read16x2/32 + fma4/32 on 132 SMs" */
const char *cot_check_point_name(const struct cot_check *c, const struct cot_check_point *point,
				 char *buf, size_t size);

/* All of the above of the origin's bytes; with `points` every mix is shown. */
int cot_check_show(const struct cot_origin *origin, bool points, bool json, FILE *out,
		   struct cot_error *err);

/* ---- for the files of this unit ---- */

/* Subjects and points, nothing of the model. */
int cot_check_find(struct cot_check *c, const char *name, struct cot_error *err);
/* The point of this subject alone on so many SMs, or the fewest (0), or the most (UINT32_MAX);
 * NULL: there is none. */
const struct cot_check_point *cot_check_alone(const struct cot_check *c, uint32_t subject,
					      uint32_t sms);
/* A warp that waits for one access at a time: its rate is the latency of memory. */
bool cot_check_is_probe(const struct cot_check *c, uint32_t subject);

#endif
