/*
 * Whether launches that could run at the same time should be one launch: the patent's decision
 * (consolidate.h) for launches of a few microseconds, of which no counts are known. Pure.
 *
 * By waves: a GPU holds n_sms * per_sm blocks of a kernel at a time, and what waits for room begins
 * when others end. Launched one by one, kernels of different streams run at the same time, so that
 * they take the waves of their sum as well; what merging saves is launches, and what it costs is
 * events between the streams, and room where blocks of the merged kernel need more registers.
 *
 * Several programs launch beside each other. Of a set of theirs apart takes what the program with
 * most launches needs.
 */
#ifndef COT_MODEL_MERGE_H
#define COT_MODEL_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct cot_merge_set {
	uint32_t n;		/* launches, at least 2 */
	uint64_t blocks;	/* of all */
	uint32_t n_sms;		/* at least 1 */
	uint32_t per_sm;	/* the fewest blocks of one of the kernels that fit an SM */
	uint32_t merged_per_sm; /* of the merged kernel; 0: none fits */
	uint32_t launch_ns;	/* what a launch costs */
	uint32_t event_ns;	/* what an event, or a wait for one, costs */
	uint32_t n_events;	/* of these that merging needs */
	uint32_t n_longest;	/* launches of the program with most; 0: all are one program's */
	uint32_t merged_ns;	/* what the merged launch costs; 0: as much as each */
};

/* Whether it saves launches and needs no more waves. */
bool cot_merge_judge(const struct cot_merge_set *set);

/*
 * Verdicts that are kept: by which function, what shape of block, how many launches, and their
 * number of blocks to a power of two. Finding one takes no more than a few looks at a table; of two
 * in one place the later one stays.
 */
#define COT_MERGE_VERDICTS 512u

struct cot_merge_verdicts {
	uint64_t keys[COT_MERGE_VERDICTS]; /* 0: none. The lowest bit is the verdict */
};

uint64_t cot_merge_key(uint64_t function, uint32_t threads, uint32_t n, uint64_t blocks);
bool cot_merge_verdict_find(const struct cot_merge_verdicts *v, uint64_t key, bool *ret_merge);
void cot_merge_verdict_put(struct cot_merge_verdicts *v, uint64_t key, bool merge);

/*
 * When threads launch, so that one that is about to wait knows whether others are to come. Those
 * that have launched most lately; the gaps between a thread's launches are smoothed.
 */
#define COT_MERGE_THREADS   16u
#define COT_MERGE_RECENT_NS 500000ull /* what is longer ago says nothing */

struct cot_merge_thread {
	uintptr_t id; /* 0: none */
	uint64_t last_ns, gap_ns;
};

struct cot_merge_threads {
	struct cot_merge_thread list[COT_MERGE_THREADS];
};

void cot_merge_thread_launched(struct cot_merge_threads *t, uintptr_t id, uint64_t now_ns);
/*
 * Until when the last of the other threads launches that are to do so by `until_ns`, and have not
 * done so from `since_ns` on; half a gap late at most. 0: there is none.
 */
uint64_t cot_merge_threads_due(const struct cot_merge_threads *t, uintptr_t id, uint64_t now_ns,
			       uint64_t since_ns, uint64_t until_ns);

#endif
