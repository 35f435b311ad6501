/*
 * Which tasks the workers that stay take over from those that leave, as SMGuard prints it (Yu et
 * al., Algorithm 2 and equation 5) and as it must be. Of Q CapSMs the first E are evicted; each of
 * the others takes n of theirs. The algorithm prints n = floor(E / (Q - E)), equation 5 the
 * ceiling. Neither is right as it stands, which is one reason why our workers claim tasks from one
 * counter instead: there nobody has to know who leaves.
 */
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

#define MAX_Q 132u

enum printed { FLOOR, CEILING, CLAMPED };

struct cover {
	uint32_t lost, twice, beyond; /* CapSMs nobody takes, two take, and that do not exist */
};

static struct cover cover(uint32_t q, uint32_t e, enum printed printed)
{
	uint32_t n = printed == FLOOR ? e / (q - e) : (e + q - e - 1) / (q - e), c, i;
	unsigned taken[MAX_Q] = {0};
	struct cover r = {0};

	for (c = e; c < q; c++) {
		uint32_t begin = (c - e) * n, end = begin + n;

		if (printed == CLAMPED && end > e)
			end = e;
		for (i = begin; i < end; i++) {
			if (i >= e)
				r.beyond++;
			else
				taken[i]++;
		}
	}
	for (i = 0; i < e; i++) {
		r.lost += !taken[i];
		r.twice += taken[i] > 1;
	}
	return r;
}

static void test_printed_formulas(void **state)
{
	uint32_t q, e, n = 0, n_floor_loses = 0, n_ceiling_overshoots = 0;

	(void)state;
	for (q = 2; q <= MAX_Q; q++) {
		for (e = 1; e < q; e++, n++) {
			struct cover floor = cover(q, e, FLOOR), ceiling = cover(q, e, CEILING);
			struct cover clamped = cover(q, e, CLAMPED);

			n_floor_loses += floor.lost > 0;
			n_ceiling_overshoots += ceiling.beyond > 0;
			assert_int_equal(floor.twice, 0);
			assert_int_equal(ceiling.lost + ceiling.twice, 0);
			assert_int_equal(clamped.lost + clamped.twice + clamped.beyond, 0);
		}
	}
	assert_int_equal(n, 8646);
	assert_int_equal(n_floor_loses, 8107);
	assert_int_equal(n_ceiling_overshoots, 8107);
	/* Printed, nothing at all is taken over where fewer leave than stay. */
	assert_int_equal(cover(13, 5, FLOOR).lost, 5);
	assert_int_equal(cover(13, 8, FLOOR).lost, 3);
	assert_int_equal(cover(13, 12, FLOOR).lost, 0);
	assert_int_equal(cover(13, 5, CLAMPED).lost, 0);
}

/*
 * Workers that claim from one counter, in a random order of steps, with evictions in between that
 * only grow: every task is done once, unless all workers have left.
 */
static void test_claims(void **state)
{
	struct cot_rng rng = {20180301};
	unsigned round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		uint32_t q = 1 + (uint32_t)cot_rng_below(&rng, 13);
		uint32_t n_tasks = (uint32_t)cot_rng_below(&rng, 60), next = 0, evict = 0;
		uint32_t running = q, i;
		unsigned done[64] = {0};
		bool there[13];

		memset(there, 1, sizeof(there));
		while (running) {
			uint32_t w = (uint32_t)cot_rng_below(&rng, q);

			if (cot_rng_below(&rng, 20) == 0 && evict < q)
				evict += 1 + (uint32_t)cot_rng_below(&rng, q - evict);
			if (!there[w])
				continue;
			if (w < evict || next >= n_tasks) {
				there[w] = false;
				running--;
			} else {
				done[next++]++;
			}
		}
		for (i = 0; i < n_tasks; i++)
			assert_int_equal(done[i], i < next);
		assert_true(next == n_tasks || evict == q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printed_formulas),
		cmocka_unit_test(test_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
