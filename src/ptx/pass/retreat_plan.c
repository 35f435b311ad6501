/*
 * The host's half of the pass `retreat`: which SM gets which tasks, and what was left.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cotenant/passes.h"

#define ROWS_ALIGN 16u

static int rank_rows(const uint8_t *allowed, uint32_t n_rows, struct cot_retreat_row *rows,
		     uint32_t *ret_n_allowed)
{
	uint32_t i, rank = 0;

	for (i = 0; i < n_rows; i++)
		rank += !allowed || allowed[i];
	if (!rank)
		return -EINVAL;
	*ret_n_allowed = rank;
	memset(rows, 0, n_rows * sizeof(*rows));
	for (rank = 0, i = 0; i < n_rows; i++)
		rows[i].rank = !allowed || allowed[i] ? rank++ : COT_RETREAT_AWAY;
	return 0;
}

int cot_retreat_plan(const uint32_t grid[3], uint32_t first, uint32_t n_tasks,
		     const uint8_t *allowed, uint32_t n_rows, uint32_t workers, uint64_t rows,
		     struct cot_retreat_args *ret_args, struct cot_retreat_row *ret_rows)
{
	struct cot_retreat_args a = {.rows = rows,
				     .grid = {grid[0], grid[1], grid[2]},
				     .n_rows = n_rows,
				     .first = first,
				     .workers = workers};
	uint64_t plane = (uint64_t)grid[0] * grid[1], all, shares;
	int rc;

	if (!plane || !grid[2] || !workers || !n_rows || rows % ROWS_ALIGN)
		return -EINVAL;
	if (plane > UINT32_MAX || plane * grid[2] > UINT32_MAX ||
	    (uint64_t)n_rows * workers > UINT32_MAX)
		return -ERANGE;
	all = plane * grid[2];
	if (first >= all || n_tasks > all - first || (first && !n_tasks))
		return -EINVAL;
	a.n_tasks = n_tasks ? n_tasks : (uint32_t)all;
	rc = rank_rows(allowed, n_rows, ret_rows, &a.n_allowed);
	if (rc)
		return rc;
	shares = (uint64_t)a.n_allowed * workers;
	a.share = (uint32_t)(a.n_tasks / shares);
	a.extra = (uint32_t)(a.n_tasks % shares);
	a.by_row = cot_divider_make(grid[0]);
	a.by_column = cot_divider_make(grid[1]);
	*ret_args = a;
	return 0;
}

/* Where share i begins, counted from args->first. */
static uint32_t begin_of(const struct cot_retreat_args *a, uint32_t i)
{
	return i * a->share + (i < a->extra ? i : a->extra);
}

/* The share of the n-th worker on an SM: the first ones of all SMs come first. */
static uint32_t share_of(const struct cot_retreat_args *a, const struct cot_retreat_row *row,
			 uint32_t n)
{
	return n * a->n_allowed + row->rank;
}

static uint32_t arrived(const struct cot_retreat_args *a, const struct cot_retreat_row *row)
{
	return row->n_arrived < a->workers ? row->n_arrived : a->workers;
}

/* Did all workers on this SM do their shares? */
static int check_row(const struct cot_retreat_args *a, const struct cot_retreat_row *row)
{
	uint32_t n, share, n_tasks = 0;

	if (row->rank == COT_RETREAT_AWAY)
		return row->n_arrived || row->n_done ? -EIO : 0;
	if (row->rank >= a->n_allowed)
		return -EIO;
	for (n = 0; n < arrived(a, row); n++) {
		share = share_of(a, row, n);
		n_tasks += begin_of(a, share + 1) - begin_of(a, share);
	}
	return row->n_done == n_tasks ? 0 : -EIO;
}

/* What is left, as far as it is one range. */
struct range {
	uint32_t first, n;
	bool ended; /* there is more behind a gap */
};

static void add_share(struct range *range, uint32_t begin, uint32_t end, uint32_t from)
{
	begin = begin < from ? from : begin;
	if (begin >= end)
		return;
	if (range->n && range->first + range->n != begin) {
		range->ended = true;
		return;
	}
	range->first = range->n ? range->first : begin;
	range->n += end - begin;
}

int cot_retreat_left(const struct cot_retreat_args *args, const struct cot_retreat_row *rows,
		     uint32_t from, uint32_t *ret_first, uint32_t *ret_n)
{
	struct range range = {0};
	uint32_t i, n, share;
	int rc = 0;

	for (i = 0; i < args->n_rows && !rc; i++)
		rc = check_row(args, &rows[i]);
	if (rc)
		return rc;
	/* In the order of the shares: ranks grow with the number of the SM. */
	for (n = 0; n < args->workers && !range.ended; n++) {
		for (i = 0; i < args->n_rows && !range.ended; i++) {
			if (rows[i].rank == COT_RETREAT_AWAY || n < arrived(args, &rows[i]))
				continue;
			share = share_of(args, &rows[i], n);
			add_share(&range, args->first + begin_of(args, share),
				  args->first + begin_of(args, share + 1), from);
		}
	}
	*ret_first = range.first;
	*ret_n = range.n;
	return 0;
}
