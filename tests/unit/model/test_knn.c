/* The nearest samples, and how far predictors are off. */
#include <math.h>

#include "base/rng.h"
#include "model/knn.h"
#include "test.h"

static void near(double found, double expected, double off)
{
	if (!(fabs(found - expected) <= off))
		fail_msg("%.17g, expected %.17g", found, expected);
}

static const double grid[] = {1, 1, 1, 2, 1, 4, 1, 8, 2, 1, 2, 2, 2, 4, 2, 8};
static const double grid_ms[] = {80, 44, 26, 20, 160, 84, 46, 32};
static const struct cot_samples by_hand = {8, 2, grid, grid_ms};

/* (1, 2) and (2, 2) are at 1, (1, 1) and (2, 1) at 1.0673: the first of these two counts. */
static void by_distance(void **state)
{
	static const bool two[8] = {false, true, false, false, false, true};
	static const bool none[8] = {false};
	struct cot_knn k;

	(void)state;
	cot_knn_init(&k, &by_hand, NULL);
	near(1 / sqrt(k.inverse_variance[0]), 0.5, 1e-12);
	near(1 / sqrt(k.inverse_variance[1]), 2.6809, 1e-4);
	near(cot_knn_predict(&k, (double[]){1.5, 2}), 69.104, 1e-3);
	near(cot_knn_predict(&k, (double[]){2, 4}), 46, 0);
	cot_knn_init(&k, &by_hand, two);
	near(cot_knn_predict(&k, (double[]){1.25, 9}), (44 / 0.25 + 84 / 0.75) / (4 + 4 / 3.0),
	     1e-9);
	cot_knn_init(&k, &by_hand, none);
	near(cot_knn_predict(&k, (double[]){1, 1}), 0, 0);
}

#define ROWS 400

static double features[ROWS * 2], ms[ROWS];
static bool use[ROWS];
static uint32_t rows[ROWS];
static struct cot_tree_node nodes[ROWS];

static struct cot_predictor_error judge(enum cot_predictor which)
{
	struct cot_samples s = {ROWS, 2, features, ms};
	struct cot_predictor_error e;

	cot_predictor_judge(which, &s, use, rows, nodes, &e);
	return e;
}

/* On a plane the line is right; on a curve the tree and the neighbours are better. */
static void what_suits_whom(void **state)
{
	struct cot_rng rng = {9};
	struct cot_predictor_error e;
	double line;
	uint32_t i;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		features[i * 2] = (double)(1 + cot_rng_below(&rng, 40));
		features[i * 2 + 1] = (double)(1 + i % 10);
		use[i] = i % 5;
		ms[i] = 7 + 3 * features[i * 2] + 2 * features[i * 2 + 1];
	}
	e = judge(COT_PREDICTOR_LINEAR);
	assert_int_equal(e.n, ROWS / 5);
	near(e.worst, 0, 1e-9);
	for (i = 0; i < ROWS; i++)
		ms[i] = 100 + 50 * features[i * 2] / features[i * 2 + 1];
	line = judge(COT_PREDICTOR_LINEAR).mean;
	assert_true(judge(COT_PREDICTOR_TREE).mean < line);
	assert_true(judge(COT_PREDICTOR_KNN).mean < line);
	e = judge(COT_PREDICTOR_TREE);
	assert_int_equal(e.n, ROWS / 5);
	assert_true(e.worst >= e.mean && e.mean > 0);
}

/* The error is relative to what was measured; without a difference no line can be drawn. */
static void errors(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		features[i * 2] = features[i * 2 + 1] = 1;
		use[i] = i >= 2;
		ms[i] = 10;
	}
	ms[0] = 20;
	ms[1] = 5;
	near(judge(COT_PREDICTOR_TREE).mean, (0.5 + 1) / 2, 1e-12);
	near(judge(COT_PREDICTOR_TREE).worst, 1, 1e-12);
	near(judge(COT_PREDICTOR_KNN).mean, (0.5 + 1) / 2, 1e-12);
	assert_int_equal(judge(COT_PREDICTOR_LINEAR).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_distance),
		cmocka_unit_test(what_suits_whom),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
