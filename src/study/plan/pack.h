/*
 * Which mixes of programs fit a GPU, and who goes where. Private to src/study/plan.
 *
 * Mixes are played once, several at a time. A mix that holds one that does not fit is taken not to
 * fit either. Which mixes are played depends on the number of threads, what comes of it does not:
 * who goes where is decided one mix after the other.
 */
#ifndef COT_STUDY_PLAN_PACK_H
#define COT_STUDY_PLAN_PACK_H

#include "study/plan/plan.h"

struct cot_pack {
	struct cot_fleet *plan;
	const struct cot_study_options *options;
	size_t n_known, cap_known;
	struct cot_pack_known *known; /* mixes that were played */
	size_t n_misfits, cap_misfits;
	struct cot_plan_mix *misfits;
	uint32_t n_wanted; /* mixes of the round that are played now */
	struct cot_plan_mix wanted[COT_PLAN_GPUS_MAX];
	struct cot_plan_outcome *outcomes;
};

/* The first of `n` mixes (at most COT_PLAN_GPUS_MAX) that fits; n: none does. -ENOMEM, -EINTR,
 * -EDEADLK. */
int cot_pack_first(struct cot_pack *p, const struct cot_plan_mix *mixes, uint32_t n,
		   uint32_t *ret_which);
/* Whether it is known without playing it that a mix does not fit. */
bool cot_pack_is_hopeless(const struct cot_pack *p, const struct cot_plan_mix *m);
double cot_pack_load(const struct cot_pack *p, const struct cot_plan_mix *m);
/* What was seen of a mix that fits. */
const struct cot_plan_outcome *cot_pack_outcome(const struct cot_pack *p,
						const struct cot_plan_mix *m);
/* What was seen of a mix by other means than playing it here. -ENOMEM. */
int cot_pack_note(struct cot_pack *p, const struct cot_plan_mix *m,
		  const struct cot_plan_outcome *outcome);
void cot_pack_finish(struct cot_pack *p);

#endif
