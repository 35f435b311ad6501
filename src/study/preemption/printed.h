/*
 * What the paper prints, from the tables under data/printed (study/rows.h).
 */
#ifndef COT_STUDY_PREEMPTION_PRINTED_H
#define COT_STUDY_PREEMPTION_PRINTED_H

#include <stddef.h>

#include "base/error.h"

#define COT_PRINTED_MAX_ENTRIES	   64
#define COT_PRINTED_MAX_KERNELS	   64
#define COT_PRINTED_MAX_BENCHMARKS 16
#define COT_PRINTED_WORD_MAX	   32
#define COT_PRINTED_SOURCE_MAX	   120

/* A range such as "from 2x to 15.6x as the number of processes grows" (from 2 to 8). */
struct cot_printed_entry {
	char id[COT_PRINTED_WORD_MAX], figure[COT_PRINTED_WORD_MAX];
	char metric[COT_PRINTED_WORD_MAX], mechanism[COT_PRINTED_WORD_MAX];
	char group[COT_PRINTED_WORD_MAX];
	unsigned nproc_lo, nproc_hi; /* equal: one value */
	double value_lo, value_hi;
	char kind[COT_PRINTED_WORD_MAX]; /* "number", "about" or "words" */
	char source[COT_PRINTED_SOURCE_MAX];
};

enum cot_size_class { COT_SIZE_SHORT, COT_SIZE_MEDIUM, COT_SIZE_LONG, COT_N_SIZES };

extern const char *const cot_size_class_names[COT_N_SIZES];

struct cot_printed_kernel {
	unsigned benchmark; /* index into benchmarks[] */
	char name[COT_PRINTED_WORD_MAX];
	double save_us, resource_pct;
};

struct cot_printed_benchmark {
	char name[COT_PRINTED_WORD_MAX];
	enum cot_size_class class1; /* by the time of its kernels: Figure 5 */
	enum cot_size_class class2; /* by the time of the application: Figure 7a */
};

struct cot_printed {
	unsigned n_entries;
	struct cot_printed_entry entries[COT_PRINTED_MAX_ENTRIES];
	unsigned n_kernels;
	struct cot_printed_kernel kernels[COT_PRINTED_MAX_KERNELS];
	unsigned n_benchmarks;
	struct cot_printed_benchmark benchmarks[COT_PRINTED_MAX_BENCHMARKS];
};

/* Both tables of the program itself. 0, -EINVAL or -ENOENT with a sentence. */
int cot_printed_load(struct cot_printed *ret, struct cot_error *err);

/* The results alone, over any bytes and into a zeroed *ret; `name` is for messages. */
int cot_printed_read_results(const char *name, const void *bytes, size_t size,
			     struct cot_printed *ret, struct cot_error *err);

#endif
