#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/run/launch.h"

#define SUFFIX	     "$cot_retreat"
#define MAX_NAME     160
#define MAX_LAUNCHES 1000u /* of one step: other kernels may keep workers away now and then */

int cot_retreat_run_init(struct cot_retreat_run *r, struct cot_session *s, uint32_t quota,
			 struct cot_error *err)
{
	struct cot_machine *m = s->machine;
	size_t n = (size_t)s->in->n_steps * m->n_sms;
	int rc;

	*r = (struct cot_retreat_run){.s = s, .quota = quota, .n_rows = m->n_sms};
	r->host = calloc(n, sizeof(r->host[0]));
	r->args = calloc(s->in->n_steps, sizeof(r->args[0]));
	if (r->host && r->args)
		rc = m->ops->alloc(m, n * sizeof(r->host[0]), &r->rows, err);
	else
		rc = cot_error_set(err, -ENOMEM, "not enough memory");
	if (!rc)
		rc = m->ops->alloc(m, n * sizeof(r->host[0]), &r->pristine, err);
	if (rc)
		cot_retreat_run_finish(r);
	return rc;
}

void cot_retreat_run_finish(struct cot_retreat_run *r)
{
	if (r->rows)
		r->s->machine->ops->free(r->s->machine, r->rows);
	if (r->pristine)
		r->s->machine->ops->free(r->s->machine, r->pristine);
	free(r->host);
	free(r->args);
	*r = (struct cot_retreat_run){0};
}

static size_t row_bytes(const struct cot_retreat_run *r)
{
	return r->n_rows * sizeof(struct cot_retreat_row);
}

/* Tasks from `first` on, n of them (0 for both: all), with as many workers as fit. */
static int plan(struct cot_retreat_run *r, uint32_t step, uint32_t first, uint32_t n,
		struct cot_error *err)
{
	const struct cot_bench_step *what = &r->s->in->steps[step];
	struct cot_machine *m = r->s->machine;
	uint32_t per_sm;
	uint8_t *allowed = calloc(r->n_rows, 1);
	char entry[MAX_NAME];
	int rc;

	if (!allowed)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	memset(allowed, 1, r->quota < r->n_rows ? r->quota : r->n_rows);
	snprintf(entry, sizeof(entry), "%s" SUFFIX, what->entry);
	rc = m->ops->occupancy(m, entry, what->block[0] * what->block[1] * what->block[2], &per_sm,
			       err);
	if (!rc) {
		rc = cot_retreat_plan(what->grid, first, n, allowed, r->n_rows, per_sm,
				      r->rows + step * row_bytes(r), &r->args[step],
				      r->host + (size_t)step * r->n_rows);
		if (rc)
			cot_error_set(err, rc, "%s: no plan for %u tasks on %u SMs", what->entry,
				      cot_step_tasks(what), r->quota);
	}
	free(allowed);
	return rc;
}

int cot_retreat_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	struct cot_retreat_run *r = run;
	const struct cot_retreat_args *own = &r->args[step];
	/* Where blocks retreat at once, others may take their places before all SMs are full. */
	uint32_t more = own->n_allowed < r->n_rows ? 2 : 1;
	const uint32_t grid[3] = {r->n_rows * own->workers * more, 1, 1};
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args;
	char entry[MAX_NAME];

	cot_session_args(s, step, values, &args);
	args.values[args.n] = own;
	args.sizes[args.n++] = sizeof(*own);
	snprintf(entry, sizeof(entry), "%s" SUFFIX, what->entry);
	r->n_launches++;
	return s->machine->ops->launch(s->machine, entry, grid, what->block, &args, err);
}

/* What the rows say now. */
static int left(struct cot_retreat_run *r, uint32_t step, uint32_t from, uint32_t *ret_first,
		uint32_t *ret_n, struct cot_error *err)
{
	struct cot_retreat_row *rows = r->host + (size_t)step * r->n_rows;
	struct cot_machine *m = r->s->machine;
	int rc = m->ops->read(m, rows, r->args[step].rows, row_bytes(r), err);

	if (rc)
		return rc;
	rc = cot_retreat_left(&r->args[step], rows, from, ret_first, ret_n);
	return rc ? cot_error_set(err, rc, "%s: workers on an SM did not do their tasks",
				  r->s->in->steps[step].entry)
		  : 0;
}

/* One launch of a range and what it left, again and again until nothing is left of it. */
static int run_range(struct cot_retreat_run *r, uint32_t step, uint32_t first, uint32_t n,
		     uint32_t *budget, struct cot_error *err)
{
	struct cot_machine *m = r->s->machine;
	uint32_t from = first, next, n_next;
	struct cot_retreat_row *rows;
	struct cot_retreat_args args;
	size_t bytes = row_bytes(r);
	int rc = plan(r, step, first, n, err);

	if (!(*budget)--)
		return cot_error_set(err, -EIO, "%s: %u launches, and tasks are left",
				     r->s->in->steps[step].entry, MAX_LAUNCHES);
	if (!rc)
		rc = m->ops->write(m, r->args[step].rows, r->host + (size_t)step * r->n_rows, bytes,
				   err);
	if (!rc)
		rc = cot_retreat_replay(r->s, step, r, err);
	if (!rc)
		rc = left(r, step, from, &next, &n_next, err);
	if (rc || !n_next)
		return rc;
	/* A launch of one range has rows of its own: keep those of this one. */
	rows = malloc(bytes);
	if (!rows)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	memcpy(rows, r->host + (size_t)step * r->n_rows, bytes);
	args = r->args[step];
	while (!rc && n_next) {
		r->n_resumed++;
		r->n_left_over += n_next;
		rc = run_range(r, step, next, n_next, budget, err);
		from = next + n_next;
		if (!rc)
			rc = cot_retreat_left(&args, rows, from, &next, &n_next);
	}
	free(rows);
	return rc;
}

int cot_retreat_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	uint32_t budget = MAX_LAUNCHES;

	(void)s;
	return run_range(run, step, 0, 0, &budget, err);
}

int cot_retreat_arm(struct cot_retreat_run *r, struct cot_error *err)
{
	struct cot_machine *m = r->s->machine;
	size_t bytes = row_bytes(r);
	uint32_t i;
	int rc = 0;

	for (i = r->n_armed; i < r->s->n_steps && !rc; i++) {
		rc = plan(r, i, 0, 0, err);
		if (!rc)
			rc = m->ops->write(m, r->pristine + i * bytes,
					   r->host + (size_t)i * r->n_rows, bytes, err);
		if (!rc)
			r->n_armed = i + 1;
	}
	return rc ? rc : m->ops->copy(m, r->rows, r->pristine, r->s->n_steps * bytes, err);
}

int cot_retreat_confirm(struct cot_retreat_run *r, struct cot_error *err)
{
	uint32_t i, first, n = 0;
	int rc = 0;

	for (i = 0; i < r->s->n_steps && !rc; i++) {
		rc = left(r, i, 0, &first, &n, err);
		if (!rc && n)
			rc = cot_error_set(err, -EAGAIN,
					   "%s: an SM got fewer workers than fit, and %u tasks or "
					   "more were left",
					   r->s->in->steps[i].entry, n);
	}
	return rc;
}
