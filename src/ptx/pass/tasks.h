/*
 * A kernel whose body is done for one task after the other: what the passes `workers` and `retreat`
 * share. %id is the number of a task and %left how many there are from it on; how a block gets at
 * them is the pass's own business.
 *
 *     cot_tasks_init()         registers and labels
 *     cot_tasks_change_body()  ret and exit lead to the tail; the block index comes from registers
 *     (text that sets %id and %left)
 *     cot_tasks_put_index()    the block index of %id
 *     cot_tasks_put_task()     where a task begins
 *     (the body)
 *     cot_tasks_put_tail()     the next task, or the label for when there is none
 *
 * The body stays inline, so its registers stay its own; the index is counted up from task to task;
 * tasks are kept apart by a barrier only if the body uses shared memory or barriers.
 *
 * A compiler would move what is the same for all tasks out of the loop, which costs registers (11
 * in BlackScholes) and with them blocks per SM. It cannot do so when the loop has two entries:
 * hence a branch to the tail, never taken, which the pass puts where it sets %id.
 *
 * Each task begins with bar.warp.sync, so that a warp begins it together whatever a part of it did
 * before.
 */
#ifndef COT_PTX_PASS_TASKS_H
#define COT_PTX_PASS_TASKS_H

#include "ptx/pass/inside.h"

#define COT_TASKS_MAX_SITES 256u

/* Names bound in `e`: %id %left %t %u %v %p, and the labels task, tail, same, meet, met. */
struct cot_tasks {
	struct cot_emit e;
	struct cot_facts facts; /* with ctaid.x, which counts tasks in any case */
	struct cot_decode at;	/* the grid, in the parameter "args" */
	unsigned barrier;	/* the number of our own barrier */
	/* Behind the barriers of the body, if threads return early. */
	struct cot_ptx_label *sites[COT_TASKS_MAX_SITES];
	unsigned n_sites;
};

void cot_tasks_init(struct cot_tasks *t, struct cot_ptx_func *kernel, const struct cot_facts *facts,
		    const struct cot_decode *at, struct cot_error *err);
void cot_tasks_change_body(struct cot_tasks *t);

/* Shared memory of the pass's own, "slots", aligned to 16. */
void cot_tasks_declare_slots(struct cot_tasks *t, unsigned n_words);
/* A branch to the label for all threads but the first one of the block. Uses %t, %u and %p. */
void cot_tasks_put_not_leader(struct cot_tasks *t, struct cot_ptx_stmt *before, const char *label);
/* All threads of the block meet here; those of a warp may come from different places. */
void cot_tasks_put_barrier(struct cot_tasks *t, struct cot_ptx_stmt *before);

/* The branch to the tail, never taken, if the parameter at `not_zero` is what it is called. */
void cot_tasks_put_second_entry(struct cot_tasks *t, struct cot_ptx_stmt *start, uint32_t not_zero);

void cot_tasks_put_index(struct cot_tasks *t, struct cot_ptx_stmt *start);
void cot_tasks_put_task(struct cot_tasks *t, struct cot_ptx_stmt *start);
void cot_tasks_put_tail(struct cot_tasks *t, const char *none_left);

#endif
