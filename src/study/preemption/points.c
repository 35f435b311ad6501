/* From turnaround times to the bars and curves of Figures 5 to 8. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/metrics.h"
#include "study/preemption/preemption.h"
#include "study/preemption/stat.h"

bool cot_preemption_sample_alloc(struct cot_preemption_sample *s)
{
	unsigned i;

	for (i = 0; i < s->n_sizes; i++) {
		s->prio[i] = calloc(s->n_prio[i] ? s->n_prio[i] : 1, sizeof(*s->prio[i]));
		s->dss[i] = calloc(s->n_dss ? s->n_dss : 1, sizeof(*s->dss[i]));
		if (!s->prio[i] || !s->dss[i])
			return false;
	}
	return true;
}

void cot_preemption_sample_finish(struct cot_preemption_sample *s)
{
	unsigned i;

	for (i = 0; i < COT_PREEMPTION_MAX_SIZES; i++) {
		free(s->prio[i]);
		free(s->dss[i]);
		s->prio[i] = s->dss[i] = NULL;
	}
}

void cot_preemption_points_finish(struct cot_preemption_points *p)
{
	free(p->items);
	*p = (struct cot_preemption_points){0};
}

void cot_preemption_finish(struct cot_preemption *r)
{
	unsigned i;

	for (i = 0; i < r->n_samples; i++) {
		cot_preemption_sample_finish(&r->samples[i]);
		cot_preemption_points_finish(&r->points[i]);
	}
}

const struct cot_preemption_point *cot_preemption_points_find(const struct cot_preemption_points *p,
							      const char *figure,
							      const char *mechanism,
							      const char *group, unsigned nproc)
{
	unsigned i;

	for (i = 0; i < p->n; i++) {
		const struct cot_preemption_point *q = &p->items[i];

		if (q->nproc == nproc && !strcmp(q->figure, figure) &&
		    !strcmp(q->mechanism, mechanism) && !strcmp(q->group, group))
			return q;
	}
	return NULL;
}

/* What the functions below fill: the points of one size, and the first failure. */
struct maker {
	const struct cot_preemption_sample *s;
	const struct cot_printed *printed;
	struct cot_preemption_points *points;
	unsigned size_index;
	int rc;
};

static void add_point(struct maker *m, const char *figure, const char *metric,
		      const char *mechanism, const char *group, struct cot_mean value)
{
	struct cot_preemption_points *p = m->points;
	struct cot_preemption_point *items;

	if (m->rc || !value.n)
		return;
	items = cot_grow(p->items, p->n, &p->cap, sizeof(*items));
	if (!items) {
		m->rc = -ENOMEM;
		return;
	}
	p->items = items;
	p->items[p->n++] = (struct cot_preemption_point){
		.figure = figure,
		.metric = metric,
		.mechanism = mechanism,
		.group = group,
		.nproc = m->s->sizes[m->size_index],
		.value = value.mean,
		.half_width = value.half_width,
		.geomean = value.geomean,
		.of_means = value.of_means,
	};
}

/* One value per benchmark, then per group of benchmarks, then over all. */
static void add_groups(struct maker *m, const char *figure, const char *mechanism, bool class2,
		       const struct cot_accu *per_benchmark)
{
	const struct cot_printed *p = m->printed;
	bool member[COT_PRINTED_MAX_BENCHMARKS];
	unsigned g, i;

	for (g = 0; g <= COT_N_SIZES; g++) {
		for (i = 0; i < p->n_benchmarks; i++) {
			const struct cot_printed_benchmark *b = &p->benchmarks[i];

			member[i] = g == COT_N_SIZES || (class2 ? b->class2 : b->class1) == g;
		}
		add_point(m, figure, "ntt_improvement", mechanism,
			  g < COT_N_SIZES ? cot_size_class_names[g] : "average",
			  cot_mean_of_groups(per_benchmark, member, p->n_benchmarks));
	}
	for (i = 0; i < p->n_benchmarks; i++)
		add_point(m, figure, "ntt_improvement", mechanism, p->benchmarks[i].name,
			  cot_accu_mean(&per_benchmark[i]));
}

static struct cot_multi_metrics case_metrics(const struct cot_preemption_sample *s,
					     const struct cot_preemption_case *c, unsigned policy)
{
	double single[COT_WORKLOAD_MAX];
	unsigned i;

	for (i = 0; i < c->load.n; i++)
		single[i] = s->single_us[c->load.apps[i]];
	return cot_multi_metrics(single, c->multi_us[policy], c->load.n);
}

/* NTT_FCFS / NTT_policy of the high-priority process. */
static void figure5(struct maker *m, unsigned policy, const char *mechanism)
{
	struct cot_accu per_benchmark[COT_PRINTED_MAX_BENCHMARKS] = {0};
	unsigned i;

	for (i = 0; i < m->s->n_prio[m->size_index]; i++) {
		const struct cot_preemption_case *c = &m->s->prio[m->size_index][i];
		unsigned h = c->load.high;

		/* Over its time alone: benchmarks of different lengths count alike. */
		double alone = m->s->single_us[c->load.apps[h]];

		cot_accu_add_ratio(&per_benchmark[c->load.apps[h]],
				   c->multi_us[COT_PRIO_FCFS][h] / alone,
				   c->multi_us[policy][h] / alone);
	}
	add_groups(m, "5", mechanism, false, per_benchmark);
}

static void figure6(struct maker *m, const char *figure, unsigned policy, const char *mechanism)
{
	struct cot_accu ratio = {0};
	unsigned i;

	for (i = 0; i < m->s->n_prio[m->size_index]; i++) {
		const struct cot_preemption_case *c = &m->s->prio[m->size_index][i];

		cot_accu_add_ratio(&ratio, case_metrics(m->s, c, COT_PRIO_NPQ).stp,
				   case_metrics(m->s, c, policy).stp);
	}
	add_point(m, figure, "stp_overhead", mechanism, "average", cot_accu_mean(&ratio));
}

/* All three parts: turnaround of every process, fairness and throughput of every workload. */
static void figure7(struct maker *m, unsigned policy, const char *mechanism)
{
	struct cot_accu per_benchmark[COT_PRINTED_MAX_BENCHMARKS] = {0};
	struct cot_accu fairness = {0}, stp = {0};
	unsigned i, j;

	for (i = 0; i < m->s->n_dss; i++) {
		const struct cot_preemption_case *c = &m->s->dss[m->size_index][i];
		struct cot_multi_metrics fcfs = case_metrics(m->s, c, COT_DSS_FCFS);
		struct cot_multi_metrics dss = case_metrics(m->s, c, policy);

		cot_accu_add_ratio(&fairness, dss.fairness, fcfs.fairness);
		cot_accu_add_ratio(&stp, fcfs.stp, dss.stp);
		for (j = 0; j < c->load.n; j++) {
			double alone = m->s->single_us[c->load.apps[j]];

			cot_accu_add_ratio(&per_benchmark[c->load.apps[j]],
					   c->multi_us[COT_DSS_FCFS][j] / alone,
					   c->multi_us[policy][j] / alone);
		}
	}
	add_groups(m, "7a", mechanism, true, per_benchmark);
	add_point(m, "7b", "fairness_improvement", mechanism, "average", cot_accu_mean(&fairness));
	add_point(m, "7c", "stp_degradation", mechanism, "average", cot_accu_mean(&stp));
}

static void figure8(struct maker *m, enum cot_dss_policy by_switch, const char *by_switch_name,
		    const char *by_drain_name, const char *crossing_name)
{
	struct cot_antt_curves c;

	if (m->rc || !m->s->n_dss)
		return;
	m->rc = cot_preemption_antt(m->s, m->size_index, by_switch, &c);
	if (m->rc)
		return;
	add_point(m, "8", "improved_share", by_switch_name, "workloads",
		  cot_share_mean(c.improved[COT_ANTT_SWITCH], c.n));
	add_point(m, "8", "improved_share", by_drain_name, "workloads",
		  cot_share_mean(c.improved[COT_ANTT_DRAIN], c.n));
	if (c.n_improved)
		add_point(m, "8", "crossing", crossing_name, "improved",
			  (struct cot_mean){.n = c.n_improved,
					    .mean = (double)c.crossing.rank / c.n_improved});
	cot_antt_curves_finish(&c);
}

int cot_preemption_points_make(const struct cot_preemption_sample *s,
			       const struct cot_printed *printed, struct cot_preemption_points *ret)
{
	struct maker m = {.s = s, .printed = printed, .points = ret};

	*ret = (struct cot_preemption_points){0};
	for (m.size_index = 0; m.size_index < s->n_sizes; m.size_index++) {
		figure5(&m, COT_PRIO_NPQ, "npq");
		figure5(&m, COT_PRIO_PPQ_SWITCH, "switch");
		figure5(&m, COT_PRIO_PPQ_DRAIN, "drain");
		figure6(&m, "6a", COT_PRIO_PPQ_SWITCH, "switch");
		figure6(&m, "6a", COT_PRIO_PPQ_DRAIN, "drain");
		figure6(&m, "6b", COT_PRIO_SHARED_SWITCH, "switch");
		figure6(&m, "6b", COT_PRIO_SHARED_DRAIN, "drain");
		figure7(&m, COT_DSS_SWITCH, "switch");
		figure7(&m, COT_DSS_DRAIN, "drain");
		figure8(&m, COT_DSS_SWITCH, "switch", "drain", "switch/drain");
		if (!s->lends)
			continue;
		figure7(&m, COT_DSS_LEND_SWITCH, COT_LEND "switch");
		figure7(&m, COT_DSS_LEND_DRAIN, COT_LEND "drain");
		figure8(&m, COT_DSS_LEND_SWITCH, COT_LEND "switch", COT_LEND "drain",
			COT_LEND "switch/drain");
	}
	if (m.rc)
		cot_preemption_points_finish(ret);
	return m.rc;
}

struct cot_crossing cot_preemption_crossing(const double *a, const double *b, unsigned n)
{
	struct cot_crossing best = {0};
	unsigned i, k, good = 0, best_good;

	for (i = 0; i < n; i++)
		good += b[i] <= a[i];
	best_good = good;
	for (k = 1; k <= n; k++) {
		/* Rank k - 1 moves to the left of the split. */
		if (a[k - 1] < b[k - 1])
			good++;
		else
			good--;
		if (good > best_good) {
			best_good = good;
			best.rank = k;
		}
	}
	best.agreement = n ? (double)best_good / n : 1.0;
	return best;
}

struct ranked {
	double antt[COT_ANTT_N];
	unsigned index;
};

static int worst_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->antt[COT_ANTT_FCFS] != y->antt[COT_ANTT_FCFS])
		return x->antt[COT_ANTT_FCFS] > y->antt[COT_ANTT_FCFS] ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Switch against draining among the workloads that gain; `a` and `b` have room for all. */
static void find_crossing(const struct ranked *r, struct cot_antt_curves *c, double *a, double *b)
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		double least = fmin(r[i].antt[COT_ANTT_SWITCH], r[i].antt[COT_ANTT_DRAIN]);

		if (r[i].antt[COT_ANTT_FCFS] <= least * COT_ANTT_GAIN)
			continue;
		a[c->n_improved] = r[i].antt[COT_ANTT_SWITCH];
		b[c->n_improved++] = r[i].antt[COT_ANTT_DRAIN];
	}
	c->crossing = cot_preemption_crossing(a, b, c->n_improved);
}

static void rank_workloads(const struct cot_preemption_sample *s, unsigned size_index,
			   enum cot_dss_policy by_switch, struct ranked *r)
{
	const unsigned policies[COT_ANTT_N] = {COT_DSS_FCFS, by_switch, by_switch + 1};
	unsigned i, k;

	for (i = 0; i < s->n_dss; i++) {
		r[i].index = i;
		for (k = 0; k < COT_ANTT_N; k++)
			r[i].antt[k] = case_metrics(s, &s->dss[size_index][i], policies[k]).antt;
	}
	qsort(r, s->n_dss, sizeof(*r), worst_first);
}

int cot_preemption_antt(const struct cot_preemption_sample *s, unsigned size_index,
			enum cot_dss_policy by_switch, struct cot_antt_curves *ret)
{
	struct cot_antt_curves c = {.n = s->n_dss};
	struct ranked *r = calloc(c.n + 1, sizeof(*r));
	unsigned i, k;

	c.antt[0] = malloc((COT_ANTT_N * c.n + 1) * sizeof(double));
	if (!r || !c.antt[0]) {
		free(r);
		free(c.antt[0]);
		return -ENOMEM;
	}
	rank_workloads(s, size_index, by_switch, r);
	/* The curves are scratch first. */
	find_crossing(r, &c, c.antt[0], c.antt[0] + c.n);
	for (k = 0; k < COT_ANTT_N; k++) {
		c.antt[k] = c.antt[0] + k * c.n;
		for (i = 0; i < c.n; i++) {
			c.antt[k][i] = r[i].antt[k];
			c.improved[k] += r[i].antt[0] > r[i].antt[k] * COT_ANTT_GAIN;
			c.much[k] += r[i].antt[0] > r[i].antt[k] * COT_ANTT_MUCH;
			c.any[k] += r[i].antt[0] > r[i].antt[k];
		}
		c.improved[k] /= c.n ? c.n : 1;
		c.much[k] /= c.n ? c.n : 1;
		c.any[k] /= c.n ? c.n : 1;
	}
	free(r);
	*ret = c;
	return 0;
}

void cot_antt_curves_finish(struct cot_antt_curves *c)
{
	free(c->antt[0]);
	*c = (struct cot_antt_curves){0};
}
