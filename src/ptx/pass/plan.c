/*
 * The host's half of the passes `slice` and `fuse`, and division by multiplication.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cotenant/passes.h"

#define WARP	    32u
#define MAX_THREADS 1024u

/*
 * Rounding 2^(32 + l) / d up or down, l = floor(log2(d)). With e the error of the product's factor,
 * a multiplier rounded up is exact for all n if e < 2^l; one rounded down is if e < 2^l, with the
 * multiplier itself added. The two errors add up to d < 2^(l + 1), so one of them is small enough
 * (Granlund and Montgomery, 1994; Robison, 2005).
 */
struct cot_divider cot_divider_make(uint32_t d)
{
	struct cot_divider divider = {0};
	uint64_t power, down, rest;
	uint32_t l = 0;

	while (d >> l > 1)
		l++;
	divider.shift = l;
	if (!(d & (d - 1))) {
		divider.multiplier = UINT32_MAX; /* (2^32 - 1) * (n + 1) >> 32 is n */
		divider.addend = UINT32_MAX;
		return divider;
	}
	power = (uint64_t)1 << (32 + l);
	down = power / d;
	rest = power % d;
	if (d - rest < (uint64_t)1 << l) {
		divider.multiplier = (uint32_t)(down + 1);
	} else {
		divider.multiplier = (uint32_t)down;
		divider.addend = down;
	}
	return divider;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t cot_slice_next(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
			struct cot_slice_args *ret_args, uint32_t ret_launch[3])
{
	uint64_t plane = (uint64_t)grid[0] * grid[1];
	uint32_t launch[3] = {1, 1, 1};
	struct cot_slice_args args = {.grid = {grid[0], grid[1], grid[2]}};

	if (!n_tasks || !plane || !grid[2] || first / plane >= grid[2])
		return 0;
	args.first[0] = first % grid[0];
	args.first[1] = (uint32_t)(first % plane / grid[0]);
	args.first[2] = (uint32_t)(first / plane);
	launch[0] = least(n_tasks, grid[0] - args.first[0]);
	if (!args.first[0] && n_tasks >= grid[0])
		launch[1] = least(n_tasks / grid[0], grid[1] - args.first[1]);
	if (!args.first[0] && !args.first[1] && n_tasks >= plane)
		launch[2] = least((uint32_t)(n_tasks / plane), grid[2] - args.first[2]);
	*ret_args = args;
	memcpy(ret_launch, launch, sizeof(launch));
	return launch[0] * launch[1] * launch[2];
}

static bool make_side(const uint32_t grid[3], const uint32_t block[3], struct cot_fuse_side *side)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return false;
	memcpy(side->grid, grid, sizeof(side->grid));
	memcpy(side->block, block, sizeof(side->block));
	side->by_row = cot_divider_make(grid[0]);
	side->by_column = cot_divider_make(grid[1]);
	side->by_block_row = cot_divider_make(block[0]);
	side->by_block_column = cot_divider_make(block[1]);
	return true;
}

/* The product, or most + 1 if it is more than `most`. */
static uint64_t product(const uint32_t n[3], uint64_t most)
{
	uint64_t plane = (uint64_t)n[0] * n[1];

	return plane > most || plane * n[2] > most ? most + 1 : plane * n[2];
}

int cot_fuse_plan(const uint32_t first_grid[3], const uint32_t first_block[3],
		  const uint32_t second_grid[3], const uint32_t second_block[3],
		  struct cot_fuse_args *ret_args, uint32_t *ret_n_blocks, uint32_t *ret_n_threads)
{
	uint64_t blocks[2] = {product(first_grid, UINT32_MAX), product(second_grid, UINT32_MAX)};
	uint64_t threads[2] = {product(first_block, MAX_THREADS),
			       product(second_block, MAX_THREADS)};
	struct cot_fuse_args args = {0};

	if (!make_side(first_grid, first_block, &args.first) ||
	    !make_side(second_grid, second_block, &args.second))
		return -EINVAL;
	if (blocks[0] + blocks[1] > UINT32_MAX || threads[0] > MAX_THREADS ||
	    threads[1] > MAX_THREADS)
		return -ERANGE;
	args.first_blocks = (uint32_t)blocks[0];
	*ret_args = args;
	*ret_n_blocks = (uint32_t)(blocks[0] + blocks[1]);
	*ret_n_threads = (uint32_t)(threads[0] > threads[1] ? threads[0] : threads[1]);
	*ret_n_threads = (*ret_n_threads + WARP - 1) / WARP * WARP;
	return 0;
}
