#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "kernels/launch/launch.h"

#define SUFFIX	    "$cot_retreat"
#define MAX_NAME    160
#define PATIENCE_NS 10000000000u /* other kernels may keep workers away for a while */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

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
static int left(struct cot_retreat_run *r, uint32_t step, uint32_t *ret_first, uint32_t *ret_n,
		struct cot_error *err)
{
	struct cot_retreat_row *rows = r->host + (size_t)step * r->n_rows;
	struct cot_machine *m = r->s->machine;
	int rc = m->ops->read(m, rows, r->args[step].rows, row_bytes(r), err);

	if (rc)
		return rc;
	rc = cot_retreat_left(&r->args[step], rows, 0, ret_first, ret_n);
	return rc ? cot_error_set(err, rc, "%s: workers on an SM did not do their tasks",
				  r->s->in->steps[step].entry)
		  : 0;
}

/* Tasks of a step; n 0: all. */
struct range {
	uint32_t first, n;
};

struct ranges {
	struct range *at;
	size_t n, room;
};

static int put_range(struct ranges *ranges, uint32_t first, uint32_t n, struct cot_error *err)
{
	struct range *at = cot_grow(ranges->at, ranges->n, &ranges->room, sizeof(*at));

	if (!at)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	ranges->at = at;
	at[ranges->n++] = (struct range){first, n};
	return 0;
}

/* What a launch has left of its range goes to the others. */
static int put_left(struct cot_retreat_run *r, uint32_t step, struct ranges *ranges,
		    uint32_t *ret_n_left, struct cot_error *err)
{
	const struct cot_retreat_row *rows = r->host + (size_t)step * r->n_rows;
	uint32_t first, n;
	int rc = left(r, step, &first, &n, err);

	*ret_n_left = 0;
	while (!rc && n) {
		*ret_n_left += n;
		rc = put_range(ranges, first, n, err);
		if (!rc)
			rc = cot_retreat_left(&r->args[step], rows, first + n, &first, &n);
	}
	return rc;
}

/* One launch of a range; whether any of its tasks were done. */
static int run_range(struct cot_retreat_run *r, uint32_t step, struct range range,
		     struct ranges *ranges, bool *ret_progress, struct cot_error *err)
{
	struct cot_machine *m = r->s->machine;
	uint32_t n_left;
	int rc = plan(r, step, range.first, range.n, err);

	if (!rc)
		rc = m->ops->write(m, r->args[step].rows, r->host + (size_t)step * r->n_rows,
				   row_bytes(r), err);
	if (!rc)
		rc = cot_retreat_replay(r->s, step, r, err);
	if (!rc)
		rc = put_left(r, step, ranges, &n_left, err);
	if (rc)
		return rc;
	*ret_progress = n_left < r->args[step].n_tasks;
	r->n_left_over += n_left;
	return 0;
}

static int run_all(struct cot_retreat_run *r, uint32_t step, struct ranges *ranges,
		   struct cot_error *err)
{
	uint64_t patience_ns = r->patience_ns ? r->patience_ns : PATIENCE_NS;
	uint64_t begun = now_ns();
	uint32_t before = r->n_launches;
	int rc = put_range(ranges, 0, 0, err);
	bool progress;

	while (!rc && ranges->n) {
		r->n_resumed += r->n_launches > before;
		rc = run_range(r, step, ranges->at[--ranges->n], ranges, &progress, err);
		if (rc)
			return rc;
		if (progress)
			begun = now_ns();
		else if (now_ns() - begun > patience_ns)
			return cot_error_set(err, -EIO,
					     "%s: tasks are left after %u launches, and for %.3g s "
					     "none has been done: other kernels keep the SMs",
					     r->s->in->steps[step].entry, r->n_launches - before,
					     (double)patience_ns * 1e-9);
	}
	return rc;
}

int cot_retreat_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	struct ranges ranges = {0};
	int rc = run_all(run, step, &ranges, err);

	(void)s;
	free(ranges.at);
	return rc;
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
		rc = left(r, i, &first, &n, err);
		if (!rc && n)
			rc = cot_error_set(err, -EAGAIN,
					   "%s: an SM got fewer workers than fit, and %u tasks or "
					   "more were left",
					   r->s->in->steps[i].entry, n);
	}
	return rc;
}
