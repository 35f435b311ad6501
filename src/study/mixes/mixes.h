/*
 * Random scenarios: latency programs with targets beside batch programs, each played under every
 * fixed arrangement and under `slo`, which should keep the targets wherever a fixed one does, and
 * leave batch programs at least 0.95 of what the best of these leaves them. `cotenant compare
 * --random N` plays them.
 */
#ifndef COT_STUDY_MIXES_MIXES_H
#define COT_STUDY_MIXES_MIXES_H

#include "study/study.h"

/* What is played: fixed arrangements; and the policy, once without knowing anything (its last
 * seconds count) and once more with what it learned. */
#define COT_MIXES_FIXED 8u
enum { COT_MIXES_FIRST = COT_MIXES_FIXED, COT_MIXES_AGAIN, COT_MIXES_WAYS };
extern const char *const cot_mixes_ways[COT_MIXES_WAYS];

/* Shared more evenly: the one with least has so many times as much. A policy that shares by weight
 * has less in all where programs differ in what they lose beside others. */
#define COT_MIXES_EVENER 1.05

/* SMs of their GPU: as many units of 1 as an H200 has units of 16. */
#define COT_MIXES_SMS 7u

/* Batch programs keep at least so much of what they have under the best fixed arrangement. */
#define COT_MIXES_BOUND 0.95

struct cot_mix_outcome {
	bool kept;	  /* each target */
	bool parts;	  /* side by side: a batch program is in one pool with a latency program */
	double use;	  /* p99 of responses over the target, of the worst program */
	double batch_sum; /* of the batch programs' rates, in parts of those alone */
	double batch_least; /* the least of these, each for a weight of 100 */
};

struct cot_mix_result {
	uint64_t seed;
	struct cot_mix_outcome outcomes[COT_MIXES_WAYS];
	/* Requests come at other times in the first run: the fixed ones in the same seconds. */
	struct cot_mix_outcome later[COT_MIXES_FIXED];
};

/* The outcomes of the fixed arrangements in the seconds that count of a way. */
const struct cot_mix_outcome *cot_mix_fixed(const struct cot_mix_result *r, unsigned way);
/* The one of them that keeps the targets with most for batch programs; -1: none does. */
int cot_mix_best(const struct cot_mix_result *r, unsigned way);

struct cot_mixes {
	const char *policy; /* instead of slo; NULL */
	unsigned n;
	/* Of a single one: the scenario, and what the policy said at the end of each run. NULL */
	char *text, *notes;
	struct cot_mix_result *results;
};

/* What is wrong with the policy's outcome `way`. */
enum cot_mix_fault { COT_MIX_FINE, COT_MIX_MISSED, COT_MIX_SLOW };
enum cot_mix_fault cot_mix_judge(const struct cot_mix_result *r, unsigned way);

/* Of what class a fault is. A running program cannot be brought into the other topology. */
enum cot_mix_reason {
	COT_MIX_NO_FAULT,
	COT_MIX_OTHER_KEEPS,   /* missed: fixed arrangements of the other topology only keep it */
	COT_MIX_NEAR,	       /* missed by no more than a twentieth */
	COT_MIX_OVER,	       /* missed */
	COT_MIX_OTHER_IS_MORE, /* slow: not by what the best fixed one in its topology has */
	COT_MIX_EVENER,	       /* slow: one in its topology has more in all, and leaves one less */
	COT_MIX_LESS,	       /* slow: one in its topology has more */
	COT_MIX_N_REASONS,
};
extern const char *const cot_mix_reasons[COT_MIX_N_REASONS];
enum cot_mix_reason cot_mix_reason(const struct cot_mix_result *r, unsigned way);

/* Its data is a struct cot_mixes; the options' seed is that of the first, the next has the next. */
extern const struct cot_study cot_mixes_study;

/* Plays them on all cores. As cot_study.run(). */
int cot_mixes_run(void *data, const struct cot_study_options *options, struct cot_error *err);

/* ---- one of them ---- */

#define COT_MIX_TEXT_MAX 16384

/* All programs are there after 2 s at most; what counts begins later, and a first run learns for so
 * long before. */
#define COT_MIX_BEGIN_MS 3000u
#define COT_MIX_END_MS	 15000u
#define COT_MIX_LEARN_MS 30000u

struct cot_mix {
	uint64_t seed;
	struct cot_scenario *sc;
	double alone_us[COT_MAX_APPS];
	uint64_t alone_p99_ps[COT_MAX_APPS];
	char text[COT_MIX_TEXT_MAX]; /* the scenario, as a file */
};

/* Draws the scenario of a seed. -ENOMEM; -EINVAL with a sentence (a mistake of ours). */
int cot_mix_make(uint64_t seed, struct cot_mix **ret_mix, struct cot_error *err);
void cot_mix_destroy(struct cot_mix *m);

/* Plays it all ways; `notes` gets what the policy says at the end of each run, and may be NULL.
 * -EINTR, -ENOMEM, -EINVAL with a sentence. */
int cot_mix_play(const struct cot_mix *m, const char *policy,
		 const struct cot_study_options *options, FILE *notes,
		 struct cot_mix_result *ret_result, struct cot_error *err);

/* ---- outputs ---- */

int cot_mixes_write_text(FILE *out, const void *data);
int cot_mixes_write_csv(FILE *out, const void *data, const struct cot_origin *origin);
int cot_mixes_write_html(FILE *out, const void *data, const struct cot_origin *origin);
int cot_mixes_write_json(FILE *out, const void *data, const struct cot_origin *origin);

#endif
