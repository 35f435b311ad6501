/* Whether a mix fits a GPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "study/jobs.h"
#include "study/plan/pack.h"

struct cot_pack_known {
	struct cot_plan_mix mix;
	struct cot_plan_outcome outcome;
};

static bool is_same(const struct cot_plan_mix *a, const struct cot_plan_mix *b)
{
	return !memcmp(a->n, b->n, sizeof(a->n));
}

static bool holds(const struct cot_plan_mix *m, const struct cot_plan_mix *less)
{
	uint32_t i;

	for (i = 0; i < COT_WORKLOAD_JOBS_MAX; i++)
		if (less->n[i] > m->n[i])
			return false;
	return true;
}

const struct cot_plan_outcome *cot_pack_outcome(const struct cot_pack *p,
						const struct cot_plan_mix *m)
{
	size_t i;

	for (i = 0; i < p->n_known; i++)
		if (is_same(&p->known[i].mix, m))
			return &p->known[i].outcome;
	return NULL;
}

/* More than one GPU can do. Requests come at random: what they need is known to some percent. */
#define LOAD_MAX 1.05

double cot_pack_load(const struct cot_pack *p, const struct cot_plan_mix *m)
{
	double load = 0;
	uint32_t i;

	for (i = 0; i < p->plan->workload->n_jobs; i++)
		load += m->n[i] * p->plan->alone[i].load;
	return load;
}

bool cot_pack_is_hopeless(const struct cot_pack *p, const struct cot_plan_mix *m)
{
	const struct cot_workload *w = p->plan->workload;
	size_t i;

	if (cot_plan_count(p->plan, m) > p->plan->per_gpu)
		return true;
	if (w->memory_bytes && cot_plan_memory(p->plan, m) > w->memory_bytes)
		return true;
	if (cot_plan_count(p->plan, m) > 1 && cot_pack_load(p, m) > LOAD_MAX)
		return true;
	for (i = 0; i < p->n_misfits; i++)
		if (holds(m, &p->misfits[i]))
			return true;
	return false;
}

/* ---- playing ---- */

static int play_one(void *arg, size_t job)
{
	const struct cot_pack *p = arg;

	return cot_plan_play(p->plan, &p->wanted[job], p->options, &p->outcomes[job]);
}

static void tell(void *arg, size_t n_done, size_t n_jobs)
{
	const struct cot_pack *p = arg;

	(void)n_done;
	(void)n_jobs;
	if (p->options->progress)
		p->options->progress(p->options->arg,
				     (double)p->plan->n_placed / p->plan->workload->n_programs);
}

int cot_pack_note(struct cot_pack *p, const struct cot_plan_mix *m,
		  const struct cot_plan_outcome *outcome)
{
	struct cot_pack_known *known =
		cot_grow(p->known, p->n_known, &p->cap_known, sizeof(*known));

	if (!known)
		return -ENOMEM;
	p->known = known;
	known[p->n_known++] = (struct cot_pack_known){*m, *outcome};
	return 0;
}

static int keep(struct cot_pack *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < p->n_wanted && !rc; i++)
		rc = cot_pack_note(p, &p->wanted[i], &p->outcomes[i]);
	return rc;
}

static bool is_wanted(const struct cot_pack *p, const struct cot_plan_mix *m)
{
	uint32_t i;

	for (i = 0; i < p->n_wanted; i++)
		if (is_same(&p->wanted[i], m))
			return true;
	return false;
}

/* Plays the next few of `n` mixes, as many as there are threads. */
static int play_some(struct cot_pack *p, const struct cot_plan_mix *mixes, uint32_t n)
{
	const struct cot_study_options *o = p->options;
	struct cot_jobs jobs = {
		.run = play_one, .progress = tell, .arg = p, .stop = o->stop, .stop_arg = o->arg};
	uint32_t i;
	int rc;

	if (!p->outcomes)
		p->outcomes = calloc(COT_PLAN_GPUS_MAX, sizeof(*p->outcomes));
	if (!p->outcomes)
		return -ENOMEM;
	p->n_wanted = 0;
	for (i = 0; i < n && p->n_wanted < o->n_threads; i++)
		if (!cot_pack_is_hopeless(p, &mixes[i]) && !cot_pack_outcome(p, &mixes[i]) &&
		    !is_wanted(p, &mixes[i]))
			p->wanted[p->n_wanted++] = mixes[i];
	jobs.n = p->n_wanted;
	rc = cot_jobs_run(&jobs, o->n_threads);
	return rc ? rc : keep(p);
}

static int note_misfit(struct cot_pack *p, const struct cot_plan_mix *m)
{
	struct cot_plan_mix *misfits =
		cot_grow(p->misfits, p->n_misfits, &p->cap_misfits, sizeof(*misfits));

	if (!misfits)
		return -ENOMEM;
	p->misfits = misfits;
	misfits[p->n_misfits++] = *m;
	return 0;
}

int cot_pack_first(struct cot_pack *p, const struct cot_plan_mix *mixes, uint32_t n,
		   uint32_t *ret_which)
{
	const struct cot_plan_outcome *o;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		if (cot_pack_is_hopeless(p, &mixes[i]))
			continue;
		o = cot_pack_outcome(p, &mixes[i]);
		if (!o) {
			rc = play_some(p, &mixes[i], n - i);
			o = rc ? NULL : cot_pack_outcome(p, &mixes[i]);
		}
		if (o && o->kept)
			break;
		rc = rc ? rc : note_misfit(p, &mixes[i]);
	}
	*ret_which = i;
	return rc;
}

void cot_pack_finish(struct cot_pack *p)
{
	free(p->known);
	free(p->misfits);
	free(p->outcomes);
}
