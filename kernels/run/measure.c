#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/run/experiment.h"

#define SCRATCH_HALF ((size_t)128 << 20)
#define MAX_TRIES    20u /* a launch that does not do all of its tasks has no time */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cot_times_quantile(const struct cot_times *times, double q)
{
	double sorted[COT_MAX_REPEATS];

	if (!times->n)
		return 0.0;
	memcpy(sorted, times->us, times->n * sizeof(sorted[0]));
	qsort(sorted, times->n, sizeof(sorted[0]), ascending);
	return sorted[(uint32_t)(q * (times->n - 1) + 0.5)];
}

/* The caches hold nothing of use, and the GPU is busy until the launches have been queued. */
static int empty_caches(struct cot_experiment *e, struct cot_error *err)
{
	struct cot_machine *m = &e->machine.base;

	if (!e->scratch)
		return 0;
	return m->ops->copy(m, e->scratch, e->scratch + SCRATCH_HALF, SCRATCH_HALF, err);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* What the variant runs on is as it was at first. */
static int make_ready(struct cot_experiment *e, struct cot_variant *v, struct cot_error *err)
{
	int rc = cot_session_reset(&e->session, err);

	if (!rc && v == &e->variants[COT_PASS_FUSE])
		rc = cot_session_reset(&e->partner_session, err);
	if (!rc && v == &e->variants[COT_PASS_BATCH])
		rc = cot_copies_reset(&e->copies, err);
	if (!rc && v == &e->variants[COT_PASS_WORKERS])
		rc = cot_workers_arm(&v->workers, err);
	if (!rc && v == &e->variants[COT_PASS_RETREAT])
		rc = cot_retreat_arm(&v->retreat, err);
	return rc;
}

struct sample {
	double us, host_us;
};

/* Launches between two events. */
static int time_launches(struct cot_experiment *e,
			 int (*launch)(struct cot_experiment *e, void *arg, struct cot_error *err),
			 void *arg, struct sample *ret_sample, struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	double begin_us = 0, end_us = 0;
	float ms = 0.0f;
	int rc = empty_caches(e, err);

	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->begin, cuda->stream);
	if (!rc) {
		begin_us = now_us();
		rc = launch(e, arg, err);
		end_us = now_us();
	}
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    e->bench->entry, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, e->begin, e->end);
	if (!rc)
		*ret_sample = (struct sample){(double)ms * 1e3, end_us - begin_us};
	return rc;
}

static int launch_variant(struct cot_experiment *e, void *arg, struct cot_error *err)
{
	struct cot_variant *v = arg;

	return cot_session_replay(&e->session, v->replay, v->state, err);
}

static int time_once(struct cot_experiment *e, struct cot_variant *v, struct sample *ret_sample,
		     struct cot_error *err)
{
	int rc = make_ready(e, v, err);

	if (!rc)
		rc = time_launches(e, launch_variant, v, ret_sample, err);
	if (!rc && v == &e->variants[COT_PASS_WORKERS])
		rc = cot_workers_confirm(&v->workers, err);
	if (!rc && v == &e->variants[COT_PASS_RETREAT])
		rc = cot_retreat_confirm(&v->retreat, err);
	return rc;
}

static int time_variant(struct cot_experiment *e, struct cot_variant *v, struct sample *ret_sample,
			struct cot_error *err)
{
	uint32_t tries = MAX_TRIES;
	int rc;

	do
		rc = time_once(e, v, ret_sample, err);
	while (rc == -EAGAIN && --tries);
	return rc;
}

int cot_experiment_time(struct cot_experiment *e, struct cot_variant *v, double *ret_us,
			struct cot_error *err)
{
	struct sample sample = {0};
	int rc = time_variant(e, v, &sample, err);

	if (!rc)
		*ret_us = sample.us;
	return rc;
}

/* ---- what merged launches are compared with: the plain kernels, one after the other ---- */

static int launch_partner(struct cot_experiment *e, void *arg, struct cot_error *err)
{
	(void)arg;
	return cot_session_replay(&e->partner_session, cot_session_launch_plain, NULL, err);
}

static int launch_apart(struct cot_experiment *e, void *arg, struct cot_error *err)
{
	(void)arg;
	return cot_copies_replay_apart(&e->copies, err);
}

static int time_partner(struct cot_experiment *e, struct cot_error *err)
{
	struct sample sample = {0};
	int rc = cot_session_reset(&e->partner_session, err);

	if (!rc)
		rc = time_launches(e, launch_partner, NULL, &sample, err);
	if (!rc)
		e->partner_times.us[e->partner_times.n++] = sample.us;
	return rc;
}

static int time_apart(struct cot_experiment *e, struct cot_error *err)
{
	struct sample sample = {0};
	int rc = cot_copies_reset(&e->copies, err);

	if (!rc)
		rc = time_launches(e, launch_apart, NULL, &sample, err);
	if (!rc) {
		e->apart.us[e->apart.n++] = sample.us;
		e->apart_host.us[e->apart_host.n++] = sample.host_us;
	}
	return rc;
}

/* ---- rounds ---- */

static void measure_variant(struct cot_experiment *e, struct cot_variant *v)
{
	struct sample sample = {0};
	int rc = time_variant(e, v, &sample, &v->error);

	if (!rc) {
		v->times.us[v->times.n++] = sample.us;
		v->host.us[v->host.n++] = sample.host_us;
	}
	/* -EAGAIN: it never did all of its tasks at once, so it has no time. */
	v->failed = rc && rc != -EAGAIN;
}

int cot_experiment_measure(struct cot_experiment *e, struct cot_error *err)
{
	uint32_t round, i;
	int rc = 0;

	for (round = 0; round < e->options->n_repeats && !rc; round++) {
		for (i = 0; i < COT_N_VARIANTS; i++) {
			/* Each of them comes first in some rounds. */
			struct cot_variant *v = &e->variants[(i + round) % COT_N_VARIANTS];

			if (cot_variant_runs(v))
				measure_variant(e, v);
		}
		if (cot_variant_runs(&e->variants[COT_PASS_FUSE]))
			rc = time_partner(e, err);
		if (!rc && cot_variant_runs(&e->variants[COT_PASS_BATCH]))
			rc = time_apart(e, err);
	}
	return rc;
}
