/*
 * The host's half of the pass `workers`: how many workers, which chunks, and what is left.
 */
#include <errno.h>

#include "cotenant/passes.h"

/*
 * Measured on an H200: below some 10 us of work per claim, claims cost several per cent (vector
 * addition in chunks of 5 us: 1.8 %, of 16 us: nothing). The end needs no care here, since claims
 * get smaller towards it, but not below an eighth of a chunk: a claim takes 1 to 2 us.
 */
#define CHUNK_NS	  24000u
#define CLAIMS_PER_WORKER 4u
#define LEAST_PART	  8u
#define TAIL_SHARE	  2u /* a claim is at most 1 / (2 * workers) to 1 / workers of what is left */
#define MAX_SHIFT	  31u
#define CONTROL_ALIGN	  128u

static uint32_t at_most(uint32_t a, uint64_t b)
{
	return a < b ? a : (uint32_t)b;
}

uint32_t cot_workers_chunk(uint32_t n_tasks, uint32_t n_workers, uint64_t task_ns)
{
	uint64_t balanced = n_workers ? n_tasks / ((uint64_t)n_workers * CLAIMS_PER_WORKER) : 1;
	uint64_t wanted = task_ns ? CHUNK_NS / task_ns : 4;
	uint64_t share = n_workers ? ((uint64_t)n_tasks + n_workers - 1) / n_workers : 1;
	uint64_t chunk = wanted < balanced ? wanted : balanced;

	if (task_ns && share <= 2 * wanted)
		chunk = share;
	return chunk ? at_most(UINT32_MAX, chunk) : 1;
}

/* As many workers as the quota allows, and not more than there are chunks. */
static int choose_workers(struct cot_workers_args *a, uint32_t quota, uint32_t left)
{
	uint64_t workers = (uint64_t)quota * a->per_sm;
	uint32_t chunks = left / a->chunk + (left % a->chunk ? 1 : 0);

	a->n_workers = at_most(chunks ? chunks : 1, workers);
	a->tail_shift = 0;
	while (a->tail_shift < MAX_SHIFT &&
	       (uint64_t)a->n_workers * TAIL_SHARE >> (a->tail_shift + 1))
		a->tail_shift++;
	a->begun = a->first + a->n_workers * a->chunk;
	/* Every worker's last claim goes beyond the end: that must not wrap around. */
	if ((uint64_t)a->n_tasks + ((uint64_t)a->n_workers + 1) * a->chunk > UINT32_MAX)
		return -ERANGE;
	return 0;
}

int cot_workers_plan(const uint32_t grid[3], uint32_t per_sm, uint32_t quota, uint32_t chunk,
		     uint64_t control, struct cot_workers_args *ret_args,
		     struct cot_workers_control *ret_control)
{
	struct cot_workers_args a = {
		.control = control,
		.grid = {grid[0], grid[1], grid[2]},
		.per_sm = per_sm,
	};
	uint64_t plane = (uint64_t)grid[0] * grid[1];
	int rc;

	if (!plane || !grid[2] || !per_sm || !quota || control % CONTROL_ALIGN)
		return -EINVAL;
	if (plane > UINT32_MAX || plane * grid[2] > UINT32_MAX)
		return -ERANGE;
	a.n_tasks = (uint32_t)(plane * grid[2]);
	a.chunk = chunk ? chunk
			: cot_workers_chunk(a.n_tasks,
					    at_most(UINT32_MAX, (uint64_t)quota * per_sm), 0);
	rc = choose_workers(&a, quota, a.n_tasks);
	if (rc)
		return rc;
	a.least = a.chunk / LEAST_PART ? a.chunk / LEAST_PART : 1;
	a.by_row = cot_divider_make(grid[0]);
	a.by_column = cot_divider_make(grid[1]);
	*ret_args = a;
	*ret_control = (struct cot_workers_control){.next = a.begun};
	return 0;
}

int cot_workers_resume(struct cot_workers_args *args, struct cot_workers_control *control,
		       uint32_t quota, uint32_t *ret_left)
{
	uint32_t claimed = at_most(args->n_tasks, control->next);
	struct cot_workers_args a = *args;
	int rc;

	if (!quota || !a.chunk || !a.per_sm)
		return -EINVAL;
	if (control->done != claimed)
		return -EIO;
	a.first = claimed;
	rc = choose_workers(&a, quota, a.n_tasks - claimed);
	if (rc)
		return rc;
	*ret_left = a.n_tasks - claimed;
	if (!*ret_left)
		return 0;
	*args = a;
	control->next = a.begun;
	control->evict = control->leaving = 0;
	return 0;
}
