#include "study/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define TICK_NS 100000000L

struct crew {
	const struct cot_jobs *jobs;
	atomic_size_t next, done;
	atomic_bool halt;
	pthread_mutex_t lock; /* the rest */
	pthread_cond_t changed;
	unsigned n_running;
	size_t failed_job;
	int error;
};

static void record_failure(struct crew *c, size_t job, int error)
{
	pthread_mutex_lock(&c->lock);
	if (!c->error || job < c->failed_job) {
		c->failed_job = job;
		c->error = error;
	}
	pthread_mutex_unlock(&c->lock);
	atomic_store(&c->halt, true);
}

static void *worker(void *arg)
{
	struct crew *c = arg;

	while (!atomic_load(&c->halt)) {
		size_t job = atomic_fetch_add(&c->next, 1);
		int rc;

		if (job >= c->jobs->n)
			break;
		rc = c->jobs->run(c->jobs->arg, job);
		if (rc)
			record_failure(c, job, rc);
		atomic_fetch_add(&c->done, 1);
	}
	pthread_mutex_lock(&c->lock);
	c->n_running--;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void tick(struct crew *c)
{
	const struct cot_jobs *j = c->jobs;

	if (j->progress)
		j->progress(j->arg, atomic_load(&c->done), j->n);
	if (j->stop && j->stop(j->stop_arg)) {
		record_failure(c, j->n, -EINTR);
		atomic_store(&c->halt, true);
	}
}

/* Looks after the user until the last worker has gone. */
static void wait_for_workers(struct crew *c)
{
	struct timespec until;

	pthread_mutex_lock(&c->lock);
	while (c->n_running) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&c->lock);
		tick(c);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

int cot_jobs_run(const struct cot_jobs *jobs, unsigned n_threads)
{
	struct crew c = {.jobs = jobs, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[COT_JOBS_MAX_THREADS];
	pthread_condattr_t attr;
	unsigned i, n = 0;

	if (n_threads > COT_JOBS_MAX_THREADS)
		n_threads = COT_JOBS_MAX_THREADS;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c.changed, &attr);
	pthread_condattr_destroy(&attr);

	pthread_mutex_lock(&c.lock);
	for (i = 0; i < n_threads && i < jobs->n; i++) {
		if (pthread_create(&threads[n], NULL, worker, &c))
			break; /* fewer threads do the same work */
		n++;
	}
	c.n_running = n;
	pthread_mutex_unlock(&c.lock);
	if (!n && jobs->n)
		c.error = -EAGAIN;
	wait_for_workers(&c);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&c.changed);
	return c.error;
}

unsigned cot_jobs_default_threads(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}
