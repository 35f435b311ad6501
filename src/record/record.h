/*
 * Recordings of live runs, "cotenant.record/1": lines of JSON, packed (gzip) or not. The first line
 * is the head; then come samples (what each program did until then), changes, and the end.
 * `cotenant record` writes them; this is the reader. docs/record.md describes the lines. Pure but
 * for cot_record_read().
 */
#ifndef COT_RECORD_RECORD_H
#define COT_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"

#define COT_RECORD_SCHEMA	"cotenant.record/1"
#define COT_RECORD_SIZE_MAX	(256u << 20) /* of a file, unpacked */
#define COT_RECORD_LINE_MAX	(1u << 20)
#define COT_RECORD_PROGRAMS_MAX 256u
#define COT_RECORD_POINTS_MAX	(1u << 20) /* programs times samples */
#define COT_RECORD_CHANGES_MAX	(1u << 18)
#define COT_RECORD_TEXT_MAX	160u
#define COT_RECORD_MS_MAX	1e12
#define COT_RECORD_GPUS_MAX	32u

enum cot_record_horizon { COT_RECORD_1S, COT_RECORD_60S, COT_RECORD_N_HORIZONS };
enum cot_record_figure { COT_RECORD_RESPONSE, COT_RECORD_SERVICE, COT_RECORD_N_FIGURES };

/* Of the requests that ended in a window; n == 0: there was none. */
struct cot_record_times {
	uint64_t n;
	double p50_ms, p95_ms, p99_ms;
};

struct cot_record_program {
	uint64_t id;
	char name[COT_RECORD_TEXT_MAX];
	/* As they were last. Empty: none. */
	char class_[16], pool[64], target_kind[16], target[32], sms[32];
	uint32_t weight;
	uint32_t gpus; /* a bit for each, by index; 0: not known */
};

/* A program in a sample. */
struct cot_record_point {
	double at_ms;
	uint32_t sample;
	uint32_t program; /* index */
	uint64_t requests, missed, freezes;
	double launches_per_s; /* 0: not known */
	double slice_us;       /* its own, or its pool's; 0: the driver's */
	double has_sms;	       /* 0: all, or not known */
	char state[16];
	struct cot_record_times times[COT_RECORD_N_HORIZONS][COT_RECORD_N_FIGURES];
};

/* Something was otherwise than in the sample before. */
struct cot_record_change {
	double at_ms;
	char who[COT_RECORD_TEXT_MAX]; /* a program's name, "pool:latency", "policy" */
	char what[32];
	char from[64], to[64];	       /* empty: there was none */
	char why[COT_RECORD_TEXT_MAX]; /* the policy's words; empty: it has none */
};

struct cot_record {
	char version[32], started[32], gpu[64]; /* gpu: empty is not known */
	double interval_ms;
	char policy[32]; /* the last one */
	char end[32];	 /* why it ended: "time", "limit", "signal", "daemon" */
	double end_ms;
	uint32_t n_samples, n_programs, n_points, n_changes;
	uint64_t n_decisions; /* orders that were sent from the first sample to the last */
	struct cot_record_program *programs;
	struct cot_record_point *points; /* in the order of time */
	struct cot_record_change *changes;
};

/* `name` is for messages. -EINVAL, -ENOMEM. Release with cot_record_finish(). */
int cot_record_parse(const char *name, const char *bytes, size_t size, struct cot_record *ret,
		     struct cot_error *err);
/* The same of a file, packed or not; the hash is that of its lines, unpacked. NULL: not wanted. */
int cot_record_read(const char *path, struct cot_record *ret, char ret_sha256[COT_SHA256_TEXT],
		    struct cot_error *err);
void cot_record_finish(struct cot_record *r);

/* ---- what follows from it ---- */

/* Of one program over the whole recording. */
struct cot_record_total {
	double from_ms, to_ms; /* when it was there */
	uint64_t requests, missed;
	double per_s; /* of the requests between its first and its last sample */
	/* By figure. Exact where all its requests ended in the last minute that was seen, else put
	 * together from windows of a second. */
	struct cot_record_times times[COT_RECORD_N_FIGURES];
	bool exact;
	double launches_per_s; /* in the mean of the samples that know it; 0: not known */
	/* Services in the seconds alone on its GPUs, and in the best of all seconds (that with the
	 * least median). n == 0: there was none. */
	struct cot_record_times service_alone, service_best;
	double launches_alone_per_s, launches_best_per_s;
};

void cot_record_sum_up(const struct cot_record *r, uint32_t program,
		       struct cot_record_total *ret_total);

#endif
