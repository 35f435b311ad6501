#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/launch/launch.h"

int cot_rows_run_init(struct cot_rows_run *r, struct cot_session *s, const char *suffix,
		      uint32_t row_bytes, struct cot_error *err)
{
	uint32_t i;

	*r = (struct cot_rows_run){.s = s, .suffix = suffix, .row_bytes = row_bytes};
	for (i = 0; i < s->in->n_steps; i++) {
		size_t bytes = (size_t)cot_step_tasks(&s->in->steps[i]) * row_bytes;

		if (bytes > r->capacity_bytes)
			r->capacity_bytes = bytes;
	}
	return s->machine->ops->alloc(s->machine, r->capacity_bytes, &r->rows, err);
}

void cot_rows_run_finish(struct cot_rows_run *r)
{
	if (r->rows)
		r->s->machine->ops->free(r->s->machine, r->rows);
	*r = (struct cot_rows_run){0};
}

int cot_rows_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	struct cot_rows_run *r = run;
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args;
	char entry[160];

	cot_session_args(s, step, values, &args);
	args.values[args.n] = &r->rows;
	args.sizes[args.n++] = sizeof(r->rows);
	snprintf(entry, sizeof(entry), "%s%s", what->entry, r->suffix);
	return s->machine->ops->launch(s->machine, entry, what->grid, what->block, &args, err);
}

int cot_rows_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	struct cot_rows_run *r = run;
	const struct cot_machine_ops *ops = s->machine->ops;
	uint32_t n_rows = cot_step_tasks(&s->in->steps[step]);
	size_t bytes = (size_t)n_rows * r->row_bytes;
	void *rows = calloc(n_rows, r->row_bytes);
	int rc;

	if (!rows)
		return cot_error_set(err, -ENOMEM, "not enough memory for a row per block");
	rc = ops->write(s->machine, r->rows, rows, bytes, err);
	if (!rc)
		rc = cot_rows_replay(s, step, run, err);
	if (!rc)
		rc = ops->read(s->machine, rows, r->rows, bytes, err);
	if (!rc && r->take)
		rc = r->take(r->arg, step, rows, n_rows, err);
	free(rows);
	return rc;
}
