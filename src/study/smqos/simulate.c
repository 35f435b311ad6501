/* The simulations of the study, on all threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "study/jobs.h"
#include "study/smqos/smqos.h"
#include "trace/gpu.h"
#include "trace/trace.h"

#define GPU_NAME	    "gtx480"
#define CYCLES		    2000000u /* section IV-A */
#define BASE_SMS	    16u	     /* that the memory of GPU_NAME is for */
#define QUICK_STEP	    7u
#define SENSE_STEP	    7u /* sensitivity is measured on every seventh mix */
#define ABLATION_QUICK_STEP 31u
#define FIRST_MI	    6u /* of cot_smq_benchmarks */
#define KNEE_PORT	    4.0
#define SMALL_GRID	    64u	 /* blocks */
#define PHASE_1		    0.05 /* of all the work: everyone alone */

/* Simulations with equal settings share these. */
struct bundle {
	struct cot_smq_run *run;
	struct cot_gpu gpu;
	unsigned step; /* every step-th mix */
	struct cot_trace_program *owners[COT_SMQ_BENCHMARKS];
	struct cot_kernel *kernels[COT_SMQ_BENCHMARKS]; /* as the settings have them; owned */
	struct cot_program programs[COT_SMQ_BENCHMARKS];
};

enum kind { ALONE, CURVE, MIX, TIMELINE };

struct job {
	uint8_t kind, bundle, system, target;
	uint16_t mix; /* or benchmark */
	uint16_t n_sms;
};

#define MAX_BUNDLES (COT_SMQ_SEEDS + COT_SMQ_MAX_SENSES)

struct study {
	const struct cot_study_options *opt;
	struct cot_smq_report *report;
	struct bundle bundles[MAX_BUNDLES];
	unsigned n_bundles;
	struct job *jobs;
	size_t n_jobs, cap_jobs;
	size_t phase_begin;
	struct cot_error *err;
};

/* ---- scenarios ---- */

static void scale_sms(struct cot_gpu *gpu, uint32_t scale)
{
	uint32_t i;

	gpu->dram_bytes_per_s *= scale;
	gpu->issue_width *= scale;
	gpu->sm_bytes_per_cycle *= scale;
	gpu->regs_per_sm *= scale;
	gpu->blocks_per_sm *= scale;
	gpu->threads_per_sm *= scale;
	for (i = 0; i < gpu->n_shmem_configs; i++)
		gpu->shmem_config_bytes[i] *= scale;
}

static struct cot_gpu gpu_of(const struct cot_smq_settings *s)
{
	struct cot_gpu gpu = *cot_gpu_find(GPU_NAME);

	/* As much memory bandwidth for each SM, however many there are. */
	gpu.dram_bytes_per_s = gpu.dram_bytes_per_s / BASE_SMS * s->n_sms;
	gpu.n_sms = s->n_sms;
	/* GPGPU-Sim's GTX 480 always has the larger one. */
	gpu.shmem_config_bytes[0] = gpu.shmem_config_bytes[gpu.n_shmem_configs - 1];
	gpu.n_shmem_configs = 1;
	gpu.share_penalty = s->share_penalty;
	gpu.share_stall = s->share_stall;
	if (s->knee > 0.0)
		gpu.sm_bytes_per_cycle *= KNEE_PORT; /* what few SMs want is not to stop there */
	if (s->idle_draws)
		gpu.power.idle_w = gpu.power.active_w;
	scale_sms(&gpu, s->sm_scale);
	return gpu;
}

static void set_app(struct cot_app *app, const struct bundle *b, unsigned benchmark, unsigned index)
{
	*app = (struct cot_app){.tokens = COT_TOKENS_EQUAL, .context = index};
	strcpy(app->name, cot_smq_benchmarks[benchmark]);
	app->program = b->programs[benchmark];
}

static struct cot_scenario make_scenario(const struct study *st, const struct bundle *b)
{
	const struct cot_smq_settings *s = &b->run->settings;
	uint64_t epoch_ps = cot_gpu_work_ps(&b->gpu, s->epoch_cycles);
	struct cot_scenario sc = {
		.gpu = b->gpu,
		.scheduler = "fcfs",
		.seed = st->opt->seed + s->seed_offset,
		.quantum_ps = 2000 * COT_PS_PER_US,
		.epoch_cycles = s->epoch_cycles,
		.rate_noise = s->noise,
		.qos_threshold = s->threshold,
		.qos_batch_sms = s->batch_sms,
		.dispatch = s->depth ? COT_DISPATCH_DEPTH : COT_DISPATCH_BREADTH,
		.preempt = s->drain ? COT_PREEMPT_DRAIN : COT_PREEMPT_SWITCH,
		.stop_ps = CYCLES / s->epoch_cycles * epoch_ps,
	};

	return sc;
}

static double ipc_of(const struct cot_scenario *sc, const struct cot_sim_result *r, unsigned app)
{
	return r->counts.insts[app] / (cot_us_from_ps(r->end_ps) * sc->gpu.clock_mhz);
}

static int run_alone(struct study *st, const struct job *j, bool curve)
{
	struct bundle *b = &st->bundles[j->bundle];
	struct cot_scenario sc = make_scenario(st, b);
	struct cot_sim_result r;
	int rc;

	sc.n_apps = 1;
	if (curve)
		sc.gpu.n_sms = j->n_sms;
	set_app(&sc.apps[0], b, j->mix, 0);
	rc = cot_study_simulate(st->opt, &sc, NULL, NULL, &r);
	if (rc)
		return rc;
	if (curve) {
		st->report->curve[j->mix][j->n_sms] = ipc_of(&sc, &r, 0);
		return 0;
	}
	b->run->isolated_ipc[j->mix] = ipc_of(&sc, &r, 0);
	b->run->isolated_watts[j->mix] = r.counts.energy_j / (cot_us_from_ps(r.end_ps) * 1e-6);
	return 0;
}

static const char *scheduler_of(const struct cot_smq_settings *s, unsigned system)
{
	if (system == COT_SMQ_SMQOS && (s->hasty || s->search_printed))
		return s->hasty ? "smqos-hasty" : "smqos-printed";
	if (system == COT_SMQ_SPART && s->spart_catchup)
		return "spart-catchup";
	return cot_smq_system_names[system];
}

static void make_mix(const struct study *st, const struct job *j, unsigned ls, unsigned batch,
		     struct cot_scenario *sc)
{
	const struct bundle *b = &st->bundles[j->bundle];

	*sc = make_scenario(st, b);
	sc->n_apps = 2;
	strcpy(sc->scheduler, scheduler_of(&b->run->settings, j->system));
	set_app(&sc->apps[0], b, ls, 0);
	set_app(&sc->apps[1], b, batch, 1);
	sc->apps[0].qos.ipc = b->run->isolated_ipc[ls] * cot_smq_targets[j->target] / 100.0;
}

static int run_mix(struct study *st, const struct job *j)
{
	struct bundle *b = &st->bundles[j->bundle];
	struct cot_sim_result r;
	struct cot_scenario sc;
	unsigned ls, batch;
	int rc;

	cot_smq_mix(j->mix, &ls, &batch);
	make_mix(st, j, ls, batch, &sc);
	rc = cot_study_simulate(st->opt, &sc, NULL, NULL, &r);
	if (rc)
		return rc;
	b->run->outcomes[j->system][cot_smq_case(j->mix, j->target)] = (struct cot_smq_outcome){
		.run = true,
		.of_goal = ipc_of(&sc, &r, 0) / sc.apps[0].qos.ipc,
		.throughput = ipc_of(&sc, &r, 1) / b->run->isolated_ipc[batch],
		.watts = r.counts.energy_j / (cot_us_from_ps(r.end_ps) * 1e-6),
		.moves = (double)r.preemptions / (double)r.n_epochs,
		.gated = r.counts.gated_sm_us / cot_us_from_ps(r.end_ps),
	};
	return 0;
}

static int run_timeline(struct study *st, const struct job *j)
{
	struct cot_smq_timeline *t = &st->report->timeline;
	struct cot_scenario *sc = malloc(sizeof(*sc));
	struct cot_sim_result r;

	t->scenarios[j->system] = sc;
	if (!sc)
		return -ENOMEM;
	make_mix(st, j, t->ls, t->batch, sc);
	t->epochs[j->system] = cot_epochs_create(sc);
	if (!t->epochs[j->system])
		return -ENOMEM;
	return cot_study_simulate(st->opt, sc, &cot_epochs_observer, t->epochs[j->system], &r);
}

static int run_job(void *arg, size_t index)
{
	struct study *st = arg;
	const struct job *j = &st->jobs[st->phase_begin + index];

	switch ((enum kind)j->kind) {
	case ALONE:
		return run_alone(st, j, false);
	case CURVE:
		return run_alone(st, j, true);
	case MIX:
		return run_mix(st, j);
	default:
		return run_timeline(st, j);
	}
}

/* ---- jobs ---- */

static int add_job(struct study *st, struct job job)
{
	struct job *jobs = cot_grow(st->jobs, st->n_jobs, &st->cap_jobs, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	st->jobs = jobs;
	st->jobs[st->n_jobs++] = job;
	return 0;
}

/* Goals are known only after everyone has run alone, so that comes first. */
static int add_alone(struct study *st)
{
	unsigned b, i, n;
	int rc = 0;

	for (b = 0; b < st->n_bundles; b++)
		for (i = 0; i < COT_SMQ_BENCHMARKS && !rc; i++)
			rc = add_job(st, (struct job){.kind = ALONE,
						      .bundle = (uint8_t)b,
						      .mix = (uint16_t)i});
	for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
		for (n = 1; n <= st->bundles[0].gpu.n_sms && !rc; n++)
			rc = add_job(st, (struct job){.kind = CURVE,
						      .mix = (uint16_t)i,
						      .n_sms = (uint16_t)n});
	return rc;
}

static int add_mixes(struct study *st)
{
	unsigned b, mix, t, s;
	int rc = 0;

	for (b = 0; b < st->n_bundles; b++)
		for (mix = 0; mix < COT_SMQ_MIXES; mix += st->bundles[b].step)
			for (t = 0; t < COT_SMQ_TARGETS; t++)
				for (s = 0; s < COT_SMQ_SYSTEMS && !rc; s++)
					rc = add_job(st, (struct job){.kind = MIX,
								      .bundle = (uint8_t)b,
								      .system = (uint8_t)s,
								      .target = (uint8_t)t,
								      .mix = (uint16_t)mix});
	for (s = 0; s < COT_SMQ_SYSTEMS && st->report->has_timeline && !rc; s++)
		rc = add_job(st, (struct job){.kind = TIMELINE,
					      .system = (uint8_t)s,
					      .target = (uint8_t)st->report->timeline.target});
	return rc;
}

static void progress(void *arg, size_t n_done, size_t n_jobs)
{
	struct study *st = arg;
	double done = (double)n_done / (double)n_jobs;

	st->opt->progress(st->opt->arg,
			  st->phase_begin ? PHASE_1 + (1.0 - PHASE_1) * done : PHASE_1 * done);
}

static int run_phase(struct study *st)
{
	struct cot_jobs jobs = {
		.n = st->n_jobs - st->phase_begin,
		.run = run_job,
		.progress = progress,
		.arg = st,
		.stop = st->opt->stop,
		.stop_arg = st->opt->arg,
	};
	int rc = cot_jobs_run(&jobs, st->opt->n_threads);

	st->phase_begin = st->n_jobs;
	return rc;
}

/* ---- settings ---- */

/* A limit of its own at the knee, and so many bytes that memory is enough for some of these. */
static void set_knee(struct cot_kernel *k, const struct cot_gpu *gpu,
		     const struct cot_smq_settings *s)
{
	struct cot_kernel_work *w = &k->work;
	double think = w->cpi + w->mem_fraction * w->latency / w->mlp;
	double sm_ipc = (double)k->blocks_per_sm * w->warps / think;
	double dram = (double)gpu->dram_bytes_per_s * gpu->dram_efficiency / (gpu->clock_mhz * 1e6);

	if (sm_ipc > gpu->issue_width)
		sm_ipc = gpu->issue_width;
	w->gpu_ipc_max = s->knee * gpu->n_sms * sm_ipc;
	w->dram_bytes = dram / (s->memory_for * w->gpu_ipc_max * w->mem_fraction);
}

static void scale_blocks(struct cot_kernel *k, double by)
{
	k->work.insts = (uint64_t)((double)k->work.insts * by);
	k->block_ps = (uint64_t)((double)k->block_ps * by);
}

/* The program of a benchmark as the settings have it. */
static int change_program(struct bundle *b, unsigned benchmark, const struct cot_program *p)
{
	const struct cot_smq_settings *s = &b->run->settings;
	struct cot_kernel *kernels = calloc(p->n_kernels, sizeof(*kernels));
	uint32_t i;

	b->kernels[benchmark] = kernels;
	b->programs[benchmark] = *p;
	b->programs[benchmark].kernels = kernels;
	if (!kernels)
		return -ENOMEM;
	for (i = 0; i < p->n_kernels; i++) {
		kernels[i] = p->kernels[i];
		if (kernels[i].n_blocks <= SMALL_GRID)
			scale_blocks(&kernels[i], s->small_scale);
		kernels[i].n_blocks *= s->block_parts;
		scale_blocks(&kernels[i], 1.0 / s->block_parts);
		kernels[i].blocks_per_sm *= s->sm_scale;
		kernels[i].ctx_bytes_per_block =
			(uint32_t)(kernels[i].ctx_bytes_per_block * s->context_scale);
		if (s->knee > 0.0 && benchmark >= FIRST_MI)
			set_knee(&kernels[i], &b->gpu, s);
	}
	return 0;
}

static int add_bundle(struct study *st, const struct cot_smq_settings *s, unsigned step,
		      struct cot_smq_run **ret_run)
{
	struct bundle *b = &st->bundles[st->n_bundles++];
	const struct cot_program *program;
	char name[2 * COT_NAME_MAX];
	unsigned i;
	int rc = 0;

	b->step = step;
	b->gpu = gpu_of(s);
	b->run = calloc(1, sizeof(*b->run));
	*ret_run = b->run;
	if (!b->run)
		return -ENOMEM;
	b->run->settings = *s;
	for (i = 0; i < COT_SMQ_BENCHMARKS && !rc; i++) {
		(void)snprintf(name, sizeof(name), "%s/%s", s->traces, cot_smq_benchmarks[i]);
		rc = cot_trace_program(name, COT_BLOCK_TIME_WAVE, &b->gpu, &b->owners[i], &program,
				       st->err);
		if (!rc)
			rc = change_program(b, i, program);
	}
	return rc;
}

static int add_seeds(struct study *st)
{
	struct cot_smq_report *r = st->report;
	struct cot_smq_settings s = r->settings;
	int rc = 0;

	for (r->n_seeds = 0; r->n_seeds < COT_SMQ_SEEDS && !rc; r->n_seeds++) {
		s.seed_offset = r->n_seeds;
		rc = add_bundle(st, &s, r->quick ? QUICK_STEP : 1, &r->seeds[r->n_seeds]);
	}
	r->main = r->seeds[0];
	return rc;
}

static int add_senses(struct study *st)
{
	struct cot_smq_report *r = st->report;
	unsigned i;
	int rc = 0;

	cot_smq_list_senses(r);
	for (i = 0; i < r->n_senses && !rc; i++) {
		struct cot_smq_sense *sense = &r->senses[i];
		unsigned step = !sense->ablation ? SENSE_STEP : r->quick ? ABLATION_QUICK_STEP : 1;

		rc = add_bundle(st, &sense->settings, step, &sense->run);
	}
	return rc;
}

static void finish(struct study *st)
{
	unsigned b, i;

	for (b = 0; b < st->n_bundles; b++)
		for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
			cot_trace_program_destroy(st->bundles[b].owners[i]);
	for (b = 0; b < st->n_bundles; b++)
		for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
			free(st->bundles[b].kernels[i]);
	free(st->jobs);
}

static int run_all(struct study *st)
{
	int rc = add_alone(st);

	if (!rc)
		rc = run_phase(st);
	if (rc)
		return rc;
	rc = add_mixes(st);
	if (!rc)
		rc = run_phase(st);
	if (!rc)
		cot_smq_compare(st->report);
	return rc;
}

int cot_smq_run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	struct cot_smq_report *r = data;
	struct study st = {.opt = options, .report = r, .err = err};
	unsigned i;
	int rc;

	for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
		r->is_mi[i] = i >= FIRST_MI; /* says the paper */
	r->seed = options->seed;
	r->quick = options->quick;
	r->cycles = CYCLES / r->settings.epoch_cycles * r->settings.epoch_cycles;
	rc = cot_smq_printed_load(r, err);
	if (!rc)
		rc = add_seeds(&st);
	if (!rc)
		rc = add_senses(&st);
	if (!rc)
		rc = run_all(&st);
	finish(&st);
	return rc;
}
