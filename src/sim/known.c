#include "sim/known.h"

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/host_scenario.h"
#include "sim/inside.h"

#define PS_PER_NS 1000u

/* Of one run, and of all runs of an application: some seconds. */
#define RUN_INSTANTS_MAX 1000000u
#define APP_INSTANTS_MAX 10000000u
#define INSTANTS_A_STEP	 1000u

/* One run alone on a part. */
struct run {
	struct cot_sim *sim;
	uint32_t n_tasks, max_tasks;
	uint64_t *task_ps;
	double *task_bytes;
	uint64_t begin_ps, end_ps; /* of the first kernel and of the last */
	double bytes;		   /* moved so far, when the last kernel ended */
	bool is_whole;
	double ps, run_ps; /* how long it was seen; all of it, as it seems */
	struct cot_sim_counts counts;
};

struct sweep {
	const struct cot_scenario *sc;
	const struct cot_app *app;
	struct cot_scenario *alone;
	struct cot_sim_known *known;
	struct run run;
	uint64_t n_instants; /* left */
	/* By size of part, sums over the sizes of inputs. */
	struct sums {
		uint32_t n;
		double run_ps, ps, bytes, insts;
	} sums[COT_QUOTAS_MAX];
};

/* ---- one run ---- */

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct run *run = arg;

	(void)app;
	(void)kernel;
	if (!run->n_tasks)
		run->begin_ps = begin_ps;
	run->end_ps = end_ps;
	if (run->n_tasks < run->max_tasks)
		run->task_ps[run->n_tasks] = end_ps - begin_ps;
	run->n_tasks++;
}

/* What has been moved since the last kernel ended is this one's. */
static void count_bytes(struct run *run)
{
	struct cot_sim_result r;

	cot_sim_result(run->sim, &r);
	if (run->n_tasks <= run->max_tasks)
		run->task_bytes[run->n_tasks - 1] = r.counts.bytes[0] - run->bytes;
	run->bytes = r.counts.bytes[0];
}

/* Counts are right between two calls of cot_sim_run() only; without counts more go into one. */
static enum cot_sim_status go_on(struct sweep *s)
{
	struct run *run = &s->run;
	uint64_t n, step = run->sim->contend ? 1 : INSTANTS_A_STEP;
	enum cot_sim_status status = COT_SIM_MORE;
	uint32_t n_tasks;

	for (n = 0; n < RUN_INSTANTS_MAX && s->n_instants >= step && status == COT_SIM_MORE;
	     n += step) {
		n_tasks = run->n_tasks;
		status = cot_sim_run(run->sim, step);
		s->n_instants -= step;
		if (run->sim->contend && run->n_tasks > n_tasks)
			count_bytes(run);
	}
	return status;
}

static int play(struct sweep *s, uint32_t n_sms)
{
	static const struct cot_sim_observer observer = {.kernel_done = kernel_done};
	struct run *run = &s->run;
	enum cot_sim_status status;
	struct cot_sim_result r;

	run->n_tasks = 0;
	run->bytes = 0.0;
	if (cot_sim_create(s->alone, hw_sched_find("timeslice"), &observer, run, &run->sim, NULL))
		return -ENOMEM;
	cot_sim_set_part(run->sim, 0, 0, n_sms);
	status = go_on(s);
	cot_sim_result(run->sim, &r);
	cot_sim_destroy(run->sim);
	run->is_whole = status == COT_SIM_DONE;
	run->ps = (double)r.end_ps;
	run->run_ps = r.apps[0].progress > 0.0 ? (double)r.end_ps / r.apps[0].progress : 0.0;
	run->counts = r.counts;
	return status == COT_SIM_NO_MEMORY ? -ENOMEM : 0;
}

/* ---- plans ---- */

static uint32_t count_tasks(const struct cot_app *app)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < app->program.n_steps; i++)
		if (app->program.steps[i].kind == COT_STEP_KERNEL)
			n += app->program.steps[i].launches;
	return n <= COT_QUERY_TASKS_MAX ? (uint32_t)n : 0;
}

static uint64_t plan_ns(uint64_t ps)
{
	uint64_t ns = ps / PS_PER_NS;

	return ns < 1 ? 1 : ns < COT_PLAN_NS_MAX ? ns : COT_PLAN_NS_MAX;
}

/* The cells of a plan: its queries, its tasks, and what these move. */
static uint64_t *query_cells(const struct sweep *s, uint32_t i)
{
	uint64_t n = s->known->n_quotas;

	return s->known->cells + i * (n + 2 * n * s->run.max_tasks);
}

static void fill_plan(struct sweep *s, uint32_t i, uint32_t quota)
{
	const struct run *run = &s->run;
	uint32_t n = s->known->n_quotas, k;
	uint64_t *query_ns = query_cells(s, i), *task_ns = query_ns + n;
	uint64_t *bytes_per_s = task_ns + (uint64_t)n * run->max_tasks;

	query_ns[quota] = plan_ns(run->end_ps - run->begin_ps);
	/* Larger parts are no worse: what fits them less well may leave SMs idle. */
	if (quota && query_ns[quota] > query_ns[quota - 1])
		query_ns[quota] = query_ns[quota - 1];
	for (k = 0; k < run->max_tasks; k++) {
		task_ns[k * n + quota] = plan_ns(run->task_ps[k]);
		bytes_per_s[k * n + quota] = (uint64_t)(run->task_bytes[k] * (double)COT_PS_PER_S /
							(double)(run->task_ps[k] + 1));
	}
}

static void make_plan(struct sweep *s, uint32_t i)
{
	struct cot_sim_known *known = s->known;
	uint32_t n = known->n_quotas, n_tasks = s->run.max_tasks;
	uint64_t *cells = query_cells(s, i);

	known->sizes[known->n_plans] = s->alone->apps[0].n_sizes ? s->alone->apps[0].sizes[0] : 0;
	known->plans[known->n_plans++] = (struct cot_plan){
		.n_quotas = n,
		.n_tasks = n_tasks,
		.sms = known->sms,
		.query_ns = cells,
		.task_ns = cells + n,
		.task_bytes_per_s =
			s->run.counts.bytes[0] > 0.0 ? cells + n + (uint64_t)n * n_tasks : NULL,
	};
}

/* ---- all ---- */

static void add_up(struct sweep *s, uint32_t quota)
{
	const struct run *run = &s->run;
	struct sums *sums = &s->sums[quota];

	if (!(run->run_ps > 0.0))
		return;
	sums->n++;
	sums->run_ps += run->run_ps;
	sums->ps += run->ps;
	sums->bytes += run->counts.bytes[0];
	sums->insts += run->counts.insts[0];
}

static struct cot_prediction row_of(const struct sweep *s, uint32_t quota)
{
	const struct sums *sums = &s->sums[quota];
	uint32_t sms = s->known->sms[quota];
	double cycles = sums->ps * s->sc->gpu.clock_mhz / (double)COT_PS_PER_US;

	return (struct cot_prediction){
		.sms = sms,
		.duration_ns = plan_ns((uint64_t)(sums->run_ps / sums->n)),
		.bytes_per_s = (uint64_t)(sums->bytes * (double)COT_PS_PER_S / sums->ps),
		.ipc_milli = (uint32_t)(1000.0 * sums->insts / (cycles * sms)),
	};
}

/* All of them, or none: an application may do nothing for longer than a sweep looks. */
static void make_rows(struct sweep *s)
{
	uint32_t quota;

	for (quota = 0; quota < s->known->n_quotas; quota++)
		if (!s->sums[quota].n)
			return;
	for (quota = 0; quota < s->known->n_quotas; quota++)
		s->known->rows[quota] = row_of(s, quota);
	s->known->n_rows = s->known->n_quotas;
}

/* The size number `i` on all parts. */
static int sweep_size(struct sweep *s, uint32_t i)
{
	bool is_plan = s->run.max_tasks > 0;
	uint32_t quota;

	for (quota = 0; quota < s->known->n_quotas; quota++) {
		int r = play(s, s->known->sms[quota]);

		if (r)
			return r;
		add_up(s, quota);
		is_plan = is_plan && s->run.is_whole && s->run.n_tasks == s->run.max_tasks;
		if (is_plan)
			fill_plan(s, i, quota);
	}
	if (is_plan)
		make_plan(s, i);
	return 0;
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
	uint32_t n = s->app->n_sizes ? s->app->n_sizes : 1, i;
	int r = 0;

	for (i = 0; !r && i < n; i++) {
		if (s->app->n_sizes && is_again(s->app, i))
			continue;
		cot_app_set_size(&s->alone->apps[0], s->app->sizes[i]);
		r = sweep_size(s, i);
	}
	return r;
}

static int prepare(struct sweep *s, uint32_t app)
{
	uint32_t n_sizes = s->app->n_sizes ? s->app->n_sizes : 1, n;

	s->alone = cot_alone_make(s->sc, app);
	s->known = calloc(1, sizeof(*s->known));
	if (!s->alone || !s->known)
		return -ENOMEM;
	s->alone->apps[0].start_ps = 0;
	s->alone->apps[0].arrivals = (struct cot_arrivals){0};
	s->alone->stop_runs = 1;
	s->alone->stop_ps = 0;
	s->known->n_quotas = cot_sim_host_scenario_quotas(&s->sc->gpu, s->known->sms);
	n = s->app->cls == COT_CLASS_LATENCY ? count_tasks(s->app) : 0;
	if (!n)
		return 0;
	s->run.max_tasks = n;
	s->run.task_ps = calloc(n, sizeof(*s->run.task_ps));
	s->run.task_bytes = calloc(n, sizeof(*s->run.task_bytes));
	s->known->cells = calloc((size_t)n_sizes * s->known->n_quotas * (1 + 2 * (size_t)n),
				 sizeof(*s->known->cells));
	return s->run.task_ps && s->run.task_bytes && s->known->cells ? 0 : -ENOMEM;
}

int cot_sim_known_sweep(const struct cot_scenario *sc, uint32_t app,
			struct cot_sim_known **ret_known)
{
	struct sweep s = {.sc = sc, .app = &sc->apps[app], .n_instants = APP_INSTANTS_MAX};
	int r = prepare(&s, app);

	r = r ? r : sweep_sizes(&s);
	if (!r)
		make_rows(&s);
	free(s.alone);
	free(s.run.task_ps);
	free(s.run.task_bytes);
	if (r)
		cot_sim_known_destroy(s.known);
	else
		*ret_known = s.known;
	return r;
}

void cot_sim_known_destroy(struct cot_sim_known *known)
{
	if (!known)
		return;
	free(known->cells);
	free(known);
}

const struct cot_plan *cot_sim_known_plan(const struct cot_sim_known *known, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < known->n_plans; i++)
		if (known->sizes[i] == size)
			return &known->plans[i];
	return NULL;
}
