/*
 * Runs an array of independent jobs on a few threads. Jobs are taken in order from one atomic
 * index and store their results by index, so what comes out does not depend on the number of
 * threads. The threads live for one call.
 */
#ifndef COT_STUDY_JOBS_H
#define COT_STUDY_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#define COT_JOBS_MAX_THREADS 256

struct cot_jobs {
	size_t n;
	/* Any thread. 0 or -errno; after the first failure no further job is started. */
	int (*run)(void *arg, size_t job);
	/* The calling thread, about ten times a second; optional. */
	void (*progress)(void *arg, size_t n_done, size_t n_jobs);
	void *arg;
	/* The calling thread, just as often: true ends the work early; optional. */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/*
 * 0; -EINTR when stopped; -EAGAIN when no thread could be made; else the error of the failed job
 * with the lowest index. Returns when all threads are gone.
 */
int cot_jobs_run(const struct cot_jobs *jobs, unsigned n_threads);

unsigned cot_jobs_default_threads(void); /* processors that this process may use */

#endif
