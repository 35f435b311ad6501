#include "model/knn.h"

#include <string.h>

#include "model/fit.h"

#define ROOT_STEPS 6

static bool used(const bool *use, uint32_t row)
{
	return !use || use[row];
}

/* Newton's method, from half of the exponent: the same last bit everywhere. */
static double root(double x)
{
	uint64_t bits;
	double r;
	int i;

	memcpy(&bits, &x, sizeof(bits));
	bits = (bits >> 1) + (1023ULL << 51);
	memcpy(&r, &bits, sizeof(r));
	for (i = 0; i < ROOT_STEPS; i++)
		r = (r + x / r) / 2;
	return r;
}

static double inverse_variance(const struct cot_samples *s, const bool *use, uint32_t feature)
{
	double mean = 0, sum = 0, d;
	uint32_t i, n = 0;

	for (i = 0; i < s->n; i++)
		if (used(use, i)) {
			mean += cot_samples_row(s, i)[feature];
			n++;
		}
	mean /= n ? n : 1;
	for (i = 0; i < s->n; i++)
		if (used(use, i)) {
			d = cot_samples_row(s, i)[feature] - mean;
			sum += d * d;
		}
	return sum > 0 ? n / sum : 0;
}

void cot_knn_init(struct cot_knn *k, const struct cot_samples *s, const bool *use)
{
	uint32_t i;

	*k = (struct cot_knn){.s = s, .use = use};
	for (i = 0; i < s->n_features; i++)
		k->inverse_variance[i] = inverse_variance(s, use, i);
}

static double distance2(const struct cot_knn *k, const double *a, const double *b)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < k->s->n_features; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]) * k->inverse_variance[i];
	return sum;
}

struct neighbour {
	double distance2, value;
};

static uint32_t find_neighbours(const struct cot_knn *k, const double *features,
				struct neighbour *near)
{
	uint32_t i, j, n = 0;
	double d;

	for (i = 0; i < k->s->n; i++) {
		if (!used(k->use, i))
			continue;
		d = distance2(k, cot_samples_row(k->s, i), features);
		if (n == COT_KNN_NEIGHBOURS && !(d < near[n - 1].distance2))
			continue;
		n += n < COT_KNN_NEIGHBOURS;
		for (j = n - 1; j > 0 && d < near[j - 1].distance2; j--)
			near[j] = near[j - 1];
		near[j] = (struct neighbour){d, k->s->value[i]};
	}
	return n;
}

double cot_knn_predict(const struct cot_knn *k, const double *features)
{
	struct neighbour near[COT_KNN_NEIGHBOURS];
	uint32_t n = find_neighbours(k, features, near), i;
	double sum = 0, weights = 0, weight;

	if (n && !(near[0].distance2 > 0))
		return near[0].value;
	for (i = 0; i < n; i++) {
		weight = 1 / root(near[i].distance2);
		weights += weight;
		sum += weight * near[i].value;
	}
	return n ? sum / weights : 0;
}

/* ---- errors ---- */

struct trained {
	enum cot_predictor which;
	const struct cot_tree_node *nodes;
	struct cot_knn knn;
	struct cot_model_fit line;
};

static bool train(struct trained *t, const struct cot_samples *s, const bool *use, uint32_t *rows,
		  struct cot_tree_node *nodes)
{
	struct cot_model_samples line = {s->n, s->n_features, s->features, s->value};
	uint32_t event;

	switch (t->which) {
	case COT_PREDICTOR_TREE:
		t->nodes = nodes;
		return cot_tree_grow(s, use, rows, nodes);
	case COT_PREDICTOR_KNN:
		cot_knn_init(&t->knn, s, use);
		return true;
	default:
		return !cot_model_fit(&line, use, &t->line, &event);
	}
}

static double predict(const struct trained *t, const double *features)
{
	switch (t->which) {
	case COT_PREDICTOR_TREE:
		return cot_tree_predict(t->nodes, features);
	case COT_PREDICTOR_KNN:
		return cot_knn_predict(&t->knn, features);
	default:
		return cot_model_fit_predict(&t->line, features);
	}
}

void cot_predictor_judge(enum cot_predictor which, const struct cot_samples *s, const bool *use,
			 uint32_t *rows, struct cot_tree_node *nodes,
			 struct cot_predictor_error *ret)
{
	struct trained t = {.which = which};
	double error;
	uint32_t i;

	*ret = (struct cot_predictor_error){0};
	if (!train(&t, s, use, rows, nodes))
		return;
	for (i = 0; i < s->n; i++) {
		if (use[i])
			continue;
		error = (predict(&t, cot_samples_row(s, i)) - s->value[i]) / s->value[i];
		error = error < 0 ? -error : error;
		ret->worst = error > ret->worst ? error : ret->worst;
		ret->mean += error;
		ret->n++;
	}
	if (ret->n)
		ret->mean /= ret->n;
}
