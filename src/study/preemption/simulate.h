/*
 * Runs the simulations of preemption.h on several threads. Programs and results live in
 * the study; the threads share nothing else.
 */
#ifndef COT_STUDY_PREEMPTION_SIMULATE_H
#define COT_STUDY_PREEMPTION_SIMULATE_H

#include "study/preemption/preemption.h"

struct cot_study_options {
	uint64_t seed;
	unsigned n_threads;
	bool quick;
	double jitter_cv; /* of the main samples */
	unsigned n_sizes;
	unsigned sizes[COT_REPRO_MAX_SIZES];	  /* 1..COT_WORKLOAD_MAX each, ascending */
	void (*progress)(void *arg, double done); /* the calling thread; optional */
	bool (*stop)(void *arg);		  /* any thread, often; optional */
	void *arg;
};

/* 0; -EINTR when stopped; else -errno with a sentence. finish() with cot_repro_finish(). */
int cot_study_run(const struct cot_study_options *opt, struct cot_repro *ret,
		  struct cot_error *err);

#endif
