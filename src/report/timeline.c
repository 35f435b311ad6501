#include "report/timeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/quote.h"
#include "report/format.h"

/*
 * Format: "Trace Event Format", Google. pid and tid are only names of tracks here:
 * those of SMs, then two for each application, the CPU side and its kernels. Thread 0 is left out
 * and no number is used in both processes, because some viewers see the idle task or one thread
 * there.
 */
#define PID_GPU		 1u
#define PID_APPS	 2u
#define TID_SM(sm)	 (1u + (sm))
#define TID_CPU(app)	 (1u + COT_MAX_SMS + 2u * (app))
#define TID_KERNELS(app) (TID_CPU(app) + 1u)
#define TID_PART(app)	 (TID_CPU(COT_MAX_APPS) + (app))

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

struct cot_timeline {
	const struct cot_scenario *sc;
	FILE *out;
	const char *separator;
	struct interval sms[COT_MAX_SMS];
	struct interval apps[COT_MAX_APPS];
	struct part parts[COT_MAX_APPS];
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

static void open_event(struct cot_timeline *tl, const char *phase, unsigned pid, unsigned tid)
{
	(void)fprintf(tl->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", tl->separator,
		      phase, pid, tid);
	tl->separator = ",\n";
}

static void open_complete(struct cot_timeline *tl, unsigned pid, unsigned tid, const char *name)
{
	open_event(tl, "X", pid, tid);
	cot_quote_write(tl->out, name);
}

static void write_times(struct cot_timeline *tl, uint64_t begin_ps, uint64_t end_ps)
{
	struct cot_text ts, dur;

	(void)fprintf(tl->out, ",\"ts\":%s,\"dur\":%s", cot_format_exact_us(&ts, begin_ps, false),
		      cot_format_exact_us(&dur, end_ps - begin_ps, false));
}

/* A metadata event with one argument: a string, or a number when `text` is NULL. */
static void metadata(struct cot_timeline *tl, unsigned pid, unsigned tid, const char *what,
		     const char *key, const char *text, const char *text2, unsigned number)
{
	char joined[COT_NAME_MAX + 32];

	open_event(tl, "M", pid, tid);
	(void)fprintf(tl->out, "\"%s\",\"args\":{\"%s\":", what, key);
	if (text) {
		(void)snprintf(joined, sizeof(joined), "%s%s", text, text2);
		cot_quote_write(tl->out, joined);
	} else {
		(void)fprintf(tl->out, "%u", number);
	}
	(void)fputs("}}", tl->out);
}

static void track(struct cot_timeline *tl, unsigned pid, unsigned tid, const char *name,
		  const char *suffix)
{
	metadata(tl, pid, tid, "thread_name", "name", name, suffix, 0);
	metadata(tl, pid, tid, "thread_sort_index", "sort_index", NULL, NULL, tid);
}

static void header(struct cot_timeline *tl)
{
	const struct cot_scenario *sc = tl->sc;
	char name[32];
	uint32_t i;

	(void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", tl->out);
	metadata(tl, PID_GPU, TID_SM(0), "process_name", "name", "GPU", "", 0);
	metadata(tl, PID_GPU, TID_SM(0), "process_sort_index", "sort_index", NULL, NULL, 1);
	metadata(tl, PID_APPS, TID_CPU(0), "process_name", "name", "Apps", "", 0);
	metadata(tl, PID_APPS, TID_CPU(0), "process_sort_index", "sort_index", NULL, NULL, 2);
	for (i = 0; i < sc->gpu.n_sms; i++) {
		(void)snprintf(name, sizeof(name), "SM %" PRIu32, i);
		track(tl, PID_GPU, TID_SM(i), name, "");
	}
	for (i = 0; i < sc->n_apps; i++) {
		track(tl, PID_APPS, TID_CPU(i), sc->apps[i].name, "");
		track(tl, PID_APPS, TID_KERNELS(i), sc->apps[i].name, ": kernels");
	}
}

struct cot_timeline *cot_timeline_create(const struct cot_scenario *sc, FILE *out)
{
	struct cot_timeline *tl = calloc(1, sizeof(*tl));
	unsigned i;

	if (!tl)
		return NULL;
	tl->sc = sc;
	tl->out = out;
	tl->separator = "";
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
		open_complete(tl, PID_GPU, TID_SM(sm), sm_activities[COT_SM_GATED]);
		(void)fputs(",\"cat\":\"gated\"", tl->out);
		write_times(tl, was->begin_ps, t_ps);
		(void)fputs("}", tl->out);
		return;
	}
	if (was->activity == COT_SM_IDLE || was->app == COT_NO_APP || was->begin_ps == t_ps)
		return;
	app = tl->sc->apps[was->app].name;
	(void)snprintf(name, sizeof(name), "%s%s%s: %s",
		       was->activity == COT_SM_RUN ? "" : sm_activities[was->activity],
		       was->activity == COT_SM_RUN ? "" : " ", app, was->kernel ? was->kernel : "");
	open_complete(tl, PID_GPU, TID_SM(sm), name);
	(void)fprintf(tl->out, ",\"cat\":\"%s\"", sm_activities[was->activity]);
	write_times(tl, was->begin_ps, t_ps);
	(void)fputs(",\"args\":{\"app\":", tl->out);
	cot_quote_write(tl->out, app);
	(void)fputs(",\"kernel\":", tl->out);
	cot_quote_write(tl->out, was->kernel ? was->kernel : "");
	(void)fputs("}}", tl->out);
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
	open_complete(tl, PID_APPS, TID_CPU(app), app_activities[was->activity]);
	(void)fputs(",\"cat\":\"app\"", tl->out);
	write_times(tl, was->begin_ps, t_ps);
	(void)fputs("}", tl->out);
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
	open_complete(tl, PID_APPS, TID_PART(app), name);
	(void)fputs(",\"cat\":\"part\"", tl->out);
	write_times(tl, was->since_ps, t_ps);
	(void)fprintf(tl->out, ",\"args\":{\"first\":%" PRIu32 ",\"sms\":%" PRIu32 "}}", was->begin,
		      was->end - was->begin);
}

/* Programs that are never placed have no such track. */
static void on_part_changed(void *arg, uint64_t t_ps, uint32_t app, uint32_t begin, uint32_t end)
{
	struct cot_timeline *tl = arg;

	if (!tl->parts[app].shown)
		track(tl, PID_APPS, TID_PART(app), tl->sc->apps[app].name, ": part");
	end_part(tl, app, t_ps);
	tl->parts[app] = (struct part){.shown = true, .since_ps = t_ps, .begin = begin, .end = end};
}

static void on_kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			   const char *kernel)
{
	struct cot_timeline *tl = arg;

	open_complete(tl, PID_APPS, TID_KERNELS(app), kernel);
	(void)fputs(",\"cat\":\"kernel\"", tl->out);
	write_times(tl, begin_ps, end_ps);
	(void)fputs(",\"args\":{\"app\":", tl->out);
	cot_quote_write(tl->out, tl->sc->apps[app].name);
	(void)fputs("}}", tl->out);
}

/* A mark on the track of the application where a run ends. */
static void on_run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	struct cot_timeline *tl = arg;
	struct cot_text t;

	open_event(tl, "i", PID_APPS, TID_CPU(app));
	(void)fprintf(tl->out, "\"run %" PRIu64 " done\",\"cat\":\"run\",\"s\":\"t\",\"ts\":%s",
		      run, cot_format_exact_us(&t, end_ps, false));
	(void)fprintf(tl->out, ",\"args\":{\"turnaround_us\":%s}}",
		      cot_format_exact_us(&t, end_ps - begin_ps, false));
}

/* Counter tracks: every epoch shows at its beginning what it will have been. */
static void counter(struct cot_timeline *tl, uint64_t t_ps, const char *name, const char *suffix,
		    double value)
{
	char joined[COT_NAME_MAX + 32];
	struct cot_text t;

	(void)snprintf(joined, sizeof(joined), "%s%s", name, suffix);
	open_event(tl, "C", PID_APPS, TID_CPU(0));
	cot_quote_write(tl->out, joined);
	(void)fprintf(tl->out, ",\"ts\":%s,\"args\":{\"value\":%.15g}}",
		      cot_format_exact_us(&t, t_ps, false), value);
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
	(void)fputs("\n]}\n", tl->out);
}
