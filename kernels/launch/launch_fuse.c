#include <string.h>

#include "kernels/launch/launch.h"

_Static_assert(COT_MACHINE_MAX_ARGS >= COT_FUSE_MAX * COT_BENCH_MAX_ARGS + COT_FUSE_MAX - 1,
	       "arguments of all kernels, and of fuse for each but the first");

/* The steps that are next. */
struct round {
	struct cot_machine *machine;
	struct cot_session *const *sessions;
	uint32_t n, step;
	bool replay;
	bool more[COT_FUSE_MAX]; /* the session has that step */
};

/* The launch that is being put together. */
struct fused {
	const char *entries[COT_FUSE_MAX];
	uint32_t n, grid[3], block[3];
	struct cot_machine_args args;
	unsigned char values[COT_FUSE_MAX][COT_BENCH_MAX_ARGS][COT_BENCH_MAX_BYTES];
	struct cot_fuse_args own[COT_FUSE_MAX - 1];
};

static void add_args(struct fused *f, const struct cot_machine_args *more)
{
	struct cot_machine_args *args = &f->args;

	memcpy(args->values + args->n, more->values, more->n * sizeof(more->values[0]));
	memcpy(args->sizes + args->n, more->sizes, more->n * sizeof(more->sizes[0]));
	args->n += more->n;
	if (more->shared_bytes > args->shared_bytes)
		args->shared_bytes = more->shared_bytes;
}

/* What is there and this step's grid become one. */
static int add_grid(struct fused *f, const struct cot_bench_step *what, struct cot_error *err)
{
	struct cot_fuse_args *own = &f->own[f->n - 1];
	uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
	int rc =
		cot_fuse_plan(f->grid, f->block, what->grid, what->block, own, &grid[0], &block[0]);

	if (rc)
		return cot_error_set(err, rc, "%s and %s: their grids do not go together",
				     f->entries[f->n - 1], what->entry);
	memcpy(f->grid, grid, sizeof(grid));
	memcpy(f->block, block, sizeof(block));
	f->args.values[f->args.n] = own;
	f->args.sizes[f->args.n++] = sizeof(*own);
	return 0;
}

static int add(struct fused *f, const struct cot_session *s, uint32_t step, struct cot_error *err)
{
	const struct cot_bench_step *what = &s->in->steps[step];
	struct cot_machine_args more;
	int rc = 0;

	cot_session_args(s, step, f->values[f->n], &more);
	add_args(f, &more);
	if (f->n) {
		rc = add_grid(f, what, err);
	} else {
		memcpy(f->grid, what->grid, sizeof(f->grid));
		memcpy(f->block, what->block, sizeof(f->block));
	}
	f->entries[f->n++] = what->entry;
	return rc;
}

/* Before the first launch: a kernel that needs too many registers for a block of this size. */
static int check_room(const struct round *round, const char *name, const uint32_t block[3],
		      struct cot_error *err)
{
	uint32_t per_sm;

	return round->machine->ops->occupancy(round->machine, name, block[0] * block[1] * block[2],
					      &per_sm, err);
}

/* One launch of what has this step. */
static int launch(const struct round *round, struct cot_error *err)
{
	char name[COT_FUSE_NAME];
	struct fused f;
	uint32_t i;
	int rc = 0;

	f.n = f.args.n = f.args.shared_bytes = 0;
	for (i = 0; i < round->n && !rc; i++)
		if (round->more[i])
			rc = add(&f, round->sessions[i], round->step, err);
	if (rc)
		return rc;
	cot_fuse_name(f.entries, f.n, name);
	if (!round->replay)
		rc = check_room(round, name, f.block, err);
	return rc ? rc
		  : round->machine->ops->launch(round->machine, name, f.grid, f.block, &f.args,
						err);
}

static int begin(const struct round *round, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < round->n && !rc && !round->replay; i++)
		if (round->more[i])
			rc = cot_session_begin_step(round->sessions[i], err);
	return rc;
}

/* Whether any session goes on. */
static int advance(struct round *round, bool *ret_any, struct cot_error *err)
{
	struct cot_session *s;
	uint32_t i;
	int rc = 0;

	*ret_any = false;
	round->step++;
	for (i = 0; i < round->n && !rc; i++) {
		if (!round->more[i])
			continue;
		s = round->sessions[i];
		rc = cot_session_goes_on(s, round->step, round->replay, &round->more[i], err);
		if (!rc && !round->more[i])
			s->n_steps = round->step;
		*ret_any |= round->more[i];
	}
	return rc;
}

int cot_fuse_run(struct cot_machine *machine, struct cot_session *const *sessions, uint32_t n,
		 bool replay, struct cot_error *err)
{
	struct round round = {.machine = machine, .sessions = sessions, .n = n, .replay = replay};
	bool any = true;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n; i++)
		round.more[i] = true;
	while (any && !rc) {
		rc = begin(&round, err);
		if (!rc)
			rc = launch(&round, err);
		if (!rc)
			rc = advance(&round, &any, err);
	}
	return rc;
}
