/* Plays a mix: all programs together on one GPU, under the workload's policy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/host.h"
#include "study/plan/plan.h"

#define INSTANTS_A_LOOK 2000u
/* Until the policy has settled, and in the time that counts: at most so many for each second that
 * is wanted. So a mix takes a quarter of a second or less, whatever is in it. */
#define INSTANTS_A_SECOND 16000.0
/* Of a long list so many mixes are played that each gets less. */
#define INSTANTS_OF_MANY 11000.0
#define MANY_PROGRAMS	 32u
/* Batch programs come later: the policy sees requests alone first. */
#define BATCH_START_PS COT_PS_PER_S
/* The time that counts has so many requests of each program, if that takes no longer than: */
#define REQUESTS_LEAST 200.0
#define SECONDS_MOST   60.0
/* Twice as many as may miss the target, and some more: then it is not played to its end. */
#define MISSED_LEAST 10.0

/* What the SMs did. */
struct activity {
	uint64_t last_ps, active_ps; /* sum over SMs */
	uint32_t n_active;
	bool active[COT_MAX_SMS];
};

struct play {
	const struct cot_fleet *plan;
	const struct cot_study_options *options;
	struct cot_scenario sc;
	uint32_t jobs[COT_MAX_APPS]; /* of the apps */
	uint64_t alone_p99_ps[COT_MAX_APPS];
	struct activity activity;
	struct cot_sim_result before, after;
};

/* ---- the scenario ---- */

uint32_t cot_plan_count(const struct cot_fleet *p, const struct cot_plan_mix *m)
{
	uint32_t n = 0, i;

	for (i = 0; i < p->workload->n_jobs; i++)
		n += m->n[i];
	return n;
}

uint64_t cot_plan_memory(const struct cot_fleet *p, const struct cot_plan_mix *m)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < p->workload->n_jobs; i++)
		bytes += m->n[i] * p->workload->jobs[i].memory_bytes;
	return bytes;
}

const char *cot_plan_name(const struct cot_fleet *p, uint32_t job, uint32_t number,
			  char ret_name[COT_NAME_MAX])
{
	const char *name = p->workload->jobs[job].app.name;

	if (number == 1)
		(void)snprintf(ret_name, COT_NAME_MAX, "%s", name);
	else
		(void)snprintf(ret_name, COT_NAME_MAX, "%s.%u", name, (unsigned)number);
	return ret_name;
}

static void add_app(struct play *y, uint32_t job, uint32_t number)
{
	uint32_t i = y->sc.n_apps++;
	struct cot_app *app = &y->sc.apps[i];

	*app = y->plan->workload->jobs[job].app;
	app->context = i;
	(void)cot_plan_name(y->plan, job, number, app->name);
	if (app->cls == COT_CLASS_BATCH)
		app->start_ps = BATCH_START_PS;
	y->jobs[i] = job;
	y->alone_p99_ps[i] = (uint64_t)(y->plan->alone[job].p99_us * (double)COT_PS_PER_US);
}

static double seconds_for(const struct play *y)
{
	double seconds = y->plan->seconds, own, most = SECONDS_MOST;
	uint32_t i;

	if (most < seconds)
		most = seconds;
	for (i = 0; i < y->sc.n_apps; i++) {
		if (!(y->sc.apps[i].arrivals.per_s > 0))
			continue;
		own = REQUESTS_LEAST / y->sc.apps[i].arrivals.per_s;
		seconds = own > seconds ? own : seconds;
	}
	return seconds < most ? seconds : most;
}

static bool is_counted(const struct cot_scenario *sc)
{
	uint32_t i, k;

	for (i = 0; i < sc->n_apps; i++)
		for (k = 0; k < sc->apps[i].program.n_kernels; k++)
			if (sc->apps[i].program.kernels[k].work.insts)
				return true;
	return false;
}

/* ---- the run ---- */

static void look(struct activity *a, uint64_t t_ps)
{
	a->active_ps += a->n_active * (t_ps - a->last_ps);
	a->last_ps = t_ps;
}

static void sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		       uint32_t app, const char *kernel)
{
	struct activity *a = arg;
	bool active = activity != COT_SM_IDLE && activity != COT_SM_GATED;

	(void)app;
	(void)kernel;
	if (active == a->active[sm])
		return;
	look(a, t_ps);
	a->active[sm] = active;
	a->n_active = active ? a->n_active + 1 : a->n_active - 1;
}

/* Whether so many requests took too long already that the rest makes no difference. */
static bool misses(const struct play *y, const struct cot_sim_host *h, double seconds)
{
	struct cot_sim_host_times t;
	uint32_t i;

	for (i = 0; i < y->sc.n_apps; i++) {
		cot_sim_host_times(h, i, &t);
		if (t.limit_ps != UINT64_MAX &&
		    (double)t.n_missed > MISSED_LEAST + seconds * y->sc.apps[i].arrivals.per_s / 50)
			return true;
	}
	return false;
}

/* Until a time, or as far as it may. `seconds`: of the time that counts; 0: it does not count. */
static int run_until(struct play *y, struct cot_sim_host *h, uint64_t t_ps, double seconds)
{
	struct cot_sim *sim = cot_sim_host_sim(h);
	enum cot_sim_status status = COT_SIM_MORE;
	bool many = y->plan->workload->n_programs > MANY_PROGRAMS;
	uint32_t most =
		(uint32_t)((many ? INSTANTS_OF_MANY : INSTANTS_A_SECOND) * y->plan->seconds);
	uint32_t n = 0;

	while (status == COT_SIM_MORE && n < most && cot_sim_now_ps(sim) < t_ps) {
		status = cot_sim_host_run(h, 1);
		if (++n % INSTANTS_A_LOOK)
			continue;
		if (y->options->stop(y->options->arg))
			return -EINTR;
		if (seconds > 0 && misses(y, h, seconds))
			break;
	}
	if (status == COT_SIM_NO_MEMORY)
		return -ENOMEM;
	return status == COT_SIM_STALLED ? -EDEADLK : 0;
}

/* What is before is for the policy to settle. */
static int run(struct play *y, struct cot_sim_host *h)
{
	struct cot_sim *sim = cot_sim_host_sim(h);
	double seconds = seconds_for(y);
	uint64_t ps = (uint64_t)(seconds * (double)COT_PS_PER_S);
	uint64_t settle_ps = (uint64_t)(y->plan->seconds * (double)COT_PS_PER_S);
	int rc = run_until(y, h, settle_ps + BATCH_START_PS, 0);

	if (rc)
		return rc;
	cot_sim_result(sim, &y->before);
	look(&y->activity, cot_sim_now_ps(sim));
	y->activity.active_ps = 0;
	rc = cot_sim_host_forget_times(h);
	rc = rc ? rc : run_until(y, h, cot_sim_now_ps(sim) + ps, seconds);
	if (rc)
		return rc;
	cot_sim_result(sim, &y->after);
	look(&y->activity, cot_sim_now_ps(sim));
	return 0;
}

/* ---- what came of it ---- */

static void judge_requests(const struct play *y, const struct cot_sim_host_times *t,
			   struct cot_plan_program *p)
{
	p->target = (double)t->limit_ps / COT_PS_PER_US;
	p->margin = p->n_responses ? 1 - p->p99_us / p->target : -1;
	p->kept = p->n_responses && t->n_missed * 100 <= t->n_responses &&
		  p->p99_us <= p->target * (1 - y->plan->margin);
}

static void judge_rate(const struct cot_app *app, struct cot_plan_program *p)
{
	p->target = app->target.amount / 1e3;
	p->margin = p->part / p->target - 1;
	p->kept = p->part >= p->target;
}

static void take_program(const struct play *y, const struct cot_sim_host *h, uint32_t i,
			 double seconds, struct cot_plan_program *p)
{
	const struct cot_app *app = &y->sc.apps[i];
	const struct cot_plan_alone *alone = &y->plan->alone[y->jobs[i]];
	struct cot_sim_host_times t;
	uint32_t j;

	cot_sim_host_times(h, i, &t);
	p->job = y->jobs[i];
	p->number = 1;
	for (j = 0; j < i; j++)
		p->number += y->jobs[j] == p->job;
	p->n_responses = t.n_responses;
	p->p50_us = t.n_responses ? t.response_p50_ps / COT_PS_PER_US : 0;
	p->p99_us = t.n_responses ? t.response_p99_ps / COT_PS_PER_US : 0;
	p->runs_per_s = (y->after.apps[i].progress - y->before.apps[i].progress) / seconds;
	p->part = alone->runs_per_s > 0 ? p->runs_per_s / alone->runs_per_s : 1;
	p->kept = true;
	if (cot_target_is_of_requests(app->target) && t.limit_ps != UINT64_MAX)
		judge_requests(y, &t, p);
	else if (app->target.kind == COT_TARGET_RATE)
		judge_rate(app, p);
}

static double model_watts(const struct play *y, double seconds)
{
	const struct cot_gpu_power *w = &y->sc.gpu.power;
	double active = (double)y->activity.active_ps / COT_PS_PER_S / seconds;

	if (y->after.counted)
		return (y->after.counts.energy_j - y->before.counts.energy_j) / seconds;
	return w->base_w + w->active_w * active + w->idle_w * (y->sc.gpu.n_sms - active);
}

static void take(const struct play *y, const struct cot_sim_host *h, struct cot_plan_outcome *o)
{
	uint32_t i;

	*o = (struct cot_plan_outcome){.kept = true, .watts_all = true, .n_programs = y->sc.n_apps};
	o->seconds = (double)(y->after.end_ps - y->before.end_ps) / COT_PS_PER_S;
	o->watts = model_watts(y, o->seconds);
	for (i = 0; i < y->sc.n_apps; i++) {
		const struct cot_plan_alone *alone = &y->plan->alone[y->jobs[i]];

		take_program(y, h, i, o->seconds, &o->programs[i]);
		o->kept &= o->programs[i].kept;
		o->watts += alone->more_watts * o->programs[i].part;
		o->watts_all &= alone->watts_known;
	}
}

static int begin(struct play *y, const struct cot_plan_mix *m, struct cot_sim_host **ret)
{
	static const struct cot_sim_observer observer = {.sm_changed = sm_changed};
	const struct cot_sim_host_options options = {.alone_p99_ps = y->alone_p99_ps};
	const struct cot_workload *w = y->plan->workload;
	struct cot_error err;
	uint32_t i, n;

	y->sc = w->base;
	for (i = 0; i < w->n_jobs; i++)
		for (n = 0; n < m->n[i]; n++)
			add_app(y, i, n + 1);
	y->sc.stop_ps = (uint64_t)(2 * seconds_for(y) * (double)COT_PS_PER_S) + 2 * BATCH_START_PS;
	return cot_sim_host_create(&y->sc, &options, is_counted(&y->sc) ? NULL : &observer,
				   &y->activity, ret, &err);
}

int cot_plan_play(const struct cot_fleet *p, const struct cot_plan_mix *m,
		  const struct cot_study_options *options, struct cot_plan_outcome *ret)
{
	struct play *y = calloc(1, sizeof(*y));
	struct cot_sim_host *h = NULL;
	int rc = -ENOMEM;

	if (y) {
		y->plan = p;
		y->options = options;
		rc = begin(y, m, &h);
	}
	rc = rc ? rc : run(y, h);
	if (!rc)
		take(y, h, ret);
	cot_sim_host_destroy(h);
	free(y);
	return rc;
}
