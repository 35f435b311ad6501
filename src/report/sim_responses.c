/*
 * What a software policy is about: how long requests took, and what became of rewritten kernels.
 */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "report/format.h"
#include "report/sim_summary.h"

static void add(struct cot_sim_summary *s, uint32_t i, const struct cot_sim_host_times *t)
{
	double ps_per_us = (double)COT_PS_PER_US;
	unsigned level;

	s->responses[i] = (struct cot_response_summary){
		.n = t->n_responses,
		.n_missed = t->n_missed,
		.has_limit = t->limit_ps != UINT64_MAX,
		.limit_us = cot_us_from_ps(t->limit_ps),
		.p50_us = t->response_p50_ps / ps_per_us,
		.p95_us = t->response_p95_ps / ps_per_us,
		.p99_us = t->response_p99_ps / ps_per_us,
		.max_us = cot_us_from_ps(t->response_max_ps),
		.service_p99_us = t->service_p99_ps / ps_per_us,
	};
	for (level = 0; level < COT_SIM_LEVELS; level++)
		s->responses[i].levels_us[level] = t->response_levels_ps[level] / ps_per_us;
	s->has_targets |=
		s->responses[i].has_limit || s->sc->apps[i].target.kind == COT_TARGET_RATE;
	s->has_arrivals |= s->sc->apps[i].arrivals.per_s > 0.0;
}

void cot_sim_summarize_responses(struct cot_sim_summary *s, const struct cot_sim_host *host)
{
	struct cot_sim_host_times t;
	uint32_t i;

	s->has_responses = true;
	for (i = 0; i < s->sc->n_apps; i++) {
		cot_sim_host_times(host, i, &t);
		add(s, i, &t);
		cot_sim_host_works(host, i, &s->works[i]);
		s->has_works |= s->works[i].rewritten;
	}
}

void cot_sim_summarize_measures(struct cot_sim_summary *s, const struct host_measures *m)
{
	struct cot_sim_host_times t;
	uint32_t i;

	s->has_responses = true;
	for (i = 0; i < s->sc->n_apps; i++) {
		cot_sim_host_measure_times(m, i, &t);
		add(s, i, &t);
	}
}

static void us_cell(struct cot_table *t, bool known, double us)
{
	struct cot_text text;

	cot_table_text(t, known ? cot_format_us(&text, us) : "-");
}

/* How many missed it, as a percentage of all; a p99 is kept while that is at most 1 %. Of a rate,
 * which part of that alone it had. */
static void target_cells(struct cot_table *t, const struct cot_sim_summary *s, uint32_t i)
{
	const struct cot_response_summary *r = &s->responses[i];
	const struct cot_target *target = &s->sc->apps[i].target;

	if (target->kind == COT_TARGET_RATE) {
		cot_table_cell(t, "rate %g %%", target->amount / 10.0);
		if (s->apps[i].has_rate)
			cot_table_cell(t, "has %.1f %%", 100 * s->apps[i].rate);
		else
			cot_table_text(t, "-");
		return;
	}
	us_cell(t, r->has_limit, r->limit_us);
	if (r->has_limit && r->n)
		cot_table_cell(t, "%.2f %%", 100.0 * (double)r->n_missed / (double)r->n);
	else
		cot_table_text(t, "-");
}

struct cot_table *cot_sim_responses_table(const struct cot_sim_summary *s)
{
	static const struct cot_column times[] = {
		{"app", COT_ALIGN_LEFT},  {"class", COT_ALIGN_LEFT}, {"responses", COT_ALIGN_RIGHT},
		{"p50", COT_ALIGN_RIGHT}, {"p95", COT_ALIGN_RIGHT},  {"p99", COT_ALIGN_RIGHT},
		{"max", COT_ALIGN_RIGHT},
	};
	struct cot_column columns[COT_ARRAY_LEN(times) + 3];
	unsigned n = COT_ARRAY_LEN(times);
	struct cot_table *t;
	struct cot_text text;
	uint32_t i;

	memcpy(columns, times, sizeof(times));
	if (s->has_arrivals)
		columns[n++] = (struct cot_column){"service p99", COT_ALIGN_RIGHT};
	if (s->has_targets) {
		columns[n++] = (struct cot_column){"target", COT_ALIGN_RIGHT};
		columns[n++] = (struct cot_column){"missed", COT_ALIGN_RIGHT};
	}
	t = cot_table_create(columns, n);
	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_response_summary *r = &s->responses[i];

		cot_table_text(t, s->sc->apps[i].name);
		cot_table_text(t, cot_class_words[s->sc->apps[i].cls]);
		cot_table_text(t, cot_format_count(&text, r->n));
		us_cell(t, r->n > 0, r->p50_us);
		us_cell(t, r->n > 0, r->p95_us);
		us_cell(t, r->n > 0, r->p99_us);
		us_cell(t, r->n > 0, r->max_us);
		if (s->has_arrivals)
			us_cell(t, r->n > 0, r->service_p99_us);
		if (s->has_targets)
			target_cells(t, s, i);
	}
	return t;
}

struct cot_table *cot_sim_parts_table(const struct cot_sim_summary *s)
{
	static const struct cot_column columns[] = {
		{"app", COT_ALIGN_LEFT},      {"asked for", COT_ALIGN_RIGHT},
		{"SMs", COT_ALIGN_RIGHT},     {"from", COT_ALIGN_RIGHT},
		{"changes", COT_ALIGN_RIGHT}, {"SMs, mean", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	char word[COT_SHARE_WORD_MAX];
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		struct cot_parts_app p = cot_parts_app(s->parts, i);
		struct cot_share asked = s->sc->apps[i].sms;

		cot_table_text(t, s->sc->apps[i].name);
		cot_table_text(t, asked.sms || asked.pct ? cot_share_word(asked, word) : "-");
		cot_table_cell(t, "%" PRIu32, p.end - p.begin);
		cot_table_cell(t, "%" PRIu32, p.begin);
		cot_table_text(t, cot_format_count(&text, p.n_changes));
		cot_table_cell(t, "%.1f", p.mean_sms);
	}
	return t;
}

struct cot_table *cot_sim_works_table(const struct cot_sim_summary *s)
{
	static const struct cot_column columns[] = {
		{"app", COT_ALIGN_LEFT},	{"works", COT_ALIGN_RIGHT},
		{"resumed", COT_ALIGN_RIGHT},	{"wait p99", COT_ALIGN_RIGHT},
		{"evictions", COT_ALIGN_RIGHT}, {"SMs evicted", COT_ALIGN_RIGHT},
		{"delay p50", COT_ALIGN_RIGHT}, {"delay p99", COT_ALIGN_RIGHT},
		{"delay max", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_sim_host_works *w = &s->works[i];
		double ps_per_us = (double)COT_PS_PER_US;

		if (!w->rewritten)
			continue;
		cot_table_text(t, s->sc->apps[i].name);
		cot_table_text(t, cot_format_count(&text, w->n_works));
		cot_table_text(t, cot_format_count(&text, w->n_returns));
		us_cell(t, w->n_works > 0, w->wait_p99_ps / ps_per_us);
		cot_table_text(t, cot_format_count(&text, w->n_evictions));
		cot_table_text(t, cot_format_count(&text, w->n_evicted_sms));
		us_cell(t, w->n_evictions > 0, w->eviction_p50_ps / ps_per_us);
		us_cell(t, w->n_evictions > 0, w->eviction_p99_ps / ps_per_us);
		us_cell(t, w->n_evictions > 0, cot_us_from_ps(w->eviction_max_ps));
	}
	return t;
}
