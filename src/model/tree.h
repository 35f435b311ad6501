/*
 * A decision tree that predicts a positive number, a time or a bandwidth, from features (CART
 * regression; Laius, section 5, prints no details). It is grown on the numbers' logarithms, because
 * errors are judged relative to what was measured: a leaf holds the geometric mean of its samples.
 *
 * A node is divided where the sum of squares falls most, between two neighbouring values of a
 * feature; of equal gains the first feature counts, then the lowest threshold. A leaf has two
 * samples at least. A tree does not extrapolate: beyond the samples it says what their edge says.
 *
 * The same samples give the same tree on every machine. Pure; see model.h.
 */
#ifndef COT_MODEL_TREE_H
#define COT_MODEL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COT_FEATURES_MAX   10u
#define COT_TREE_DEPTH_MAX 16u
#define COT_TREE_LEAF	   UINT32_MAX

/* Rows of features, and what was measured with each. The caller keeps them. */
struct cot_samples {
	uint32_t n, n_features; /* at most COT_FEATURES_MAX */
	const double *features; /* n rows of n_features */
	const double *value;	/* n, each more than 0 */
};

static inline const double *cot_samples_row(const struct cot_samples *s, uint32_t row)
{
	return &s->features[(size_t)row * s->n_features];
}

/* nodes[0] is the root; the child for smaller features is the next node. */
struct cot_tree_node {
	uint32_t feature; /* COT_TREE_LEAF */
	uint32_t larger;  /* the other child */
	double threshold; /* features up to this are smaller */
	double gain;	  /* what dividing takes off the sum of squares */
	double value;	  /* of a leaf */
};

/*
 * Grows a tree from the rows with use[i] (NULL: all). `rows` has room for s->n numbers, `nodes` for
 * s->n. Returns how many nodes there are; 0: there are no rows.
 */
uint32_t cot_tree_grow(const struct cot_samples *s, const bool *use, uint32_t *rows,
		       struct cot_tree_node *nodes);

double cot_tree_predict(const struct cot_tree_node *nodes, const double *features);

#endif
