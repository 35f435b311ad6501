#include "bench/smguard/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/launch/rewrite.h"

#define NS_PER_S	1000000000u
#define SPIN_NS		300000u /* a sleeper wakes up late by less than this */
#define COMPARE_BLOCKS	8u	/* for each SM */
#define COMPARE_THREADS 256u

uint64_t cot_job_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t at_ns)
{
	uint64_t wake_ns = at_ns > SPIN_NS ? at_ns - SPIN_NS : 0;
	const struct timespec wake = {.tv_sec = (time_t)(wake_ns / NS_PER_S),
				      .tv_nsec = (long)(wake_ns % NS_PER_S)};

	if (cot_job_now_ns() < wake_ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
	while (cot_job_now_ns() < at_ns)
		;
}

/* ---- setting up ---- */

static bool all_zero(const void *data, size_t n)
{
	const unsigned char *bytes = data;

	return !n || (!bytes[0] && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static int upload(struct cot_job *job, uint32_t i, struct cot_error *err)
{
	const struct cot_bench_buffer *buffer = &job->in.buffers[i];
	const struct cot_machine_ops *ops = job->machine.base.ops;
	uint64_t *address = job->session.address;
	int rc = ops->alloc(&job->machine.base, buffer->size_bytes, &address[i], err);

	if (rc)
		return rc;
	job->is_zero[i] = buffer->size_bytes % sizeof(uint32_t) == 0 &&
			  all_zero(buffer->data, buffer->size_bytes);
	if (!job->is_zero[i])
		return ops->write(&job->machine.base, address[i], buffer->data, buffer->size_bytes,
				  err);
	return COT_CUDA_CALL(&job->cuda, err, cuMemsetD32Async, address[i], 0,
			     buffer->size_bytes / 4, job->cuda.stream);
}

static int load(struct cot_job *job, const char *ptx, struct cot_error *err)
{
	const struct cot_bench compare = {.name = "compare"};
	size_t length;
	int rc = cot_cuda_machine_init(&job->machine, &job->cuda,
				       ptx ? ptx : cot_bench_ptx(&job->bench, &length), err);

	if (!rc)
		rc = cot_cuda_machine_init(&job->tools, &job->cuda,
					   cot_bench_ptx(&compare, &length), err);
	if (!rc)
		rc = job->tools.base.ops->alloc(&job->tools.base, sizeof(uint32_t),
						&job->n_different, err);
	return rc;
}

/* As the form needs it. */
static int load_form(struct cot_job *job, const struct cot_job_settings *settings,
		     struct cot_error *err)
{
	uint32_t pass = settings->form == COT_JOB_RETREAT ? COT_PASS_RETREAT : COT_PASS_WORKERS;
	struct cot_rewritten rewritten;
	int rc;

	if (settings->ptx || settings->form == COT_JOB_PLAIN)
		return load(job, settings->ptx, err);
	rc = cot_rewrite(settings->bench, NULL, 1u << pass, &rewritten, err);
	if (rc)
		return rc;
	rc = load(job, rewritten.text, err);
	cot_rewritten_finish(&rewritten);
	return rc;
}

static int make_form(struct cot_job *job, const struct cot_job_settings *settings,
		     struct cot_error *err)
{
	uint32_t all = (uint32_t)job->cuda.n_sms;
	uint32_t n = settings->n_sms && settings->n_sms < all ? settings->n_sms : all;

	int rc;

	job->form = settings->form;
	if (job->form == COT_JOB_PLAIN)
		return 0;
	if (job->form == COT_JOB_RETREAT)
		return cot_retreat_run_init(&job->retreat, &job->session, n, err);
	rc = cot_workers_run_init(&job->workers, &job->session, n, 0, 0, err);
	job->workers.gather = job->form == COT_JOB_GATHERED;
	return rc;
}

int cot_job_find_form(const char *name)
{
	static const char *const names[] = {"plain", "workers", "gathered", "retreat"};
	int i;

	for (i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

static int make_events(struct cot_job *job, struct cot_error *err)
{
	const struct cot_cuda *cuda = &job->cuda;
	uint32_t i;
	int rc = cuda->api.cuEventCreate(&job->begin, 0);

	if (!rc)
		rc = cuda->api.cuEventCreate(&job->end, 0);
	for (i = 0; i < job->in.n_steps && !rc; i++)
		rc = cuda->api.cuEventCreate(&job->done[i], 0);
	return cot_cuda_check(cuda, rc, "cuEventCreate", err);
}

int cot_job_init(struct cot_job *job, const struct cot_job_settings *settings,
		 struct cot_error *err)
{
	uint32_t i;
	int rc;

	*job = (struct cot_job){.bench = *settings->bench};
	if (settings->work)
		job->bench.work[settings->size] = settings->work;
	rc = cot_bench_create(&job->in, &job->bench, settings->size, settings->blocks,
			      settings->seed, err);
	if (!rc && job->in.n_steps > COT_JOB_MAX_STEPS)
		rc = cot_error_set(err, -ERANGE, "%s has %u launches; expected at most %u",
				   job->bench.name, job->in.n_steps, COT_JOB_MAX_STEPS);
	if (!rc)
		rc = cot_cuda_open(&job->cuda, settings->gpu, err);
	if (rc) {
		cot_bench_destroy(&job->in);
		return rc;
	}
	rc = load_form(job, settings, err);
	if (!rc)
		rc = make_events(job, err);
	job->session = (struct cot_session){
		.machine = &job->machine.base, .in = &job->in, .n_steps = job->in.n_steps};
	if (!rc)
		rc = make_form(job, settings, err);
	for (i = 0; i < job->in.n_buffers && !rc; i++)
		rc = upload(job, i, err);
	if (!rc)
		rc = cot_cuda_check(&job->cuda, job->cuda.api.cuStreamSynchronize(job->cuda.stream),
				    "a copy", err);
	if (rc)
		cot_job_finish(job);
	return rc;
}

void cot_job_finish(struct cot_job *job)
{
	struct cot_cuda *cuda = &job->cuda;
	uint32_t i;

	if (job->workers.s)
		cot_workers_run_finish(&job->workers);
	if (job->retreat.s)
		cot_retreat_run_finish(&job->retreat);
	for (i = 0; i < COT_BENCH_MAX_BUFFERS; i++) {
		if (job->session.address[i])
			cuda->api.cuMemFree_v2(job->session.address[i]);
		if (job->reference[i])
			cuda->api.cuMemFree_v2(job->reference[i]);
	}
	if (job->n_different)
		cuda->api.cuMemFree_v2(job->n_different);
	for (i = 0; i < COT_JOB_MAX_STEPS; i++)
		if (job->done[i])
			cuda->api.cuEventDestroy_v2(job->done[i]);
	if (job->begin)
		cuda->api.cuEventDestroy_v2(job->begin);
	if (job->end)
		cuda->api.cuEventDestroy_v2(job->end);
	cot_cuda_machine_finish(&job->tools);
	cot_cuda_machine_finish(&job->machine);
	cot_bench_destroy(&job->in);
	cot_cuda_close(cuda);
	*job = (struct cot_job){0};
}

/* ---- requests ---- */

static double since_us(const struct cot_job *job)
{
	return (double)(cot_job_now_ns() - job->request.start_ns) * 1e-3;
}

static int launch(struct cot_session *s, uint32_t step, void *arg, struct cot_error *err)
{
	struct cot_job *job = arg;
	struct cot_job_request *r = &job->request;
	uint32_t i = r->n_launches;
	int rc;

	r->call_us[i] = since_us(job);
	rc = cot_session_launch_plain(s, step, NULL, err);
	if (rc)
		return rc;
	r->return_us[i] = since_us(job);
	r->n_launches++;
	return COT_CUDA_CALL(&job->cuda, err, cuEventRecord, job->done[i], job->cuda.stream);
}

/* How long a task takes is known after the first request. */
static void learn_task(struct cot_job *job)
{
	const struct cot_workers_args *args = &job->workers.args[0];
	uint64_t n_tasks = 0, most = (uint64_t)job->workers.quota * args->per_sm;
	uint32_t i;

	for (i = 0; i < job->session.n_steps; i++)
		n_tasks += cot_step_tasks(&job->in.steps[i]);
	if (args->n_workers < most)
		most = args->n_workers;
	job->workers.task_ns =
		1 + (uint64_t)(job->request.gpu_us * 1e3 * (double)most / (double)n_tasks);
}

static int launch_all(struct cot_job *job, struct cot_error *err)
{
	uint32_t before = job->workers.n_launches + job->retreat.n_launches;
	int rc;

	if (job->form == COT_JOB_PLAIN)
		return cot_session_run(&job->session, launch, job, err);
	if (job->form == COT_JOB_RETREAT)
		rc = cot_session_run(&job->session, cot_retreat_step, &job->retreat, err);
	else
		rc = cot_session_run(&job->session, cot_workers_step, &job->workers, err);
	job->request.n_own = job->workers.n_launches + job->retreat.n_launches - before;
	return rc;
}

static int read_events(struct cot_job *job, struct cot_error *err)
{
	const struct cot_cuda *cuda = &job->cuda;
	float ms = 0.0f;
	uint32_t i;
	int rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, job->begin, job->end);

	job->request.gpu_us = (double)ms * 1e3;
	for (i = 0; i < job->request.n_launches && !rc; i++) {
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, job->begin, job->done[i]);
		job->request.done_us[i] = (double)ms * 1e3;
	}
	return rc;
}

int cot_job_run(struct cot_job *job, uint64_t at_ns, struct cot_error *err)
{
	const struct cot_cuda *cuda = &job->cuda;
	int rc;

	wait_until(at_ns);
	job->request.n_launches = job->request.n_own = 0;
	job->request.start_ns = cot_job_now_ns();
	rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->begin, cuda->stream);
	if (!rc)
		rc = launch_all(job, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    job->bench.entry, err);
	job->request.end_ns = cot_job_now_ns();
	if (!rc)
		rc = read_events(job, err);
	if (!rc && job->workers.s && !job->workers.task_ns)
		learn_task(job);
	return rc;
}

/* ---- results ---- */

static int reset(struct cot_job *job, struct cot_error *err)
{
	const struct cot_machine_ops *ops = job->machine.base.ops;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < job->in.n_buffers && !rc; i++) {
		const struct cot_bench_buffer *buffer = &job->in.buffers[i];
		uint64_t address = job->session.address[i];

		if (!buffer->is_output)
			continue;
		if (job->is_zero[i])
			rc = COT_CUDA_CALL(&job->cuda, err, cuMemsetD32Async, address, 0,
					   buffer->size_bytes / 4, job->cuda.stream);
		else
			rc = ops->write(&job->machine.base, address, buffer->data,
					buffer->size_bytes, err);
	}
	if (!rc)
		rc = COT_CUDA_CALL(&job->cuda, err, cuStreamSynchronize, job->cuda.stream);
	return rc;
}

int cot_job_keep(struct cot_job *job, struct cot_error *err)
{
	struct cot_machine *m = &job->machine.base;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < job->in.n_buffers && !rc; i++) {
		const struct cot_bench_buffer *buffer = &job->in.buffers[i];

		if (!buffer->is_output)
			continue;
		if (!job->reference[i])
			rc = m->ops->alloc(m, buffer->size_bytes, &job->reference[i], err);
		if (!rc)
			rc = m->ops->copy(m, job->reference[i], job->session.address[i],
					  buffer->size_bytes, err);
	}
	return rc ? rc : reset(job, err);
}

int cot_job_check(struct cot_job *job, uint64_t *ret_n_different, struct cot_error *err)
{
	struct cot_machine *tools = &job->tools.base;
	const uint32_t block[3] = {COMPARE_THREADS, 1, 1};
	uint64_t most = (uint64_t)COMPARE_BLOCKS * tools->n_sms;
	uint32_t n_different = 0, i;
	int rc = tools->ops->write(tools, job->n_different, &n_different, sizeof(n_different), err);

	for (i = 0; i < job->in.n_buffers && !rc; i++) {
		uint64_t n_words = job->in.buffers[i].size_bytes / sizeof(uint32_t);
		uint64_t n_blocks = (n_words + COMPARE_THREADS - 1) / COMPARE_THREADS;
		const uint32_t grid[3] = {(uint32_t)(n_blocks < most ? n_blocks : most), 1, 1};
		const struct cot_machine_args args = {
			.values = {&job->session.address[i], &job->reference[i], &n_words,
				   &job->n_different},
			.sizes = {8, 8, 8, 8},
			.n = 4,
		};

		if (job->reference[i])
			rc = tools->ops->launch(tools, "count_differences", grid, block, &args,
						err);
	}
	if (!rc)
		rc = tools->ops->read(tools, &n_different, job->n_different, sizeof(n_different),
				      err);
	if (rc)
		return rc;
	*ret_n_different = n_different;
	return reset(job, err);
}

int cot_job_check_on_cpu(struct cot_job *job, struct cot_bench_verdict *ret_verdict,
			 struct cot_error *err)
{
	struct cot_machine *m = &job->machine.base;
	void *results[COT_BENCH_MAX_BUFFERS] = {0};
	uint32_t i;
	int rc = 0;

	for (i = 0; i < job->in.n_buffers && !rc; i++) {
		const struct cot_bench_buffer *buffer = &job->in.buffers[i];

		if (!buffer->is_output)
			continue;
		results[i] = malloc(buffer->size_bytes);
		if (!results[i])
			rc = cot_error_set(err, -ENOMEM, "%s: not enough memory", job->bench.name);
		cot_bench_use_large_pages(results[i], buffer->size_bytes);
		if (!rc)
			rc = m->ops->read(m, results[i], job->session.address[i],
					  buffer->size_bytes, err);
	}
	if (!rc && cot_bench_check(&job->in, results, ret_verdict))
		rc = cot_error_set(err, -ENOMEM, "%s: not enough memory", job->bench.name);
	for (i = 0; i < job->in.n_buffers; i++)
		free(results[i]);
	return rc;
}
