#include <stdio.h>
#include <string.h>

#include "kernels/launch/launch.h"

static int launch(struct cot_session *first, uint32_t i, struct cot_session *second, uint32_t k,
		  struct cot_error *err)
{
	const struct cot_bench_step *a = &first->in->steps[i], *b = &second->in->steps[k];
	unsigned char values_a[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	unsigned char values_b[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args, more;
	struct cot_fuse_args own;
	uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
	char entry[320];
	int rc = cot_fuse_plan(a->grid, a->block, b->grid, b->block, &own, &grid[0], &block[0]);

	if (rc)
		return cot_error_set(err, rc, "%s and %s: their grids do not go together", a->entry,
				     b->entry);
	cot_session_args(first, i, values_a, &args);
	cot_session_args(second, k, values_b, &more);
	memcpy(args.values + args.n, more.values, more.n * sizeof(more.values[0]));
	memcpy(args.sizes + args.n, more.sizes, more.n * sizeof(more.sizes[0]));
	args.n += more.n;
	if (more.shared_bytes > args.shared_bytes)
		args.shared_bytes = more.shared_bytes;
	args.values[args.n] = &own;
	args.sizes[args.n++] = sizeof(own);
	snprintf(entry, sizeof(entry), "%s$cot_fuse$%s", a->entry, b->entry);
	return first->machine->ops->launch(first->machine, entry, grid, block, &args, err);
}

/* One launch of what has a step left; *a and *b are the next steps. */
static int launch_next(struct cot_session *first, struct cot_session *second, bool more_a,
		       bool more_b, uint32_t *a, uint32_t *b, struct cot_error *err)
{
	if (more_a && more_b)
		return launch(first, (*a)++, second, (*b)++, err);
	if (more_a)
		return cot_session_launch_plain(first, (*a)++, NULL, err);
	return cot_session_launch_plain(second, (*b)++, NULL, err);
}

int cot_fuse_run(struct cot_session *first, struct cot_session *second, bool replay,
		 struct cot_error *err)
{
	bool more_a = true, more_b = true;
	uint32_t a = 0, b = 0;
	int rc = 0;

	while (!rc && (more_a || more_b)) {
		if (more_a && !replay)
			rc = cot_session_begin_step(first, err);
		if (!rc && more_b && !replay)
			rc = cot_session_begin_step(second, err);
		if (!rc)
			rc = launch_next(first, second, more_a, more_b, &a, &b, err);
		if (!rc && more_a)
			rc = cot_session_goes_on(first, a, replay, &more_a, err);
		if (!rc && more_b)
			rc = cot_session_goes_on(second, b, replay, &more_b, err);
	}
	first->n_steps = a;
	second->n_steps = b;
	return rc;
}
