/*
 * Kernels of a program, from launches that were timed one by one: each kernel's time on each size
 * of part, which of them a request runs, and the longest of a batch program. Pure.
 */
#ifndef COT_KNOWLEDGE_LAUNCHES_H
#define COT_KNOWLEDGE_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "knowledge/knowledge.h"

/* In the order in which they were made. */
struct cot_known_launch {
	uint64_t ns;	 /* more than 0, at most COT_KNOWN_NS_MAX */
	uint16_t kernel; /* less than n_kernels */
	bool first;	 /* of a request */
	bool gap;	 /* launches before it are missing */
};

/* Of one run, on each of the quotas. Names may be equal, of kernels with different grids. */
struct cot_known_launches {
	uint32_t n_kernels;
	const char (*names)[COT_KNOWN_NAME_MAX];
	uint32_t n[COT_KNOWN_QUOTAS_MAX];
	const struct cot_known_launch *at[COT_KNOWN_QUOTAS_MAX];
};

/*
 * The tasks of a request of this input: what most of its requests run on the largest quota, each
 * kernel with its median time on each. Kernels of the same name and about the same times as those
 * of other inputs are the same. -ENODATA: no two requests, or no half of them, run the same, or a
 * kernel was not timed on some quota; -ENOSPC: there are more kernels or tasks than a file may
 * have; -ENOMEM. Nothing is changed then. k->n_quotas counts.
 */
int cot_knowledge_take_tasks(struct cot_knowledge *k, struct cot_known_input *in,
			     const struct cot_known_launches *l);

/* k->kernel_ns: the largest of the kernels' median times, on each quota. -ENODATA: there is a quota
 * without any launch; -ENOMEM. Nothing is changed then. */
int cot_knowledge_take_longest(struct cot_knowledge *k, const struct cot_known_launches *l);

#endif
