/* What the files of this folder share. */
#ifndef COT_KNOWLEDGE_INSIDE_H
#define COT_KNOWLEDGE_INSIDE_H

#include "knowledge/knowledge.h"

#define COT_KNOWN_SAMPLES_MAX (COT_KNOWN_INPUTS_MAX * COT_KNOWN_QUOTAS_MAX)
#define COT_KNOWN_N_FEATURES  2u /* size of the input, SMs */

/* Times of queries by size and SMs, as the predictors learn them. */
struct cot_known_samples {
	struct cot_samples all;
	double features[COT_KNOWN_SAMPLES_MAX * COT_KNOWN_N_FEATURES];
	double time_ns[COT_KNOWN_SAMPLES_MAX];
	uint32_t input[COT_KNOWN_SAMPLES_MAX];
	/* Room for those who grow trees. */
	uint32_t rows[COT_KNOWN_SAMPLES_MAX];
	struct cot_tree_node nodes[COT_KNOWN_SAMPLES_MAX];
};

/* free() it; NULL: out of memory. */
struct cot_known_samples *cot_known_samples_create(const struct cot_knowledge *k);

#endif
