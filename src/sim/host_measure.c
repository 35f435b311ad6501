#include "sim/host_measure.h"

#include <errno.h>

#include "base/units.h"

#define PS_PER_NS 1000u

/* A response that takes longer misses the target; UINT64_MAX: none can. */
static uint64_t limit_ps(const struct cot_app *app, uint64_t alone_p99_ps)
{
	if (app->target.kind == COT_TARGET_P99)
		return app->target.amount * COT_PS_PER_US;
	if (app->target.kind == COT_TARGET_SLOWDOWN && alone_p99_ps)
		return (uint64_t)(((cot_u128)alone_p99_ps * app->target.amount) / 1000);
	return UINT64_MAX;
}

/* ---- life ---- */

static int init_times(struct host_measure *a)
{
	a->n_missed = 0;
	a->runs = cot_hist_create();
	a->responses = cot_hist_create();
	a->services = cot_hist_create();
	return a->runs && a->responses && a->services ? 0 : -ENOMEM;
}

static void finish_times(struct host_measure *a)
{
	cot_hist_destroy(a->runs);
	cot_hist_destroy(a->responses);
	cot_hist_destroy(a->services);
}

static int init_app(struct host_measures *m, uint32_t i)
{
	struct host_measure *a = &m->apps[i];
	const struct cot_app *app = &m->sc->apps[i];

	a->since_ps = UINT64_MAX;
	a->limit_ps = limit_ps(app, 0);
	if (init_times(a))
		return -ENOMEM;
	cot_meter_init(&a->launches);
	if (!m->wanted || app->cls != COT_CLASS_LATENCY)
		return 0;
	a->requests = cot_requests_create();
	if (!a->requests)
		return -ENOMEM;
	if (app->target.kind == COT_TARGET_P99)
		cot_requests_set_target(a->requests, app->target.amount * COT_NS_PER_US);
	return 0;
}

int cot_sim_host_measure_init(struct host_measures *m, const struct cot_scenario *sc,
			      const struct cot_policy_ops *policy,
			      void (*send)(void *arg, struct cot_event ev), void *arg)
{
	uint32_t i;

	*m = (struct host_measures){
		.sc = sc, .wanted = policy && policy->measures, .send = send, .arg = arg};
	for (i = 0; i < sc->n_apps; i++)
		if (init_app(m, i))
			return -ENOMEM;
	return 0;
}

void cot_sim_host_measure_finish(struct host_measures *m)
{
	uint32_t i;

	for (i = 0; i < COT_MAX_APPS; i++) {
		finish_times(&m->apps[i]);
		cot_requests_destroy(m->apps[i].requests);
	}
}

int cot_sim_host_measure_forget(struct host_measures *m)
{
	uint32_t i;

	for (i = 0; i < m->sc->n_apps; i++) {
		finish_times(&m->apps[i]);
		if (init_times(&m->apps[i]))
			return -ENOMEM;
	}
	return 0;
}

/* ---- in ---- */

void cot_sim_host_measure_limits(struct host_measures *m, const uint64_t *alone_p99_ps)
{
	uint32_t i;

	for (i = 0; i < m->sc->n_apps; i++)
		m->apps[i].limit_ps = limit_ps(&m->sc->apps[i], alone_p99_ps[i]);
}

void cot_sim_host_measure_start(struct host_measures *m, const struct cot_sim *sim)
{
	m->sim = sim;
}

static void add_response(struct host_measures *m, uint32_t app, uint64_t now_ps,
			 uint64_t response_ps, uint64_t service_ps)
{
	struct host_measure *a = &m->apps[app];

	cot_hist_add(a->responses, response_ps);
	cot_hist_add(a->services, service_ps);
	a->n_missed += response_ps > a->limit_ps;
	if (a->requests)
		cot_requests_add(a->requests, now_ps / PS_PER_NS, response_ps / PS_PER_NS,
				 service_ps / PS_PER_NS);
}

static bool has_arrivals(const struct host_measures *m, uint32_t app)
{
	return m->sc->apps[app].arrivals.per_s > 0.0;
}

void cot_sim_host_measure_run(struct host_measures *m, uint32_t app, uint64_t begin_ps,
			      uint64_t end_ps)
{
	cot_hist_add(m->apps[app].runs, end_ps - begin_ps);
	if (has_arrivals(m, app))
		add_response(m, app, end_ps, end_ps - cot_sim_app_arrived_ps(m->sim, app),
			     end_ps - begin_ps);
}

void cot_sim_host_measure_look(struct host_measures *m)
{
	uint64_t now_ps = cot_sim_now_ps(m->sim);
	uint32_t i;

	for (i = 0; i < m->sc->n_apps; i++) {
		struct host_measure *a = &m->apps[i];
		bool active = !has_arrivals(m, i) && cot_sim_app_active(m->sim, i);

		if (active == (a->since_ps != UINT64_MAX))
			continue;
		if (!active)
			add_response(m, i, now_ps, now_ps - a->since_ps, now_ps - a->since_ps);
		a->since_ps = active ? now_ps : UINT64_MAX;
	}
}

void cot_sim_host_measure_launch(struct host_measures *m, uint32_t app, uint64_t now_ps)
{
	cot_meter_add(&m->apps[app].launches, now_ps / PS_PER_NS, 1);
}

/* ---- out ---- */

static void send_windows(struct host_measures *m, uint32_t app, uint64_t now_ns)
{
	struct cot_requests_window w;

	while (m->apps[app].requests && cot_requests_take(m->apps[app].requests, now_ns, &w))
		m->send(m->arg, (struct cot_event){.type = COT_EV_WINDOW,
						   .id = app + 1,
						   .window = {.horizon = w.horizon,
							      .source = COT_REQUESTS_MARKED,
							      .response = w.response,
							      .service = w.service}});
}

static void send_launches(struct host_measures *m, uint32_t app, uint64_t now_ns)
{
	struct cot_launches l = {0};

	if (cot_meter_take(&m->apps[app].launches, now_ns, &l.n, &l.span_ns))
		m->send(m->arg,
			(struct cot_event){.type = COT_EV_PROGRESS, .id = app + 1, .launches = l});
}

void cot_sim_host_measure_send(struct host_measures *m, uint64_t now_ps)
{
	uint32_t i;

	for (i = 0; m->wanted && i < m->sc->n_apps; i++) {
		send_windows(m, i, now_ps / PS_PER_NS);
		send_launches(m, i, now_ps / PS_PER_NS);
	}
}

uint64_t cot_sim_host_measure_due_ps(const struct host_measures *m)
{
	uint64_t due_ns = COT_NEVER;
	uint32_t i;

	for (i = 0; m->wanted && i < m->sc->n_apps; i++) {
		const struct host_measure *a = &m->apps[i];
		uint64_t windows_ns = a->requests ? cot_requests_due_ns(a->requests) : COT_NEVER;

		due_ns = windows_ns < due_ns ? windows_ns : due_ns;
		due_ns = a->launches.due_ns < due_ns ? a->launches.due_ns : due_ns;
	}
	return due_ns < UINT64_MAX / PS_PER_NS ? due_ns * PS_PER_NS : UINT64_MAX;
}

double cot_sim_level(unsigned level)
{
	return level < COT_SIM_LEVELS - 1 ? level / 100.0 : 0.999;
}

static void levels(const struct cot_hist *h, double *ret_ps)
{
	double q[COT_SIM_LEVELS];
	unsigned i;

	for (i = 0; i < COT_SIM_LEVELS; i++)
		q[i] = cot_sim_level(i);
	cot_hist_quantiles(h, q, COT_SIM_LEVELS, ret_ps);
}

void cot_sim_host_measure_times(const struct host_measures *m, uint32_t app,
				struct cot_sim_host_times *ret_times)
{
	const struct host_measure *a = &m->apps[app];

	*ret_times = (struct cot_sim_host_times){
		.n_runs = cot_hist_count(a->runs),
		.n_responses = cot_hist_count(a->responses),
		.n_missed = a->n_missed,
		.limit_ps = a->limit_ps,
		.run_p50_ps = cot_hist_quantile(a->runs, 0.50),
		.run_p99_ps = cot_hist_quantile(a->runs, 0.99),
		.response_p50_ps = cot_hist_quantile(a->responses, 0.50),
		.response_p95_ps = cot_hist_quantile(a->responses, 0.95),
		.response_p99_ps = cot_hist_quantile(a->responses, 0.99),
		.response_max_ps = cot_hist_max(a->responses),
		.service_p50_ps = cot_hist_quantile(a->services, 0.50),
		.service_p99_ps = cot_hist_quantile(a->services, 0.99),
	};
	levels(a->responses, ret_times->response_levels_ps);
}

/* ---- without a host ---- */

static void run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	(void)run;
	cot_sim_host_measure_run(arg, app, begin_ps, end_ps);
}

static void instant_done(void *arg, uint64_t t_ps)
{
	(void)t_ps;
	cot_sim_host_measure_look(arg);
}

const struct cot_sim_observer cot_sim_measures_observer = {
	.run_done = run_done,
	.instant_done = instant_done,
};
