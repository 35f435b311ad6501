/*
 * Rewritten kernels do what the original ones do, bit for bit, on the interpreter: kernels with the
 * shapes that passes have trouble with (kernels/shapes.cu), under many schedules, with
 * workers asked to leave at any moment. COT_PTX_SEEDS=N plays N schedules for each kernel and not
 * the few.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "ptx/shapes.h"
#include "test.h"

#define LAUNCHES_MAX 10000u

/* ---- workers ---- */

struct evicting {
	struct cot_rng *rng;
	uint32_t quota;
	uint64_t every; /* steps between two demands, about */
};

/* Asks some more workers to leave, never fewer than before. */
static int ask_to_leave(void *arg, uint64_t step)
{
	struct evicting *e = arg;
	volatile uint32_t *evict = &machine.control.evict;

	(void)step;
	if (*evict < e->quota && cot_rng_below(e->rng, e->every) == 0)
		*evict += 1 + (uint32_t)cot_rng_below(e->rng, e->quota - *evict);
	return 0;
}

/* Returns how many launches it took. */
static uint32_t play_workers(const struct shape *s, const char *suffix, uint64_t seed, bool evict)
{
	struct cot_rng rng;
	struct cot_workers_args args;
	struct evicting evicting = {&rng, 0, 0};
	uint32_t left = 1, n, chunk, n_workers = 0;

	rng = (struct cot_rng){seed};
	chunk = 1 + (uint32_t)cot_rng_below(&rng, 4);
	evicting.quota = 1 + (uint32_t)cot_rng_below(&rng, N_SMS);
	evicting.every = 1 + cot_rng_below(&rng, 60);
	assert_int_equal(cot_workers_plan(s->grid, PER_SM, evicting.quota, chunk,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	args.least = 1 + (uint32_t)cot_rng_below(&rng, chunk);
	args.n_sms = (uint32_t)cot_rng_below(&rng, 2 * N_SMS);
	shapes_reset();
	for (n = 0; left && n < LAUNCHES_MAX; n++) {
		if (cot_rng_below(&rng, 2) && cot_workers_gather(N_SMS, &args, &machine.control))
			n_workers = 0; /* of those that ended, too */
		struct launch l = shapes_prepare(s, suffix, args.n_workers);

		if (strstr(suffix, "record"))
			shapes_push_address(&l, machine.records);
		shapes_push(&l, &args, sizeof(args), 8);
		n_workers += args.n_workers;
		(void)shapes_play(&l, seed * 1000 + n, evict ? ask_to_leave : NULL, &evicting);
		evicting.quota = 1 + (uint32_t)cot_rng_below(&rng, N_SMS);
		assert_int_equal(cot_workers_resume(&args, &machine.control, evicting.quota, &left),
				 0);
	}
	assert_int_equal(left, 0);
	assert_int_equal(machine.control.done, shapes_n_tasks(s));
	assert_int_equal(machine.control.ended, n_workers);
	return n;
}

static void workers(void **state)
{
	uint64_t seed, n = shapes_n_seeds();
	uint32_t relaunches = 0;
	size_t i;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		(void)shapes_play_original(&shapes[i]);
		for (seed = 1; seed <= n; seed++) {
			relaunches += play_workers(&shapes[i], "$cot_workers", seed, seed % 3) - 1;
			shapes_compare(shapes[i].name, seed);
		}
	}
	/* Without them, being asked to leave was not tested. */
	assert_true(relaunches > n);
}

/*
 * Asked before they begin, workers do their first chunk only. If one unit stays, it does the rest;
 * if none does, the first chunks are all that is done.
 */
static void who_leaves(void **state)
{
	const struct shape *s = shapes_find("volume");
	struct cot_workers_args args;
	struct launch l;
	uint32_t evict, left, first_chunks;

	(void)state;
	for (evict = 0; evict <= 3; evict++) {
		assert_int_equal(cot_workers_plan(s->grid, PER_SM, 3, 2,
						  (uint64_t)(uintptr_t)&machine.control, &args,
						  &machine.control),
				 0);
		machine.control.evict = evict;
		first_chunks = args.n_workers * args.chunk;
		l = shapes_prepare(s, "$cot_workers", args.n_workers);
		shapes_push(&l, &args, sizeof(args), 8);
		(void)shapes_play(&l, evict + 1, NULL, NULL);
		assert_int_equal(cot_workers_resume(&args, &machine.control, 3, &left), 0);
		assert_int_equal(left, evict < 3 ? 0 : shapes_n_tasks(s) - first_chunks);
	}
}

/* How many of the workers began on that SM or one before it. */
static uint32_t n_workers_up_to(const struct cot_workers_args *args, uint32_t sm)
{
	uint32_t w, n = 0;

	for (w = 0; w < args->n_workers; w++)
		n += machine.records[w * args->chunk].sm <= sm;
	return n;
}

/* Who leaves was on the first SMs, as many as that takes; and from anywhere if the host says so. */
static void play_whole_sms(const struct shape *s, uint32_t evict, uint64_t seed)
{
	uint32_t n_units = evict & ~COT_WORKERS_EVICT_ANYWHERE, asked = n_units * PER_SM, i, n;
	struct cot_workers_args args;
	struct launch l;

	shapes_reset();
	assert_int_equal(cot_workers_plan(s->grid, PER_SM, N_SMS, 2,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	assert_int_equal(args.n_workers, N_SMS * PER_SM);
	args.n_sms = N_SMS;
	machine.control.evict = evict;
	l = shapes_prepare(s, "$cot_record$cot_workers", args.n_workers);
	shapes_push_address(&l, machine.records);
	shapes_push(&l, &args, sizeof(args), 8);
	(void)shapes_play(&l, seed, NULL, NULL);
	n = evict == n_units ? n_workers_up_to(&args, n_units - 1) : args.n_workers;
	assert_int_equal(machine.control.leaving, n < asked ? n : asked);
	for (i = args.begun; i < shapes_n_tasks(s) && evict == n_units && n <= asked; i++)
		assert_true(machine.records[i].sm >= n_units);
}

static void whole_sms_leave(void **state)
{
	const struct shape *s = shapes_find("volume");
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		play_whole_sms(s, 1, seed);
		play_whole_sms(s, 2, seed);
		play_whole_sms(s, 1 | COT_WORKERS_EVICT_ANYWHERE, seed);
	}
}

/* One unit's worth of workers does all, on one SM, though the launch is as large as the GPU. */
static void play_gathered(const struct shape *s, uint32_t units, uint64_t seed)
{
	struct cot_workers_args args;
	struct launch l;
	uint32_t left, i;

	shapes_reset();
	assert_int_equal(cot_workers_plan(s->grid, PER_SM, units, 2,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	assert_int_equal(cot_workers_gather(N_SMS, &args, &machine.control), N_SMS - units);
	assert_int_equal(args.n_workers, N_SMS * PER_SM);
	l = shapes_prepare(s, "$cot_record$cot_workers", args.n_workers);
	shapes_push_address(&l, machine.records);
	shapes_push(&l, &args, sizeof(args), 8);
	(void)shapes_play(&l, seed, NULL, NULL);
	for (i = 0; i < shapes_n_tasks(s); i++)
		assert_int_equal(machine.records[i].sm >= N_SMS - units, true);
	assert_int_equal(machine.control.leaving, (N_SMS - units) * PER_SM);
	assert_int_equal(machine.control.ended, args.n_workers);
	assert_int_equal(machine.control.come, args.n_workers);
	assert_int_equal(cot_workers_resume(&args, &machine.control, units, &left), 0);
	assert_int_equal(left, 0);
}

static void gathered_workers(void **state)
{
	const struct shape *s = shapes_find("volume");
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		play_gathered(s, 1, seed);
		play_gathered(s, 2, seed);
	}
}

/* None has tasks of its own, and none leaves: all that is done is claimed, as play_gathered(). */
static void workers_that_claim_all(void **state)
{
	const struct shape *s = shapes_find("volume");
	struct cot_workers_args args;
	struct launch l;
	uint64_t seed;
	uint32_t left;

	(void)state;
	(void)shapes_play_original(s);
	for (seed = 1; seed <= 20; seed++) {
		shapes_reset();
		assert_int_equal(cot_workers_plan(s->grid, PER_SM, 3, 2,
						  (uint64_t)(uintptr_t)&machine.control, &args,
						  &machine.control),
				 0);
		args.begun = machine.control.next = 0;
		args.first = args.n_tasks;
		l = shapes_prepare(s, "$cot_workers", args.n_workers);
		shapes_push(&l, &args, sizeof(args), 8);
		(void)shapes_play(&l, seed, NULL, NULL);
		shapes_compare(s->name, seed);
		assert_int_equal(machine.control.ended, args.n_workers);
		assert_int_equal(cot_workers_resume(&args, &machine.control, 3, &left), 0);
		assert_int_equal(left, 0);
	}
}

static void check_records(const struct shape *s)
{
	uint32_t i;

	for (i = 0; i < shapes_n_tasks(s); i++) {
		const struct cot_record_row *r = &machine.records[i];

		if (!r->n_ends || r->end_ns < r->begin_ns || !r->begin_ns || r->sm >= N_SMS)
			fail_msg("%s: task %u: %llu to %llu on SM %u, %u ends", s->name,
				 (unsigned)i, (unsigned long long)r->begin_ns,
				 (unsigned long long)r->end_ns, (unsigned)r->sm,
				 (unsigned)r->n_ends);
	}
	assert_int_equal(machine.records[i].n_ends, 0);
}

/* Two passes: what the first noted is about tasks, not about workers. */
static void recorded_workers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		(void)shapes_play_original(&shapes[i]);
		(void)play_workers(&shapes[i], "$cot_record$cot_workers", i + 1, true);
		shapes_compare(shapes[i].name, i);
		check_records(&shapes[i]);
	}
}

/* ---- filling and retreating ---- */

/* Some SMs, at least one of those that there are. */
static void choose_sms(struct cot_rng *rng, uint8_t allowed[SM_ROWS])
{
	uint32_t i;

	for (i = 0; i < SM_ROWS; i++)
		allowed[i] = (uint8_t)cot_rng_below(rng, 2);
	allowed[cot_rng_below(rng, N_SMS)] = 1;
}

/* One launch for n tasks from `first` on; its rows are in machine.rows. */
static void fill_once(const struct shape *s, struct cot_rng *rng, uint32_t first, uint32_t n,
		      struct cot_retreat_args *ret_args)
{
	uint32_t workers = 1 + (uint32_t)cot_rng_below(rng, PER_SM), n_rows, i;
	uint8_t allowed[SM_ROWS];
	struct launch l;

	choose_sms(rng, allowed);
	/* A row less than there are SMs, as many, one more. */
	n_rows = N_SMS - 1 + (uint32_t)cot_rng_below(rng, 3);
	for (i = 0; i < n_rows && !allowed[i]; i++)
		;
	if (i == n_rows)
		n_rows = N_SMS;
	assert_int_equal(cot_retreat_plan(s->grid, first, n, allowed, n_rows, workers,
					  (uint64_t)(uintptr_t)machine.rows, ret_args,
					  machine.rows),
			 0);
	/* Too few blocks at times, as if other kernels had been in their places, or too many. */
	l = shapes_prepare(s, "$cot_retreat", 1 + (uint32_t)cot_rng_below(rng, 2 * N_SMS * PER_SM));
	shapes_push(&l, ret_args, sizeof(*ret_args), 8);
	(void)shapes_play(&l, cot_rng_next(rng), NULL, NULL);
	for (i = 0; i < n_rows; i++)
		if (!allowed[i])
			assert_int_equal(machine.rows[i].n_arrived | machine.rows[i].n_done, 0);
}

/* Until nothing is left; returns how many launches it took. */
static uint32_t fill(const struct shape *s, struct cot_rng *rng, uint32_t first, uint32_t n)
{
	struct cot_retreat_row rows[SM_ROWS];
	struct cot_retreat_args args;
	uint32_t next, n_next, n_launches = 1, from = first;

	fill_once(s, rng, first, n, &args);
	memcpy(rows, machine.rows, sizeof(rows));
	for (;; from = next + n_next) {
		assert_int_equal(cot_retreat_left(&args, rows, from, &next, &n_next), 0);
		if (!n_next)
			return n_launches;
		n_launches += fill(s, rng, next, n_next);
		assert_true(n_launches < LAUNCHES_MAX);
	}
}

static void retreats(void **state)
{
	uint64_t seed, n_launches = 0;
	size_t i;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		(void)shapes_play_original(&shapes[i]);
		for (seed = 1; seed <= shapes_n_seeds(); seed++) {
			struct cot_rng rng = {seed};

			shapes_reset();
			n_launches += fill(&shapes[i], &rng, 0, 0);
			shapes_compare(shapes[i].name, seed);
		}
	}
	/* Some launches did all of their tasks, and some left a part to others. */
	assert_true(n_launches > n_shapes * shapes_n_seeds());
}

/* ---- slices ---- */

/* Tasks from `first` to before `end`. */
static void play_slice(const struct shape *s, uint32_t first, uint32_t end, uint64_t seed)
{
	struct cot_slice_args args;
	uint32_t launch[3], n;

	for (; first < end; first += n) {
		struct launch l = shapes_prepare(s, "$cot_slice$cot_record", 0);

		n = cot_slice_next(s->grid, first, end - first, &args, launch);
		assert_true(n > 0);
		memcpy(l.grid, launch, sizeof(launch));
		shapes_push(&l, &args, sizeof(args), 8);
		shapes_push_address(&l, machine.records);
		(void)shapes_play(&l, seed, NULL, NULL);
	}
}

static void slices(void **state)
{
	struct cot_rng rng;
	uint64_t seed;
	uint32_t cut;
	size_t i;

	(void)state;
	for (i = 0; i < n_shapes; i++) {
		const struct shape *s = &shapes[i];

		(void)shapes_play_original(s);
		for (seed = 1; seed <= shapes_n_seeds(); seed++) {
			rng = (struct cot_rng){seed};
			cut = (uint32_t)cot_rng_below(&rng, shapes_n_tasks(s) + 1);
			shapes_reset();
			/* The second slice first: their order must not matter. */
			play_slice(s, cut, shapes_n_tasks(s), seed);
			play_slice(s, 0, cut, seed);
			shapes_compare(s->name, seed);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers),
		cmocka_unit_test(who_leaves),
		cmocka_unit_test(whole_sms_leave),
		cmocka_unit_test(gathered_workers),
		cmocka_unit_test(workers_that_claim_all),
		cmocka_unit_test(recorded_workers),
		cmocka_unit_test(retreats),
		cmocka_unit_test(slices),
	};

	return cmocka_run_group_tests(tests, shapes_set_up, shapes_tear_down);
}
