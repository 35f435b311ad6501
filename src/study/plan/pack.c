/* Who goes where: the most demanding jobs first, each to the GPU with least load that it fits; then
 * a local search. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/jobs.h"
#include "study/plan/pack.h"

/* Exchanges that the search tries for programs that have no place. */
#define EXCHANGES_MAX COT_PLAN_GPUS_MAX
/* GPUs that are tried before the next one is begun with. */
#define TRIES_MAX 3u

/* ---- each alone ---- */

struct lone {
	struct cot_fleet *plan;
	const struct cot_study_options *options;
	struct cot_plan_outcome outcomes[COT_WORKLOAD_JOBS_MAX];
	uint32_t n_played;
};

static struct cot_plan_mix only(uint32_t job)
{
	struct cot_plan_mix m = {{0}};

	m.n[job] = 1;
	return m;
}

static int play_alone(void *arg, size_t job)
{
	struct lone *l = arg;
	const struct cot_plan_mix m = only((uint32_t)job);

	return cot_plan_play(l->plan, &m, l->options, &l->outcomes[job]);
}

static void tell_nothing_yet(void *arg, size_t n_done, size_t n_jobs)
{
	const struct lone *l = arg;

	(void)n_done;
	(void)n_jobs;
	if (l->options->progress)
		l->options->progress(l->options->arg, 0);
}

static bool knows_watts(const struct cot_job *job)
{
	uint32_t i;

	for (i = 0; i < job->app.program.n_kernels; i++)
		if (!job->app.program.kernels[i].work.insts)
			return job->watts > 0;
	return true;
}

/* The largest part of a GPU that it needs: memory, the rate that it wants, the time of requests,
 * and how much of its target they take alone. */
static double demand_of(const struct cot_fleet *p, const struct cot_job *job,
			const struct cot_plan_alone *alone)
{
	const struct cot_workload *w = p->workload;
	double all[4] = {0}, most = 0;
	unsigned i;

	if (w->memory_bytes)
		all[0] = (double)job->memory_bytes / (double)w->memory_bytes;
	if (job->app.target.kind == COT_TARGET_RATE)
		all[1] = job->app.target.amount / 1e3;
	if (job->app.cls == COT_CLASS_LATENCY)
		all[2] = alone->runs_per_s * alone->p50_us / 1e6;
	if (job->app.target.kind == COT_TARGET_P99)
		all[3] = alone->p99_us / job->app.target.amount;
	if (job->app.target.kind == COT_TARGET_SLOWDOWN)
		all[3] = 1e3 / job->app.target.amount;
	for (i = 0; i < 4; i++)
		most = all[i] > most ? all[i] : most;
	return most;
}

/* Of kernels whose time is given: what their blocks take of all SMs, whoever is beside them. */
static double run_gpu_s(const struct cot_app *app, const struct cot_gpu *gpu)
{
	const struct cot_program *p = &app->program;
	double ps = 0;
	uint32_t i;

	for (i = 0; i < p->n_steps && !app->n_sizes; i++) {
		const struct cot_kernel *k = &p->kernels[p->steps[i].kernel];

		if (p->steps[i].kind == COT_STEP_KERNEL && !k->work.insts)
			ps += (double)p->steps[i].launches * k->n_blocks * (double)k->block_ps /
			      k->blocks_per_sm;
	}
	return ps / gpu->n_sms / (double)COT_PS_PER_S;
}

static double load_of(const struct cot_job *job, const struct cot_gpu *gpu,
		      const struct cot_plan_alone *alone)
{
	double runs_per_s = 0;

	if (job->app.target.kind == COT_TARGET_RATE)
		runs_per_s = alone->runs_per_s * job->app.target.amount / 1e3;
	else if (job->app.target.kind && job->app.arrivals.per_s > 0)
		runs_per_s = alone->runs_per_s;
	return runs_per_s * run_gpu_s(&job->app, gpu);
}

static void take_alone(struct cot_fleet *p, uint32_t job, const struct cot_plan_outcome *o)
{
	const struct cot_job *j = &p->workload->jobs[job];
	struct cot_plan_alone *a = &p->alone[job];

	*a = (struct cot_plan_alone){
		.runs_per_s = o->programs[0].runs_per_s,
		.p50_us = o->programs[0].p50_us,
		.p99_us = o->programs[0].p99_us,
		.watts = o->watts,
		.watts_known = knows_watts(j),
	};
	if (j->watts > o->watts)
		a->more_watts = j->watts - o->watts;
	a->demand = demand_of(p, j, a);
	a->load = load_of(j, &p->workload->base.gpu, a);
}

/* Such a GPU need not be played again, unless the target is a multiple of what was not known yet.
 */
static int note_alone(struct cot_pack *k, uint32_t job, struct cot_plan_outcome *o)
{
	const struct cot_plan_alone *a = &k->plan->alone[job];
	const struct cot_plan_mix m = only(job);

	if (k->plan->workload->jobs[job].app.target.kind == COT_TARGET_SLOWDOWN)
		return 0;
	o->watts += a->more_watts;
	o->watts_all = a->watts_known;
	return cot_pack_note(k, &m, o);
}

static int play_all_alone(struct cot_pack *k)
{
	struct cot_fleet *p = k->plan;
	const struct cot_study_options *options = k->options;
	struct lone *l = calloc(1, sizeof(*l));
	const struct cot_jobs jobs = {
		.n = p->workload->n_jobs,
		.run = play_alone,
		.progress = tell_nothing_yet,
		.arg = l,
		.stop = options->stop,
		.stop_arg = options->arg,
	};
	uint32_t i;
	int rc;

	if (!l)
		return -ENOMEM;
	l->plan = p;
	l->options = options;
	rc = cot_jobs_run(&jobs, options->n_threads);
	for (i = 0; i < p->workload->n_jobs && !rc; i++) {
		take_alone(p, i, &l->outcomes[i]);
		rc = note_alone(k, i, &l->outcomes[i]);
	}
	free(l);
	return rc;
}

/* ---- first fit ---- */

/* GPUs with room for one more of a job, as far as is known; that with the least load first. */
struct places {
	uint32_t n, gpus[COT_PLAN_GPUS_MAX];
	struct cot_plan_mix mixes[COT_PLAN_GPUS_MAX];
	double loads[COT_PLAN_GPUS_MAX];
};

static void add_place(struct places *l, uint32_t gpu, const struct cot_plan_mix *mix, double load)
{
	uint32_t i = l->n++;

	for (; i && l->loads[i - 1] > load; i--) {
		l->gpus[i] = l->gpus[i - 1];
		l->mixes[i] = l->mixes[i - 1];
		l->loads[i] = l->loads[i - 1];
	}
	l->gpus[i] = gpu;
	l->mixes[i] = *mix;
	l->loads[i] = load;
}

/*
 * The first such GPU, but for `except`, where one more of the job does fit; n_gpus: none. While
 * there are other GPUs to begin with, only a few are tried.
 */
static int find_place(struct cot_pack *k, uint32_t job, uint32_t except, uint32_t *ret_gpu)
{
	struct cot_plan_mix mix;
	struct cot_fleet *p = k->plan;
	struct places l = {.n = 0};
	uint32_t i, which;
	int rc;

	for (i = 0; i < p->n_gpus; i++) {
		if (i == except || p->gpus[i].n[job] == UINT8_MAX)
			continue;
		mix = p->gpus[i];
		mix.n[job]++;
		if (!cot_pack_is_hopeless(k, &mix))
			add_place(&l, i, &mix, cot_pack_load(k, &mix));
	}
	*ret_gpu = p->n_gpus;
	if (p->n_gpus < p->max_gpus && l.n > TRIES_MAX)
		l.n = TRIES_MAX;
	if (!l.n)
		return 0;
	rc = cot_pack_first(k, l.mixes, l.n, &which);
	if (!rc && which < l.n)
		*ret_gpu = l.gpus[which];
	return rc;
}

/* On a GPU that has programs, or on a new one. */
static int place(struct cot_pack *k, uint32_t job, bool *ret_placed)
{
	struct cot_fleet *p = k->plan;
	const struct cot_plan_mix alone = only(job);
	uint32_t gpu, which = 0;
	int rc = find_place(k, job, COT_PLAN_GPUS_MAX, &gpu);

	*ret_placed = false;
	if (!rc && gpu == p->n_gpus && p->n_gpus < p->max_gpus) {
		rc = cot_pack_first(k, &alone, 1, &which);
		p->n_gpus += !rc && !which;
	}
	if (rc || gpu == p->n_gpus)
		return rc;
	p->gpus[gpu].n[job]++;
	p->n_placed++;
	*ret_placed = true;
	return 0;
}

static void sort(const struct cot_fleet *p, uint32_t order[COT_WORKLOAD_JOBS_MAX])
{
	uint32_t n = p->workload->n_jobs, i, j;

	for (i = 0; i < n; i++) {
		for (j = i; j && p->alone[order[j - 1]].demand < p->alone[i].demand; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
}

static int place_job(struct cot_pack *k, uint32_t job)
{
	struct cot_fleet *p = k->plan;
	uint32_t count = p->workload->jobs[job].count, i;
	bool placed = true;
	int rc = 0;

	for (i = 0; i < count && placed && !rc; i++) {
		rc = place(k, job, &placed);
		p->missing[job] = count - i - placed;
	}
	return rc;
}

static int place_all(struct cot_pack *k)
{
	uint32_t order[COT_WORKLOAD_JOBS_MAX], i;
	int rc = 0;

	sort(k->plan, order);
	for (i = 0; i < k->plan->workload->n_jobs && !rc; i++)
		rc = place_job(k, order[i]);
	return rc;
}

/* ---- the search ---- */

/* A program of `job` on a GPU instead of one of `other`. */
struct exchanges {
	uint32_t n, gpus[EXCHANGES_MAX], others[EXCHANGES_MAX];
	struct cot_plan_mix mixes[EXCHANGES_MAX];
};

/* All of them, at most `*n_left`, which becomes less by as many. */
static void list_exchanges(const struct cot_fleet *p, uint32_t job, uint32_t *n_left,
			   struct exchanges *e)
{
	uint32_t gpu, other;

	e->n = 0;
	for (gpu = 0; gpu < p->n_gpus; gpu++)
		for (other = 0; other < p->workload->n_jobs && *n_left; other++) {
			if (other == job || !p->gpus[gpu].n[other])
				continue;
			e->gpus[e->n] = gpu;
			e->others[e->n] = other;
			e->mixes[e->n] = p->gpus[gpu];
			e->mixes[e->n].n[other]--;
			e->mixes[e->n++].n[job]++;
			--*n_left;
		}
}

/* Carries one out, if the other program finds a place elsewhere. */
static int exchange(struct cot_pack *k, uint32_t job, const struct exchanges *e, uint32_t which,
		    bool *ret_placed)
{
	struct cot_fleet *p = k->plan;
	uint32_t gpu = e->gpus[which], to;
	int rc = find_place(k, e->others[which], gpu, &to);

	*ret_placed = !rc && to < p->n_gpus;
	if (!*ret_placed)
		return rc;
	p->gpus[gpu] = e->mixes[which];
	p->gpus[to].n[e->others[which]]++;
	p->n_placed++;
	p->missing[job]--;
	return 0;
}

static int exchange_any(struct cot_pack *k, uint32_t job, uint32_t *n_left, bool *ret_placed)
{
	struct exchanges *e = malloc(sizeof(*e));
	uint32_t i = 0, which = 0;
	int rc = e ? 0 : -ENOMEM;

	*ret_placed = false;
	if (e)
		list_exchanges(k->plan, job, n_left, e);
	while (!rc && !*ret_placed && i < e->n) {
		rc = cot_pack_first(k, &e->mixes[i], e->n - i, &which);
		i += which;
		if (!rc && i < e->n)
			rc = exchange(k, job, e, i++, ret_placed);
	}
	/* Those behind it were not tried. */
	*n_left += !rc && *ret_placed ? e->n - i : 0;
	free(e);
	return rc;
}

static bool is_possible(const struct cot_pack *k, uint32_t job)
{
	const struct cot_plan_mix alone = only(job);
	const struct cot_plan_outcome *o = cot_pack_outcome(k, &alone);

	/* Not played alone: with others it had a place, or none was left. */
	return !o || o->kept;
}

static int exchange_for_missing(struct cot_pack *k)
{
	struct cot_fleet *p = k->plan;
	uint32_t n_left = EXCHANGES_MAX, i;
	bool placed;
	int rc = 0;

	for (i = 0; i < p->workload->n_jobs && !rc; i++) {
		placed = is_possible(k, i);
		while (p->missing[i] && placed && !rc)
			rc = exchange_any(k, i, &n_left, &placed);
	}
	return rc;
}

static uint32_t least_gpu(const struct cot_fleet *p)
{
	uint32_t least = 0, i;

	for (i = 1; i < p->n_gpus; i++)
		if (cot_plan_count(p, &p->gpus[i]) <= cot_plan_count(p, &p->gpus[least]))
			least = i;
	return least;
}

/* Moves the programs of the GPU that has fewest to others, if all of them find a place. */
static int empty_one(struct cot_pack *k, bool *ret_emptied)
{
	struct cot_fleet *p = k->plan;
	struct cot_plan_mix before[COT_PLAN_GPUS_MAX];
	uint32_t gpu = least_gpu(p), job, to = 0;
	int rc = 0;

	memcpy(before, p->gpus, sizeof(before));
	for (job = 0; job < p->workload->n_jobs && !rc && to < p->n_gpus; job++)
		while (p->gpus[gpu].n[job] && !rc && to < p->n_gpus) {
			rc = find_place(k, job, gpu, &to);
			if (rc || to == p->n_gpus)
				break;
			p->gpus[to].n[job]++;
			p->gpus[gpu].n[job]--;
		}
	*ret_emptied = !rc && !cot_plan_count(p, &p->gpus[gpu]);
	if (!*ret_emptied) {
		memcpy(p->gpus, before, sizeof(before));
		return rc;
	}
	p->n_gpus--;
	memmove(&p->gpus[gpu], &p->gpus[gpu + 1], (p->n_gpus - gpu) * sizeof(p->gpus[0]));
	return 0;
}

static int search(struct cot_pack *k)
{
	bool emptied = true;
	int rc = exchange_for_missing(k);

	while (!rc && emptied && k->plan->n_gpus > 1)
		rc = empty_one(k, &emptied);
	return rc;
}

/* ---- all ---- */

static enum cot_plan_reason reason_of(const struct cot_pack *k, uint32_t job)
{
	const struct cot_workload *w = k->plan->workload;

	if (!k->plan->missing[job])
		return COT_PLAN_PLACED;
	if (w->memory_bytes && w->jobs[job].memory_bytes > w->memory_bytes)
		return COT_PLAN_MEMORY;
	return is_possible(k, job) ? COT_PLAN_GPUS : COT_PLAN_NOT_ALONE;
}

/* Of a job without a place everyone wants to know whether it would have one alone. */
static int try_missing_alone(struct cot_pack *k)
{
	struct cot_plan_mix alone;
	uint32_t i, which;
	int rc = 0;

	for (i = 0; i < k->plan->workload->n_jobs && !rc; i++) {
		alone = only(i);
		if (k->plan->missing[i])
			rc = cot_pack_first(k, &alone, 1, &which);
	}
	return rc;
}

int cot_plan_run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	struct cot_fleet *p = data;
	struct cot_pack k = {.plan = p, .options = options};
	uint32_t i;
	int rc = play_all_alone(&k);

	(void)err;
	rc = rc ? rc : place_all(&k);
	rc = rc ? rc : try_missing_alone(&k);
	rc = rc ? rc : search(&k);
	for (i = 0; i < p->n_gpus && !rc; i++)
		p->outcomes[i] = *cot_pack_outcome(&k, &p->gpus[i]);
	for (i = 0; i < p->workload->n_jobs && !rc; i++)
		p->reasons[i] = reason_of(&k, i);
	cot_pack_finish(&k);
	return rc;
}
