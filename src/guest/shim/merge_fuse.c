/*
 * Launches of different kernels as one of `fuse`: which sets there are, the largest first. A form
 * of three kernels is one of two, fused with the third, and its parameters are in that order.
 */
#include <string.h>

#include "guest/shim/merge_inside.h"

#define MEMO 64u

/* With the lock. */
static struct {
	cot_shim_handle owner; /* NULL: free */
	uint32_t kernels;
	cot_shim_handle function; /* NULL: there is none */
} memo[MEMO];

void cot_shim_merge_fused_forget(void)
{
	memset(memo, 0, sizeof(memo));
}

uint32_t cot_shim_merge_list(struct cot_shim_held *h, void **list)
{
	uint32_t i;

	for (i = 0; i < h->kernel->n_params; i++)
		list[i] = h->params + h->kernel->params[i].at;
	return i;
}

static cot_shim_handle function_of(const struct cot_shim_ref *ref, uint32_t kernels)
{
	cot_shim_handle owner = atomic_load(&ref->owner);
	uint32_t at = (uint32_t)((uintptr_t)owner >> 4 ^ kernels * 2654435761u >> 8) % MEMO;

	if (memo[at].owner != owner || memo[at].kernels != kernels) {
		memo[at].owner = owner;
		memo[at].kernels = kernels;
		memo[at].function = cot_shim_code_fused(ref, kernels);
	}
	return memo[at].function;
}

/* By their kernel's number, the first of each. Bits: which there are. */
static uint32_t candidates(struct cot_shim_group *g, struct cot_shim_held *with,
			   struct cot_shim_held *ret[COT_SHIM_FUSE_MAX])
{
	uint32_t found = 1u << with->kernel->index, i;

	ret[with->kernel->index] = with;
	for (i = 0; i < g->n; i++) {
		struct cot_shim_held *h = &g->held[i];

		if (h->done || h->ref->code != with->ref->code ||
		    h->ref->owner != with->ref->owner || found >> h->kernel->index & 1 ||
		    h->in->priority != with->in->priority)
			continue;
		found |= 1u << h->kernel->index;
		ret[h->kernel->index] = h;
	}
	return found;
}

/* Arguments and size of the launch. False: they are too many, or it is too large. */
static bool fill(struct cot_shim_fused *f)
{
	uint32_t n_params = cot_shim_merge_list(f->set[0], f->params), grid[3], n_threads, i;

	memcpy(grid, f->set[0]->grid, sizeof(grid));
	memcpy(f->block, f->set[0]->block, sizeof(f->block));
	for (i = 1; i < f->n; i++) {
		if (n_params + f->set[i]->kernel->n_params >= COT_SHIM_HELD_PARAM_LIST ||
		    cot_fuse_plan(grid, f->block, f->set[i]->grid, f->set[i]->block,
				  &f->args[i - 1], &f->n_blocks, &n_threads))
			return false;
		n_params += cot_shim_merge_list(f->set[i], f->params + n_params);
		f->params[n_params++] = &f->args[i - 1];
		grid[0] = f->n_blocks;
		f->block[0] = n_threads;
		grid[1] = grid[2] = f->block[1] = f->block[2] = 1;
	}
	return true;
}

bool cot_shim_merge_fuse(struct cot_shim_group *g, struct cot_shim_held *with, uint32_t *form,
			 struct cot_shim_fused *ret)
{
	const struct cot_shim_rewritten *made = cot_shim_code_made(with->ref);
	struct cot_shim_held *by_index[COT_SHIM_FUSE_MAX];
	uint32_t found, kernels, i;

	if (!made->n_fused)
		return false;
	found = candidates(g, with, by_index);
	while (*form < made->n_fused) {
		kernels = made->fused[made->n_fused - ++*form];
		if (!(kernels >> with->kernel->index & 1) || (kernels & ~found))
			continue;
		ret->n = 0;
		for (i = 0; i < made->n_kernels; i++)
			if (kernels >> i & 1)
				ret->set[ret->n++] = by_index[i];
		ret->function = function_of(with->ref, kernels);
		if (ret->function && fill(ret))
			return true;
	}
	return false;
}
