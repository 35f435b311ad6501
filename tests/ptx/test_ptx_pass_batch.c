/*
 * Several launches of a kernel in one grid do what they do alone, bit for bit: on the interpreter,
 * with the kernels of kernels/shapes.cu, grids of any size, and as workers, too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "ptx/shapes.h"
#include "test.h"

#define PARTS 8u

/* One launch on a part of the memory of its own, in a grid that is not larger than the shape's. */
static struct launch prepare_part(const struct shape *s, uint32_t part, struct cot_rng *rng)
{
	struct launch l = shapes_prepare(s, "", 0);
	uint32_t i, n;

	for (i = 0; i < 3; i++)
		l.grid[i] = 1 + (uint32_t)cot_rng_below(rng, s->grid[i]);
	n = l.grid[0] * l.grid[1] * l.grid[2] * shapes_n_threads(s);
	l.n_args = 0;
	shapes_push_address(&l, machine.out + part * (WORDS_MAX / PARTS));
	if (s->arguments == OUT_LENGTHS_N)
		shapes_push_address(&l, machine.lengths);
	if (s->arguments != OUT)
		shapes_push(&l, &n, sizeof(n), 4);
	return l;
}

static struct launch prepare_batch(const struct launch *parts, uint32_t n)
{
	struct cot_batch_shape shape;
	struct launch l = parts[0];
	uint32_t i;

	assert_int_equal(cot_batch_shape_make((uint32_t)parts[0].n_args, 8, &shape), 0);
	assert_in_range(shape.n_max, PARTS, COT_BATCH_MAX);
	assert_true(shape.bytes <= 4096);
	cot_batch_begin(&shape, l.args);
	for (i = 0; i < n; i++)
		assert_int_equal(
			cot_batch_add(&shape, l.args, parts[i].grid, parts[i].args, &l.grid[0]), 0);
	l.grid[1] = l.grid[2] = 1;
	l.n_args = shape.bytes;
	(void)snprintf(l.name, sizeof(l.name), "%s$cot_batch", parts[0].name);
	return l;
}

static void play_alone(const struct launch *parts, uint32_t n)
{
	uint32_t i;

	shapes_reset();
	for (i = 0; i < n; i++)
		(void)shapes_play(&parts[i], 1, NULL, NULL);
	shapes_keep_expected();
}

static void play_as_workers(const struct launch *batch, uint64_t seed)
{
	struct cot_workers_args args;
	struct launch l = *batch;
	uint32_t left;

	(void)snprintf(l.name, sizeof(l.name), "%s$cot_workers", batch->name);
	if (!cot_exec_module_find(machine.module, l.name))
		return;
	assert_int_equal(cot_workers_plan(batch->grid, PER_SM, N_SMS, 2,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	l.grid[0] = args.n_workers;
	shapes_push(&l, &args, sizeof(args), 8);
	shapes_reset();
	(void)shapes_play(&l, seed, NULL, NULL);
	assert_int_equal(cot_workers_resume(&args, &machine.control, N_SMS, &left), 0);
	assert_int_equal(left, 0);
	shapes_compare(l.name, seed);
}

static void batches(void **state)
{
	struct launch parts[PARTS];
	struct cot_rng rng = {1};
	uint32_t n, i;
	uint64_t seed;
	size_t shape;

	(void)state;
	for (shape = 0; shape < n_shapes; shape++) {
		for (n = 1; n <= PARTS; n++) {
			struct launch l;

			for (i = 0; i < n; i++)
				parts[i] = prepare_part(&shapes[shape], i, &rng);
			play_alone(parts, n);
			l = prepare_batch(parts, n);
			for (seed = 1; seed <= shapes_n_seeds() / 3 + 1; seed++) {
				shapes_reset();
				(void)shapes_play(&l, seed, NULL, NULL);
				shapes_compare(l.name, seed);
				play_as_workers(&l, seed);
			}
		}
	}
}

/* Two thirds of the kernels at least, or the runs above say little about them. */
static void as_workers_too(void **state)
{
	char name[128];
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		(void)snprintf(name, sizeof(name), "%s$cot_batch$cot_workers", shapes[i].name);
		n += cot_exec_module_find(machine.module, name) != NULL;
	}
	assert_true(3 * n >= 2 * n_shapes);
}

/* ---- the host's half ---- */

static void shape_of_parameters(void **state)
{
	struct cot_batch_shape shape;

	(void)state;
	assert_int_equal(cot_batch_shape_make(24, 8, &shape), 0);
	assert_int_equal(shape.at, 16);
	assert_int_equal(shape.params, 48);
	assert_int_equal(shape.stride, 80); /* 72, to a multiple of 16 */
	assert_int_equal(shape.n_max, 51);  /* (4096 - 16) / 80 */
	assert_int_equal(shape.bytes, 16 + 51 * 80);
	assert_int_equal(cot_batch_shape_make(0, 1, &shape), 0);
	assert_int_equal(shape.n_max, COT_BATCH_MAX);
	assert_int_equal(cot_batch_shape_make(100, 128, &shape), 0);
	assert_int_equal(shape.align, 128);
	assert_int_equal(shape.at, 128);
	assert_int_equal(shape.params, 128);
	assert_int_equal(shape.stride, 256);
	assert_int_equal(cot_batch_shape_make(1984, 8, &shape), 0);
	assert_int_equal(shape.n_max, 2);
	assert_int_equal(cot_batch_shape_make(1985, 8, &shape), -E2BIG);
	assert_int_equal(cot_batch_shape_make(UINT32_MAX, 8, &shape), -E2BIG);
	assert_int_equal(cot_batch_shape_make(8, 0, &shape), -EINVAL);
	assert_int_equal(cot_batch_shape_make(8, 24, &shape), -EINVAL);
}

static void what_does_not_fit(void **state)
{
	const uint32_t grid[3] = {3, 2, 1}, none[3] = {3, 0, 1}, most[3] = {UINT32_MAX - 5, 1, 1};
	const uint32_t beyond[3] = {65536, 65536, 65536};
	unsigned char args[4096], before[4096];
	uint64_t params[248] = {0}; /* 1984 bytes */
	struct cot_batch_shape shape;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(cot_batch_shape_make(sizeof(params), 8, &shape), 0);
	cot_batch_begin(&shape, args);
	assert_int_equal(cot_batch_add(&shape, args, none, params, &n), -EINVAL);
	assert_int_equal(cot_batch_add(&shape, args, grid, params, &n), 0);
	assert_int_equal(n, 6);
	memcpy(before, args, shape.bytes);
	assert_int_equal(cot_batch_add(&shape, args, most, params, &n), -ERANGE);
	assert_int_equal(cot_batch_add(&shape, args, beyond, params, &n), -ERANGE);
	assert_memory_equal(before, args, shape.bytes);
	assert_int_equal(n, 6);
	assert_int_equal(cot_batch_add(&shape, args, grid, params, &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(cot_batch_add(&shape, args, grid, params, &n), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches),
		cmocka_unit_test(as_workers_too),
		cmocka_unit_test(shape_of_parameters),
		cmocka_unit_test(what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, shapes_set_up, shapes_tear_down);
}
