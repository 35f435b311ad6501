/* Decision trees: one by hand, and what every tree keeps to. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "model/tree.h"
#include "test.h"

#define ROWS 300

static void near(double found, double expected, double off)
{
	if (!(fabs(found - expected) <= off))
		fail_msg("%.17g, expected %.17g", found, expected);
}

/* Size and quota give milliseconds. */
static const double grid[] = {1, 1, 1, 2, 1, 4, 1, 8, 2, 1, 2, 2, 2, 4, 2, 8};
static const double grid_ms[] = {80, 44, 26, 20, 160, 84, 46, 32};
static const struct cot_samples by_hand = {8, 2, grid, grid_ms};

static void a_tree_by_hand(void **state)
{
	static const double leaves[] = {59.330, 115.931, 22.804, 38.367};
	struct cot_tree_node nodes[8];
	uint32_t rows[8];

	(void)state;
	assert_int_equal(cot_tree_grow(&by_hand, NULL, rows, nodes), 7);
	assert_int_equal(nodes[0].feature, 1);
	near(nodes[0].threshold, 3, 0);
	near(nodes[0].gain, 2.1259, 1e-4);
	assert_int_equal(nodes[1].feature, 0);
	near(nodes[1].threshold, 1.5, 0);
	near(nodes[1].gain, 0.4487, 1e-4);
	assert_int_equal(nodes[nodes[0].larger].feature, 0);
	near(nodes[nodes[0].larger].gain, 0.2707, 1e-4);
	near(cot_tree_predict(nodes, (double[]){1, 1}), leaves[0], 1e-3);
	near(cot_tree_predict(nodes, (double[]){2, 3}), leaves[1], 1e-3);
	near(cot_tree_predict(nodes, (double[]){1.5, 3.01}), leaves[2], 1e-3);
	near(cot_tree_predict(nodes, (double[]){1.51, 100}), leaves[3], 1e-3);
	near(cot_tree_predict(nodes, (double[]){-5, 0}), leaves[0], 1e-3);
}

/* Two features that say the same: the first one divides. Equal gains: the lower threshold. */
static void ties(void **state)
{
	static const double same[] = {1, 1, 1, 1, 2, 2, 2, 2};
	static const double ms[] = {5, 5, 9, 9};
	static const double line[] = {1, 2, 3, 4, 5, 6};
	static const double bump[] = {5, 5, 9, 9, 5, 5};
	struct cot_tree_node nodes[6];
	uint32_t rows[6];
	struct cot_samples s = {4, 2, same, ms};

	(void)state;
	assert_int_equal(cot_tree_grow(&s, NULL, rows, nodes), 3);
	assert_int_equal(nodes[0].feature, 0);
	s = (struct cot_samples){6, 1, line, bump};
	assert_int_equal(cot_tree_grow(&s, NULL, rows, nodes), 5);
	near(nodes[0].threshold, 2.5, 0);
	near(nodes[nodes[0].larger].threshold, 4.5, 0);
}

static void few_rows(void **state)
{
	static const bool none[8] = {false};
	static const bool three[8] = {true, false, true, true};
	struct cot_tree_node nodes[8];
	uint32_t rows[8];
	double one_ms = 80, feature = 3;
	struct cot_samples one = {1, 1, &feature, &one_ms};

	(void)state;
	assert_int_equal(cot_tree_grow(&by_hand, none, rows, nodes), 0);
	assert_int_equal(cot_tree_grow(&one, NULL, rows, nodes), 1);
	near(cot_tree_predict(nodes, &feature), 80, 1e-12);
	assert_int_equal(cot_tree_grow(&by_hand, three, rows, nodes), 1);
	near(nodes[0].value, cbrt(80.0 * 26 * 20), 1e-12);
}

static double draw(struct cot_rng *rng)
{
	return (double)(1 + cot_rng_below(rng, 1000)) / 10;
}

/* Within the range of what was measured, two rows in every leaf, and the same tree whatever the
 * order of the rows. */
static void any_tree(void **state)
{
	static double features[ROWS * 3], ms[ROWS], turned[ROWS * 3], turned_ms[ROWS];
	static struct cot_tree_node nodes[ROWS], others[ROWS];
	struct cot_samples s = {ROWS, 3, features, ms}, t = {ROWS, 3, turned, turned_ms};
	struct cot_rng rng = {5};
	uint32_t rows[ROWS], i, n, at[ROWS] = {0};
	double least = DBL_MAX, most = 0, x;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		for (n = 0; n < 3; n++)
			features[i * 3 + n] = draw(&rng);
		ms[i] = features[i * 3] * 10 / features[i * 3 + 1] + draw(&rng) / 100;
		least = ms[i] < least ? ms[i] : least;
		most = ms[i] > most ? ms[i] : most;
		turned_ms[ROWS - 1 - i] = ms[i];
		memcpy(&turned[(size_t)(ROWS - 1 - i) * 3], &features[(size_t)i * 3],
		       3 * sizeof(x));
	}
	n = cot_tree_grow(&s, NULL, rows, nodes);
	assert_in_range(n, 50, ROWS);
	for (i = 0; i < ROWS; i++) {
		x = cot_tree_predict(nodes, &features[(size_t)i * 3]);
		assert_true(x >= least * 0.999999 && x <= most * 1.000001);
	}
	assert_int_equal(cot_tree_grow(&t, NULL, rows, others), n);
	for (i = 0; i < n; i++) {
		assert_int_equal(nodes[i].feature, others[i].feature);
		assert_true(nodes[i].threshold == others[i].threshold);
		near(nodes[i].value, others[i].value, 1e-12 * nodes[i].value);
	}
	for (i = 0; i < ROWS; i++) {
		uint32_t k = 0;

		while (nodes[k].feature != COT_TREE_LEAF)
			k = features[i * 3 + nodes[k].feature] <= nodes[k].threshold
				    ? k + 1
				    : nodes[k].larger;
		at[k]++;
	}
	for (i = 0; i < n; i++)
		assert_true(nodes[i].feature != COT_TREE_LEAF || at[i] >= 2);
}

/* A hash of all bits tells whether machines and compilers agree. */
static void the_same_bits_everywhere(void **state)
{
	struct cot_tree_node nodes[8];
	uint32_t rows[8], i;
	uint64_t hash = 0, bits;

	(void)state;
	(void)cot_tree_grow(&by_hand, NULL, rows, nodes);
	for (i = 0; i < 7; i++) {
		memcpy(&bits, &nodes[i].value, sizeof(bits));
		hash = cot_hash64(hash, bits);
	}
	assert_true(hash == 0x509a038ea45b836a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_by_hand),
		cmocka_unit_test(ties),
		cmocka_unit_test(few_rows),
		cmocka_unit_test(any_tree),
		cmocka_unit_test(the_same_bits_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
