#include "report/sim_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/format.h"
#include "report/table.h"
#include "trace/policy_name.h"

const char *cot_preempt_name(enum cot_preempt preempt)
{
	return preempt == COT_PREEMPT_DRAIN ? "drain" : "switch";
}

void cot_sim_describe(const struct cot_scenario *sc, char *text, size_t size)
{
	const struct hw_sched_ops *ops = hw_sched_find(sc->scheduler);
	const char *how = ", which does not preempt,";

	if (ops && ops->preempts)
		how = sc->preempt == COT_PREEMPT_DRAIN ? " by draining" : " by context switch";
	(void)snprintf(text, size, "%s%s on %s (%" PRIu32 " SMs), seed %" PRIu64, sc->scheduler,
		       how, sc->gpu.name[0] ? sc->gpu.name : "a GPU", sc->gpu.n_sms, sc->seed);
}

/* From its start to the end of the simulation. */
static void add_rate(struct cot_sim_summary *s, uint32_t i)
{
	uint64_t start_ps = s->sc->apps[i].start_ps;
	struct cot_app_summary *a = &s->apps[i];

	a->has_rate = a->has_isolated && s->result.end_ps > start_ps;
	if (!a->has_rate)
		return;
	a->rate = s->result.apps[i].progress * a->isolated_us /
		  cot_us_from_ps(s->result.end_ps - start_ps);
	if (s->sc->apps[i].cls == COT_CLASS_BATCH)
		s->batch_sum += a->rate;
}

int cot_sim_keeps_target(const struct cot_sim_summary *s, uint32_t app)
{
	const struct cot_target *t = &s->sc->apps[app].target;
	const struct cot_response_summary *r = &s->responses[app];

	if (r->has_limit && r->n)
		return r->n_missed * 100 <= r->n;
	if (t->kind == COT_TARGET_RATE && s->apps[app].has_rate)
		return s->apps[app].rate * 1000 >= t->amount;
	return -1;
}

void cot_sim_summarize(const struct cot_scenario *sc, const struct cot_sim_result *result,
		       const double *isolated_us, struct cot_sim_summary *ret_summary)
{
	double single_us[COT_MAX_APPS], multi_us[COT_MAX_APPS];
	struct cot_sim_summary *s = ret_summary;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->sc = sc;
	s->result = *result;
	s->has_metrics = sc->n_apps > 0;
	for (i = 0; i < sc->n_apps; i++) {
		const struct cot_app_result *r = &result->apps[i];
		struct cot_app_summary *a = &s->apps[i];

		a->finished_runs = r->runs > 0;
		if (a->finished_runs)
			a->turnaround_us = (double)r->turnaround_sum_ps / (double)r->runs /
					   (double)COT_PS_PER_US;
		a->has_isolated = !isnan(isolated_us[i]);
		if (a->has_isolated)
			a->isolated_us = isolated_us[i];
		a->has_ntt = a->finished_runs && a->has_isolated && a->isolated_us > 0.0 &&
			     a->turnaround_us > 0.0;
		if (a->has_ntt)
			a->ntt = a->turnaround_us / a->isolated_us;
		else
			s->has_metrics = false;
		single_us[i] = a->isolated_us;
		multi_us[i] = a->turnaround_us;
		add_rate(s, i);
	}
	if (s->has_metrics)
		s->metrics = cot_multi_metrics(single_us, multi_us, sc->n_apps);
}

static double seconds(const struct cot_sim_summary *s)
{
	return (double)(s->result.end_ps ? s->result.end_ps : 1) * 1e-12;
}

double cot_sim_ipc(const struct cot_sim_summary *s, uint32_t app)
{
	return s->result.counts.insts[app] / (seconds(s) * s->sc->gpu.clock_mhz * 1e6);
}

double cot_sim_mean_watts(const struct cot_sim_summary *s)
{
	return s->result.counts.energy_j / seconds(s);
}

double cot_sim_dram_bps(const struct cot_sim_summary *s)
{
	double bytes = s->result.counts.transfer_bytes;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++)
		bytes += s->result.counts.bytes[i];
	return bytes / seconds(s);
}

static void us_or_dash(struct cot_table *t, bool known, double us)
{
	struct cot_text text;

	cot_table_text(t, known ? cot_format_us(&text, us) : "-");
}

static int print_apps(const struct cot_sim_summary *s, FILE *out)
{
	static const struct cot_column columns[] = {
		{"app", COT_ALIGN_LEFT},
		{"runs", COT_ALIGN_RIGHT},
		{"turnaround", COT_ALIGN_RIGHT},
		{"alone", COT_ALIGN_RIGHT},
		{"slowdown (NTT)", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_app_summary *a = &s->apps[i];

		cot_table_text(t, s->sc->apps[i].name);
		cot_table_text(t, cot_format_count(&text, s->result.apps[i].runs));
		us_or_dash(t, a->finished_runs, a->turnaround_us);
		us_or_dash(t, a->has_isolated, a->isolated_us);
		if (a->has_ntt)
			cot_table_cell(t, "%sx", cot_format_ratio(&text, a->ntt));
		else
			cot_table_text(t, "-");
	}
	return cot_table_print(t, out);
}

static void print_metrics(const struct cot_sim_summary *s, FILE *out)
{
	if (!s->has_metrics) {
		(void)fputs(
			"ANTT, STP, fairness  -  (an app without a completed run has no slowdown)\n",
			out);
		return;
	}
	(void)fprintf(out, "ANTT      %6.3f  mean slowdown; 1 is best, lower is better\n",
		      s->metrics.antt);
	(void)fprintf(out,
		      "STP       %6.3f  total progress; %" PRIu32 " is best, higher is better\n",
		      s->metrics.stp, s->sc->n_apps);
	(void)fprintf(out,
		      "fairness  %6.3f  least progress over most; 1 is best, higher is better\n",
		      s->metrics.fairness);
}

struct cot_table *cot_sim_counted_table(const struct cot_sim_summary *s)
{
	static const struct cot_column columns[] = {
		{"app", COT_ALIGN_LEFT},      {"IPC", COT_ALIGN_RIGHT},	 {"goal", COT_ALIGN_RIGHT},
		{"of goal", COT_ALIGN_RIGHT}, {"GB/s", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		double ipc = cot_sim_ipc(s, i), goal = s->sc->apps[i].qos.ipc;

		cot_table_text(t, s->sc->apps[i].name);
		cot_table_cell(t, "%.3f", ipc);
		if (goal > 0.0) {
			cot_table_cell(t, "%.3f", goal);
			cot_table_cell(t, "%.1f %%", 100.0 * ipc / goal);
		} else {
			cot_table_text(t, "-");
			cot_table_text(t, "-");
		}
		cot_table_cell(t, "%.1f", s->result.counts.bytes[i] / seconds(s) / 1e9);
	}
	return t;
}

/* What is known only where kernels say what they do. */
static int print_counted(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_counted_table(s);
	int rc = cot_table_print(t, out);

	(void)fprintf(out, "\npower        %.1f W, %.4g J; memory %.0f %% of its bandwidth\n\n",
		      cot_sim_mean_watts(s), s->result.counts.energy_j,
		      100.0 * cot_sim_dram_bps(s) / (double)s->sc->gpu.dram_bytes_per_s);
	return rc;
}

static void print_preemptions(const struct cot_sim_summary *s, FILE *out)
{
	const struct cot_sim_result *r = &s->result;
	struct cot_text a, b, c;

	(void)fprintf(out, "preemptions  %s", cot_format_count(&a, r->preemptions));
	if (!r->preemptions) {
		(void)fputs("\n", out);
		return;
	}
	if (s->sc->preempt == COT_PREEMPT_SWITCH)
		(void)fprintf(out, "; %s saved", cot_format_bytes(&a, (double)r->saved_bytes));
	(void)fprintf(out, "; latency p50 %s, p99 %s, max %s\n",
		      cot_format_us(&a, r->latency_p50_ps / 1e6),
		      cot_format_us(&b, r->latency_p99_ps / 1e6),
		      cot_format_us(&c, cot_us_from_ps(r->latency_max_ps)));
}

static int print_responses(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_responses_table(s);

	char word[COT_POLICY_NAME_MAX];

	if (s->sc->policy[0])
		(void)fprintf(out, "\npolicy %s\n", cot_policy_name_word(s->sc, word));
	else
		(void)fputs("\nresponses\n", out);
	return cot_table_print(t, out);
}

static int print_works(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_works_table(s);

	(void)fputs("\nrewritten kernels\n", out);
	return cot_table_print(t, out);
}

static int print_parts(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_parts_table(s);

	(void)fputs("\nparts of the GPU, in the end\n", out);
	return cot_table_print(t, out);
}

int cot_sim_print_text(const struct cot_sim_summary *s, FILE *out)
{
	char head[COT_SIM_DESCRIPTION_MAX];
	struct cot_text a;
	int rc;

	cot_sim_describe(s->sc, head, sizeof(head));
	(void)fprintf(out, "%s\n\n", head);
	rc = print_apps(s, out);
	if (rc < 0)
		return rc;
	(void)fputs("\n", out);
	print_metrics(s, out);
	(void)fputs("\n", out);
	if (s->result.counted)
		rc = print_counted(s, out);
	if (rc < 0)
		return rc;
	print_preemptions(s, out);
	(void)fprintf(out, "simulated    %s", cot_format_us(&a, cot_us_from_ps(s->result.end_ps)));
	(void)fprintf(out, "; %s thread blocks completed\n",
		      cot_format_count(&a, s->result.block_completions));
	rc = s->has_responses ? print_responses(s, out) : 0;
	if (!rc && s->parts)
		rc = print_parts(s, out);
	return !rc && s->has_works ? print_works(s, out) : rc;
}
