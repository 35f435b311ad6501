#include "sim/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/host_scenario.h"
#include "sim/inside.h"
#include "trace/gpu.h"

#define PS_PER_NS 1000u

/* Of one run, and of all runs of an application: some seconds. */
#define RUN_INSTANTS_MAX 1000000u
#define APP_INSTANTS_MAX 10000000u
#define INSTANTS_A_STEP	 1000u

/* Time, bytes and instructions of what was seen so often. */
struct sums {
	uint32_t n;
	double ps, bytes, insts;
};

struct sweep {
	const struct cot_scenario *sc;
	const struct cot_app *app;
	struct cot_scenario *alone;
	struct cot_knowledge *k;
	uint64_t n_instants;	    /* left */
	uint16_t *tasks;	    /* the kernels of a run, one after the other */
	uint32_t n_tasks, n_quotas; /* tasks 0: too many, or none */
	/* The run that is played. */
	struct cot_sim *sim;
	uint32_t quota, n_done;
	uint64_t begin_ps, end_ps;    /* of the first kernel and of the last */
	struct cot_sim_counts counts; /* when the last kernel ended */
	/* Of an input, by kernel and quota; of a batch application by quota. */
	struct sums *kernels;
	uint64_t time_ns[COT_QUOTAS_MAX];
	struct sums runs[COT_QUOTAS_MAX];
	double run_ps[COT_QUOTAS_MAX]; /* sums of whole runs */
};

/* ---- the program ---- */

uint64_t cot_sim_sweep_size(const struct cot_app *app, uint32_t size)
{
	uint64_t bytes = 0;
	uint32_t i;

	if (size)
		return size;
	for (i = 0; i < app->program.n_steps; i++) {
		if (app->program.steps[i].kind == COT_STEP_KERNEL)
			break;
		if (app->program.steps[i].kind == COT_STEP_H2D)
			bytes += app->program.steps[i].bytes;
	}
	return bytes;
}

/* Copies behind the last kernel. */
static uint64_t out_ps(const struct sweep *s, uint32_t size)
{
	const struct cot_program *p = &s->app->program;
	uint64_t ps = 0;
	uint32_t i;

	for (i = p->n_steps; i-- > 0 && p->steps[i].kind != COT_STEP_KERNEL;)
		if (p->steps[i].kind == COT_STEP_D2H)
			ps += cot_gpu_pcie_ps(&s->sc->gpu, cot_size_scaled(p->steps[i].bytes, size,
									   s->app->full_size));
	return ps;
}

static int list_tasks(struct sweep *s)
{
	const struct cot_program *p = &s->app->program;
	uint32_t i, k;

	s->tasks = calloc(COT_QUERY_TASKS_MAX, sizeof(*s->tasks));
	s->kernels = calloc((size_t)p->n_kernels * s->n_quotas + 1, sizeof(*s->kernels));
	if (!s->tasks || !s->kernels)
		return -ENOMEM;
	for (i = 0; i < p->n_steps; i++) {
		if (p->steps[i].kind != COT_STEP_KERNEL)
			continue;
		if (p->steps[i].launches > COT_QUERY_TASKS_MAX - s->n_tasks) {
			s->n_tasks = 0;
			return 0;
		}
		for (k = 0; k < p->steps[i].launches; k++)
			s->tasks[s->n_tasks++] = (uint16_t)p->steps[i].kernel;
	}
	return 0;
}

/* ---- one run ---- */

static uint64_t to_ns(double ps)
{
	double ns = ps / PS_PER_NS;

	if (ns > (double)COT_KNOWN_NS_MAX)
		return COT_KNOWN_NS_MAX;
	return ns < 1.0 ? 1 : (uint64_t)ns;
}

static struct sums *sums_of(const struct sweep *s, uint32_t kernel, uint32_t quota)
{
	return &s->kernels[(size_t)kernel * s->n_quotas + quota];
}

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct sweep *s = arg;
	uint64_t *longest = &s->k->kernel_ns[s->quota];
	struct sums *sums;

	(void)app;
	(void)kernel;
	if (!s->n_done)
		s->begin_ps = begin_ps;
	s->end_ps = end_ps;
	if (s->app->cls == COT_CLASS_BATCH && to_ns((double)(end_ps - begin_ps)) > *longest)
		*longest = to_ns((double)(end_ps - begin_ps));
	if (s->n_done++ >= s->n_tasks)
		return;
	sums = sums_of(s, s->tasks[s->n_done - 1], s->quota);
	sums->n++;
	sums->ps += (double)(end_ps - begin_ps);
}

/* What was done since the last kernel ended is this one's. */
static void count(struct sweep *s)
{
	struct cot_sim_result r;
	struct sums *sums;

	cot_sim_result(s->sim, &r);
	if (s->n_done <= s->n_tasks) {
		sums = sums_of(s, s->tasks[s->n_done - 1], s->quota);
		sums->bytes += r.counts.bytes[0] - s->counts.bytes[0];
		sums->insts += r.counts.insts[0] - s->counts.insts[0];
	}
	s->counts = r.counts;
}

/* Counts are right between two calls of cot_sim_run() only; without counts more go into one. */
static enum cot_sim_status go_on(struct sweep *s)
{
	uint64_t n, step = s->sim->contend ? 1 : INSTANTS_A_STEP;
	enum cot_sim_status status = COT_SIM_MORE;
	uint32_t n_done;

	for (n = 0; n < RUN_INSTANTS_MAX && s->n_instants >= step && status == COT_SIM_MORE;
	     n += step) {
		n_done = s->n_done;
		status = cot_sim_run(s->sim, step);
		s->n_instants -= step;
		if (s->sim->contend && s->n_done > n_done)
			count(s);
	}
	return status;
}

/* Adds the run up. *ret_whole: it came to its end. */
static int play(struct sweep *s, uint32_t quota, bool *ret_whole)
{
	static const struct cot_sim_observer observer = {.kernel_done = kernel_done};
	enum cot_sim_status status;
	struct cot_sim_result r;
	struct sums *runs = &s->runs[quota];

	s->quota = quota;
	s->n_done = 0;
	s->counts = (struct cot_sim_counts){0};
	if (cot_sim_create(s->alone, hw_sched_find("timeslice"), &observer, s, &s->sim, NULL))
		return -ENOMEM;
	cot_sim_set_part(s->sim, 0, 0, s->k->sms[quota]);
	status = go_on(s);
	cot_sim_result(s->sim, &r);
	cot_sim_destroy(s->sim);
	*ret_whole = status == COT_SIM_DONE;
	if (r.apps[0].progress > 0.0) {
		runs->n++;
		runs->ps += (double)r.end_ps;
		runs->bytes += r.counts.bytes[0];
		runs->insts += r.counts.insts[0];
		s->run_ps[quota] += (double)r.end_ps / r.apps[0].progress;
	}
	return status == COT_SIM_NO_MEMORY ? -ENOMEM : 0;
}

/* ---- knowledge ---- */

static void set_rates(const struct sweep *s, uint32_t quota, const struct sums *sums, double ps,
		      struct cot_known_rates *ret)
{
	double cycles = sums->ps * s->sc->gpu.clock_mhz / (double)COT_PS_PER_US;
	double bytes_per_s = sums->bytes * (double)COT_PS_PER_S / sums->ps;
	double ipc_milli = 1000.0 * sums->insts / (cycles * s->k->sms[quota]);

	ret->time_ns[quota] = to_ns(ps / sums->n);
	ret->bytes_per_s[quota] =
		(uint64_t)(bytes_per_s < (double)COT_KNOWN_BYTES_MAX ? bytes_per_s
								     : (double)COT_KNOWN_BYTES_MAX);
	ret->ipc_milli[quota] = (uint32_t)ipc_milli;
}

/* The kernels of an input are others than those of another input. */
static int add_kernel(struct sweep *s, uint32_t kernel, uint32_t size, uint16_t *ret_number)
{
	char name[COT_KNOWN_NAME_MAX];
	struct cot_known_kernel *k;
	uint32_t quota;
	int r;

	(void)snprintf(name, sizeof(name), "%s", s->app->program.kernels[kernel].name);
	if (size)
		(void)snprintf(name, sizeof(name), "%s (%u)", s->app->program.kernels[kernel].name,
			       size);
	r = cot_knowledge_add_kernel(s->k, name, &k);
	if (r)
		return r;
	for (quota = 0; quota < s->n_quotas; quota++) {
		const struct sums *sums = sums_of(s, kernel, quota);

		set_rates(s, quota, sums, sums->ps, &k->rates);
	}
	*ret_number = (uint16_t)(s->k->n_kernels - 1);
	return 0;
}

static int add_tasks(struct sweep *s, struct cot_known_input *in, uint32_t size)
{
	uint32_t n_kernels = s->app->program.n_kernels, i;
	uint16_t *tasks = calloc(s->n_tasks, sizeof(*tasks));
	uint16_t *numbers = calloc(n_kernels, sizeof(*numbers));
	int r = tasks && numbers ? 0 : -ENOMEM;

	for (i = 0; !r && i < n_kernels; i++)
		if (sums_of(s, i, 0)->n)
			r = add_kernel(s, i, size, &numbers[i]);
	for (i = 0; !r && i < s->n_tasks; i++)
		tasks[i] = numbers[s->tasks[i]];
	r = r ? r : cot_knowledge_set_tasks(s->k, in, tasks, s->n_tasks);
	free(tasks);
	free(numbers);
	return r;
}

static int add_input(struct sweep *s, uint32_t size)
{
	struct cot_known_input *in;
	uint32_t quota;
	int r = cot_knowledge_add_input(s->k, cot_sim_sweep_size(s->app, size), &in);

	if (r)
		return r;
	in->requests = s->n_quotas;
	in->out_ns = out_ps(s, size) / PS_PER_NS;
	for (quota = 0; quota < s->n_quotas; quota++)
		in->time_ns[quota] = s->time_ns[quota];
	r = add_tasks(s, in, size);
	if (r == -ENOSPC)
		in->n_launches = s->n_tasks;
	return r == -ENOSPC ? 0 : r;
}

/* ---- all ---- */

static int sweep_size(struct sweep *s, uint32_t size)
{
	bool is_known = s->n_tasks > 0, is_whole;
	uint32_t quota, i;
	int r;

	for (i = 0; i < s->app->program.n_kernels * s->n_quotas; i++)
		s->kernels[i] = (struct sums){0};
	for (quota = 0; quota < s->n_quotas; quota++) {
		r = play(s, quota, &is_whole);
		if (r)
			return r;
		is_known = is_known && is_whole && s->n_done == s->n_tasks;
		s->time_ns[quota] = to_ns((double)(s->end_ps - s->begin_ps));
	}
	return is_known && s->app->cls == COT_CLASS_LATENCY ? add_input(s, size) : 0;
}

static bool is_again(const struct cot_app *app, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < i; k++)
		if (app->sizes[k] == app->sizes[i])
			return true;
	return false;
}

static int sweep_sizes(struct sweep *s)
{
	uint32_t i;
	int r = 0;

	if (!s->app->n_sizes)
		return sweep_size(s, 0);
	for (i = 0; !r && i < s->app->n_sizes; i++) {
		if (is_again(s->app, i))
			continue;
		cot_app_set_size(&s->alone->apps[0], s->app->sizes[i]);
		r = sweep_size(s, s->app->sizes[i]);
	}
	return r;
}

/* An application may do nothing for longer than a sweep looks. */
static bool is_known(const struct sweep *s)
{
	uint32_t quota;

	if (s->app->cls == COT_CLASS_LATENCY)
		return s->k->n_inputs > 0;
	for (quota = 0; quota < s->n_quotas; quota++)
		if (!s->runs[quota].n)
			return false;
	return true;
}

static int complete(struct sweep *s)
{
	uint32_t quota;

	if (!is_known(s)) {
		cot_knowledge_destroy(s->k);
		s->k = NULL;
		return 0;
	}
	for (quota = 0; s->app->cls == COT_CLASS_BATCH && quota < s->n_quotas; quota++)
		set_rates(s, quota, &s->runs[quota], s->run_ps[quota], &s->k->repeats);
	return cot_knowledge_complete(s->k);
}

static int prepare(struct sweep *s, uint32_t app)
{
	s->alone = cot_alone_make(s->sc, app);
	s->k = cot_knowledge_create();
	if (!s->alone || !s->k)
		return -ENOMEM;
	s->alone->apps[0].start_ps = 0;
	s->alone->apps[0].arrivals = (struct cot_arrivals){0};
	s->alone->stop_runs = 1;
	s->alone->stop_ps = 0;
	(void)snprintf(s->k->program, sizeof(s->k->program), "%s", s->app->name);
	(void)snprintf(s->k->gpu, sizeof(s->k->gpu), "%s", s->sc->gpu.name);
	s->k->cls = s->app->cls;
	s->k->n_quotas = s->n_quotas = cot_sim_host_scenario_quotas(&s->sc->gpu, s->k->sms);
	return list_tasks(s);
}

int cot_sim_sweep(const struct cot_scenario *sc, uint32_t app, struct cot_knowledge **ret)
{
	struct sweep s = {.sc = sc, .app = &sc->apps[app], .n_instants = APP_INSTANTS_MAX};
	int r = prepare(&s, app);

	r = r ? r : sweep_sizes(&s);
	r = r ? r : complete(&s);
	free(s.alone);
	free(s.tasks);
	free(s.kernels);
	if (r)
		cot_knowledge_destroy(s.k);
	else
		*ret = s.k;
	return r;
}
