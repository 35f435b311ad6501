#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/launch/launch.h"

#define SUFFIX	 "$cot_workers"
#define ALIGNED	 128u
#define MAX_NAME 160

_Static_assert(sizeof(struct cot_workers_control) % ALIGNED == 0,
	       "control blocks in an array are aligned");

uint32_t cot_step_tasks(const struct cot_bench_step *step)
{
	return step->grid[0] * step->grid[1] * step->grid[2];
}

int cot_workers_run_init(struct cot_workers_run *r, struct cot_session *s, uint32_t quota,
			 uint32_t chunk, uint64_t task_ns, struct cot_error *err)
{
	size_t bytes = s->in->n_steps * sizeof(struct cot_workers_control);
	struct cot_machine *m = s->machine;
	int rc;

	*r = (struct cot_workers_run){.s = s, .quota = quota, .chunk = chunk, .task_ns = task_ns};
	r->args = calloc(s->in->n_steps, sizeof(r->args[0]));
	if (!r->args)
		return cot_error_set(err, -ENOMEM, "not enough memory");
	rc = m->ops->alloc(m, bytes, &r->controls, err);
	if (!rc)
		rc = m->ops->alloc(m, bytes, &r->pristine, err);
	if (rc)
		cot_workers_run_finish(r);
	return rc;
}

void cot_workers_run_finish(struct cot_workers_run *r)
{
	if (r->controls)
		r->s->machine->ops->free(r->s->machine, r->controls);
	if (r->pristine)
		r->s->machine->ops->free(r->s->machine, r->pristine);
	free(r->args);
	*r = (struct cot_workers_run){0};
}

static uint64_t control_of(const struct cot_workers_run *r, uint32_t step)
{
	return r->controls + step * sizeof(struct cot_workers_control);
}

static void gather(const struct cot_workers_run *r, struct cot_workers_args *args,
		   struct cot_workers_control *control)
{
	if (r->gather)
		(void)cot_workers_gather(r->s->machine->n_sms, args, control);
}

static int plan(const struct cot_workers_run *r, uint32_t step, struct cot_workers_args *ret_args,
		struct cot_workers_control *ret_control, struct cot_error *err)
{
	const struct cot_bench_step *what = &r->s->in->steps[step];
	uint32_t chunk = r->chunk, per_sm;
	char entry[MAX_NAME];
	int rc;

	snprintf(entry, sizeof(entry), "%s" SUFFIX, what->entry);
	rc = r->s->machine->ops->occupancy(r->s->machine, entry,
					   what->block[0] * what->block[1] * what->block[2],
					   &per_sm, err);
	if (rc)
		return rc;
	if (!chunk)
		chunk = cot_workers_chunk(cot_step_tasks(what), r->quota * per_sm, r->task_ns);
	rc = cot_workers_plan(what->grid, per_sm, r->quota, chunk, control_of(r, step), ret_args,
			      ret_control);
	if (rc)
		return cot_error_set(err, rc, "%s: no plan for %u tasks on %u SMs", what->entry,
				     cot_step_tasks(what), r->quota);
	ret_args->n_sms = r->s->machine->n_sms;
	gather(r, ret_args, ret_control);
	return 0;
}

static int launch(struct cot_session *s, uint32_t step, const struct cot_workers_args *own,
		  struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	const uint32_t grid[3] = {own->n_workers, 1, 1};
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_machine_args args;
	char entry[MAX_NAME];

	cot_session_args(s, step, values, &args);
	args.values[args.n] = own;
	args.sizes[args.n++] = sizeof(*own);
	snprintf(entry, sizeof(entry), "%s" SUFFIX, what->entry);
	return s->machine->ops->launch(s->machine, entry, grid, what->block, &args, err);
}

/* One launch, and what it left. */
static int launch_once(struct cot_workers_run *r, uint32_t step, struct cot_workers_args *args,
		       struct cot_workers_control *control, uint32_t *ret_left,
		       struct cot_error *err)
{
	const struct cot_machine_ops *ops = r->s->machine->ops;
	int rc = ops->write(r->s->machine, args->control, control, sizeof(*control), err);

	if (!rc && r->before)
		rc = r->before(r->arg, args->control, args, err);
	if (!rc)
		rc = launch(r->s, step, args, err);
	if (!rc && r->during)
		rc = r->during(r->arg, args->control, args, err);
	if (!rc)
		rc = ops->read(r->s->machine, control, args->control, sizeof(*control), err);
	if (rc)
		return rc;
	r->n_launches++;
	rc = cot_workers_resume(args, control, r->resume_quota ? r->resume_quota : r->quota,
				ret_left);
	if (rc)
		return cot_error_set(err, rc, "%s: workers did %u of %u tasks, next is %u",
				     r->s->in->steps[step].entry, control->done, args->n_tasks,
				     control->next);
	if (*ret_left)
		gather(r, args, control);
	return 0;
}

int cot_workers_step(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	struct cot_workers_run *r = run;
	struct cot_workers_args args;
	struct cot_workers_control control;
	uint32_t left;
	int rc = plan(r, step, &args, &control, err);

	(void)s;
	if (rc)
		return rc;
	r->args[step] = args;
	r->n_tasks += args.n_tasks;
	for (;;) {
		rc = launch_once(r, step, &args, &control, &left, err);
		if (rc || !left)
			return rc;
		r->n_resumed++;
		r->n_left_over += left;
	}
}

int cot_workers_arm(struct cot_workers_run *r, struct cot_error *err)
{
	const struct cot_machine_ops *ops = r->s->machine->ops;
	struct cot_workers_control control;
	uint32_t i;
	int rc = 0;

	for (i = r->n_armed; i < r->s->n_steps && !rc; i++) {
		rc = plan(r, i, &r->args[i], &control, err);
		if (!rc)
			rc = ops->write(r->s->machine, r->pristine + i * sizeof(control), &control,
					sizeof(control), err);
		if (!rc)
			r->n_armed = i + 1;
	}
	if (!rc)
		rc = ops->copy(r->s->machine, r->controls, r->pristine,
			       r->s->n_steps * sizeof(control), err);
	return rc;
}

int cot_workers_replay(struct cot_session *s, uint32_t step, void *run, struct cot_error *err)
{
	struct cot_workers_run *r = run;

	return launch(s, step, &r->args[step], err);
}

int cot_workers_confirm(struct cot_workers_run *r, struct cot_error *err)
{
	const struct cot_machine_ops *ops = r->s->machine->ops;
	struct cot_workers_control control;
	struct cot_workers_args args;
	uint32_t i, left = 0;
	int rc = 0;

	for (i = 0; i < r->s->n_steps && !rc; i++) {
		rc = ops->read(r->s->machine, &control, control_of(r, i), sizeof(control), err);
		args = r->args[i];
		if (!rc && (cot_workers_resume(&args, &control, r->quota, &left) || left))
			rc = cot_error_set(err, -EIO, "%s: %u of %u tasks were left",
					   r->s->in->steps[i].entry, left, args.n_tasks);
	}
	return rc;
}
