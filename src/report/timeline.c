#include "report/timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/quote.h"
#include "base/units.h"
#include "report/events.h"
#include "report/format.h"

/*
 * Tracks: those of SMs, then two for each application, the CPU side and its kernels; where a
 * software policy says something, parts, and what it made of pools and programs. No number is used
 * in two processes, because some viewers see one thread there.
 */
#define PID_GPU		 1u
#define PID_APPS	 2u
#define PID_POLICY	 3u
#define TID_SM(sm)	 (1u + (sm))
#define TID_CPU(app)	 (1u + COT_MAX_SMS + 2u * (app))
#define TID_KERNELS(app) (TID_CPU(app) + 1u)
#define TID_PART(app)	 (TID_CPU(COT_MAX_APPS) + (app))
#define TID_ENTITY(n)	 (TID_PART(COT_MAX_APPS) + (n))

struct interval {
	uint64_t begin_ps;
	unsigned activity;
	uint32_t app;
	const char *kernel;
};

/* The SMs [begin, end). */
struct part {
	bool shown;
	uint64_t since_ps;
	uint32_t begin, end;
};

/* What a policy has made of a pool or program. */
struct entity {
	bool shown;
	uint64_t since_ps;
	struct cot_sim_entity is;
};

struct cot_timeline {
	const struct cot_scenario *sc;
	struct cot_events events;
	struct interval sms[COT_MAX_SMS];
	struct interval apps[COT_MAX_APPS];
	struct part parts[COT_MAX_APPS];
	struct entity entities[COT_MAX_APPS];
	bool any_entity;
};

static const char *const sm_activities[] = {
	[COT_SM_IDLE] = "idle",	  [COT_SM_RUN] = "run",		[COT_SM_SAVE] = "save",
	[COT_SM_DRAIN] = "drain", [COT_SM_RESTORE] = "restore", [COT_SM_GATED] = "gated",
};

static const char *const app_activities[] = {
	[COT_APP_CPU] = "cpu",
	[COT_APP_H2D] = "copy to GPU",
	[COT_APP_D2H] = "copy from GPU",
	[COT_APP_WAIT] = "wait",
};

static void header(struct cot_timeline *tl)
{
	const struct cot_scenario *sc = tl->sc;
	char name[32];
	uint32_t i;

	cot_events_process(&tl->events, PID_GPU, TID_SM(0), "GPU", 1);
	cot_events_process(&tl->events, PID_APPS, TID_CPU(0), "Apps", 2);
	for (i = 0; i < sc->gpu.n_sms; i++) {
		(void)snprintf(name, sizeof(name), "SM %" PRIu32, i);
		cot_events_track(&tl->events, PID_GPU, TID_SM(i), name, "");
	}
	for (i = 0; i < sc->n_apps; i++) {
		cot_events_track(&tl->events, PID_APPS, TID_CPU(i), sc->apps[i].name, "");
		cot_events_track(&tl->events, PID_APPS, TID_KERNELS(i), sc->apps[i].name,
				 ": kernels");
	}
}

struct cot_timeline *cot_timeline_create(const struct cot_scenario *sc, FILE *out)
{
	struct cot_timeline *tl = calloc(1, sizeof(*tl));
	unsigned i;

	if (!tl)
		return NULL;
	tl->sc = sc;
	cot_events_begin(&tl->events, out, "ns");
	for (i = 0; i < COT_MAX_SMS; i++)
		tl->sms[i].app = COT_NO_APP;
	for (i = 0; i < COT_MAX_APPS; i++)
		tl->apps[i].activity = COT_APP_WAIT;
	header(tl);
	return tl;
}

void cot_timeline_destroy(struct cot_timeline *tl)
{
	free(tl);
}

static void end_sm(struct cot_timeline *tl, uint32_t sm, uint64_t t_ps)
{
	const struct interval *was = &tl->sms[sm];
	char name[2 * COT_NAME_MAX + 32];
	const char *app;

	if (was->activity == COT_SM_GATED && was->begin_ps != t_ps) {
		cot_events_open_complete(&tl->events, PID_GPU, TID_SM(sm),
					 sm_activities[COT_SM_GATED]);
		(void)fputs(",\"cat\":\"gated\"", tl->events.out);
		cot_events_times(&tl->events, was->begin_ps, t_ps);
		(void)fputs("}", tl->events.out);
		return;
	}
	if (was->activity == COT_SM_IDLE || was->app == COT_NO_APP || was->begin_ps == t_ps)
		return;
	app = tl->sc->apps[was->app].name;
	(void)snprintf(name, sizeof(name), "%s%s%s: %s",
		       was->activity == COT_SM_RUN ? "" : sm_activities[was->activity],
		       was->activity == COT_SM_RUN ? "" : " ", app, was->kernel ? was->kernel : "");
	cot_events_open_complete(&tl->events, PID_GPU, TID_SM(sm), name);
	(void)fprintf(tl->events.out, ",\"cat\":\"%s\"", sm_activities[was->activity]);
	cot_events_times(&tl->events, was->begin_ps, t_ps);
	(void)fputs(",\"args\":{\"app\":", tl->events.out);
	cot_quote_write(tl->events.out, app);
	(void)fputs(",\"kernel\":", tl->events.out);
	cot_quote_write(tl->events.out, was->kernel ? was->kernel : "");
	(void)fputs("}}", tl->events.out);
}

static void on_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
			  uint32_t app, const char *kernel)
{
	struct cot_timeline *tl = arg;

	end_sm(tl, sm, t_ps);
	tl->sms[sm] = (struct interval){t_ps, activity, app, kernel};
}

static void end_app(struct cot_timeline *tl, uint32_t app, uint64_t t_ps)
{
	const struct interval *was = &tl->apps[app];

	if (was->begin_ps == t_ps)
		return;
	cot_events_open_complete(&tl->events, PID_APPS, TID_CPU(app),
				 app_activities[was->activity]);
	(void)fputs(",\"cat\":\"app\"", tl->events.out);
	cot_events_times(&tl->events, was->begin_ps, t_ps);
	(void)fputs("}", tl->events.out);
}

static void on_app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity)
{
	struct cot_timeline *tl = arg;

	end_app(tl, app, t_ps);
	tl->apps[app].begin_ps = t_ps;
	tl->apps[app].activity = activity;
}

static void end_part(struct cot_timeline *tl, uint32_t app, uint64_t t_ps)
{
	const struct part *was = &tl->parts[app];
	char name[64];

	if (!was->shown || was->since_ps == t_ps)
		return;
	(void)snprintf(name, sizeof(name), "SMs %" PRIu32 " to %" PRIu32, was->begin, was->end - 1);
	cot_events_open_complete(&tl->events, PID_APPS, TID_PART(app), name);
	(void)fputs(",\"cat\":\"part\"", tl->events.out);
	cot_events_times(&tl->events, was->since_ps, t_ps);
	(void)fprintf(tl->events.out, ",\"args\":{\"first\":%" PRIu32 ",\"sms\":%" PRIu32 "}}",
		      was->begin, was->end - was->begin);
}

/* Programs that are never placed have no such track. */
static void on_part_changed(void *arg, uint64_t t_ps, uint32_t app, uint32_t begin, uint32_t end)
{
	struct cot_timeline *tl = arg;

	if (!tl->parts[app].shown)
		cot_events_track(&tl->events, PID_APPS, TID_PART(app), tl->sc->apps[app].name,
				 ": part");
	end_part(tl, app, t_ps);
	tl->parts[app] = (struct part){.shown = true, .since_ps = t_ps, .begin = begin, .end = end};
}

static void end_entity(struct cot_timeline *tl, uint32_t n, uint64_t t_ps)
{
	const struct entity *was = &tl->entities[n];
	char name[64];

	if (!was->shown || was->since_ps == t_ps)
		return;
	if (was->is.frozen)
		(void)snprintf(name, sizeof(name), "frozen");
	else
		(void)snprintf(name, sizeof(name), "slice %" PRIu64 " us%s",
			       (uint64_t)(was->is.slice_ps / COT_PS_PER_US),
			       was->is.drains ? ", drains" : "");
	cot_events_open_complete(&tl->events, PID_POLICY, TID_ENTITY(n), name);
	(void)fputs(",\"cat\":\"policy\"", tl->events.out);
	cot_events_times(&tl->events, was->since_ps, t_ps);
	(void)fputs("}", tl->events.out);
}

/* Entities that a policy leaves alone have no track. */
static void on_entity_changed(void *arg, uint64_t t_ps, uint32_t number,
			      const struct cot_sim_entity *e)
{
	struct cot_timeline *tl = arg;

	if (!tl->any_entity)
		cot_events_process(&tl->events, PID_POLICY, TID_ENTITY(number), "Policy", 3);
	tl->any_entity = true;
	if (!tl->entities[number].shown)
		cot_events_track(&tl->events, PID_POLICY, TID_ENTITY(number), e->name, "");
	end_entity(tl, number, t_ps);
	tl->entities[number] = (struct entity){.shown = true, .since_ps = t_ps, .is = *e};
}

static void on_kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			   const char *kernel)
{
	struct cot_timeline *tl = arg;

	cot_events_open_complete(&tl->events, PID_APPS, TID_KERNELS(app), kernel);
	(void)fputs(",\"cat\":\"kernel\"", tl->events.out);
	cot_events_times(&tl->events, begin_ps, end_ps);
	(void)fputs(",\"args\":{\"app\":", tl->events.out);
	cot_quote_write(tl->events.out, tl->sc->apps[app].name);
	(void)fputs("}}", tl->events.out);
}

/* A mark on the track of the application where a run ends. */
static void on_run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	struct cot_timeline *tl = arg;
	struct cot_text t;

	cot_events_open(&tl->events, "i", PID_APPS, TID_CPU(app));
	(void)fprintf(tl->events.out,
		      "\"run %" PRIu64 " done\",\"cat\":\"run\",\"s\":\"t\",\"ts\":%s", run,
		      cot_format_exact_us(&t, end_ps, false));
	(void)fprintf(tl->events.out, ",\"args\":{\"turnaround_us\":%s}}",
		      cot_format_exact_us(&t, end_ps - begin_ps, false));
}

/* Counter tracks: every epoch shows at its beginning what it will have been. */
static void counter(struct cot_timeline *tl, uint64_t t_ps, const char *name, const char *suffix,
		    double value)
{
	cot_events_counter(&tl->events, PID_APPS, TID_CPU(0), t_ps, name, suffix, value);
}

static void on_epoch_done(void *arg, const struct cot_sim_epoch *e)
{
	struct cot_timeline *tl = arg;
	double s = (double)(e->end_ps - e->begin_ps) * 1e-12, bytes = e->counts.transfer_bytes;
	uint32_t i;

	for (i = 0; i < tl->sc->n_apps; i++) {
		counter(tl, e->begin_ps, tl->sc->apps[i].name, ": IPC",
			e->counts.insts[i] / (s * tl->sc->gpu.clock_mhz * 1e6));
		bytes += e->counts.bytes[i];
	}
	counter(tl, e->begin_ps, "memory, GB/s", "", bytes / s / 1e9);
	counter(tl, e->begin_ps, "power, W", "", e->counts.energy_j / s);
}

const struct cot_sim_observer cot_timeline_observer = {
	.sm_changed = on_sm_changed,
	.app_changed = on_app_changed,
	.kernel_done = on_kernel_done,
	.run_done = on_run_done,
	.part_changed = on_part_changed,
	.entity_changed = on_entity_changed,
	.epoch_done = on_epoch_done,
};

void cot_timeline_finish(struct cot_timeline *tl, uint64_t end_ps)
{
	uint32_t i;

	for (i = 0; i < tl->sc->gpu.n_sms; i++)
		end_sm(tl, i, end_ps);
	for (i = 0; i < tl->sc->n_apps; i++)
		end_app(tl, i, end_ps);
	for (i = 0; i < tl->sc->n_apps; i++)
		end_part(tl, i, end_ps);
	for (i = 0; i < COT_MAX_APPS; i++)
		end_entity(tl, i, end_ps);
	cot_events_end(&tl->events);
}
