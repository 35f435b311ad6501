#include "model/tree.h"

#include <string.h>

#include "model/number.h"
#include "model/power.h"

#define LEAF_MIN 2u
#define ROUNDING 1e-12 /* gains that differ by less of themselves are equal */

static double unlog(double x)
{
	return x > 0 ? 1 / cot_model_decay(x) : cot_model_decay(-x);
}

struct grower {
	const struct cot_samples *s;
	struct cot_tree_node *nodes;
	uint32_t n_nodes;
};

struct split {
	uint32_t feature;
	double threshold, gain;
};

static double feature_of(const struct grower *g, uint32_t row, uint32_t feature)
{
	return cot_samples_row(g->s, row)[feature];
}

/* By feature, then by row, so that there is one order only. Shell's method, with Knuth's gaps. */
static void sort_rows(const struct grower *g, uint32_t *rows, uint32_t n, uint32_t feature)
{
	uint32_t gap = 1, i, j, row;
	double x, y;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3)
		for (i = gap; i < n; i++) {
			row = rows[i];
			x = feature_of(g, row, feature);
			for (j = i; j >= gap; j -= gap) {
				y = feature_of(g, rows[j - gap], feature);
				if (y < x || (y == x && rows[j - gap] < row))
					break;
				rows[j] = rows[j - gap];
			}
			rows[j] = row;
		}
}

static double mean_log(const struct grower *g, const uint32_t *rows, uint32_t n)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += cot_model_log(g->s->value[rows[i]]);
	return sum / n;
}

/* With the mean taken off, the sum of squares falls by l^2 / n_l + r^2 / n_r, and r is -l. */
static void try_feature(const struct grower *g, const uint32_t *rows, uint32_t n, uint32_t feature,
			double mean, struct split *best)
{
	double left = 0, gain, x, next;
	uint32_t i;

	for (i = 0; i + 1 < n; i++) {
		left += cot_model_log(g->s->value[rows[i]]) - mean;
		x = feature_of(g, rows[i], feature);
		next = feature_of(g, rows[i + 1], feature);
		if (x == next || i + 1 < LEAF_MIN || n - i - 1 < LEAF_MIN)
			continue;
		gain = left * left / (i + 1) + left * left / (n - i - 1);
		if (gain > best->gain * (1 + ROUNDING))
			*best = (struct split){feature, x + (next - x) / 2, gain};
	}
}

static double squares(const struct grower *g, const uint32_t *rows, uint32_t n, double mean)
{
	double sum = 0, d;
	uint32_t i;

	for (i = 0; i < n; i++) {
		d = cot_model_log(g->s->value[rows[i]]) - mean;
		sum += d * d;
	}
	return sum;
}

static struct split choose(const struct grower *g, uint32_t *rows, uint32_t n, double mean)
{
	struct split best = {COT_TREE_LEAF, 0, ROUNDING * squares(g, rows, n, mean)};
	uint32_t i;

	for (i = 0; i < g->s->n_features; i++) {
		sort_rows(g, rows, n, i);
		try_feature(g, rows, n, i, mean, &best);
	}
	return best;
}

static void grow(struct grower *g, uint32_t *rows, uint32_t n, uint32_t depth)
{
	struct cot_tree_node *node = &g->nodes[g->n_nodes++];
	double mean;
	struct split split;
	uint32_t n_left = 0;

	/* The order of additions must not depend on how the rows came here. */
	sort_rows(g, rows, n, 0);
	mean = mean_log(g, rows, n);
	*node = (struct cot_tree_node){.feature = COT_TREE_LEAF, .value = unlog(mean)};
	if (n < 2 * LEAF_MIN || depth == COT_TREE_DEPTH_MAX)
		return;
	split = choose(g, rows, n, mean);
	if (split.feature == COT_TREE_LEAF)
		return;
	node->feature = split.feature;
	node->threshold = split.threshold;
	node->gain = split.gain;
	sort_rows(g, rows, n, split.feature);
	while (n_left < n && feature_of(g, rows[n_left], split.feature) <= split.threshold)
		n_left++;
	grow(g, rows, n_left, depth + 1);
	node->larger = g->n_nodes;
	grow(g, rows + n_left, n - n_left, depth + 1);
}

uint32_t cot_tree_grow(const struct cot_samples *s, const bool *use, uint32_t *rows,
		       struct cot_tree_node *nodes)
{
	struct grower g = {.s = s, .nodes = nodes};
	uint32_t i, n = 0;

	for (i = 0; i < s->n; i++)
		if (!use || use[i])
			rows[n++] = i;
	if (n)
		grow(&g, rows, n, 0);
	return g.n_nodes;
}

double cot_tree_predict(const struct cot_tree_node *nodes, const double *features)
{
	uint32_t i = 0;

	while (nodes[i].feature != COT_TREE_LEAF)
		i = features[nodes[i].feature] <= nodes[i].threshold ? i + 1 : nodes[i].larger;
	return nodes[i].value;
}
