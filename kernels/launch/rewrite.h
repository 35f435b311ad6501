/*
 * The PTX of a benchmark with the kernels that the passes make of it, in one module beside the
 * originals. One thread; nothing is kept.
 */
#ifndef COT_KERNELS_LAUNCH_REWRITE_H
#define COT_KERNELS_LAUNCH_REWRITE_H

#include <stddef.h>
#include <stdint.h>

#include "cotenant/passes.h"
#include "kernels/launch/session.h"
#include "ptx/pass/pass.h"

#define COT_REWRITE_MAX_ENTRIES 16u
#define COT_REWRITE_MAX_FORMS	64u
#define COT_FUSE_MAX		4u   /* kernels in one, as of cotenant run --merge */
#define COT_FUSE_NAME		320u /* bytes */

/* What became of one kernel under one pass. */
struct cot_rewrite_outcome {
	struct cot_refusal refusal; /* reason COT_REASON_NONE: it was made */
	char entry[COT_ERROR_MAX];  /* of the original, or the first of two */
	enum cot_pass pass;
	/* Of COT_PASS_BATCH: a batch of such launches, and where each of their parameters begins.
	 */
	struct cot_batch_shape shape;
	uint32_t param_at[COT_BENCH_MAX_ARGS];
};

struct cot_rewritten {
	char *text; /* with a zero at the end; owned */
	size_t size;
	struct cot_rewrite_outcome *outcomes; /* owned */
	uint32_t n_outcomes;
};

/*
 * Applies each pass of the set (bit COT_PASS_...) to each kernel of the benchmark. COT_PASS_FUSE
 * needs `partner`, another benchmark, whose kernels come into the module and are fused behind each
 * of the first's. A refusal is an outcome, not an error.
 */
int cot_rewrite(const struct cot_bench *bench, const struct cot_bench *partner, uint32_t passes,
		struct cot_rewritten *ret_rewritten, struct cot_error *err);
void cot_rewritten_finish(struct cot_rewritten *r);

/*
 * A module of what cot_fuse_run() launches of these sessions, 2 to COT_FUSE_MAX of different
 * benchmarks: of each step the kernels of all that have it, fused, or the one as it is. Each
 * session has run before, so that n_steps is known. Without outcomes: a refusal is -ENOTSUP.
 */
int cot_rewrite_fused(struct cot_session *const *sessions, uint32_t n,
		      struct cot_rewritten *ret_rewritten, struct cot_error *err);
/* A$cot_fuse$B$cot_fuse$C; of one, its name. */
void cot_fuse_name(const char *const *entries, uint32_t n, char ret_name[COT_FUSE_NAME]);

/* What became of a kernel under a pass; NULL if it was not tried. */
const struct cot_rewrite_outcome *cot_rewritten_outcome(const struct cot_rewritten *r,
							const char *entry, enum cot_pass pass);

/* The refusal of a kernel by a pass, or NULL if it was made. */
const struct cot_refusal *cot_rewritten_refusal(const struct cot_rewritten *r, const char *entry,
						enum cot_pass pass);

#endif
