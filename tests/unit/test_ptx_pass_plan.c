/*
 * The host's half of workers: plans for all kinds of grids, and, with workers played in C, that
 * every task is done exactly once whoever leaves and whenever.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cotenant/passes.h"

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
	assert_int_equal(sizeof(struct cot_workers_args), 48);
	assert_int_equal(offsetof(struct cot_workers_args, n_workers), 36);
	assert_int_equal(sizeof(struct cot_slice_args), 16);
	assert_int_equal(sizeof(struct cot_fuse_args), 56);
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
	assert_int_equal(a.ahead, 1);
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
	assert_int_equal(a.ahead, 0);
	assert_int_equal(a.n_workers, 5);
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
	assert_int_equal(cot_workers_chunk(1000000, 1000, 1000), 16);
	assert_int_equal(cot_workers_chunk(10000000, 1000, 100), 160);
	assert_int_equal(cot_workers_chunk(1000000, 1000, 1000000), 1);
	/* At least 32 claims each. */
	assert_int_equal(cot_workers_chunk(320000, 1000, 100), 10);
	assert_int_equal(cot_workers_chunk(1000, 1000, 100), 1);
	assert_int_equal(cot_workers_chunk(0, 0, 0), 1);
	assert_true(cot_workers_chunk(UINT32_MAX, 1, 1) <= 16000);
}

/* ---- workers in C ---- */

struct game {
	struct cot_rng rng;
	struct cot_workers_args args;
	struct cot_workers_control control;
	uint32_t at[MAX_WORKERS], end[MAX_WORKERS], count[MAX_WORKERS];
	bool ended[MAX_WORKERS];
	uint8_t times[MAX_TASKS];
};

static void take(struct game *g, uint32_t w, uint32_t id)
{
	uint32_t left = g->args.n_tasks - id;

	g->at[w] = id;
	g->end[w] = id + (left < g->args.chunk ? left : g->args.chunk);
	g->count[w] += g->end[w] - id;
}

/* One step of one worker, as workers.c has it. */
static void step(struct game *g, uint32_t w)
{
	const struct cot_workers_args *a = &g->args;
	uint32_t evict = g->control.evict < a->n_workers ? g->control.evict : a->n_workers, id;

	if (g->at[w] < g->end[w]) {
		g->times[g->at[w]++]++;
		return;
	}
	if (w >= evict * a->per_sm && a->first + a->n_workers * a->chunk < a->n_tasks) {
		id = g->control.next;
		g->control.next += a->chunk;
		if (id < a->n_tasks) {
			take(g, w, id);
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
		take(g, w, g->args.first + w * g->args.chunk);
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
		cmocka_unit_test(wrong_plans),	   cmocka_unit_test(chunks),
		cmocka_unit_test(every_task_once), cmocka_unit_test(resume_notices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
