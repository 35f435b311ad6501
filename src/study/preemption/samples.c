#include "study/preemption/samples.h"

#include <errno.h>
#include <string.h>

#define PRIO_SETS	  5
#define N_DSS		  50
#define PRIO_SETS_PRINTED 1 /* of the reading that is far from the paper: enough to see that */
#define N_DSS_PRINTED	  20
#define PRIO_SETS_QUICK	  1
#define N_DSS_QUICK	  10
#define JITTER_SIZE	  4
#define JITTER_SETS	  2
#define JITTER_DSS	  4
#define PHASES_DSS	  5

/* What the samples of one group have in common. */
struct draw {
	const struct cot_preemption *r;
	uint8_t apps[COT_PRINTED_MAX_BENCHMARKS];
	unsigned n_apps;
};

/* Beside LONG programs the others run hundreds of times, which takes too long once each block has a
 * time of its own. */
static struct draw draw_from(const struct cot_preemption *r, bool long_ones)
{
	struct draw d = {.r = r};
	unsigned i;

	for (i = 0; i < r->printed.n_benchmarks; i++)
		if (long_ones || r->printed.benchmarks[i].class2 != COT_SIZE_LONG)
			d.apps[d.n_apps++] = (uint8_t)i;
	return d;
}

static int draw(const struct draw *d, struct cot_preemption_sample *s)
{
	uint64_t seed = d->r->seed;
	unsigned i, j;

	if (!cot_preemption_sample_alloc(s))
		return -ENOMEM;
	for (i = 0; i < s->n_sizes; i++) {
		for (j = 0; j < s->n_prio[i]; j++)
			s->prio[i][j].load =
				cot_workload_priority(seed, d->apps, d->n_apps, s->sizes[i], j);
		for (j = 0; j < s->n_dss; j++)
			s->dss[i][j].load =
				cot_workload_random(seed, d->apps, d->n_apps, s->sizes[i], j);
	}
	return 0;
}

/* With two processes there are few pairs and runs are short: all of them. */
static unsigned n_prio(const struct draw *d, unsigned size, unsigned n_sets)
{
	return d->n_apps * (n_sets == PRIO_SETS && size == 2 ? d->n_apps : n_sets);
}

static int make_main_samples(struct cot_preemption *r)
{
	const struct {
		const char *name;
		enum cot_block_time block_time;
		bool lends;
		unsigned n_sets, n_dss;
	} mains[COT_PREEMPTION_MAIN] = {
		{"consistent", COT_BLOCK_TIME_WAVE, true, PRIO_SETS, N_DSS},
		{"printed", COT_BLOCK_TIME_PRINTED, false, PRIO_SETS_PRINTED, N_DSS_PRINTED},
	};
	const struct draw d = draw_from(r, true);
	unsigned i, k;
	int rc = 0;

	for (i = 0; i < COT_PREEMPTION_MAIN && !rc; i++) {
		struct cot_preemption_sample *s = &r->samples[r->n_samples++];

		s->name = mains[i].name;
		s->block_time = mains[i].block_time;
		s->jitter_cv = r->jitter_cv;
		s->lends = mains[i].lends;
		s->n_sizes = r->n_sizes;
		memcpy(s->sizes, r->sizes, sizeof(s->sizes));
		for (k = 0; k < s->n_sizes; k++)
			s->n_prio[k] = n_prio(&d, s->sizes[k],
					      r->quick ? PRIO_SETS_QUICK : mains[i].n_sets);
		s->n_dss = r->quick ? N_DSS_QUICK : mains[i].n_dss;
		rc = draw(&d, s);
	}
	return rc;
}

/* The same workloads with and without a spread of block times. */
static int make_jitter_samples(struct cot_preemption *r)
{
	static const struct {
		const char *name;
		double cv;
	} jitters[] = {{"0", 0.0}, {"0.3", 0.3}, {"0.6", 0.6}};
	const struct draw d = draw_from(r, false);
	int rc = 0;

	for (; r->n_jitters < COT_ARRAY_LEN(jitters) && !rc; r->n_jitters++) {
		struct cot_preemption_sample *s = &r->samples[r->n_samples++];

		s->name = jitters[r->n_jitters].name;
		s->jitter_cv = jitters[r->n_jitters].cv;
		s->n_sizes = 1;
		s->sizes[0] = JITTER_SIZE;
		s->n_prio[0] = d.n_apps * JITTER_SETS;
		s->n_dss = JITTER_DSS;
		rc = draw(&d, s);
	}
	return rc;
}

/* The same workloads with the CPU time where the sources have it, and between the launches. */
static int make_phase_samples(struct cot_preemption *r)
{
	static const char *const names[] = {"as traced", "between launches"};
	const struct draw d = draw_from(r, true);
	int rc = 0;

	for (; r->n_phases < COT_ARRAY_LEN(names) && !rc; r->n_phases++) {
		struct cot_preemption_sample *s = &r->samples[r->n_samples++];

		s->name = names[r->n_phases];
		s->spread_cpu = r->n_phases > 0;
		s->n_sizes = 2;
		s->sizes[0] = 2;
		s->sizes[1] = 8;
		s->n_prio[0] = s->n_prio[1] = d.n_apps;
		s->n_dss = PHASES_DSS;
		rc = draw(&d, s);
	}
	return rc;
}

int cot_preemption_samples_make(struct cot_preemption *r)
{
	int rc = make_main_samples(r);

	if (rc || r->quick || r->jitter_cv > 0.0)
		return rc;
	rc = make_jitter_samples(r);
	return rc ? rc : make_phase_samples(r);
}
