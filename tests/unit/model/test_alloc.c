/* Batch tasks on what is left of a GPU: examples by hand, and every division of small problems. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "model/alloc.h"
#include "test.h"

#define SEED 20190626

static void two(const struct cot_alloc_task *tasks, uint32_t n_units, uint64_t bandwidth,
		uint32_t first, uint32_t second, uint64_t value, uint64_t used)
{
	struct cot_alloc a;

	assert_int_equal(cot_alloc(tasks, 2, n_units, bandwidth, &a), 0);
	assert_int_equal(a.units[0], first);
	assert_int_equal(a.units[1], second);
	assert_int_equal(a.n_units, first + second);
	assert_int_equal(a.value, value);
	assert_int_equal(a.bandwidth, used);
	assert_true(a.exact);
}

static void bandwidth_decides(void **state)
{
	static const uint32_t f1[] = {1000, 1900, 2600, 3000, 3200, 3300};
	static const uint32_t g1[] = {10, 20, 28, 34, 38, 40};
	static const uint32_t f2[] = {500, 900, 1000, 1050, 1080, 1100};
	static const uint32_t g2[] = {120, 220, 260, 270, 275, 280};
	static const struct cot_alloc_task tasks[] = {{f1, g1}, {f2, g2}};

	(void)state;
	two(tasks, 6, COT_ALLOC_NO_LIMIT, 4, 2, 3900, 254);
	two(tasks, 6, 254, 4, 2, 3900, 254);
	two(tasks, 6, 200, 5, 1, 3700, 158);
	two(tasks, 6, 150, 6, 0, 3300, 40);
	two(tasks, 6, 100, 6, 0, 3300, 40);
	two(tasks, 6, 9, 0, 0, 0, 0);
	two(tasks, 6, 0, 0, 0, 0, 0);
	two(tasks, 0, 200, 0, 0, 0, 0);
}

static void a_task_may_get_nothing(void **state)
{
	static const uint32_t f1[] = {4000, 6000, 7000, 7500}, g1[] = {40, 70, 90, 100};
	static const uint32_t f2[] = {3000, 5000, 6000, 6500}, g2[] = {10, 15, 18, 20};
	static const struct cot_alloc_task tasks[] = {{f1, g1}, {f2, g2}};

	(void)state;
	two(tasks, 4, 85, 2, 2, 11000, 85);
	two(tasks, 4, 1000, 2, 2, 11000, 85);
	two(tasks, 4, 60, 1, 3, 10000, 58);
	two(tasks, 4, 45, 0, 4, 6500, 20);
}

static void equal_values(void **state)
{
	static const uint32_t f[] = {1, 2}, g[] = {5, 10}, more[] = {5, 11};
	static const struct cot_alloc_task same[] = {{f, g}, {f, g}};
	static const struct cot_alloc_task dear[] = {{f, more}, {f, more}};

	(void)state;
	two(same, 2, 100, 2, 0, 2, 10);
	two(same, 2, 10, 2, 0, 2, 10);
	two(dear, 2, 100, 1, 1, 2, 10);
	two(dear, 2, 10, 1, 1, 2, 10);
}

static void no_tasks_and_too_many(void **state)
{
	static const uint32_t most[] = {COT_ALLOC_MOST}, over[] = {COT_ALLOC_MOST + 1};
	struct cot_alloc_task tasks[COT_ALLOC_TASKS_MAX + 1];
	struct cot_alloc a = {.value = 7};
	unsigned i;

	(void)state;
	assert_int_equal(cot_alloc(NULL, 0, 5, 100, &a), 0);
	assert_int_equal(a.value, 0);
	assert_true(a.exact);
	for (i = 0; i < COT_ARRAY_LEN(tasks); i++)
		tasks[i] = (struct cot_alloc_task){most, most};
	assert_int_equal(cot_alloc(tasks, COT_ALLOC_TASKS_MAX, 1, COT_ALLOC_NO_LIMIT, &a), 0);
	assert_int_equal(a.units[0], 1);
	assert_int_equal(a.value, COT_ALLOC_MOST);
	a.value = 7;
	assert_int_equal(cot_alloc(tasks, COT_ALLOC_TASKS_MAX + 1, 1, 100, &a), -EINVAL);
	assert_int_equal(cot_alloc(tasks, 1, COT_ALLOC_UNITS_MAX + 1, 100, &a), -EINVAL);
	tasks[0].value = over;
	assert_int_equal(cot_alloc(tasks, 1, 1, 100, &a), -EINVAL);
	tasks[0] = (struct cot_alloc_task){most, over};
	assert_int_equal(cot_alloc(tasks, 1, 1, 100, &a), -EINVAL);
	assert_int_equal(a.value, 7);
}

/* ---- every division ---- */

#define N_MAX 5
#define U_MAX 8

static uint32_t values[COT_ALLOC_TASKS_MAX][COT_ALLOC_UNITS_MAX];
static uint32_t bandwidths[COT_ALLOC_TASKS_MAX][COT_ALLOC_UNITS_MAX];
static struct cot_alloc_task tasks[COT_ALLOC_TASKS_MAX];

struct search {
	uint32_t n, n_units;
	uint64_t bandwidth;
	struct cot_alloc now, best;
};

static bool beats(const struct cot_alloc *a, const struct cot_alloc *b)
{
	unsigned i;

	if (a->value != b->value)
		return a->value > b->value;
	if (a->bandwidth != b->bandwidth)
		return a->bandwidth < b->bandwidth;
	if (a->n_units != b->n_units)
		return a->n_units < b->n_units;
	for (i = 0; i < N_MAX; i++)
		if (a->units[i] != b->units[i])
			return a->units[i] > b->units[i];
	return false;
}

static void every_division(struct search *s, uint32_t i)
{
	struct cot_alloc before = s->now;
	uint32_t m;

	if (i == s->n) {
		if (s->now.bandwidth <= s->bandwidth && beats(&s->now, &s->best))
			s->best = s->now;
		return;
	}
	for (m = 0; before.n_units + m <= s->n_units; m++) {
		s->now = before;
		s->now.units[i] = (uint8_t)m;
		s->now.n_units += m;
		s->now.value += m ? values[i][m - 1] : 0;
		s->now.bandwidth += m ? bandwidths[i][m - 1] : 0;
		every_division(s, i + 1);
	}
	s->now = before;
}

static void draw(struct cot_rng *rng, uint32_t n, uint32_t n_units, uint32_t range, bool grow)
{
	uint32_t i, m;

	for (i = 0; i < n; i++) {
		tasks[i] = (struct cot_alloc_task){values[i], bandwidths[i]};
		for (m = 0; m < n_units; m++) {
			values[i][m] = (uint32_t)cot_rng_below(rng, range);
			bandwidths[i][m] = (uint32_t)cot_rng_below(rng, range);
			if (grow && m) {
				values[i][m] = values[i][m - 1] + values[i][m] / (m + 1);
				bandwidths[i][m] =
					bandwidths[i][m - 1] + bandwidths[i][m] / (m + 1);
			}
		}
	}
}

/* Small numbers, so that there are many ties, and large ones; times that grow, and any. */
static void every_division_of_random_problems(void **state)
{
	static const uint32_t ranges[] = {2, 4, 30, 5000, COT_ALLOC_MOST / 8};
	struct cot_rng rng = {SEED};
	struct search s;
	struct cot_alloc a;
	uint32_t round, range;

	(void)state;
	for (round = 0; round < 10000; round++) {
		memset(&s, 0, sizeof(s));
		s.n = 1 + (uint32_t)cot_rng_below(&rng, N_MAX);
		s.n_units = 1 + (uint32_t)cot_rng_below(&rng, U_MAX);
		range = ranges[cot_rng_below(&rng, COT_ARRAY_LEN(ranges))];
		s.bandwidth = cot_rng_below(&rng, (uint64_t)range * 3);
		draw(&rng, s.n, s.n_units, range, round % 2);
		every_division(&s, 0);
		assert_int_equal(cot_alloc(tasks, s.n, s.n_units, s.bandwidth, &a), 0);
		if (!a.exact || beats(&a, &s.best) || beats(&s.best, &a))
			fail_msg("seed %d, problem %u: value %lu, bandwidth %lu, %u units%s, "
				 "expected %lu, %lu, %u",
				 SEED, round, a.value, a.bandwidth, a.n_units,
				 a.exact ? "" : " (not exact)", s.best.value, s.best.bandwidth,
				 s.best.n_units);
	}
}

/* As many tasks and units as an H200 may have: always exact; with numbers made for it the bound
 * holds, and what is found can be had. */
static void large_problems(void **state)
{
	struct cot_rng rng = {SEED};
	struct cot_alloc a;
	uint64_t value, bandwidth;
	uint32_t round, i, units, limit, inexact = 0;

	(void)state;
	for (round = 0; round < 400; round++) {
		bool any = round % 4 == 3;

		draw(&rng, 10, 17, any ? 1 << 20 : 2000, !any);
		limit = (uint32_t)cot_rng_below(&rng, any ? 4 << 20 : 20000);
		assert_int_equal(cot_alloc(tasks, 10, 17, limit, &a), 0);
		for (value = bandwidth = units = 0, i = 0; i < 10; i++)
			if (a.units[i]) {
				units += a.units[i];
				value += values[i][a.units[i] - 1];
				bandwidth += bandwidths[i][a.units[i] - 1];
			}
		assert_true(units <= 17 && bandwidth <= limit);
		assert_true(a.n_units == units && a.value == value && a.bandwidth == bandwidth);
		inexact += !a.exact;
	}
	assert_int_equal(inexact, 0);
}

static void instructions_per_cycle(void **state)
{
	(void)state;
	assert_int_equal(cot_alloc_ipc_milli(3960000000, 1000000, 1980), 2000000);
	assert_int_equal(cot_alloc_ipc_milli(0, 1000000, 1980), 0);
	assert_int_equal(cot_alloc_ipc_milli(5, 0, 1980), 0);
	assert_int_equal(cot_alloc_ipc_milli(1ULL << 60, 1ULL << 40, 1000), 1048576000);
}

int main(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test(bandwidth_decides),
		cmocka_unit_test(a_task_may_get_nothing),
		cmocka_unit_test(equal_values),
		cmocka_unit_test(no_tasks_and_too_many),
		cmocka_unit_test(every_division_of_random_problems),
		cmocka_unit_test(large_problems),
		cmocka_unit_test(instructions_per_cycle),
	};

	return cmocka_run_group_tests(list, NULL, NULL);
}
