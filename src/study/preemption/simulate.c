/* The simulations of the study, on all threads. Programs and results live in the study; the threads
 * share nothing else. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "study/jobs.h"
#include "study/preemption/preemption.h"
#include "study/preemption/samples.h"
#include "study/preemption/variants.h"
#include "trace/gpu.h"
#include "trace/trace.h"

#define GPU_NAME  "k20c"
#define STOP_RUNS 3 /* section 4.1 */

enum study { STUDY_SINGLE, STUDY_PRIO, STUDY_DSS };

struct job {
	enum study study;
	uint8_t sample, size, policy;
	uint16_t item; /* case or benchmark */
	uint32_t weight_before;
};

#define MAX_MODES (COT_BLOCK_TIME_PRINTED + 1)

struct run {
	const struct cot_study_options *opt;
	struct cot_preemption *report;
	const struct cot_gpu *gpu;
	struct cot_trace_program *owners[MAX_MODES][COT_PRINTED_MAX_BENCHMARKS];
	const struct cot_program *programs[MAX_MODES][COT_PRINTED_MAX_BENCHMARKS];
	struct cot_preemption_variant variants[COT_PREEMPTION_MAX_SAMPLES]
					      [COT_PRINTED_MAX_BENCHMARKS];
	struct job *jobs;
	size_t n_jobs, cap_jobs;
	uint32_t total_weight;
	atomic_uint_fast64_t block_completions;
};

/* How a policy is simulated. */
struct policy {
	const char *scheduler;
	enum cot_preempt preempt;
	enum cot_transfer_order transfers;
};

static const struct policy prio_policies[COT_PRIO_N] = {
	/*
	 * No program is more important than another here, so arrival order is the priority order.
	 */
	[COT_PRIO_FCFS] = {"fcfs", COT_PREEMPT_SWITCH, COT_TRANSFERS_FCFS},
	[COT_PRIO_NPQ] = {"npq", COT_PREEMPT_SWITCH, COT_TRANSFERS_PRIORITY},
	[COT_PRIO_PPQ_SWITCH] = {"ppq", COT_PREEMPT_SWITCH, COT_TRANSFERS_PRIORITY},
	[COT_PRIO_PPQ_DRAIN] = {"ppq", COT_PREEMPT_DRAIN, COT_TRANSFERS_PRIORITY},
	[COT_PRIO_SHARED_SWITCH] = {"ppq-shared", COT_PREEMPT_SWITCH, COT_TRANSFERS_PRIORITY},
	[COT_PRIO_SHARED_DRAIN] = {"ppq-shared", COT_PREEMPT_DRAIN, COT_TRANSFERS_PRIORITY},
};

static const struct policy dss_policies[COT_DSS_N] = {
	[COT_DSS_FCFS] = {"fcfs", COT_PREEMPT_SWITCH, COT_TRANSFERS_FCFS},
	[COT_DSS_SWITCH] = {"dss-printed", COT_PREEMPT_SWITCH, COT_TRANSFERS_FCFS},
	[COT_DSS_DRAIN] = {"dss-printed", COT_PREEMPT_DRAIN, COT_TRANSFERS_FCFS},
	[COT_DSS_LEND_SWITCH] = {"dss", COT_PREEMPT_SWITCH, COT_TRANSFERS_FCFS},
	[COT_DSS_LEND_DRAIN] = {"dss", COT_PREEMPT_DRAIN, COT_TRANSFERS_FCFS},
};

/* ---- one simulation ---- */

static void set_app(struct cot_app *app, const struct run *run,
		    const struct cot_preemption_sample *s, unsigned benchmark, unsigned index)
{
	const struct cot_preemption_variant *variant =
		&run->variants[s - run->report->samples][benchmark];

	*app = (struct cot_app){.tokens = COT_TOKENS_EQUAL, .context = index};
	strcpy(app->name, run->report->printed.benchmarks[benchmark].name);
	app->program = variant->steps ? variant->program : *run->programs[s->block_time][benchmark];
}

static struct cot_scenario make_scenario(const struct run *run,
					 const struct cot_preemption_sample *s, uint64_t seed)
{
	struct cot_scenario sc = {.gpu = *run->gpu,
				  .scheduler = "fcfs",
				  .seed = seed,
				  .block_jitter_cv = s->jitter_cv,
				  .quantum_ps = 2000000000,
				  .stop_runs = STOP_RUNS};

	return sc;
}

static int simulate(struct run *run, const struct cot_scenario *sc, double *ret_multi_us)
{
	struct cot_sim_result r;
	uint32_t i;
	int rc = cot_study_simulate(run->opt, sc, NULL, NULL, &r);

	if (rc)
		return rc;
	for (i = 0; i < r.n_apps; i++)
		ret_multi_us[i] =
			(double)r.apps[i].turnaround_sum_ps / 1e6 / (double)r.apps[i].runs;
	atomic_fetch_add(&run->block_completions, r.block_completions);
	return 0;
}

static int run_case(struct run *run, const struct cot_preemption_sample *s, const struct job *job)
{
	struct cot_preemption_case *c = job->study == STUDY_PRIO ? &s->prio[job->size][job->item]
								 : &s->dss[job->size][job->item];
	const struct policy *policy =
		job->study == STUDY_PRIO ? &prio_policies[job->policy] : &dss_policies[job->policy];
	struct cot_scenario sc = make_scenario(run, s, c->load.seed);
	unsigned i;

	strcpy(sc.scheduler, policy->scheduler);
	sc.preempt = policy->preempt;
	sc.transfers = policy->transfers;
	sc.n_apps = c->load.n;
	for (i = 0; i < c->load.n; i++)
		set_app(&sc.apps[i], run, s, c->load.apps[i], i);
	if (job->study == STUDY_PRIO)
		sc.apps[c->load.high].priority = 1;
	return simulate(run, &sc, c->multi_us[job->policy]);
}

static int run_job(void *arg, size_t index)
{
	struct run *run = arg;
	const struct job *job = &run->jobs[index];
	struct cot_preemption_sample *s = &run->report->samples[job->sample];
	struct cot_scenario sc;

	if (job->study != STUDY_SINGLE)
		return run_case(run, s, job);
	sc = make_scenario(run, s, run->opt->seed);
	sc.n_apps = 1;
	set_app(&sc.apps[0], run, s, job->item, 0);
	return cot_sim_isolated_us(&sc, 0, NULL, NULL, &s->single_us[job->item]);
}

/* ---- the list of simulations ---- */

static int add_job(struct run *run, struct job job, uint32_t weight)
{
	struct job *jobs = cot_grow(run->jobs, run->n_jobs, &run->cap_jobs, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	run->jobs = jobs;
	job.weight_before = run->total_weight;
	run->total_weight += weight;
	run->jobs[run->n_jobs++] = job;
	return 0;
}

static int add_cases(struct run *run, unsigned sample, enum study study, unsigned size)
{
	const struct cot_preemption_sample *s = &run->report->samples[sample];
	unsigned n_cases = study == STUDY_PRIO ? s->n_prio[size] : s->n_dss;
	unsigned n_policies = study == STUDY_PRIO ? COT_PRIO_N
			      : s->lends	  ? COT_DSS_N
						  : COT_DSS_LEND_SWITCH;
	unsigned i, k;
	int rc = 0;

	for (i = 0; i < n_cases && !rc; i++)
		for (k = 0; k < n_policies && !rc; k++)
			rc = add_job(run,
				     (struct job){.study = study,
						  .sample = (uint8_t)sample,
						  .size = (uint8_t)size,
						  .policy = (uint8_t)k,
						  .item = (uint16_t)i},
				     s->sizes[size] * (s->jitter_cv > 0.0 ? 8 : 1));
	return rc;
}

/* The longest simulations come first, so that no thread is left alone with one at the end. */
static int add_jobs(struct run *run)
{
	struct cot_preemption *r = run->report;
	unsigned sample, i;
	int rc = 0;

	for (sample = r->n_samples; sample-- > 0 && !rc;)
		for (i = 0; i < r->printed.n_benchmarks && !rc; i++)
			rc = add_job(run,
				     (struct job){.study = STUDY_SINGLE,
						  .sample = (uint8_t)sample,
						  .item = (uint16_t)i},
				     1);
	for (sample = r->n_samples; sample-- > 0 && !rc;) {
		for (i = r->samples[sample].n_sizes; i-- > 0 && !rc;) {
			rc = add_cases(run, sample, STUDY_PRIO, i);
			if (!rc)
				rc = add_cases(run, sample, STUDY_DSS, i);
		}
	}
	r->n_simulations = (unsigned)run->n_jobs;
	return rc;
}

/* ---- programs and Table 1 ---- */

static void drop_programs(struct run *run)
{
	unsigned m, i;

	for (m = 0; m < COT_PREEMPTION_MAX_SAMPLES; m++)
		for (i = 0; i < COT_PRINTED_MAX_BENCHMARKS; i++)
			cot_preemption_variant_finish(&run->variants[m][i]);

	for (m = 0; m < MAX_MODES; m++)
		for (i = 0; i < COT_PRINTED_MAX_BENCHMARKS; i++)
			cot_trace_program_destroy(run->owners[m][i]);
}

static int load_programs(struct run *run, struct cot_error *err)
{
	const struct cot_printed *printed = &run->report->printed;
	char name[COT_NAME_MAX];
	unsigned m, i;
	int rc;

	for (m = 0; m < MAX_MODES; m++) {
		for (i = 0; i < printed->n_benchmarks; i++) {
			snprintf(name, sizeof(name), "parboil/%s", printed->benchmarks[i].name);
			rc = cot_trace_program(name, (enum cot_block_time)m, run->gpu,
					       &run->owners[m][i], &run->programs[m][i], err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int make_variant(struct run *run, unsigned sample, unsigned benchmark)
{
	const struct cot_preemption_sample *s = &run->report->samples[sample];
	const struct cot_program *p = run->programs[s->block_time][benchmark];
	struct cot_preemption_variant *v = &run->variants[sample][benchmark];
	struct cot_scenario sc;

	if (s->spread_cpu)
		return cot_preemption_spread_cpu(p, v);
	if (s->jitter_cv == 0.0)
		return 0;
	sc = make_scenario(run, s, run->opt->seed);
	return cot_preemption_keep_times(&sc, p, v);
}

static int make_variants(struct run *run)
{
	unsigned k, i;
	int rc = 0;

	for (k = 0; k < run->report->n_samples; k++)
		for (i = 0; i < run->report->printed.n_benchmarks && !rc; i++)
			rc = make_variant(run, k, i);
	return rc;
}

static const struct cot_kernel *find_kernel(const struct cot_program *p, const char *name)
{
	uint32_t i;

	for (i = 0; i < p->n_kernels; i++)
		if (!strcmp(p->kernels[i].name, name))
			return &p->kernels[i];
	return NULL;
}

static int make_table1(struct run *run, struct cot_error *err)
{
	const struct cot_printed *printed = &run->report->printed;
	uint64_t ctx_max = cot_gpu_ctx_bytes_max(run->gpu);
	unsigned i;

	for (i = 0; i < printed->n_kernels; i++) {
		const struct cot_printed_kernel *p = &printed->kernels[i];
		struct cot_preemption_table1_row *row = &run->report->table1[i];
		const struct cot_kernel *k, *as_printed;
		uint64_t bytes;

		k = find_kernel(run->programs[COT_BLOCK_TIME_WAVE][p->benchmark], p->name);
		as_printed =
			find_kernel(run->programs[COT_BLOCK_TIME_PRINTED][p->benchmark], p->name);
		if (!k || !as_printed)
			return cot_error_set(err, -EINVAL, "the trace of %s has no kernel %s",
					     printed->benchmarks[p->benchmark].name, p->name);
		bytes = (uint64_t)k->ctx_bytes_per_block * k->blocks_per_sm;
		*row = (struct cot_preemption_table1_row){
			.benchmark = printed->benchmarks[p->benchmark].name,
			.kernel = p->name,
			.save_us = (double)cot_gpu_sm_move_ps(run->gpu, bytes) / 1e6,
			.resource_pct = 100.0 * (double)bytes / (double)ctx_max,
			.save_us_printed = p->save_us,
			.resource_pct_printed = p->resource_pct,
			.block_us = {(double)k->block_ps / 1e6, (double)as_printed->block_ps / 1e6},
		};
	}
	return 0;
}

/* ---- the whole ---- */

static void on_progress(void *arg, size_t n_done, size_t n_jobs)
{
	struct run *run = arg;

	run->opt->progress(run->opt->arg,
			   n_done < n_jobs
				   ? (double)run->jobs[n_done].weight_before / run->total_weight
				   : 1.0);
}

static int simulate_all(struct run *run)
{
	struct cot_jobs jobs = {.run = run_job,
				.progress = on_progress,
				.arg = run,
				.stop = run->opt->stop,
				.stop_arg = run->opt->arg};
	int rc = add_jobs(run);

	jobs.n = run->n_jobs;
	if (!rc)
		rc = cot_jobs_run(&jobs, run->opt->n_threads);
	run->report->block_completions = atomic_load(&run->block_completions);
	return rc;
}

static int evaluate(struct cot_preemption *r)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < r->n_samples && !rc; i++)
		rc = cot_preemption_points_make(&r->samples[i], &r->printed, &r->points[i]);
	for (i = 0; i < COT_PREEMPTION_MAIN && !rc; i++)
		cot_preemption_compare(&r->printed, &r->points[i], &r->comparison[i]);
	return rc;
}

int cot_preemption_run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	struct cot_preemption *r = data;
	struct run *run = calloc(1, sizeof(*run));
	int rc;

	if (!run)
		return -ENOMEM;
	run->opt = options;
	run->report = r;
	run->gpu = cot_gpu_find(GPU_NAME);

	r->seed = options->seed;
	r->quick = options->quick;
	rc = cot_printed_load(&r->printed, err);
	if (!rc)
		rc = load_programs(run, err);
	if (!rc)
		rc = make_table1(run, err);
	if (!rc)
		rc = cot_preemption_samples_make(r);
	if (!rc)
		rc = make_variants(run);
	if (!rc)
		rc = simulate_all(run);
	if (!rc)
		rc = evaluate(r);
	drop_programs(run);
	free(run->jobs);
	free(run);
	return rc;
}
