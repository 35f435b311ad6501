/*
 * The other predictors that Laius compares its tree with (section 5.3): the mean of the nearest
 * samples, weighted by the inverse of their distance, where each feature counts in units of its
 * standard deviation. Of samples at the same distance the first one counts. (Linear regression is
 * in fit.h.) And how far predictors are off, on samples that they were not trained with. Pure; see
 * model.h.
 */
#ifndef COT_MODEL_KNN_H
#define COT_MODEL_KNN_H

#include "model/tree.h"

#define COT_KNN_NEIGHBOURS 3u

struct cot_knn {
	const struct cot_samples *s;
	const bool *use;
	double inverse_variance[COT_FEATURES_MAX]; /* 0: it never changes */
};

/* Remembers the rows with use[i] (NULL: all); the caller keeps both. */
void cot_knn_init(struct cot_knn *k, const struct cot_samples *s, const bool *use);

/* Looks at every sample. 0: there are none. */
double cot_knn_predict(const struct cot_knn *k, const double *features);

enum cot_predictor {
	COT_PREDICTOR_TREE,
	COT_PREDICTOR_KNN,
	COT_PREDICTOR_LINEAR,
	COT_N_PREDICTORS,
};

struct cot_predictor_error {
	uint32_t n;	    /* samples that were predicted; 0: it could not be trained */
	double mean, worst; /* |predicted - measured| / measured (equation (2)) */
};

/* Trains with the rows with use[i] and predicts the others. `rows` and `nodes` as in
 * cot_tree_grow(). */
void cot_predictor_judge(enum cot_predictor which, const struct cot_samples *s, const bool *use,
			 uint32_t *rows, struct cot_tree_node *nodes,
			 struct cot_predictor_error *ret);

#endif
