/* The pool of threads: every job once, results by index, first failure wins, early ends. */
#include <errno.h>
#include <stdatomic.h>

#include "study/jobs.h"
#include "test.h"

#define N_JOBS 1000

struct jobs {
	atomic_uint runs[N_JOBS];
	uint64_t results[N_JOBS];
	size_t fail_from;
	atomic_bool stop;
};

static int run(void *arg, size_t job)
{
	struct jobs *j = arg;

	atomic_fetch_add(&j->runs[job], 1);
	j->results[job] = (uint64_t)job * job;
	return job >= j->fail_from ? -(int)(job + 1) : 0;
}

static bool stop(void *arg)
{
	struct jobs *j = arg;

	return atomic_load(&j->stop);
}

/* Waits for the pool to be told to stop, as a long simulation does. */
static int run_until_stopped(void *arg, size_t job)
{
	struct jobs *j = arg;

	(void)job;
	atomic_store(&j->stop, true);
	while (!atomic_load(&j->stop))
		;
	return -EINTR;
}

static void every_job_runs_once(void **state)
{
	static const unsigned threads[] = {1, 2, 7, 64};
	unsigned t, i;

	(void)state;
	for (t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
		static struct jobs j;
		struct cot_jobs jobs = {.n = N_JOBS, .run = run, .arg = &j};

		j = (struct jobs){.fail_from = N_JOBS};
		assert_int_equal(cot_jobs_run(&jobs, threads[t]), 0);
		for (i = 0; i < N_JOBS; i++) {
			assert_int_equal(atomic_load(&j.runs[i]), 1);
			assert_int_equal(j.results[i], (uint64_t)i * i);
		}
	}
}

static void a_failure_ends_the_work(void **state)
{
	static struct jobs j;
	struct cot_jobs jobs = {.n = N_JOBS, .run = run, .arg = &j};

	(void)state;
	j = (struct jobs){.fail_from = 5};
	assert_int_equal(cot_jobs_run(&jobs, 1), -6);
	assert_int_equal(atomic_load(&j.runs[N_JOBS - 1]), 0);
}

static void it_can_be_stopped(void **state)
{
	static struct jobs j;
	struct cot_jobs jobs = {
		.n = N_JOBS, .run = run_until_stopped, .arg = &j, .stop = stop, .stop_arg = &j};

	(void)state;
	assert_int_equal(cot_jobs_run(&jobs, 3), -EINTR);
}

static void no_jobs_are_no_work(void **state)
{
	struct cot_jobs jobs = {.n = 0, .run = run};

	(void)state;
	assert_int_equal(cot_jobs_run(&jobs, 4), 0);
	assert_true(cot_jobs_default_threads() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once),
		cmocka_unit_test(a_failure_ends_the_work),
		cmocka_unit_test(it_can_be_stopped),
		cmocka_unit_test(no_jobs_are_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
