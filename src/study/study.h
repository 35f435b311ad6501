/*
 * A published evaluation that `cotenant reproduce` repeats, and what all of them share. To add one:
 * a folder NAME beside this file whose NAME.c has a struct cot_study, and a line in
 * cli/reproduce.c.
 */
#ifndef COT_STUDY_STUDY_H
#define COT_STUDY_STUDY_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "report/origin.h"
#include "sim/sim.h"

/* What the user can say of every study. */
struct cot_study_options {
	uint64_t seed;
	unsigned n_threads;
	bool quick;				  /* few simulations: a rough picture in seconds */
	const char *json, *html;		  /* files; NULL: not wanted */
	const char *csv;			  /* the same */
	const struct cot_origin *origin;	  /* of the outputs but the text; NULL */
	void (*progress)(void *arg, double done); /* in [0, 1]; the calling thread */
	bool (*stop)(void *arg);		  /* the user has interrupted it; any thread */
	void *arg;
};

/* Options that have one meaning everywhere; a study lists those that it takes, in its own words. */
enum cot_study_key {
	COT_STUDY_QUICK = 256,
	COT_STUDY_JSON,
	COT_STUDY_REPORT,
	COT_STUDY_SEED,
	COT_STUDY_THREADS,
	COT_STUDY_OWN, /* the first of its own */
};

/* `data` is the study's: its own options and, after run(), its results. */
struct cot_study {
	const char *name, *summary, *doc;
	const char *gpu; /* the simulated one, for the origin */
	const struct argp_option *options;
	void *(*create)(void); /* with the defaults; NULL: out of memory */
	void (*destroy)(void *data);
	/* An option of its own, as argp does it. NULL: it has none. */
	error_t (*parse)(void *data, int key, char *arg, struct argp_state *state);
	/* 0; -EINTR when stopped; else -errno, with a sentence where there is more to say. */
	int (*run)(void *data, const struct cot_study_options *options, struct cot_error *err);
	/* 0 or -ENOMEM; write errors are the stream's affair. NULL: it has no such output. */
	int (*write_text)(FILE *out, const void *data);
	int (*write_json)(FILE *out, const void *data, const struct cot_origin *origin);
	int (*write_csv)(FILE *out, const void *data, const struct cot_origin *origin);
	int (*write_html)(FILE *out, const void *data, const struct cot_origin *origin);
};

/* Opens the outputs, runs the study and writes. Files get their names when all of them are whole.
 * 0, or -errno with a sentence; -EINTR when stopped: then nothing was written. */
int cot_study_run(const struct cot_study *study, void *data,
		  const struct cot_study_options *options, struct cot_error *err);

/* ---- for the studies ---- */

/* Plays a scenario to its end; `observer` may be NULL. Any thread. -EINTR when stopped, -EDEADLK
 * when it stalls. */
int cot_study_simulate(const struct cot_study_options *options, const struct cot_scenario *sc,
		       const struct cot_sim_observer *observer, void *arg,
		       struct cot_sim_result *ret);

/* The value of the option `name`; anything outside of [min, max] is an error of argp. */
uint64_t cot_study_whole(struct argp_state *state, const char *name, const char *text, uint64_t min,
			 uint64_t max);
double cot_study_real(struct argp_state *state, const char *name, const char *text, double min,
		      double max);

#endif
