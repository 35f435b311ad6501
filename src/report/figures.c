#include "report/figures.h"

#include <math.h>
#include <stdio.h>

enum unit { TIMES, US, PERCENT, RATIO, IPC, WATTS, KEPT };

static const struct {
	const char *head, *name;
	enum unit unit;
} kinds[COT_FIGURE_KINDS] = {
	[COT_FIGURE_SLOWDOWN] = {"", ".slowdown", TIMES},
	[COT_FIGURE_P50] = {" p50", ".p50_us", US},
	[COT_FIGURE_P99] = {" p99", ".p99_us", US},
	[COT_FIGURE_MISSED] = {" missed", ".missed", PERCENT},
	[COT_FIGURE_RATE] = {" rate", ".rate", RATIO},
	[COT_FIGURE_IPC] = {" IPC", ".ipc", IPC},
	[COT_FIGURE_GOAL] = {" of goal", ".of_goal", PERCENT},
	[COT_FIGURE_BATCH_SUM] = {"batch sum", "batch_sum", RATIO},
	[COT_FIGURE_TARGETS] = {"targets", "targets_kept", KEPT},
	[COT_FIGURE_GOALS] = {"goals", "goals_kept", KEPT},
	[COT_FIGURE_ANTT] = {"ANTT", "antt", RATIO},
	[COT_FIGURE_STP] = {"STP", "stp", RATIO},
	[COT_FIGURE_FAIRNESS] = {"fairness", "fairness", RATIO},
	[COT_FIGURE_WATTS] = {"power", "watts", WATTS},
	[COT_FIGURE_PREEMPTION] = {"p99 preemption", "preemption_p99_us", US},
};

unsigned cot_figures_count(uint32_t n_apps)
{
	return COT_FIGURE_APP_KINDS * n_apps + COT_FIGURE_KINDS - COT_FIGURE_APP_KINDS;
}

struct cot_figure cot_figure_at(uint32_t n_apps, unsigned i)
{
	unsigned n = COT_FIGURE_APP_KINDS * n_apps;

	if (i < n)
		return (struct cot_figure){(enum cot_figure_kind)(i / n_apps), i % n_apps};
	return (struct cot_figure){(enum cot_figure_kind)(COT_FIGURE_APP_KINDS + i - n), 0};
}

/* ---- values ---- */

static double known(bool is_known, double value)
{
	return is_known ? value : (double)NAN;
}

static double of_app(const struct cot_sim_summary *s, enum cot_figure_kind kind, uint32_t i)
{
	const struct cot_response_summary *r = &s->responses[i];
	const struct cot_app *app = &s->sc->apps[i];
	bool answers = r->n && app->cls == COT_CLASS_LATENCY;
	double goal = app->qos.ipc;

	switch (kind) {
	case COT_FIGURE_SLOWDOWN:
		return known(s->apps[i].has_ntt, s->apps[i].ntt);
	case COT_FIGURE_P50:
		return known(answers, r->p50_us);
	case COT_FIGURE_P99:
		return known(answers, r->p99_us);
	case COT_FIGURE_MISSED:
		return known(answers && r->has_limit, answers ? (double)r->n_missed / r->n : 0);
	case COT_FIGURE_RATE:
		return known(app->cls == COT_CLASS_BATCH && s->apps[i].has_rate, s->apps[i].rate);
	case COT_FIGURE_GOAL:
		return known(s->result.counted && goal > 0.0, cot_sim_ipc(s, i) / goal);
	default:
		return known(s->result.counted, cot_sim_ipc(s, i));
	}
}

static bool any_batch(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].cls == COT_CLASS_BATCH)
			return true;
	return false;
}

/* NAN where no app has one. */
static double targets_kept(const struct cot_sim_summary *s)
{
	double all = (double)NAN;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		int kept = cot_sim_keeps_target(s, i);

		if (!kept)
			return 0;
		if (kept > 0)
			all = 1;
	}
	return all;
}

static double goals_kept(const struct cot_sim_summary *s)
{
	double all = (double)NAN;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		double reached = of_app(s, COT_FIGURE_GOAL, i);

		if (reached < 1)
			return 0;
		if (reached >= 1)
			all = 1;
	}
	return all;
}

static double of_all(const struct cot_sim_summary *s, enum cot_figure_kind kind)
{
	switch (kind) {
	case COT_FIGURE_BATCH_SUM:
		return known(any_batch(s->sc), s->batch_sum);
	case COT_FIGURE_TARGETS:
		return targets_kept(s);
	case COT_FIGURE_GOALS:
		return goals_kept(s);
	case COT_FIGURE_ANTT:
		return known(s->has_metrics, s->metrics.antt);
	case COT_FIGURE_STP:
		return known(s->has_metrics, s->metrics.stp);
	case COT_FIGURE_FAIRNESS:
		return known(s->has_metrics, s->metrics.fairness);
	case COT_FIGURE_WATTS:
		return known(s->result.counted, cot_sim_mean_watts(s));
	default:
		return known(s->result.preemptions > 0, s->result.latency_p99_ps / 1e6);
	}
}

void cot_figures_take(const struct cot_sim_summary *s, double *ret_values)
{
	uint32_t n_apps = s->sc->n_apps;
	unsigned i, n = cot_figures_count(n_apps);

	for (i = 0; i < n; i++) {
		struct cot_figure f = cot_figure_at(n_apps, i);

		ret_values[i] = f.kind < COT_FIGURE_APP_KINDS ? of_app(s, f.kind, f.app)
							      : of_all(s, f.kind);
	}
}

/* ---- texts ---- */

static const char *words(struct cot_figure f, const struct cot_scenario *sc, const char *what,
			 char *buf)
{
	(void)snprintf(buf, COT_FIGURE_NAME_MAX, "%s%s",
		       f.kind < COT_FIGURE_APP_KINDS ? sc->apps[f.app].name : "", what);
	return buf;
}

const char *cot_figure_head(struct cot_figure f, const struct cot_scenario *sc,
			    char buf[COT_FIGURE_NAME_MAX])
{
	return words(f, sc, kinds[f.kind].head, buf);
}

const char *cot_figure_name(struct cot_figure f, const struct cot_scenario *sc,
			    char buf[COT_FIGURE_NAME_MAX])
{
	return words(f, sc, kinds[f.kind].name, buf);
}

static const char *with_half(struct cot_text *t, double mean, double half, int digits,
			     const char *unit)
{
	if (isnan(half))
		(void)snprintf(t->s, sizeof(t->s), "%.*f%s", digits, mean, unit);
	else
		(void)snprintf(t->s, sizeof(t->s), "%.*f ±%.*f%s", digits, mean, digits, half,
			       unit);
	return t->s;
}

/* Both in the mean's unit. */
static const char *time_text(struct cot_text *t, struct cot_interval v)
{
	static const struct {
		double us;
		const char *unit;
	} units[] = {{1e6, " s"}, {1e3, " ms"}, {1, " us"}, {1e-3, " ns"}};
	unsigned i = 0;
	double mean;

	if (isnan(v.half))
		return cot_format_us(t, v.mean);
	while (i + 1 < sizeof(units) / sizeof(units[0]) && v.mean < units[i].us * 0.9995)
		i++;
	mean = v.mean / units[i].us;
	return with_half(t, mean, v.half / units[i].us,
			 mean >= 99.95	 ? 0
			 : mean >= 9.995 ? 1
					 : 2,
			 units[i].unit);
}

static const char *ratio_text(struct cot_text *t, struct cot_interval v, const char *unit)
{
	double size = fabs(v.mean);

	return with_half(t, v.mean, v.half, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, unit);
}

static const char *kept_text(struct cot_text *t, double part)
{
	if (part == 0 || part == 1)
		(void)snprintf(t->s, sizeof(t->s), "%s", part == 0 ? "missed" : "kept");
	else
		(void)snprintf(t->s, sizeof(t->s), "kept in %.0f %%", 100 * part);
	return t->s;
}

const char *cot_figure_text(enum cot_figure_kind kind, struct cot_interval v,
			    struct cot_text *ret_text)
{
	enum unit unit = kinds[kind].unit;

	ret_text->s[0] = '\0';
	if (isnan(v.mean))
		return ret_text->s;
	switch (unit) {
	case TIMES:
		return ratio_text(ret_text, v, "x");
	case US:
		return time_text(ret_text, v);
	case PERCENT:
		return with_half(ret_text, 100 * v.mean, 100 * v.half,
				 kind == COT_FIGURE_MISSED ? 2 : 1, " %");
	case RATIO:
		return ratio_text(ret_text, v, "");
	case IPC:
		return with_half(ret_text, v.mean, v.half, 3, "");
	case WATTS:
		return with_half(ret_text, v.mean, v.half, 1, " W");
	default:
		return kept_text(ret_text, v.mean);
	}
}
