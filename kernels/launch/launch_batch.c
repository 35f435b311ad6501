#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernels/launch/launch.h"

#define MAX_BYTES 4096u /* of a kernel's parameters */

/* The steps that are next, and the launch that is being put together. */
struct round {
	struct cot_batch_run *run;
	uint32_t next[COT_BATCH_MAX]; /* step of each session */
	bool more[COT_BATCH_MAX];     /* it has that step */
	bool launched[COT_BATCH_MAX]; /* and that is in a launch of this round */

	const struct cot_rewrite_outcome *kernel;
	uint32_t n_blocks;
	unsigned char args[MAX_BYTES];
};

static const struct cot_bench_step *step_of(const struct round *round, uint32_t i)
{
	return &round->run->sessions[i]->in->steps[round->next[i]];
}

static bool waits(const struct round *round, uint32_t i)
{
	return round->more[i] && !round->launched[i];
}

/* Launches of these two steps go into one. */
static bool alike(const struct cot_bench_step *a, const struct cot_bench_step *b)
{
	return strcmp(a->entry, b->entry) == 0 && a->shared_bytes == b->shared_bytes &&
	       memcmp(a->block, b->block, sizeof(a->block)) == 0;
}

/* -ENOSPC, -ERANGE: no room for it in this launch. */
static int add(struct round *round, uint32_t i)
{
	const struct cot_rewrite_outcome *kernel = round->kernel;
	unsigned char values[COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES], params[MAX_BYTES] = {0};
	struct cot_machine_args args;
	uint32_t k;
	int rc;

	cot_session_args(round->run->sessions[i], round->next[i], values, &args);
	for (k = 0; k < args.n; k++)
		memcpy(params + kernel->param_at[k], args.values[k], args.sizes[k]);
	rc = cot_batch_add(&kernel->shape, round->args, step_of(round, i)->grid, params,
			   &round->n_blocks);
	round->launched[i] = !rc;
	return rc;
}

/* One launch: the step of session `first`, and what goes with it of the sessions behind. */
static int launch(struct round *round, uint32_t first, struct cot_error *err)
{
	const struct cot_bench_step *step = step_of(round, first);
	struct cot_machine *m = round->run->sessions[first]->machine;
	struct cot_machine_args args = {.values = {round->args}, .n = 1};
	uint32_t grid[3] = {1, 1, 1}, i;
	char entry[320];
	int rc;

	round->kernel = cot_rewritten_outcome(round->run->rewritten, step->entry, COT_PASS_BATCH);
	if (!round->kernel || round->kernel->refusal.reason != COT_REASON_NONE)
		return cot_error_set(err, -ENOENT, "%s: there is no batch of it", step->entry);
	cot_batch_begin(&round->kernel->shape, round->args);
	rc = add(round, first);
	if (rc)
		return cot_error_set(err, rc, "%s: its grid goes into no batch", step->entry);
	for (i = first + 1; i < round->run->n; i++)
		if (waits(round, i) && alike(step_of(round, i), step))
			(void)add(round, i);
	args.sizes[0] = round->kernel->shape.bytes;
	args.shared_bytes = step->shared_bytes;
	grid[0] = round->n_blocks;
	snprintf(entry, sizeof(entry), "%s$cot_batch", step->entry);
	round->run->n_launches++;
	return m->ops->launch(m, entry, grid, step->block, &args, err);
}

/* One step of each session that has one. */
static int launch_all(struct round *round, bool replay, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	memset(round->launched, 0, sizeof(round->launched));
	for (i = 0; i < round->run->n && !rc && !replay; i++)
		if (round->more[i])
			rc = cot_session_begin_step(round->run->sessions[i], err);
	for (i = 0; i < round->run->n && !rc; i++)
		if (waits(round, i))
			rc = launch(round, i, err);
	return rc;
}

/* Whether any session goes on. */
static int advance(struct round *round, bool replay, bool *ret_any, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	*ret_any = false;
	for (i = 0; i < round->run->n && !rc; i++) {
		if (!round->more[i])
			continue;
		rc = cot_session_goes_on(round->run->sessions[i], ++round->next[i], replay,
					 &round->more[i], err);
		*ret_any |= round->more[i];
	}
	return rc;
}

int cot_batch_run(struct cot_batch_run *r, bool replay, struct cot_error *err)
{
	struct round round = {.run = r};
	bool any = true;
	uint32_t i;
	int rc = 0;

	r->n_launches = 0;
	for (i = 0; i < r->n; i++)
		round.more[i] = true;
	while (any && !rc) {
		rc = launch_all(&round, replay, err);
		if (!rc)
			rc = advance(&round, replay, &any, err);
	}
	for (i = 0; i < r->n; i++)
		r->sessions[i]->n_steps = round.next[i];
	return rc;
}
