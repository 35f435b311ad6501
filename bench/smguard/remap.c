/*
 * smguard-remap: what workers cost beside the plain kernel, how quickly all of them leave, and how
 * long a kernel takes of which some workers leave half-way: when the others do their tasks as well,
 * and when it is ended and launched again. One program alone, without the daemon.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench/smguard/job.h"
#include "bench/smguard/options.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/rewrite.h"

enum { ALL_RIGHT, SOMETHING_WRONG, COULD_NOT_RUN };
enum { KEY_SEED = COT_OPTION_OWN, KEY_EVICTIONS, KEY_REMAPS, KEY_NO_REFERENCE };

#define MAX_SAMPLES 256u
#define SUFFIX	    "$cot_workers"

/* How a kernel goes on of which some workers have left. */
enum way { REMAP, RELAUNCH, N_WAYS };

/* One run in which workers had to leave. */
struct sample {
	uint32_t units, of_units;   /* that left, of those that it had */
	double at_us, us, ideal_us; /* when they were told; the whole; with nothing lost */
};

struct samples {
	struct sample list[MAX_SAMPLES];
	uint32_t n;
};

struct times {
	double us[MAX_SAMPLES];
	uint32_t n;
};

struct remap {
	struct cot_job job;
	struct cot_workers_run workers;
	struct cot_rng rng;
	CUevent raised, ended;
	uint32_t quota;	   /* units: all SMs */
	uint32_t of_units; /* units that the first launch has, at most quota */
	double per_worker; /* tasks of the first launch for each of its workers */
	double task_us;	   /* about: the plain kernel's time over its waves */
	double longest_us; /* of the plain kernel's blocks */
	/* On the GPU: plain, as workers, and as workers that the host asks after each launch. */
	struct times plain, workers_alone, alone, delay;
	struct samples ways[N_WAYS];
	uint64_t n_different;
	/* The run at hand. */
	uint64_t begun_ns, moment_ns; /* moment: after begun; 0: no worker leaves */
	uint32_t units, rest;	      /* to leave, and to go on with */
	bool is_raised, measures_delay;
};

struct options {
	struct cot_job_settings job;
	uint32_t n_repeats, n_evictions, n_remaps;
	bool no_reference;
};

/* ---- runs ---- */

/* What was queued before has been done: a flag that came earlier would be overwritten. */
static int before_launch(void *arg, uint64_t control, const struct cot_workers_args *args,
			 struct cot_error *err)
{
	struct remap *m = arg;
	const struct cot_cuda *cuda = &m->job.cuda;

	(void)control;
	if (!m->of_units) {
		m->of_units = (args->n_workers + args->per_sm - 1) / args->per_sm;
		m->per_worker = (double)args->n_tasks / args->n_workers;
	}
	return cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream), m->job.bench.entry,
			      err);
}

/* Until the kernel has ended or its moment has come. */
static int wait_for_moment(struct remap *m, bool *ret_runs, struct cot_error *err)
{
	const struct cot_cuda *cuda = &m->job.cuda;
	int state;

	for (;;) {
		state = cuda->api.cuEventQuery(m->ended);
		*ret_runs = state == CUDA_ERROR_NOT_READY;
		if (!*ret_runs)
			return cot_cuda_check(cuda, state, m->job.bench.entry, err);
		if (cot_job_now_ns() - m->begun_ns >= m->moment_ns)
			return 0;
	}
}

static int take_delay(struct remap *m, struct cot_error *err)
{
	const struct cot_cuda *cuda = &m->job.cuda;
	float ms = 0.0f;
	int rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				m->job.bench.entry, err);

	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, m->raised, m->ended);
	/* A kernel that had ended when the flag came has no delay. */
	if (!rc && ms > 0.0f && m->delay.n < MAX_SAMPLES)
		m->delay.us[m->delay.n++] = (double)ms * 1e3;
	return rc;
}

static int while_running(void *arg, uint64_t control, const struct cot_workers_args *args,
			 struct cot_error *err)
{
	struct remap *m = arg;
	const struct cot_cuda *cuda = &m->job.cuda;
	bool runs = false;
	int rc = COT_CUDA_CALL(cuda, err, cuEventRecord, m->ended, cuda->stream);

	(void)args;
	if (rc || !m->moment_ns || m->is_raised)
		return rc;
	rc = wait_for_moment(m, &runs, err);
	if (rc || !runs)
		return rc;
	rc = cot_cuda_poke(cuda, control + COT_WORKERS_EVICT_OFFSET, m->units, m->raised, err);
	m->is_raised = true;
	/* The steps that follow have what is left, too. */
	m->workers.quota = m->rest;
	return rc || !m->measures_delay ? rc : take_delay(m, err);
}

static int checked(struct remap *m, struct cot_error *err)
{
	uint64_t n_different = 0;
	int rc = cot_job_check(&m->job, &n_different, err);

	m->n_different += n_different;
	return rc;
}

/* A request by workers; *ret_us is its time on the GPU. */
static int run_workers(struct remap *m, double *ret_us, struct cot_error *err)
{
	struct cot_job *job = &m->job;
	const struct cot_cuda *cuda = &job->cuda;
	float ms = 0.0f;
	int rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->begin, cuda->stream);

	m->workers.quota = m->quota;
	m->workers.resume_quota = m->rest;
	m->is_raised = false;
	m->begun_ns = cot_job_now_ns();
	if (!rc)
		rc = cot_session_run(&job->session, cot_workers_step, &m->workers, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    job->bench.entry, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, job->begin, job->end);
	*ret_us = (double)ms * 1e3;
	return rc ? rc : checked(m, err);
}

static double median(const struct times *t)
{
	double sorted[MAX_SAMPLES], x;
	uint32_t i, k;

	for (i = 0; i < t->n; i++) {
		x = t->us[i];
		for (k = i; k > 0 && sorted[k - 1] > x; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = x;
	}
	return t->n ? sorted[t->n / 2] : 0.0;
}

/* A request without asking between launches; begin and end are recorded. */
static int replay(struct remap *m, cot_session_launch launch, void *arg, double *ret_us,
		  struct cot_error *err)
{
	struct cot_job *job = &m->job;
	const struct cot_cuda *cuda = &job->cuda;
	float ms = 0.0f;
	int rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->begin, cuda->stream);

	if (!rc)
		rc = cot_session_replay(&job->session, launch, arg, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventRecord, job->end, cuda->stream);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream),
				    job->bench.entry, err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuEventElapsedTime, &ms, job->begin, job->end);
	*ret_us = (double)ms * 1e3;
	return rc;
}

/* Plain and as workers that stay, in turn. */
static int compare_times(struct remap *m, uint32_t n, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	m->moment_ns = 0;
	m->rest = m->quota;
	for (i = 0; i < n && !rc; i++) {
		rc = replay(m, cot_session_launch_plain, NULL, &m->plain.us[i], err);
		if (!rc)
			rc = checked(m, err);
		m->workers.quota = m->quota;
		if (!rc)
			rc = cot_workers_arm(&m->workers, err);
		if (!rc)
			rc = replay(m, cot_workers_replay, &m->workers, &m->workers_alone.us[i],
				    err);
		if (!rc)
			rc = cot_workers_confirm(&m->workers, err);
		if (!rc)
			rc = checked(m, err);
		if (!rc)
			rc = run_workers(m, &m->alone.us[i], err);
		m->plain.n = m->workers_alone.n = m->alone.n = i + 1;
	}
	return rc;
}

static int take_rows(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
		     struct cot_error *err)
{
	const struct cot_record_row *row = rows;
	struct remap *m = arg;
	uint32_t i;

	(void)step;
	(void)err;
	for (i = 0; i < n_rows; i++) {
		double us = (double)(row[i].end_ns - row[i].begin_ns) * 1e-3;

		if (row[i].n_ends && us > m->longest_us)
			m->longest_us = us;
	}
	return 0;
}

/* How long a block takes at most. */
static int measure_blocks(struct remap *m, struct cot_error *err)
{
	struct cot_rows_run rows;
	int rc = cot_rows_run_init(&rows, &m->job.session, "$cot_record",
				   sizeof(struct cot_record_row), err);

	if (rc)
		return rc;
	rows.take = take_rows;
	rows.arg = m;
	rc = cot_session_run(&m->job.session, cot_rows_step, &rows, err);
	cot_rows_run_finish(&rows);
	return rc ? rc : checked(m, err);
}

/* ---- leaving ---- */

static uint64_t some_moment_ns(struct remap *m)
{
	double share = 0.1 + 0.7 * (double)cot_rng_below(&m->rng, 1000) / 1000.0;

	return (uint64_t)(share * median(&m->alone) * 1e3) + 1;
}

/* All leave at once; what is left is launched again. */
static int measure_delays(struct remap *m, uint32_t n, struct cot_error *err)
{
	double us;
	uint32_t i;
	int rc = 0;

	m->measures_delay = true;
	m->units = UINT32_MAX;
	m->rest = m->quota;
	for (i = 0; i < n && !rc; i++) {
		m->moment_ns = some_moment_ns(m);
		rc = run_workers(m, &us, err);
	}
	m->measures_delay = false;
	return rc;
}

static int leave_once(struct remap *m, enum way way, uint32_t units, struct cot_error *err)
{
	struct samples *samples = &m->ways[way];
	struct sample *s = &samples->list[samples->n];
	double alone_us = median(&m->alone);
	float ms = 0.0f;
	int rc;

	m->rest = m->of_units - units;
	m->units = way == REMAP ? units : UINT32_MAX;
	m->moment_ns = some_moment_ns(m);
	rc = run_workers(m, &s->us, err);
	if (rc || !m->is_raised || samples->n + 1 == MAX_SAMPLES)
		return rc;
	rc = COT_CUDA_CALL(&m->job.cuda, err, cuEventElapsedTime, &ms, m->job.begin, m->raised);
	s->at_us = (double)ms * 1e3;
	if (rc || s->at_us >= alone_us)
		return rc;
	s->units = units;
	s->of_units = m->of_units;
	s->ideal_us = s->at_us + (alone_us - s->at_us) * m->of_units / m->rest;
	samples->n++;
	return 0;
}

/* A quarter, a half and three quarters of the units leave, in each way in turn. */
static int measure_remaps(struct remap *m, uint32_t n, struct cot_error *err)
{
	uint32_t i, way, quarter;
	int rc = 0;

	for (i = 0; i < n && m->of_units > 1; i++)
		for (quarter = 1; quarter <= 3; quarter++)
			for (way = 0; way < N_WAYS && !rc; way++) {
				uint32_t units = m->of_units * quarter / 4;

				if (units)
					rc = leave_once(m, way, units, err);
			}
	return rc;
}

/* ---- setting up ---- */

/* As long as the time of a wave: a task's time if the last wave is full. */
static void estimate_task(struct remap *m, uint32_t per_sm)
{
	double slots = (double)per_sm * m->job.cuda.n_sms, n_waves = 0.0;
	uint32_t i;

	for (i = 0; i < m->job.session.n_steps; i++) {
		double waves = cot_step_tasks(&m->job.in.steps[i]) / slots;

		n_waves += waves > 1.0 ? waves : 1.0;
	}
	m->task_us = m->job.request.gpu_us / n_waves;
}

static int make_workers(struct remap *m, struct cot_error *err)
{
	struct cot_job *job = &m->job;
	char entry[160];
	uint32_t per_sm;
	int rc;

	snprintf(entry, sizeof(entry), "%s" SUFFIX, job->bench.entry);
	rc = job->machine.base.ops->occupancy(&job->machine.base, entry, job->bench.n_threads,
					      &per_sm, err);
	if (rc)
		return rc;
	estimate_task(m, per_sm);
	m->quota = (uint32_t)job->cuda.n_sms;
	rc = cot_workers_run_init(&m->workers, &job->session, m->quota, 0,
				  (uint64_t)(m->task_us * 1e3) + 1, err);
	m->workers.before = before_launch;
	m->workers.during = while_running;
	m->workers.arg = m;
	return rc;
}

static int make_ready(struct remap *m, const struct options *o, const char *ptx,
		      struct cot_error *err)
{
	struct cot_job_settings settings = o->job;
	struct cot_bench_verdict verdict = {0};
	int rc;

	settings.ptx = ptx;
	rc = cot_job_init(&m->job, &settings, err);
	if (!rc)
		rc = COT_CUDA_CALL(&m->job.cuda, err, cuEventCreate, &m->raised, 0);
	if (!rc)
		rc = COT_CUDA_CALL(&m->job.cuda, err, cuEventCreate, &m->ended, 0);
	if (!rc)
		rc = cot_job_run(&m->job, 0, err);
	if (!rc && !o->no_reference)
		rc = cot_job_check_on_cpu(&m->job, &verdict, err);
	if (!rc && verdict.n_wrong)
		rc = cot_error_set(err, -EIO, "the plain result is wrong: %s", verdict.text);
	if (!rc)
		rc = cot_job_keep(&m->job, err);
	/* The first run was a slow one. */
	if (!rc)
		rc = cot_job_run(&m->job, 0, err);
	if (!rc)
		rc = cot_job_check(&m->job, &m->n_different, err);
	if (!rc)
		rc = make_workers(m, err);
	return rc;
}

static void finish(struct remap *m)
{
	if (m->workers.s)
		cot_workers_run_finish(&m->workers);
	if (m->raised)
		m->job.cuda.api.cuEventDestroy_v2(m->raised);
	if (m->ended)
		m->job.cuda.api.cuEventDestroy_v2(m->ended);
	cot_job_finish(&m->job);
}

static int measure(struct remap *m, const struct options *o, struct cot_error *err)
{
	int rc = compare_times(m, o->n_repeats, err);

	if (!rc)
		rc = measure_blocks(m, err);
	if (!rc)
		rc = measure_delays(m, o->n_evictions, err);
	if (!rc)
		rc = measure_remaps(m, o->n_remaps, err);
	return rc;
}

/* ---- what it prints ---- */

static void print_times(const char *name, const struct times *t)
{
	uint32_t i;

	printf(",\"%s\":[", name);
	for (i = 0; i < t->n; i++)
		printf("%s%.1f", i ? "," : "", t->us[i]);
	putchar(']');
}

static void print_samples(const char *name, const struct samples *samples)
{
	uint32_t i;

	printf(",\"%s\":[", name);
	for (i = 0; i < samples->n; i++) {
		const struct sample *s = &samples->list[i];

		printf("%s{\"units\":%u,\"of_units\":%u,\"at_us\":%.1f,\"us\":%.1f,"
		       "\"ideal_us\":%.1f}",
		       i ? "," : "", s->units, s->of_units, s->at_us, s->us, s->ideal_us);
	}
	putchar(']');
}

static int print(const struct remap *m)
{
	printf("{\"event\":\"remap\",\"benchmark\":\"%s\",\"blocks\":%u,\"work\":%u,\"sms\":%d,"
	       "\"units\":%u,\"tasks_per_worker\":%.2f,\"task_us\":%.2f,\"longest_us\":%.2f,\"same\":%s",
	       m->job.bench.name, m->job.in.n_blocks, m->job.in.work, m->job.cuda.n_sms,
	       m->of_units, m->per_worker, m->task_us, m->longest_us,
	       m->n_different ? "false" : "true");
	print_times("plain_us", &m->plain);
	print_times("workers_us", &m->workers_alone);
	print_times("asking_us", &m->alone);
	print_times("delay_us", &m->delay);
	print_samples("remap", &m->ways[REMAP]);
	print_samples("relaunch", &m->ways[RELAUNCH]);
	return puts("}") < 0 || fflush(stdout) ? COULD_NOT_RUN : ALL_RIGHT;
}

/* ---- options ---- */

static const char doc[] =
	"Measures one of the eleven benchmarks of the SMGuard paper as persistent workers: its time beside "
	"the plain kernel's, how long it takes until all workers have left, and how long the kernel "
	"takes when a quarter, a half or three quarters of them leave at some moment, whether the "
	"others go on or it is ended and launched again. Prints one line of JSON.";

static const struct argp_option options[] = {
	{"size", 's', "SIZE", 0, "test, small, large or gpu (default: test)", 0},
	{"blocks", 'n', "N", 0, "Thread blocks of the main kernel, instead of the size's", 0},
	{"work", COT_OPTION_WORK, "N", 0, "Work of each block, instead of the size's", 0},
	{"seed", KEY_SEED, "N", 0, "Seed of inputs and moments (default: 1)", 0},
	{"gpu", COT_OPTION_GPU, "N", 0, "Number of the GPU (default: 0)", 0},
	{"repeat", 'r', "N", 0, "Plain and workers, so often (default: 20)", 0},
	{"evictions", KEY_EVICTIONS, "N", 0, "All workers leave, so often (default: 20)", 0},
	{"remaps", KEY_REMAPS, "N", 0, "Some leave, so often in each way (default: 5)", 0},
	{"no-reference", KEY_NO_REFERENCE, 0, 0, "Don't compute the result on the CPU", 0},
	{0},
};

static error_t take_option(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_SEED:
		o->job.seed = cot_option_number(state, "--seed", text, 0, UINT32_MAX);
		return 0;
	case 'r':
		o->n_repeats = (uint32_t)cot_option_number(state, "--repeat", text, 1, MAX_SAMPLES);
		return 0;
	case KEY_EVICTIONS:
		o->n_evictions =
			(uint32_t)cot_option_number(state, "--evictions", text, 0, MAX_SAMPLES);
		return 0;
	case KEY_REMAPS:
		o->n_remaps =
			(uint32_t)cot_option_number(state, "--remaps", text, 0, MAX_SAMPLES / 4);
		return 0;
	case KEY_NO_REFERENCE:
		o->no_reference = true;
		return 0;
	default:
		return cot_option_take(&o->job, key, text, state);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, take_option, "BENCHMARK", doc, 0, 0, 0};
	struct options o = {.n_repeats = 20, .n_evictions = 20, .n_remaps = 5, .job = {.seed = 1}};
	static struct remap m;
	struct cot_rewritten rewritten;
	struct cot_error err;
	int rc, status = COULD_NOT_RUN;

	argp_parse(&argp, argc, argv, 0, 0, &o);
	m.rng = (struct cot_rng){o.job.seed};
	if (cot_rewrite(o.job.bench, NULL, 1u << COT_PASS_WORKERS | 1u << COT_PASS_RECORD,
			&rewritten, &err)) {
		fprintf(stderr, "smguard-remap: %s\n", err.text);
		return COULD_NOT_RUN;
	}
	rc = make_ready(&m, &o, rewritten.text, &err);
	cot_rewritten_finish(&rewritten);
	if (!rc)
		rc = measure(&m, &o, &err);
	if (rc)
		fprintf(stderr, "smguard-remap: %s\n", err.text);
	else
		status = print(&m);
	if (!status && m.n_different)
		status = SOMETHING_WRONG;
	finish(&m);
	return status;
}
