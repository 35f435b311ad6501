/*
 * Repeats the evaluation of Laius (Zhang et al., ICS 2019) in the simulator: six services, each
 * beside each of eight batch programs, under the policies that the paper compares. The programs are
 * models (data/traces/tonic and rodinia), not recordings.
 *
 * A request comes when the one before it is due: the time between two is the target, a multiple of
 * what the largest request takes alone on all SMs. A pair violates its target when more than one in
 * a hundred responses, of all seeds together, takes longer.
 */
#ifndef COT_STUDY_LAIUS_LAIUS_H
#define COT_STUDY_LAIUS_LAIUS_H

#include "knowledge/knowledge.h"
#include "study/study.h"

#define COT_LAIUS_SERVICES 6u
#define COT_LAIUS_BATCH	   8u
#define COT_LAIUS_PAIRS	   (COT_LAIUS_SERVICES * COT_LAIUS_BATCH)
#define COT_LAIUS_SEEDS	   3u
#define COT_LAIUS_SETTINGS 6u /* the main one first */
#define COT_LAIUS_PRINTED  16u

enum cot_laius_way {
	COT_LAIUS_DOUBLE,
	COT_LAIUS_EVEN,
	COT_LAIUS_PRIORITY,
	COT_LAIUS_BAYMAX,
	COT_LAIUS_LAIUS,
	COT_LAIUS_NB,
	COT_LAIUS_NC,
	COT_LAIUS_PEAK, /* ours: the paper does not have these two */
	COT_LAIUS_LIVE,
	COT_LAIUS_WAYS,
};

extern const char *const cot_laius_ways[COT_LAIUS_WAYS]; /* names of policies */
extern const char *const cot_laius_services[COT_LAIUS_SERVICES];
extern const char *const cot_laius_batch[COT_LAIUS_BATCH];

/* One simulation. */
struct cot_laius_outcome {
	uint64_t n, n_missed; /* responses */
	double p99;	      /* in parts of the target */
	double batch;	      /* work of the batch program, in parts of what it does alone */
};

struct cot_laius_setting {
	const char *name;
	const char *gpu;  /* as in a scenario */
	double target;	  /* times the longest request alone */
	double load;	  /* requests in the time of a target */
	bool random;	  /* their gaps; else all are equal */
	unsigned n_seeds; /* of COT_LAIUS_SEEDS */
};

struct cot_laius_result {
	double target_us[COT_LAIUS_SERVICES], batch_us[COT_LAIUS_BATCH]; /* alone */
	struct cot_laius_outcome outcomes[COT_LAIUS_SEEDS][COT_LAIUS_PAIRS][COT_LAIUS_WAYS];
};

struct cot_laius_printed {
	char id[8], figure[8], metric[16], way[16], source[96];
	double value;
};

struct cot_laius_report {
	bool sensitivity, quick;
	uint64_t seed;
	unsigned n_settings, n_printed;
	struct cot_laius_result results[COT_LAIUS_SETTINGS];
	struct cot_laius_printed printed[COT_LAIUS_PRINTED];
};

extern const struct cot_laius_setting cot_laius_settings[COT_LAIUS_SETTINGS];

/* What is told of a way: over all pairs that were played. */
struct cot_laius_mean {
	unsigned n_pairs, n_violated;
	unsigned violated_least, violated_most; /* by the responses of one seed alone */
	double batch, batch_least, batch_most;	/* mean over all, least and greatest of the seeds */
	double p99_worst;			/* of all pairs and seeds */
};

struct cot_laius_mean cot_laius_mean(const struct cot_laius_report *r, unsigned setting,
				     enum cot_laius_way way);
/* How much more the batch programs do than under `than`, in points, for each seed. */
void cot_laius_gain(const struct cot_laius_report *r, unsigned setting, enum cot_laius_way way,
		    enum cot_laius_way than, double ret_points[COT_LAIUS_SEEDS]);
bool cot_laius_is_played(const struct cot_laius_report *r, unsigned pair);
bool cot_laius_is_violated(const struct cot_laius_report *r, unsigned setting, unsigned pair,
			   enum cot_laius_way way);

/* As in struct cot_study; the data is a struct cot_laius_report. */
int cot_laius_run(void *data, const struct cot_study_options *options, struct cot_error *err);
int cot_laius_write_text(FILE *out, const void *data);
int cot_laius_write_json(FILE *out, const void *data, const struct cot_origin *origin);

extern const struct cot_study cot_laius_study;

#endif
