/*
 * The host's half of workers: plans for all kinds of grids, and, with workers played in C, that
 * every task is done exactly once whoever leaves and whenever.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cotenant/passes.h"
#include "test.h"

#define CONTROL	    0x7f0000000080ull
#define MAX_TASKS   3000u
#define MAX_WORKERS 256u
#define SEEDS	    3000u

/* The layout is fixed: kernels are made with it. */
static void layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct cot_workers_control), 384);
	assert_int_equal(offsetof(struct cot_workers_control, evict), COT_WORKERS_EVICT_OFFSET);
	assert_int_equal(offsetof(struct cot_workers_control, done), 256);
	assert_int_equal(offsetof(struct cot_workers_control, ended), 260);
	assert_int_equal(offsetof(struct cot_workers_control, come), 264);
	assert_int_equal(sizeof(struct cot_divider), 16);
	assert_int_equal(sizeof(struct cot_workers_args), 88);
	assert_int_equal(offsetof(struct cot_workers_args, n_workers), 36);
	assert_int_equal(offsetof(struct cot_workers_args, by_row), 56);
	assert_int_equal(sizeof(struct cot_retreat_args), 80);
	assert_int_equal(sizeof(struct cot_retreat_row), 16);
	assert_int_equal(sizeof(struct cot_slice_args), 24);
	assert_int_equal(sizeof(struct cot_fuse_side), 88);
	assert_int_equal(sizeof(struct cot_fuse_args), 184);
	assert_int_equal(sizeof(struct cot_count_row), 88);
	assert_int_equal(sizeof(struct cot_record_row), 24);
}

static void plans(void **state)
{
	struct cot_workers_args a;
	struct cot_workers_control c;
	const uint32_t grid[3] = {100, 20, 3}, small[3] = {5, 1, 1};

	(void)state;
	assert_int_equal(cot_workers_plan(grid, 8, 10, 4, CONTROL, &a, &c), 0);
	assert_int_equal(a.n_tasks, 6000);
	assert_int_equal(a.n_workers, 80);
	assert_int_equal(a.first, 0);
	assert_int_equal(a.chunk, 4);
	assert_int_equal(a.least, 1);
	assert_int_equal(a.begun, 320);
	assert_int_equal(a.tail_shift, 7); /* 2 * 80 workers are at least 2^7 */
	assert_int_equal(a.per_sm, 8);
	assert_true(a.control == CONTROL);
	assert_memory_equal(a.grid, grid, sizeof(grid));
	assert_int_equal(c.next, 320);
	assert_int_equal(c.evict, 0);
	assert_int_equal(c.done, 0);
	/* Never more workers than first chunks. */
	assert_int_equal(cot_workers_plan(small, 8, 132, 2, CONTROL, &a, &c), 0);
	assert_int_equal(a.n_workers, 3);
	assert_int_equal(cot_workers_plan(small, 8, 132, 0, CONTROL, &a, &c), 0);
	assert_int_equal(a.chunk, 1);
	assert_int_equal(a.least, 1);
	assert_int_equal(a.n_workers, 5);
}

/* As many workers as the GPU holds, none with a first chunk; the surplus is to leave. */
static void gathers(void **state)
{
	const uint32_t grid[3] = {1000, 1, 1}, many[3] = {UINT32_MAX - 100, 1, 1};
	struct cot_workers_args a, before;
	struct cot_workers_control c;
	uint32_t left;

	(void)state;
	assert_int_equal(cot_workers_plan(grid, 4, 3, 2, CONTROL, &a, &c), 0);
	before = a;
	c.leaving = c.ended = c.come = 5;
	assert_int_equal(cot_workers_gather(3, &a, &c), 0); /* the whole GPU */
	assert_memory_equal(&a, &before, sizeof(a));
	assert_int_equal(c.ended, 5);
	assert_int_equal(cot_workers_gather(10, &a, &c), 7);
	assert_int_equal(a.n_workers, 40);
	assert_int_equal(a.first, 1000);
	assert_int_equal(a.begun, 0);
	assert_int_equal(a.n_sms, 10);
	assert_int_equal(a.tail_shift, before.tail_shift); /* of those that stay */
	assert_int_equal(c.next, 0);
	assert_int_equal(c.evict, 7);
	assert_int_equal(c.leaving + c.ended + c.come, 0);
	assert_int_equal(cot_workers_gather(10, &a, &c), 0); /* it is that already */
	/* The rest of it. */
	c.next = c.done = 600;
	assert_int_equal(cot_workers_resume(&a, &c, 5, &left), 0);
	assert_int_equal(left, 400);
	assert_int_equal(a.first, 600);
	assert_int_equal(cot_workers_gather(10, &a, &c), 5);
	assert_int_equal(a.begun, 600);
	assert_int_equal(c.next, 600);
	/* A unit that is not full counts as one. */
	assert_int_equal(cot_workers_plan(grid, 4, 3, 100, CONTROL, &a, &c), 0);
	assert_int_equal(a.n_workers, 10);
	assert_int_equal(cot_workers_gather(10, &a, &c), 7);
	/* All of the GPU's workers claim once more than there is: 32 bits count that, or it stays.
	 */
	assert_int_equal(cot_workers_plan(many, 4, 1, 2, CONTROL, &a, &c), 0);
	assert_int_equal(cot_workers_gather(13, &a, &c), 0);
	assert_int_equal(cot_workers_gather(12, &a, &c), 11);
}

static void wrong_plans(void **state)
{
	static const uint32_t grids[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
	const uint32_t fine[3] = {10, 1, 1}, huge[3] = {1u << 31, 2, 1},
		       wide[3] = {1u << 31, 65535, 65535};
	const uint32_t most[3] = {UINT32_MAX - 2, 1, 1};
	struct cot_workers_args a = {.n_tasks = 77}, before = a;
	struct cot_workers_control c;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(grids); i++)
		assert_int_equal(cot_workers_plan(grids[i], 1, 1, 1, CONTROL, &a, &c), -EINVAL);
	assert_int_equal(cot_workers_plan(fine, 0, 1, 1, CONTROL, &a, &c), -EINVAL);
	assert_int_equal(cot_workers_plan(fine, 1, 0, 1, CONTROL, &a, &c), -EINVAL);
	assert_int_equal(cot_workers_plan(fine, 1, 1, 1, CONTROL + 64, &a, &c), -EINVAL);
	assert_int_equal(cot_workers_plan(huge, 1, 1, 1, CONTROL, &a, &c), -ERANGE);
	assert_int_equal(cot_workers_plan(wide, 1, 1, 1, CONTROL, &a, &c), -ERANGE);
	/* The tasks can be counted, the claims beyond their end cannot. */
	assert_int_equal(cot_workers_plan(most, 8, 132, 1, CONTROL, &a, &c), -ERANGE);
	assert_memory_equal(&a, &before, sizeof(a));
}

static void chunks(void **state)
{
	(void)state;
	assert_int_equal(cot_workers_chunk(1000000, 1000, 1000), 24);
	assert_int_equal(cot_workers_chunk(10000000, 1000, 100), 240);
	assert_int_equal(cot_workers_chunk(1000000, 1000, 1000000), 1);
	/* At least 4 claims each. */
	assert_int_equal(cot_workers_chunk(600000, 1000, 100), 150);
	/* So little that it is dealt out at once. */
	assert_int_equal(cot_workers_chunk(80000, 1000, 100), 80);
	assert_int_equal(cot_workers_chunk(480001, 1000, 100), 120);
	assert_int_equal(cot_workers_chunk(1000, 1000, 100), 1);
	assert_int_equal(cot_workers_chunk(0, 0, 0), 1);
	assert_true(cot_workers_chunk(UINT32_MAX, 1, 1) <= 24000);
}

/* ---- division ---- */

static void divides(uint32_t d, uint32_t n)
{
	struct cot_divider by = cot_divider_make(d);
	uint32_t q = (uint32_t)(((uint64_t)n * by.multiplier + by.addend) >> 32 >> by.shift);

	if (q != n / d)
		fail_msg("%u / %u is %u, not %u", (unsigned)n, (unsigned)d, (unsigned)(n / d),
			 (unsigned)q);
}

/*
 * A wrong quotient is wrong first at the largest n of its kind: right before or at a multiple of d,
 * and the error grows with n. So those at both ends of the range, and some between.
 */
static void divides_around(uint32_t d, struct cot_rng *rng)
{
	uint32_t last = UINT32_MAX / d * d, k;

	for (k = 0; k < 8; k++) {
		uint32_t n = (uint32_t)cot_rng_below(rng, UINT32_MAX / d + (uint64_t)1) * d;

		divides(d, n);
		divides(d, n - 1);
		divides(d, (uint32_t)cot_rng_next(rng));
	}
	divides(d, 0);
	divides(d, d - 1);
	divides(d, d);
	divides(d, last);
	divides(d, last - 1);
	divides(d, UINT32_MAX);
}

/* COT_PTX_SEEDS=N tries N million divisors more, chosen by chance. */
static void dividers(void **state)
{
	const char *more = getenv("COT_PTX_SEEDS");
	uint64_t n = more ? strtoull(more, NULL, 10) * 1000000 : 0, i;
	struct cot_rng rng = {1};
	uint32_t d, k;

	(void)state;
	for (d = 1; d < 40000; d++)
		divides_around(d, &rng);
	for (k = 2; k < 32; k++)
		for (d = 0; d < 64; d++) {
			divides_around((1u << k) + d, &rng);
			divides_around((1u << k) - d < 1 ? 1 : (1u << k) - d, &rng);
			divides_around(0u - d - 1, &rng);
		}
	for (i = 0; i < 20000 + n; i++)
		divides_around(((uint32_t)cot_rng_next(&rng) | 1) >> cot_rng_below(&rng, 31) | 1,
			       &rng);
	/* All numbers, for divisors of both roundings. */
	for (d = 1; d < 1u << 22; d++) {
		divides(7, d * 1021u);
		divides(10, d * 1021u);
		divides(641, d * 1021u);
	}
}

/* ---- boxes ---- */

/* Every task of a range is in one box, and boxes come in order. */
static void box_range(const uint32_t grid[3], uint32_t first, uint32_t n)
{
	uint32_t next = first, n_boxes = 0, launch[3], x, y, z;
	struct cot_slice_args args;

	while (next < first + n) {
		uint32_t size = cot_slice_next(grid, next, first + n - next, &args, launch);

		assert_true(size > 0 && next + size <= first + n);
		assert_memory_equal(args.grid, grid, sizeof(args.grid));
		for (z = 0; z < launch[2]; z++)
			for (y = 0; y < launch[1]; y++)
				for (x = 0; x < launch[0]; x++)
					assert_int_equal(
						args.first[0] + x +
							grid[0] * (args.first[1] + y +
								   grid[1] * (args.first[2] + z)),
						next + x + launch[0] * (y + launch[1] * z));
		next += size;
		n_boxes++;
	}
	assert_int_equal(next, first + n);
	assert_true(n_boxes <= (grid[2] > 1 ? 5u : grid[1] > 1 ? 3u : 1u));
}

static void boxes(void **state)
{
	const uint32_t grids[][3] = {{7, 1, 1}, {5, 4, 1}, {3, 4, 5}, {1, 6, 2}, {1, 1, 4}};
	const uint32_t wide[3] = {65536, 65535, 1}, none[3] = {4, 0, 1};
	struct cot_slice_args args;
	uint32_t launch[3], first, n;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(grids); i++) {
		uint32_t n_tasks = grids[i][0] * grids[i][1] * grids[i][2];

		for (first = 0; first < n_tasks; first++)
			for (n = 1; first + n <= n_tasks; n++)
				box_range(grids[i], first, n);
		assert_int_equal(cot_slice_next(grids[i], 0, UINT32_MAX, &args, launch), n_tasks);
		assert_memory_equal(launch, grids[i], sizeof(launch));
		assert_int_equal(cot_slice_next(grids[i], n_tasks, 1, &args, launch), 0);
	}
	assert_int_equal(cot_slice_next(wide, 0, UINT32_MAX, &args, launch), 65536u * 65535u);
	assert_int_equal(cot_slice_next(none, 0, 1, &args, launch), 0);
	assert_int_equal(cot_slice_next(wide, 0, 0, &args, launch), 0);
}

static void fuse_plans(void **state)
{
	const uint32_t grid[3] = {5, 4, 3}, block[3] = {10, 7, 1}, line[3] = {64, 1, 1};
	const uint32_t zero[3] = {4, 4, 0}, huge[3] = {UINT32_MAX, 1, 1}, fat[3] = {32, 32, 2};
	struct cot_fuse_args args = {.pad = 9}, before = args;
	uint32_t n_blocks = 1, n_threads = 2;

	(void)state;
	assert_int_equal(cot_fuse_plan(grid, zero, grid, line, &args, &n_blocks, &n_threads),
			 -EINVAL);
	assert_int_equal(cot_fuse_plan(grid, line, zero, line, &args, &n_blocks, &n_threads),
			 -EINVAL);
	assert_int_equal(cot_fuse_plan(huge, line, line, line, &args, &n_blocks, &n_threads),
			 -ERANGE);
	assert_int_equal(cot_fuse_plan(grid, line, grid, fat, &args, &n_blocks, &n_threads),
			 -ERANGE);
	assert_memory_equal(&args, &before, sizeof(args));
	assert_int_equal(cot_fuse_plan(grid, block, line, line, &args, &n_blocks, &n_threads), 0);
	assert_int_equal(n_blocks, 124);
	assert_int_equal(n_threads, 96); /* 70, in whole warps */
	assert_int_equal(args.first_blocks, 60);
	assert_memory_equal(args.first.block, block, sizeof(block));
	assert_memory_equal(args.second.grid, line, sizeof(line));
}

/* ---- filling and retreating ---- */

#define SMS 5u

/* The tasks of all shares, as retreat.c finds them, each once. */
static void shares_cover(const struct cot_retreat_args *a)
{
	uint32_t next = a->first, slot, id;

	for (slot = 0; slot < a->n_allowed * a->workers; slot++) {
		id = a->first + slot * a->share + (slot < a->extra ? slot : a->extra);
		assert_int_equal(id, next);
		next += a->share + (slot < a->extra);
	}
	assert_int_equal(next, a->first + a->n_tasks);
}

static void retreat_plans(void **state)
{
	const uint32_t grid[3] = {7, 5, 3}, huge[3] = {1u << 31, 4, 1}, none[3] = {7, 0, 1};
	const uint8_t some[SMS] = {0, 1, 0, 1, 1}, nobody[SMS] = {0};
	struct cot_retreat_args a = {.n_tasks = 77}, before = a;
	struct cot_retreat_row rows[SMS] = {{.rank = 9}};
	uint32_t n;

	(void)state;
	assert_int_equal(cot_retreat_plan(none, 0, 0, NULL, SMS, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 0, 0, nobody, SMS, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 0, 0, NULL, SMS, 0, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 0, 0, NULL, 0, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 0, 0, NULL, SMS, 2, 8, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 105, 1, NULL, SMS, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 100, 6, NULL, SMS, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(grid, 5, 0, NULL, SMS, 2, 16, &a, rows), -EINVAL);
	assert_int_equal(cot_retreat_plan(huge, 0, 0, NULL, SMS, 2, 16, &a, rows), -ERANGE);
	assert_memory_equal(&a, &before, sizeof(a));
	assert_int_equal(rows[0].rank, 9);
	assert_int_equal(cot_retreat_plan(grid, 0, 0, some, SMS, 4, 16, &a, rows), 0);
	assert_int_equal(a.n_tasks, 105);
	assert_int_equal(a.n_allowed, 3);
	assert_int_equal(rows[0].rank, COT_RETREAT_AWAY);
	assert_int_equal(rows[1].rank, 0);
	assert_int_equal(rows[3].rank, 1);
	assert_int_equal(rows[4].rank, 2);
	assert_int_equal(a.share, 8);
	assert_int_equal(a.extra, 9);
	for (n = 1; n <= 105; n++) {
		assert_int_equal(cot_retreat_plan(grid, 105 - n, n, some, SMS, 4, 16, &a, rows), 0);
		shares_cover(&a);
	}
}

static void retreat_leaves(void **state)
{
	const uint32_t grid[3] = {10, 1, 1};
	const uint8_t some[SMS] = {0, 1, 0, 1, 1};
	struct cot_retreat_row rows[SMS];
	struct cot_retreat_args a;
	uint32_t first = 9, n = 9;

	(void)state;
	/* Six shares of 2 2 2 2 1 1 tasks, for the SMs 1 3 4 1 3 4. */
	assert_int_equal(cot_retreat_plan(grid, 0, 0, some, SMS, 2, 16, &a, rows), 0);
	assert_int_equal(cot_retreat_left(&a, rows, 0, &first, &n), 0);
	assert_int_equal(first, 0);
	assert_int_equal(n, 10);
	rows[1].n_arrived = 1;
	rows[1].n_done = 2;
	rows[3].n_arrived = 7; /* five of them retreated */
	rows[3].n_done = 3;
	assert_int_equal(cot_retreat_left(&a, rows, 0, &first, &n), 0);
	assert_int_equal(first, 4); /* the first share of SM 4, the second one of SM 1 */
	assert_int_equal(n, 4);
	assert_int_equal(cot_retreat_left(&a, rows, 8, &first, &n), 0);
	assert_int_equal(first, 9);
	assert_int_equal(n, 1);
	assert_int_equal(cot_retreat_left(&a, rows, 10, &first, &n), 0);
	assert_int_equal(n, 0);
	/* What cannot be: a share half done, or somebody where nobody may be. */
	rows[3].n_done = 2;
	assert_int_equal(cot_retreat_left(&a, rows, 0, &first, &n), -EIO);
	rows[3].n_done = 3;
	rows[2].n_arrived = 1;
	assert_int_equal(cot_retreat_left(&a, rows, 0, &first, &n), -EIO);
}

/* ---- workers in C ---- */

struct game {
	struct cot_rng rng;
	struct cot_workers_args args;
	struct cot_workers_control control;
	uint32_t chunk[MAX_WORKERS], at[MAX_WORKERS], end[MAX_WORKERS], count[MAX_WORKERS];
	bool ended[MAX_WORKERS];
	uint8_t times[MAX_TASKS];
};

static void take(struct game *g, uint32_t w, uint32_t id, uint32_t size)
{
	uint32_t left = g->args.n_tasks - id;

	g->at[w] = g->chunk[w] = id;
	g->end[w] = id + (left < size ? left : size);
	g->count[w] += g->end[w] - id;
}

/* One step of one worker, as workers.c has it. */
static void step(struct game *g, uint32_t w)
{
	const struct cot_workers_args *a = &g->args;
	uint32_t evict = g->control.evict < a->n_workers ? g->control.evict : a->n_workers, id,
		 size;

	if (g->at[w] < g->end[w]) {
		g->times[g->at[w]++]++;
		return;
	}
	if (w >= evict * a->per_sm && a->begun < a->n_tasks) {
		size = (a->n_tasks - g->chunk[w]) >> a->tail_shift;
		size = size > a->chunk ? a->chunk : size < a->least ? a->least : size;
		id = g->control.next;
		g->control.next += size;
		if (id < a->n_tasks) {
			take(g, w, id, size);
			return;
		}
	}
	g->control.done += g->count[w];
	g->ended[w] = true;
}

static void play_launch(struct game *g, uint32_t quota)
{
	uint32_t n_running = g->args.n_workers, w;

	assert_true(g->args.n_workers <= MAX_WORKERS);
	memset(g->count, 0, sizeof(g->count));
	memset(g->ended, 0, sizeof(g->ended));
	for (w = 0; w < g->args.n_workers; w++) {
		assert_true(g->args.first + w * g->args.chunk < g->args.n_tasks);
		take(g, w, g->args.first + w * g->args.chunk, g->args.chunk);
	}
	while (n_running) {
		w = (uint32_t)cot_rng_below(&g->rng, g->args.n_workers);
		if (cot_rng_below(&g->rng, 200) == 0)
			g->control.evict += (uint32_t)cot_rng_below(&g->rng, quota + 1);
		if (g->ended[w])
			continue;
		step(g, w);
		n_running -= g->ended[w] ? 1 : 0;
	}
}

static void play_game(struct game *g, uint64_t seed)
{
	uint32_t grid[3], per_sm, quota, left = 1, i, n_launches = 0;

	memset(g, 0, sizeof(*g));
	g->rng.state = seed;
	grid[0] = 1 + (uint32_t)cot_rng_below(&g->rng, 40);
	grid[1] = 1 + (uint32_t)cot_rng_below(&g->rng, 5);
	grid[2] = 1 + (uint32_t)cot_rng_below(&g->rng, 3);
	per_sm = 1 + (uint32_t)cot_rng_below(&g->rng, 8);
	quota = 1 + (uint32_t)cot_rng_below(&g->rng, 16);
	assert_int_equal(cot_workers_plan(grid, per_sm, quota, (uint32_t)cot_rng_below(&g->rng, 6),
					  CONTROL, &g->args, &g->control),
			 0);
	while (left) {
		play_launch(g, quota);
		quota = 1 + (uint32_t)cot_rng_below(&g->rng, 16);
		assert_int_equal(cot_workers_resume(&g->args, &g->control, quota, &left), 0);
		assert_true(++n_launches <= g->args.n_tasks + 1);
	}
	for (i = 0; i < g->args.n_tasks; i++)
		if (g->times[i] != 1)
			fail_msg("seed %llu: task %u was done %u times", (unsigned long long)seed,
				 (unsigned)i, (unsigned)g->times[i]);
}

static void every_task_once(void **state)
{
	struct game *g = malloc(sizeof(*g));
	uint64_t seed;

	(void)state;
	assert_non_null(g);
	for (seed = 1; seed <= SEEDS; seed++)
		play_game(g, seed);
	free(g);
}

static void resume_notices(void **state)
{
	const uint32_t grid[3] = {100, 1, 1};
	struct cot_workers_args a, before;
	struct cot_workers_control c;
	uint32_t left = 55;

	(void)state;
	assert_int_equal(cot_workers_plan(grid, 2, 2, 5, CONTROL, &a, &c), 0);
	before = a;
	c.next = 60;
	c.done = 55; /* five tasks were claimed, and not done */
	assert_int_equal(cot_workers_resume(&a, &c, 2, &left), -EIO);
	assert_memory_equal(&a, &before, sizeof(a));
	assert_int_equal(left, 55);
	c.done = 60;
	assert_int_equal(cot_workers_resume(&a, &c, 0, &left), -EINVAL);
	assert_int_equal(cot_workers_resume(&a, &c, 1, &left), 0);
	assert_int_equal(left, 40);
	assert_int_equal(a.first, 60);
	assert_int_equal(a.n_workers, 2);
	assert_int_equal(c.next, 70);
	assert_int_equal(c.evict, 0);
	c.next = 1000; /* all claims beyond the end */
	c.done = 100;
	assert_int_equal(cot_workers_resume(&a, &c, 1, &left), 0);
	assert_int_equal(left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),	   cmocka_unit_test(plans),
		cmocka_unit_test(dividers),	   cmocka_unit_test(boxes),
		cmocka_unit_test(fuse_plans),	   cmocka_unit_test(retreat_plans),
		cmocka_unit_test(retreat_leaves),  cmocka_unit_test(wrong_plans),
		cmocka_unit_test(gathers),	   cmocka_unit_test(chunks),
		cmocka_unit_test(every_task_once), cmocka_unit_test(resume_notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
