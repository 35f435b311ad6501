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

static int clear_stop(struct cot_session *s, struct cot_error *err)
{
	static const uint32_t zero;

	if (s->in->stop_buffer == COT_BENCH_NO_BUFFER)
		return 0;
	return s->machine->ops->write(s->machine, s->address[s->in->stop_buffer], &zero,
				      sizeof(zero), err);
}

/* Whether the session has a step after the one before `next`. */
static int goes_on(struct cot_session *s, uint32_t next, bool replay, bool *ret_more,
		   struct cot_error *err)
{
	uint32_t word = 1;
	int rc = 0;

	if (replay) {
		*ret_more = next < s->n_steps;
		return 0;
	}
	if (s->in->stop_buffer != COT_BENCH_NO_BUFFER)
		rc = s->machine->ops->read(s->machine, &word, s->address[s->in->stop_buffer],
					   sizeof(word), err);
	*ret_more = word && next < s->in->n_steps;
	return rc;
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
			rc = clear_stop(first, err);
		if (!rc && more_b && !replay)
			rc = clear_stop(second, err);
		if (!rc)
			rc = launch_next(first, second, more_a, more_b, &a, &b, err);
		if (!rc && more_a)
			rc = goes_on(first, a, replay, &more_a, err);
		if (!rc && more_b)
			rc = goes_on(second, b, replay, &more_b, err);
	}
	first->n_steps = a;
	second->n_steps = b;
	return rc;
}
