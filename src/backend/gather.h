/*
 * Which posted launches become one, and when. Pure.
 */
#ifndef COT_BACKEND_GATHER_H
#define COT_BACKEND_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

#define COT_GATHER_MAX 64u /* as many as one launch of `batch` takes */

struct cot_gather_entry {
	uint32_t client, slot;
	uint64_t word;	   /* of the slot */
	uint64_t since_ns; /* when the backend saw it */
	const void *code;  /* the same for the same kernel of the same text */
	struct cot_backend_launch launch;
};

struct cot_gather {
	uint32_t n;
	struct cot_gather_entry list[COT_GATHER_MAX];
	/* When each program posted, 0: never, and how long after the time before. */
	uint64_t last_ns[COT_BACKEND_CLIENTS], gap_ns[COT_BACKEND_CLIENTS];
};

/* Programs that posted so recently are waited for, or within twice their last gap, if that is not
 * longer than this. */
#define COT_GATHER_RECENT_NS 2000000ull
#define COT_GATHER_LONG_NS   50000000ull

/* False: it is full. */
bool cot_gather_add(struct cot_gather *g, const struct cot_gather_entry *e, uint64_t now_ns);
/* When the oldest launch is to be decided; `now_ns` or less: now. UINT64_MAX: there is none.
 * A program whose launch is here, and none of whose neighbours launches, does not wait. */
uint64_t cot_gather_due(const struct cot_gather *g, uint64_t window_ns, uint64_t now_ns);
/* The oldest and all that are like it, in *ret_set; how many. They stay in the list. */
uint32_t cot_gather_like_oldest(const struct cot_gather *g, uint32_t ret_set[COT_GATHER_MAX]);
/* Takes out those of the set, which is in ascending order. */
void cot_gather_remove(struct cot_gather *g, const uint32_t *set, uint32_t n);
/* All of a program. */
void cot_gather_forget(struct cot_gather *g, uint32_t client);

#endif
