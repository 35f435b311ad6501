#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int time_once(struct cot_experiment *e, struct cot_variant *v, double *ret_us,
		     struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	bool workers = v == &e->variants[COT_PASS_WORKERS];
	bool retreat = v == &e->variants[COT_PASS_RETREAT];
	float ms = 0.0f;
	int rc = cot_session_reset(&e->session, err);

	if (!rc && v == &e->variants[COT_PASS_FUSE])
		rc = cot_session_reset(&e->partner_session, err);
	if (!rc && workers)
		rc = cot_workers_arm(&v->workers, err);
	if (!rc && retreat)
		rc = cot_retreat_arm(&v->retreat, err);
	if (!rc)
		rc = empty_caches(e, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->begin, cuda->stream);
	if (!rc)
		rc = cot_session_replay(&e->session, v->replay, v->state, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    e->bench->entry, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, e->begin, e->end);
	if (!rc && workers)
		rc = cot_workers_confirm(&v->workers, err);
	if (!rc && retreat)
		rc = cot_retreat_confirm(&v->retreat, err);
	if (!rc)
		*ret_us = (double)ms * 1e3;
	return rc;
}

int cot_experiment_time(struct cot_experiment *e, struct cot_variant *v, double *ret_us,
			struct cot_error *err)
{
	uint32_t tries = MAX_TRIES;
	int rc;

	do
		rc = time_once(e, v, ret_us, err);
	while (rc == -EAGAIN && --tries);
	return rc;
}

/* The partner's own kernels: what a fused launch is compared with is both, one after the other. */
static int time_partner(struct cot_experiment *e, double *ret_us, struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	float ms = 0.0f;
	int rc = cot_session_reset(&e->partner_session, err);

	if (!rc)
		rc = empty_caches(e, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->begin, cuda->stream);
	if (!rc)
		rc = cot_session_replay(&e->partner_session, cot_session_launch_plain, NULL, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, e->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    e->partner->entry, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, e->begin, e->end);
	if (!rc)
		*ret_us = (double)ms * 1e3;
	return rc;
}

int cot_experiment_measure(struct cot_experiment *e, struct cot_error *err)
{
	uint32_t round, i;
	int rc = 0;

	for (round = 0; round < e->options->n_repeats && !rc; round++) {
		for (i = 0; i < COT_N_VARIANTS; i++) {
			/* Each of them comes first in some rounds. */
			struct cot_variant *v = &e->variants[(i + round) % COT_N_VARIANTS];

			if (!cot_variant_runs(v))
				continue;
			rc = cot_experiment_time(e, v, &v->times.us[v->times.n], &v->error);
			v->times.n += rc == 0;
			/* -EAGAIN: it never did all of its tasks at once, so it has no time. */
			v->failed = rc && rc != -EAGAIN;
			rc = 0;
		}
		if (cot_variant_runs(&e->variants[COT_PASS_FUSE])) {
			rc = time_partner(e, &e->partner_times.us[round], err);
			e->partner_times.n = round + 1;
		}
	}
	return rc;
}
