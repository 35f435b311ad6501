#include <stdio.h>
#include <time.h>

#include "kernels/run/experiment.h"

/* One run of workers with moments at which some of them are to leave. */
struct moments {
	struct cot_experiment *e;
	const double *at_ms; /* since the first launch */
	const uint32_t *units;
	uint32_t n, next;
	bool begun, measures; /* measures: all leave: the kernel's end is the last exit */
	double begin_ms;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* How long after the flag was on its way the kernel ended. */
static int take_latency(struct cot_experiment *e, struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	struct cot_times *times = &e->evictions.latency;
	float ms;
	int rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream), e->bench->entry,
				err);

	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->urgent),
				    "writing a flag", err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, e->raised, e->end);
	/* A kernel that had ended when the flag came has no latency. */
	if (!rc && ms > 0.0f && times->n < COT_MAX_REPEATS) {
		times->us[times->n++] = (double)ms * 1e3;
		e->evictions.n_in_time++;
	}
	return rc;
}

static int raise_flag(struct moments *m, uint64_t control, uint32_t units, struct cot_error *err)
{
	struct cot_experiment *e = m->e;
	int rc = cot_cuda_poke(e->cuda, control + COT_WORKERS_EVICT_OFFSET, units,
			       m->measures ? e->raised : NULL, err);

	return rc || !m->measures ? rc : take_latency(e, err);
}

/* Waits for the kernel's end, and for the moments that come before it. */
static int while_running(void *arg, uint64_t control, const struct cot_workers_args *args,
			 struct cot_error *err)
{
	struct moments *m = arg;
	const struct cot_cuda *cuda = m->e->cuda;
	uint32_t raised = 0;
	int rc, running;

	(void)args;
	rc = COT_CUDA_CALL(cuda, err, cuEventRecord, m->e->end, cuda->stream);
	while (!rc && m->next < m->n) {
		running = cuda->api.cuEventQuery(m->e->end);
		if (running != CUDA_ERROR_NOT_READY)
			return cot_cuda_check(cuda, running, m->e->bench->entry, err);
		if (now_ms() - m->begin_ms < m->at_ms[m->next])
			continue;
		/* The flag may only grow. */
		if (m->units[m->next] > raised) {
			raised = m->units[m->next];
			rc = raise_flag(m, control, raised, err);
		}
		m->next++;
	}
	return rc;
}

/*
 * All that was queued before the kernel has been done: its control block is there, and it begins at
 * once. A flag that came earlier would be overwritten.
 */
static int before_launch(void *arg, uint64_t control, const struct cot_workers_args *args,
			 struct cot_error *err)
{
	struct moments *m = arg;
	const struct cot_cuda *cuda = m->e->cuda;
	int rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				m->e->bench->entry, err);

	(void)control;
	(void)args;
	if (!m->begun)
		m->begin_ms = now_ms();
	m->begun = true;
	return rc;
}

static int run_with(struct cot_experiment *e, struct moments *m, struct cot_error *err)
{
	struct cot_workers_run *workers = &e->variants[COT_PASS_WORKERS].workers;
	uint32_t n_resumed = workers->n_resumed;
	uint64_t n_left_over = workers->n_left_over, n_different;
	int rc = cot_session_reset(&e->session, err);

	workers->before = before_launch;
	workers->during = while_running;
	workers->arg = m;
	if (!rc)
		rc = cot_session_run(&e->session, cot_workers_step, workers, err);
	workers->before = workers->during = NULL;
	if (!rc)
		rc = cot_experiment_compare(e, &e->session, e->plain, &n_different, err);
	if (rc)
		return rc;
	e->evictions.n_runs++;
	e->evictions.n_resumed += workers->n_resumed - n_resumed;
	e->evictions.n_left_over += workers->n_left_over - n_left_over;
	e->evictions.same &= n_different == 0;
	return 0;
}

/* The moments of the command line, all in one run. */
static int at_moments(struct cot_experiment *e, struct cot_error *err)
{
	double at_ms[COT_OPTIONS_MAX_EVICTIONS];
	uint32_t units[COT_OPTIONS_MAX_EVICTIONS], i;
	struct moments m = {.e = e, .at_ms = at_ms, .units = units, .n = e->options->n_moments};

	for (i = 0; i < m.n; i++) {
		at_ms[i] = e->options->evictions[i].at_ms;
		units[i] = e->options->evictions[i].units;
	}
	return run_with(e, &m, err);
}

int cot_experiment_evict(struct cot_experiment *e, struct cot_error *err)
{
	uint32_t n = e->options->n_evictions, all = COT_OPTIONS_ALL_UNITS, i;
	double whole_us = 0.0;
	int rc = 0;

	e->evictions.same = true;
	if (e->options->n_moments)
		rc = at_moments(e, err);
	if (!rc && n)
		rc = cot_experiment_time(e, &e->variants[COT_PASS_WORKERS], &whole_us, err);
	for (i = 0; i < n && !rc; i++) {
		double at_ms = whole_us * 1e-3 * 0.8 * (i + 0.5) / n;
		struct moments m = {
			.e = e, .at_ms = &at_ms, .units = &all, .n = 1, .measures = true};

		rc = run_with(e, &m, err);
	}
	return rc;
}
