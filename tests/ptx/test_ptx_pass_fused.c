/*
 * Two kernels in one grid do what they do alone, and counters count what is executed: on the
 * interpreter, with the kernels of kernels/shapes.cu.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/shapes.h"
#include "test.h"

/* ---- two kernels in one ---- */

/* Each kernel works on a part of the memory of its own. */
static struct launch prepare_part(const struct shape *s, uint32_t part)
{
	uint32_t n = shapes_n_tasks(s) * s->block[0] * s->block[1];
	struct launch l = shapes_prepare(s, "", 0);

	l.n_args = 0;
	shapes_push_address(&l, machine.out + part * (WORDS_MAX / 4));
	if (s->arguments == OUT_LENGTHS_N)
		shapes_push_address(&l, machine.lengths);
	if (s->arguments != OUT)
		shapes_push(&l, &n, sizeof(n), 4);
	return l;
}

static void play_alone(const struct launch *launches, uint32_t n)
{
	uint32_t i;

	shapes_reset();
	for (i = 0; i < n; i++)
		(void)shapes_play(&launches[i], 1, NULL, NULL);
	shapes_keep_expected();
}

/* Two launches, of which each may be one of a fused kernel, in one. */
static struct launch prepare_fused(const struct launch *first, const struct launch *second)
{
	struct launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct cot_fuse_args args;

	assert_int_equal(cot_fuse_plan(first->grid, first->block, second->grid, second->block,
				       &args, &l.grid[0], &l.block[0]),
			 0);
	assert_true(snprintf(l.name, sizeof(l.name), "%s$cot_fuse$%s", first->name, second->name) <
		    (int)sizeof(l.name));
	l.shared = first->shared > second->shared ? first->shared : second->shared;
	shapes_push(&l, first->args, first->n_args, 8);
	shapes_push(&l, second->args, second->n_args, 8);
	shapes_push(&l, &args, sizeof(args), 8);
	return l;
}

/* The fused kernel again as workers: its grid is one of tasks like any other. */
static void play_pair_as_workers(const struct launch *fused, uint64_t seed)
{
	struct cot_workers_args args;
	struct launch l = *fused;
	uint32_t left;

	(void)snprintf(l.name, sizeof(l.name), "%s$cot_workers", fused->name);
	assert_int_equal(cot_workers_plan(fused->grid, PER_SM, N_SMS, 2,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	l.grid[0] = args.n_workers;
	shapes_push(&l, &args, sizeof(args), 8);
	(void)shapes_play(&l, seed, NULL, NULL);
	assert_int_equal(cot_workers_resume(&args, &machine.control, N_SMS, &left), 0);
	assert_int_equal(left, 0);
}

static void play_seeds(const struct launch *l, bool workers)
{
	uint64_t seed;

	for (seed = 1; seed <= shapes_n_seeds() / 2 + 1; seed++) {
		shapes_reset();
		(void)shapes_play(l, seed, NULL, NULL);
		shapes_compare(l->name, seed);
		if (!workers)
			continue;
		shapes_reset();
		play_pair_as_workers(l, seed);
		shapes_compare(l->name, seed);
	}
}

static void fused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < n_pairs; i++) {
		struct launch parts[2] = {prepare_part(shapes_find(pairs[i].first), 0),
					  prepare_part(shapes_find(pairs[i].second), 1)};
		struct launch l = prepare_fused(&parts[0], &parts[1]);

		play_alone(parts, 2);
		play_seeds(&l, pairs[i].workers);
	}
}

/* A fused kernel is a kernel like any other: with a third before it, behind it, or itself again. */
static void fused_again(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < n_pairs; i++) {
		const struct shape *first = shapes_find(pairs[i].first);
		const struct shape *second = shapes_find(pairs[i].second);
		struct launch parts[4] = {prepare_part(first, 0), prepare_part(second, 1),
					  prepare_part(first, 2), prepare_part(second, 3)};
		struct launch pair = prepare_fused(&parts[0], &parts[1]);
		struct launch other = prepare_fused(&parts[2], &parts[3]), l;

		play_alone(parts, 3);
		l = prepare_fused(&pair, &parts[2]);
		play_seeds(&l, false);
		if (first != second) {
			l = prepare_fused(&parts[2], &pair);
			play_seeds(&l, false);
		}
		play_alone(parts, 4);
		l = prepare_fused(&pair, &other);
		play_seeds(&l, false);
	}
}

/* ---- counters ---- */

static struct cot_count_row add_rows(uint32_t n)
{
	struct cot_count_row sum = {0};
	uint64_t *to = (uint64_t *)&sum;
	uint32_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += ((const uint64_t *)&machine.counts[i])[k];
	return sum;
}

static void counters(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		const struct shape *s = &shapes[i];
		struct launch l = shapes_prepare(s, "$cot_count", 0);
		struct cot_exec_stats stats;
		struct cot_count_row sum;

		if (!s->counted)
			continue;
		stats = shapes_play_original(s);
		shapes_push_address(&l, machine.counts);
		shapes_reset();
		(void)shapes_play(&l, 1, NULL, NULL);
		shapes_compare(s->name, 0);
		sum = add_rows(shapes_n_tasks(s));
		assert_int_equal(sum.thread_insns, stats.n_thread_insns);
		assert_true(sum.warp_insns * 32 >= sum.thread_insns);
		assert_true(sum.warp_insns <= sum.thread_insns);
	}
}

/* Two kernels whose traffic can be counted by hand. */
static void traffic(void **state)
{
	const struct shape *s = shapes_find("volume");
	uint64_t threads = (uint64_t)shapes_n_tasks(s) * shapes_n_threads(s);
	struct launch l = shapes_prepare(s, "$cot_count", 0);
	struct cot_count_row sum;

	(void)state;
	shapes_push_address(&l, machine.counts);
	shapes_reset();
	(void)shapes_play(&l, 1, NULL, NULL);
	sum = add_rows(shapes_n_tasks(s));
	assert_int_equal(sum.read_bytes[COT_COUNT_GLOBAL], threads * 4);
	assert_int_equal(sum.written_bytes[COT_COUNT_GLOBAL], threads * 4);
	assert_int_equal(sum.requests[COT_COUNT_GLOBAL], threads / 32 * 2);
	assert_int_equal(sum.requests[COT_COUNT_SHARED], 0);
	s = shapes_find("groups");
	l = shapes_prepare(s, "$cot_count", 0);
	threads = (uint64_t)shapes_n_tasks(s) * shapes_n_threads(s);
	shapes_push_address(&l, machine.counts);
	shapes_reset();
	(void)shapes_play(&l, 1, NULL, NULL);
	sum = add_rows(shapes_n_tasks(s));
	assert_int_equal(sum.read_bytes[COT_COUNT_SHARED], threads * 4);
	assert_int_equal(sum.written_bytes[COT_COUNT_SHARED], threads * 4);
	assert_int_equal(sum.requests[COT_COUNT_SHARED], threads / 32 * 2);
	assert_int_equal(sum.read_bytes[COT_COUNT_LOCAL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fused),
		cmocka_unit_test(fused_again),
		cmocka_unit_test(counters),
		cmocka_unit_test(traffic),
	};

	return cmocka_run_group_tests(tests, shapes_set_up, shapes_tear_down);
}
