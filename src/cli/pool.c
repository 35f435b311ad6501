#include "cli/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define TICK_NS 100000000L

struct pool {
	const struct cot_pool_work *work;
	atomic_size_t next, done;
	atomic_bool halt;
	pthread_mutex_t lock; /* the rest */
	pthread_cond_t changed;
	unsigned n_running;
	size_t failed_job;
	int error;
};

static void record_failure(struct pool *p, size_t job, int error)
{
	pthread_mutex_lock(&p->lock);
	if (!p->error || job < p->failed_job) {
		p->failed_job = job;
		p->error = error;
	}
	pthread_mutex_unlock(&p->lock);
	atomic_store(&p->halt, true);
}

static void *worker(void *arg)
{
	struct pool *p = arg;

	while (!atomic_load(&p->halt)) {
		size_t job = atomic_fetch_add(&p->next, 1);
		int rc;

		if (job >= p->work->n_jobs)
			break;
		rc = p->work->run(p->work->arg, job);
		if (rc)
			record_failure(p, job, rc);
		atomic_fetch_add(&p->done, 1);
	}
	pthread_mutex_lock(&p->lock);
	p->n_running--;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void tick(struct pool *p)
{
	const struct cot_pool_work *w = p->work;

	if (w->progress)
		w->progress(w->arg, atomic_load(&p->done), w->n_jobs);
	if (w->stop && w->stop(w->arg)) {
		record_failure(p, w->n_jobs, -EINTR);
		atomic_store(&p->halt, true);
	}
}

/* Looks after the user until the last worker has gone. */
static void wait_for_workers(struct pool *p)
{
	struct timespec until;

	pthread_mutex_lock(&p->lock);
	while (p->n_running) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&p->lock);
		tick(p);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

int cot_pool_run(const struct cot_pool_work *work, unsigned n_threads)
{
	struct pool p = {.work = work, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[COT_POOL_MAX_THREADS];
	pthread_condattr_t attr;
	unsigned i, n = 0;

	if (n_threads > COT_POOL_MAX_THREADS)
		n_threads = COT_POOL_MAX_THREADS;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p.changed, &attr);
	pthread_condattr_destroy(&attr);

	pthread_mutex_lock(&p.lock);
	for (i = 0; i < n_threads && i < work->n_jobs; i++) {
		if (pthread_create(&threads[n], NULL, worker, &p))
			break; /* fewer threads do the same work */
		n++;
	}
	p.n_running = n;
	pthread_mutex_unlock(&p.lock);
	if (!n && work->n_jobs)
		p.error = -EAGAIN;
	wait_for_workers(&p);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&p.changed);
	return p.error;
}

unsigned cot_pool_default_threads(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}
