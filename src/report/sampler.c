#include "report/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define FIRST_WIDTH_PS 1000ull	 /* 1 ns */
#define LEAD_CHANGES   4u	 /* kept from before the first preemption */
#define FIRST_BOUND_PS 100000ull /* 0.1 us */

struct owner {
	uint32_t app;
	uint64_t since_ps;
	bool preempting;
	uint64_t preempt_begin_ps;
};

struct cot_sampler {
	uint32_t n_apps, n_sms;
	uint64_t width_ps, end_ps;
	struct owner sms[COT_MAX_SMS];
	uint64_t latencies[COT_SAMPLER_LATENCIES];
	uint32_t n_held[COT_MAX_APPS];
	uint32_t n_changes, max_changes;
	bool changed, incomplete;
	bool preempted; /* there was a preemption, so the changes around it are kept */
	uint64_t change_ps[COT_SAMPLER_CHANGES];
	uint16_t change_sms[COT_SAMPLER_CHANGES][COT_MAX_APPS];
	uint64_t held_ps[]; /* [slice * n_apps + app]: SM-time */
};

struct cot_sampler *cot_sampler_create(const struct cot_scenario *sc)
{
	size_t cells = (size_t)COT_SAMPLER_SLICES * sc->n_apps;
	struct cot_sampler *s = calloc(1, sizeof(*s) + cells * sizeof(uint64_t));
	uint32_t i;

	if (!s)
		return NULL;
	s->n_apps = sc->n_apps;
	s->n_sms = sc->gpu.n_sms;
	s->width_ps = FIRST_WIDTH_PS;
	/* As many as a picture can show: SMs that change hands one by one need more. */
	s->max_changes = 120 + 8 * s->n_sms;
	if (s->max_changes > COT_SAMPLER_CHANGES)
		s->max_changes = COT_SAMPLER_CHANGES;
	for (i = 0; i < s->n_sms; i++)
		s->sms[i].app = COT_NO_APP;
	return s;
}

void cot_sampler_destroy(struct cot_sampler *s)
{
	free(s);
}

static void double_width(struct cot_sampler *s)
{
	uint32_t slice, app;

	for (slice = 0; slice < COT_SAMPLER_SLICES / 2; slice++)
		for (app = 0; app < s->n_apps; app++)
			s->held_ps[slice * s->n_apps + app] =
				s->held_ps[2 * slice * s->n_apps + app] +
				s->held_ps[(2 * slice + 1) * s->n_apps + app];
	memset(s->held_ps + (size_t)(COT_SAMPLER_SLICES / 2) * s->n_apps, 0,
	       (size_t)(COT_SAMPLER_SLICES / 2) * s->n_apps * sizeof(uint64_t));
	s->width_ps *= 2;
}

static void reach(struct cot_sampler *s, uint64_t t_ps)
{
	while (t_ps > s->width_ps * COT_SAMPLER_SLICES)
		double_width(s);
}

/* Adds [begin, end) of one SM to the slices that it crosses. */
static void hold(struct cot_sampler *s, uint32_t app, uint64_t begin_ps, uint64_t end_ps)
{
	reach(s, end_ps);
	while (begin_ps < end_ps) {
		uint64_t slice = begin_ps / s->width_ps;
		uint64_t slice_end_ps = (slice + 1) * s->width_ps;
		uint64_t until_ps = slice_end_ps < end_ps ? slice_end_ps : end_ps;

		s->held_ps[slice * s->n_apps + app] += until_ps - begin_ps;
		begin_ps = until_ps;
	}
}

static void count_latency(struct cot_sampler *s, uint64_t latency_ps)
{
	unsigned i = 0;

	while (i + 1 < COT_SAMPLER_LATENCIES && latency_ps >= cot_sampler_latency_bound_ps(i))
		i++;
	s->latencies[i]++;
}

/* Forgets all but the last n changes. */
static void keep_last_changes(struct cot_sampler *s, uint32_t n)
{
	uint32_t drop;

	if (s->n_changes <= n)
		return;
	drop = s->n_changes - n;
	memmove(s->change_ps, s->change_ps + drop, n * sizeof(s->change_ps[0]));
	memmove(s->change_sms, s->change_sms + drop, n * sizeof(s->change_sms[0]));
	s->n_changes = n;
	s->incomplete = true;
}

static void on_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
			  uint32_t app, const char *kernel)
{
	struct cot_sampler *s = arg;
	struct owner *o = &s->sms[sm];
	bool preempting = activity == COT_SM_SAVE || activity == COT_SM_DRAIN;

	(void)kernel;
	if (o->preempting && !preempting)
		count_latency(s, t_ps - o->preempt_begin_ps);
	if (!o->preempting && preempting)
		o->preempt_begin_ps = t_ps;
	o->preempting = preempting;
	if (preempting && !s->preempted) {
		s->preempted = true;
		keep_last_changes(s, LEAD_CHANGES);
	}
	if (activity == COT_SM_IDLE)
		app = COT_NO_APP;
	if (app == o->app)
		return;
	if (o->app != COT_NO_APP) {
		hold(s, o->app, o->since_ps, t_ps);
		s->n_held[o->app]--;
	}
	if (app != COT_NO_APP)
		s->n_held[app]++;
	o->app = app;
	o->since_ps = t_ps;
	s->changed = true;
}

static void on_instant_done(void *arg, uint64_t t_ps)
{
	struct cot_sampler *s = arg;
	uint32_t app;

	if (!s->changed)
		return;
	s->changed = false;
	if (s->n_changes == s->max_changes) {
		s->incomplete = true;
		if (s->preempted)
			return;
		keep_last_changes(s, s->max_changes / 2);
	}
	for (app = 0; app < s->n_apps; app++)
		s->change_sms[s->n_changes][app] = (uint16_t)s->n_held[app];
	s->change_ps[s->n_changes++] = t_ps;
}

const struct cot_sim_observer cot_sampler_observer = {
	.sm_changed = on_sm_changed,
	.instant_done = on_instant_done,
};

void cot_sampler_finish(struct cot_sampler *s, uint64_t end_ps)
{
	uint32_t i;

	reach(s, end_ps);
	for (i = 0; i < s->n_sms; i++) {
		if (s->sms[i].app != COT_NO_APP)
			hold(s, s->sms[i].app, s->sms[i].since_ps, end_ps);
		s->sms[i].app = COT_NO_APP;
	}
	s->end_ps = end_ps;
}

uint32_t cot_sampler_n_slices(const struct cot_sampler *s)
{
	return (uint32_t)cot_div_up(s->end_ps, s->width_ps);
}

double cot_sampler_slice_us(const struct cot_sampler *s)
{
	return cot_us_from_ps(s->width_ps);
}

double cot_sampler_mean_sms(const struct cot_sampler *s, uint32_t slice, uint32_t app)
{
	uint64_t begin_ps = slice * s->width_ps, length_ps = s->width_ps;

	if (begin_ps + length_ps > s->end_ps)
		length_ps = s->end_ps - begin_ps;
	return (double)s->held_ps[slice * s->n_apps + app] / (double)length_ps;
}

uint32_t cot_sampler_n_changes(const struct cot_sampler *s)
{
	return s->n_changes;
}

uint64_t cot_sampler_change_ps(const struct cot_sampler *s, uint32_t change)
{
	return s->change_ps[change];
}

uint32_t cot_sampler_change_sms(const struct cot_sampler *s, uint32_t change, uint32_t app)
{
	return s->change_sms[change][app];
}

bool cot_sampler_complete(const struct cot_sampler *s)
{
	return !s->incomplete;
}

uint64_t cot_sampler_latencies(const struct cot_sampler *s, unsigned i)
{
	return s->latencies[i];
}

uint64_t cot_sampler_latency_bound_ps(unsigned i)
{
	static const uint64_t steps[] = {1, 2, 5};
	uint64_t bound_ps = FIRST_BOUND_PS * steps[i % 3];

	for (; i >= 3; i -= 3)
		bound_ps *= 10;
	return bound_ps;
}
