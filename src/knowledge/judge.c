/* How far predictors are off for times of queries that they have not seen. */
#include <errno.h>
#include <stdlib.h>

#include "knowledge/inside.h"
#include "model/fit.h"

#define TRAIN_PCT 80u

static int judge(struct cot_known_samples *s, const uint32_t *group, uint32_t n_groups,
		 uint64_t seed, struct cot_predictor_error *ret)
{
	bool picked[COT_KNOWN_SAMPLES_MAX], use[COT_KNOWN_SAMPLES_MAX];
	unsigned i;
	int rc;

	rc = cot_model_fit_split(group, s->all.n, n_groups, TRAIN_PCT, seed, picked, use);
	for (i = 0; i < COT_N_PREDICTORS && !rc; i++)
		cot_predictor_judge((enum cot_predictor)i, &s->all, use, s->rows, s->nodes,
				    &ret[i]);
	return rc;
}

int cot_knowledge_judge(const struct cot_knowledge *k, uint64_t seed,
			struct cot_knowledge_errors *ret)
{
	struct cot_known_samples *s = cot_known_samples_create(k);
	struct cot_knowledge_errors errors;
	uint32_t each[COT_KNOWN_SAMPLES_MAX], i;
	int rc;

	if (!s)
		return -ENOMEM;
	for (i = 0; i < s->all.n; i++)
		each[i] = i;
	rc = judge(s, each, s->all.n, seed, errors.random);
	rc = rc ? rc : judge(s, s->input, k->n_inputs, seed, errors.by_input);
	free(s);
	if (!rc)
		*ret = errors;
	return rc;
}
