#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/run/launch.h"

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

int cot_slice_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	struct cot_slice_run *r = run;
	uint32_t n_tasks = cot_step_tasks(what), i;
	uint32_t n_slices = (n_tasks - 1) / r->n_blocks + 1;
	uint32_t *order = order_of(n_slices, r->seed);
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_slice_args own = {.grid = {what->grid[0], what->grid[1], what->grid[2]}};
	struct cot_machine_args args;
	char entry[160];
	int rc = order ? 0 : cot_error_set(err, -ENOMEM, "not enough memory");

	cot_session_args(s, step, values, &args);
	args.values[args.n] = &own;
	args.sizes[args.n++] = sizeof(own);
	snprintf(entry, sizeof(entry), "%s$cot_slice", what->entry);
	for (i = 0; i < n_slices && !rc; i++) {
		uint32_t left;

		own.first = order[i] * r->n_blocks;
		left = n_tasks - own.first;
		rc = s->machine->ops->launch(
			s->machine, entry,
			(const uint32_t[3]){left < r->n_blocks ? left : r->n_blocks, 1, 1},
			what->block, &args, err);
		r->n_launches++;
	}
	free(order);
	return rc;
}
