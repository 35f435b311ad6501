/* The report for people, on a terminal. */
#include <errno.h>
#include <string.h>

#include "report/table.h"
#include "study/smqos/smqos.h"

static const char *sign_of(const struct cot_smq_pair_of_values *v)
{
	if (!strcmp(v->printed->against, "none"))
		return "-";
	return v->agrees ? "yes" : v->sign ? "no" : "none beyond noise";
}

static void write_measured(struct cot_table *t, const struct cot_smq_pair_of_values *v)
{
	unsigned i;

	for (i = 0; i < 5 && !v->measured; i++)
		cot_table_text(t, "-");
	if (!v->measured)
		return;
	cot_table_cell(t, "%.2f", v->value);
	cot_table_cell(t, "%.2f", v->least);
	cot_table_cell(t, "%.2f", v->greatest);
	cot_table_cell(t, "%+.2f", v->deviation);
	cot_table_text(t, sign_of(v));
}

#define POWER_TARGET 1u /* of cot_smq_targets: 85 % */

static int write_pairs(FILE *out, const struct cot_smq_report *r)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},	      {"figure", COT_ALIGN_LEFT},
		{"what", COT_ALIGN_LEFT},     {"than", COT_ALIGN_LEFT},
		{"mixes", COT_ALIGN_LEFT},    {"target", COT_ALIGN_LEFT},
		{"paper %", COT_ALIGN_RIGHT}, {"ours %", COT_ALIGN_RIGHT},
		{"least", COT_ALIGN_RIGHT},   {"greatest", COT_ALIGN_RIGHT},
		{"off by", COT_ALIGN_RIGHT},  {"same sign", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < r->n_printed; i++) {
		const struct cot_smq_pair_of_values *v = &r->pairs[i];
		const struct cot_smq_printed *p = v->printed;

		cot_table_text(t, p->id);
		cot_table_text(t, p->figure);
		cot_table_text(t, p->metric);
		cot_table_text(t, p->against);
		cot_table_text(t, p->group);
		if (p->target)
			cot_table_cell(t, "%u %%", p->target);
		else
			cot_table_text(t, "all");
		cot_table_cell(t, "%.2f", p->value);
		write_measured(t, v);
	}
	return cot_table_print(t, out);
}

/* One number for each pair of classes, target and system. */
static int write_metric(FILE *out, const struct cot_smq_report *r, const char *title,
			double (*value)(const struct cot_smq_mean *m), int digits)
{
	struct cot_column columns[2 + COT_SMQ_SYSTEMS] = {{"mixes", COT_ALIGN_LEFT},
							  {"target", COT_ALIGN_LEFT}};
	struct cot_table *t;
	unsigned pair, target, s;

	for (s = 0; s < COT_SMQ_SYSTEMS; s++)
		columns[2 + s] = (struct cot_column){cot_smq_system_names[s], COT_ALIGN_RIGHT};
	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	(void)fprintf(out, "\n%s\n\n", title);
	for (pair = 0; pair <= COT_SMQ_PAIRS; pair++)
		for (target = 0; target <= COT_SMQ_TARGETS; target++) {
			cot_table_text(t, pair < COT_SMQ_PAIRS ? cot_smq_pair_names[pair] : "all");
			if (target < COT_SMQ_TARGETS)
				cot_table_cell(t, "%u %%", cot_smq_targets[target]);
			else
				cot_table_text(t, "all");
			for (s = 0; s < COT_SMQ_SYSTEMS; s++) {
				struct cot_smq_mean m = cot_smq_mean_of(
					r, r->main, (enum cot_smq_system)s, pair, target);

				if (m.n)
					cot_table_cell(t, "%.*f", digits, value(&m));
				else
					cot_table_text(t, "-");
			}
		}
	return cot_table_print(t, out);
}

static double reach(const struct cot_smq_mean *m)
{
	return m->reach_pct;
}

static double throughput(const struct cot_smq_mean *m)
{
	return m->throughput;
}

static double watts(const struct cot_smq_mean *m)
{
	return m->watts;
}

static int write_benchmarks(FILE *out, const struct cot_smq_report *r)
{
	static const struct cot_column columns[] = {
		{"benchmark", COT_ALIGN_LEFT},	  {"class", COT_ALIGN_LEFT},
		{"IPC on half", COT_ALIGN_RIGHT}, {"IPC on three quarters", COT_ALIGN_RIGHT},
		{"IPC on all", COT_ALIGN_RIGHT},  {"W", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t n = r->main->settings.n_sms;
	unsigned i;

	(void)fprintf(out, "\nEach alone, on a part of the SMs\n\n");
	for (i = 0; i < COT_SMQ_BENCHMARKS; i++) {
		cot_table_text(t, cot_smq_benchmarks[i]);
		cot_table_text(t, r->is_mi[i] ? "MI" : "CI");
		cot_table_cell(t, "%.2f", r->curve[i][n / 2]);
		cot_table_cell(t, "%.2f", r->curve[i][n * 3 / 4]);
		cot_table_cell(t, "%.2f", r->curve[i][n]);
		cot_table_cell(t, "%.0f", r->main->isolated_watts[i]);
	}
	return cot_table_print(t, out);
}

static int write_senses(FILE *out, const struct cot_smq_report *r)
{
	static const struct cot_column columns[] = {
		{"settings", COT_ALIGN_LEFT},
		{"reach smqos %", COT_ALIGN_RIGHT},
		{"spart", COT_ALIGN_RIGHT},
		{"rollover", COT_ALIGN_RIGHT},
		{"throughput smqos", COT_ALIGN_RIGHT},
		{"spart", COT_ALIGN_RIGHT},
		{"rollover", COT_ALIGN_RIGHT},
		{"W smqos", COT_ALIGN_RIGHT},
		{"spart", COT_ALIGN_RIGHT},
		{"rollover", COT_ALIGN_RIGHT},
	};
	struct cot_table *t;
	struct cot_smq_mean m[COT_SMQ_SYSTEMS];
	unsigned i, s;

	if (!r->n_senses || r->senses[0].ablation)
		return 0;
	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	(void)fprintf(out, "\nOther settings, all targets\n\n");
	for (i = 0; i < r->n_senses; i++) {
		if (r->senses[i].ablation)
			continue;
		for (s = 0; s < COT_SMQ_SYSTEMS; s++)
			m[s] = cot_smq_mean_of(r, r->senses[i].run, (enum cot_smq_system)s,
					       COT_SMQ_PAIRS, COT_SMQ_TARGETS);
		cot_table_text(t, r->senses[i].what);
		for (s = 0; s < COT_SMQ_SYSTEMS; s++)
			cot_table_cell(t, "%.1f", m[s].reach_pct);
		for (s = 0; s < COT_SMQ_SYSTEMS; s++)
			cot_table_cell(t, "%.3f", m[s].throughput);
		for (s = 0; s < COT_SMQ_SYSTEMS; s++)
			cot_table_cell(t, "%.1f", m[s].watts);
	}
	return cot_table_print(t, out);
}

/* By how much SMQoS has more than the two others. */
static void write_gains(struct cot_table *t, const struct cot_smq_mean *m,
			double (*value)(const struct cot_smq_mean *m))
{
	unsigned s;

	for (s = COT_SMQ_SPART; s <= COT_SMQ_ROLLOVER; s++)
		if (m[s].n)
			cot_table_cell(t, "%+.1f",
				       100.0 * (value(&m[COT_SMQ_SMQOS]) / value(&m[s]) - 1));
		else
			cot_table_text(t, "-");
}

static void write_ablation(struct cot_table *t, const struct cot_smq_report *r,
			   const struct cot_smq_sense *sense)
{
	struct cot_smq_mean all[COT_SMQ_SYSTEMS], mi[COT_SMQ_SYSTEMS];
	unsigned s;

	for (s = 0; s < COT_SMQ_SYSTEMS; s++) {
		all[s] = cot_smq_mean_of(r, sense->run, (enum cot_smq_system)s, COT_SMQ_PAIRS,
					 COT_SMQ_TARGETS);
		mi[s] = cot_smq_mean_of(r, sense->run, (enum cot_smq_system)s, COT_SMQ_MI_MI,
					POWER_TARGET);
	}
	cot_table_text(t, sense->what);
	for (s = 0; s < COT_SMQ_SYSTEMS; s++)
		cot_table_cell(t, "%.1f", all[s].reach_pct);
	cot_table_cell(t, "%.2f", mi[COT_SMQ_SMQOS].gated);
	cot_table_cell(t, "%.0f", mi[COT_SMQ_SMQOS].watts);
	write_gains(t, mi, watts);
	cot_table_cell(t, "%.3f", all[COT_SMQ_SMQOS].throughput);
	write_gains(t, all, throughput);
	cot_table_cell(t, "%.2f", all[COT_SMQ_SMQOS].moves);
	cot_table_cell(t, "%.2f", all[COT_SMQ_SPART].moves);
}

static int write_ablations(FILE *out, const struct cot_smq_report *r)
{
	static const struct cot_column columns[] = {
		{"assumption", COT_ALIGN_LEFT},	      {"reach smqos %", COT_ALIGN_RIGHT},
		{"spart", COT_ALIGN_RIGHT},	      {"rollover", COT_ALIGN_RIGHT},
		{"no power", COT_ALIGN_RIGHT},	      {"W", COT_ALIGN_RIGHT},
		{"over spart %", COT_ALIGN_RIGHT},    {"over rollover %", COT_ALIGN_RIGHT},
		{"throughput", COT_ALIGN_RIGHT},      {"over spart %", COT_ALIGN_RIGHT},
		{"over rollover %", COT_ALIGN_RIGHT}, {"moves smqos", COT_ALIGN_RIGHT},
		{"spart", COT_ALIGN_RIGHT},
	};
	struct cot_table *t;
	unsigned i;

	if (!r->n_senses || !r->senses[r->n_senses - 1].ablation)
		return 0;
	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	(void)fprintf(out,
		      "\nOther assumptions, all targets; no power (SMs of SMQoS) and W: MI-MI at "
		      "85 %%; moves: SMs per epoch\n\n");
	for (i = 0; i < r->n_senses; i++)
		if (r->senses[i].ablation)
			write_ablation(t, r, &r->senses[i]);
	return cot_table_print(t, out);
}

int cot_smq_write_text(FILE *out, const void *data)
{
	const struct cot_smq_report *r = data;
	const struct cot_smq_settings *s = &r->main->settings;
	int rc;

	(void)fprintf(
		out,
		"SMQoS (Sun et al.), section IV: %u mixes of two tasks, %s, %u SMs, epochs of "
		"%u cycles, threshold %g, noise %g, seeds %llu to %llu; below the table seed "
		"%llu\n\n",
		COT_SMQ_MIXES, r->quick ? "every seventh of them run" : "all run", s->n_sms,
		s->epoch_cycles, s->threshold, s->noise, (unsigned long long)r->seed,
		(unsigned long long)r->seed + r->n_seeds - 1, (unsigned long long)r->seed);
	rc = write_pairs(out, r);
	if (!rc)
		rc = write_benchmarks(out, r);
	if (!rc)
		rc = write_metric(out, r, "Cases that keep their promise, per cent", reach, 1);
	if (!rc)
		rc = write_metric(out, r, "Throughput of the batch task, 1 is alone", throughput,
				  3);
	if (!rc)
		rc = write_metric(out, r, "Power, W", watts, 1);
	if (!rc)
		rc = write_senses(out, r);
	return rc ? rc : write_ablations(out, r);
}
