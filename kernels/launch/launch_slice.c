#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/launch/launch.h"

/* The numbers below n in an order that the seed decides (0: upwards). */
static uint32_t *order_of(uint32_t n, uint64_t seed)
{
	uint32_t *order = malloc(n * sizeof(order[0]));
	struct cot_rng rng = {seed};
	uint32_t i, k, kept;

	for (i = 0; order && i < n; i++)
		order[i] = i;
	for (i = n; order && seed && i > 1; i--) {
		k = (uint32_t)cot_rng_below(&rng, i);
		kept = order[i - 1];
		order[i - 1] = order[k];
		order[k] = kept;
	}
	return order;
}

/* One slice, in as many launches as its range of the grid has boxes. */
static int launch_slice(struct cot_session *s, const struct cot_bench_step *what,
			struct cot_slice_run *r, uint32_t first, struct cot_error *err)
{
	uint32_t left = cot_step_tasks(what) - first, n, launch[3];
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args;
	struct cot_slice_args own;
	char entry[160];
	int rc = 0;

	cot_session_args(s, (uint32_t)(what - s->in->steps), values, &args);
	args.values[args.n] = &own;
	args.sizes[args.n++] = sizeof(own);
	snprintf(entry, sizeof(entry), "%s$cot_slice", what->entry);
	left = left < r->n_blocks ? left : r->n_blocks;
	for (; left && !rc; left -= n, first += n) {
		n = cot_slice_next(what->grid, first, left, &own, launch);
		rc = s->machine->ops->launch(s->machine, entry, launch, what->block, &args, err);
		r->n_launches++;
	}
	return rc;
}

int cot_slice_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	struct cot_slice_run *r = run;
	uint32_t n_slices = (cot_step_tasks(what) - 1) / r->n_blocks + 1, i;
	uint32_t *order = order_of(n_slices, r->seed);
	int rc = order ? 0 : cot_error_set(err, -ENOMEM, "not enough memory");

	for (i = 0; i < n_slices && !rc; i++)
		rc = launch_slice(s, what, r, order[i] * r->n_blocks, err);
	free(order);
	return rc;
}
