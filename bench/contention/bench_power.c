#include "bench/contention/bench_power.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "kernels/launch/cuda_machine.h"
#include "kernels/launch/session.h"

#define BATCH_S	  0.004 /* of runs between two events */
#define BATCH_MAX 4096u

struct loop {
	struct cot_cuda *cuda;
	struct cot_cuda_machine machine;
	struct cot_bench_instance in;
	struct cot_session session;
	CUevent ends[2]; /* of the last two batches */
	CUevent begin;
	uint32_t n_batch; /* runs */
};

static int prepare(struct loop *l, const struct cot_bench *bench, enum cot_bench_size size,
		   struct cot_error *err)
{
	struct cot_cuda *cuda = l->cuda;
	size_t length;
	const char *ptx = cot_bench_ptx(bench, &length);
	int rc;

	if (!ptx)
		return cot_error_set(err, -ENOENT, "the PTX of %s is not in this program",
				     bench->name);
	rc = cot_cuda_machine_init(&l->machine, cuda, ptx, err);
	if (!rc)
		rc = cot_bench_create(&l->in, bench, size, 0, 1, err);
	if (!rc)
		rc = cot_session_init(&l->session, &l->machine.base, &l->in, err);
	if (!rc)
		rc = cot_session_run(&l->session, cot_session_launch_plain, NULL, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventCreate, &l->begin, 0);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventCreate, &l->ends[0], 0);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventCreate, &l->ends[1], 0);
	return rc;
}

static void finish(struct loop *l)
{
	struct cot_cuda *cuda = l->cuda;
	uint32_t i;

	cuda->api.cuStreamSynchronize(cuda->stream);
	for (i = 0; i < 2; i++)
		if (l->ends[i])
			cuda->api.cuEventDestroy_v2(l->ends[i]);
	if (l->begin)
		cuda->api.cuEventDestroy_v2(l->begin);
	if (l->session.machine)
		cot_session_finish(&l->session);
	cot_bench_destroy(&l->in);
	if (l->machine.module)
		cot_cuda_machine_finish(&l->machine);
}

static int queue(struct loop *l, uint32_t n, CUevent end, struct cot_error *err)
{
	struct cot_cuda *cuda = l->cuda;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		/* A search that has ended finds nothing to do the next time. */
		if (l->in.stop_buffer != COT_BENCH_NO_BUFFER)
			rc = cot_session_reset(&l->session, err);
		if (!rc)
			rc = cot_session_replay(&l->session, cot_session_launch_plain, NULL, err);
	}
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, end, cuda->stream);
	return rc;
}

/* How many runs make a batch. */
static int size_batch(struct loop *l, struct cot_error *err)
{
	struct cot_cuda *cuda = l->cuda;
	float ms = 0.0f;
	int rc;

	rc = queue(l, 0, l->begin, err);
	if (!rc)
		rc = queue(l, 2, l->ends[0], err);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    l->in.bench->name, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, l->begin, l->ends[0]);
	if (rc)
		return rc;
	l->n_batch = ms > 0.0f ? (uint32_t)(BATCH_S * 2e3 / (double)ms) : BATCH_MAX;
	if (l->n_batch < 1)
		l->n_batch = 1;
	if (l->n_batch > BATCH_MAX)
		l->n_batch = BATCH_MAX;
	return 0;
}

/* Two batches are always queued, so the GPU never waits for us. */
static int run(struct loop *l, const struct cot_meter *meter, double settle_s, double seconds,
	       struct cot_bench_power *ret, struct cot_error *err)
{
	const struct timespec pause = {.tv_nsec = 300000};
	struct cot_cuda *cuda = l->cuda;
	double begin_s = cot_meter_now_s(), from = begin_s + settle_s, until = from + seconds, now;
	uint32_t oldest = 0, n_queued = 0;
	bool begun = false, half = false;
	float ms = 0.0f;
	int rc;

	rc = queue(l, 0, l->begin, err);
	for (; n_queued < 2 && !rc; n_queued++)
		rc = queue(l, l->n_batch, l->ends[n_queued], err);
	while (!rc && (now = cot_meter_now_s()) < until) {
		if (now >= from && !begun)
			cot_meter_begin(meter, &ret->window);
		begun = begun || now >= from;
		if (now >= from + 0.5 * seconds && !half)
			cot_meter_read(meter, &ret->state);
		half = half || now >= from + 0.5 * seconds;
		if (begun)
			cot_meter_watch(meter, &ret->window);
		rc = cuda->api.cuEventQuery(l->ends[oldest]);
		if (rc == CUDA_ERROR_NOT_READY) {
			rc = 0;
			nanosleep(&pause, NULL);
			continue;
		}
		rc = cot_cuda_check(cuda, rc, l->in.bench->name, err);
		if (!rc)
			rc = queue(l, l->n_batch, l->ends[oldest], err);
		n_queued++;
		oldest ^= 1;
	}
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    l->in.bench->name, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, l->begin,
				   l->ends[oldest ^ 1]);
	ret->n_runs = n_queued * l->n_batch;
	ret->runs_per_s = ms > 0.0f ? ret->n_runs / ((double)ms * 1e-3) : 0.0;
	return rc;
}

int cot_bench_power_run(struct cot_cuda *cuda, const struct cot_meter *meter,
			const struct cot_bench *bench, enum cot_bench_size size, double settle_s,
			double seconds, struct cot_bench_power *ret, struct cot_error *err)
{
	struct loop l = {.cuda = cuda};
	double begin_s = cot_meter_now_s();
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = prepare(&l, bench, size, err);
	if (!rc)
		rc = size_batch(&l, err);
	ret->make_s = cot_meter_now_s() - begin_s;
	if (!rc)
		rc = run(&l, meter, settle_s, seconds, ret, err);
	finish(&l);
	return rc;
}
