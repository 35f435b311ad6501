/*
 * How far a query is behind its plan, and which quota makes up for it (Laius, section 7). A plan
 * says how long each task of the query takes at each quota, and at which quota all of them run.
 * After each task:
 *
 *     not behind the plan                                    the planned quota
 *     behind, and the present quota makes up for it          the present one
 *     otherwise                                              the smallest larger one that does;
 *                                                            if none does, the largest
 *
 * To make up is to end when the plan ends. Corrected: equation (6), read at the present quota,
 * raises it again after every task although it suffices; here everything is compared with one plan.
 * And the plan's end is the sum of its tasks, not the time that the query's own model predicts: how
 * the two models differ is no lag. A quota is its place in a table of sizes, the smallest first.
 * Integers only. Pure; see model.h.
 */
#ifndef COT_MODEL_LAG_H
#define COT_MODEL_LAG_H

#include <stdint.h>

#define COT_LAG_QUOTAS_MAX 32u

struct cot_lag {
	const uint64_t *task_ns; /* [n_tasks][n_quotas]; the caller keeps it */
	uint32_t n_tasks, n_quotas;
	uint32_t planned, quota; /* the plan's, and the present one */
	uint32_t n_done;
	uint64_t behind_ns;		      /* the plan, after the last task that is done */
	uint64_t planned_ns;		      /* for all tasks */
	uint64_t left_ns[COT_LAG_QUOTAS_MAX]; /* for the tasks that are not done */
};

/* A query begins at the quota `planned`. Looks at each task once; cot_lag_next() then only at the
 * tasks that are new. n_quotas is 1 to COT_LAG_QUOTAS_MAX. */
void cot_lag_begin(struct cot_lag *l, const uint64_t *task_ns, uint32_t n_tasks, uint32_t n_quotas,
		   uint32_t planned);

/* n_done tasks have ended (never fewer than before; what is beyond the plan does not count), the
 * last one elapsed_ns after the first began. Returns the quota for the others. */
uint32_t cot_lag_next(struct cot_lag *l, uint32_t n_done, uint64_t elapsed_ns);

#endif
