/* The study as `cotenant compare --random` sees it. */
#include "study/mixes/mixes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/jobs.h"

#define DEFAULT_POLICY "slo"

/* A p99 that is over the target by so much may be chance. */
#define NEAR 1.05

const char *const cot_mix_reasons[COT_MIX_N_REASONS] = {
	[COT_MIX_NO_FAULT] = "",
	[COT_MIX_OTHER_KEEPS] = "other topology only",
	[COT_MIX_NEAR] = "nearly kept",
	[COT_MIX_OVER] = "over the target",
	[COT_MIX_OTHER_IS_MORE] = "other topology",
	[COT_MIX_EVENER] = "shares more evenly",
	[COT_MIX_LESS] = "less than could be",
};

const struct cot_mix_outcome *cot_mix_fixed(const struct cot_mix_result *r, unsigned way)
{
	return way == COT_MIXES_FIRST ? r->later : r->outcomes;
}

/* Of all, or of those in the same topology as `like`. */
static int best_of(const struct cot_mix_outcome *fixed, const struct cot_mix_outcome *like)
{
	int i, best = -1;

	for (i = 0; i < (int)COT_MIXES_FIXED; i++)
		if (fixed[i].kept && (!like || fixed[i].parts == like->parts) &&
		    (best < 0 || fixed[i].batch_sum > fixed[best].batch_sum))
			best = i;
	return best;
}

int cot_mix_best(const struct cot_mix_result *r, unsigned way)
{
	return best_of(cot_mix_fixed(r, way), NULL);
}

static bool is_slow(const struct cot_mix_outcome *o, const struct cot_mix_outcome *fixed, int best)
{
	return best >= 0 && o->batch_sum < COT_MIXES_BOUND * fixed[best].batch_sum;
}

enum cot_mix_fault cot_mix_judge(const struct cot_mix_result *r, unsigned way)
{
	const struct cot_mix_outcome *o = &r->outcomes[way];
	int best = cot_mix_best(r, way);

	if (best < 0)
		return COT_MIX_FINE;
	if (!o->kept)
		return COT_MIX_MISSED;
	return is_slow(o, cot_mix_fixed(r, way), best) ? COT_MIX_SLOW : COT_MIX_FINE;
}

static enum cot_mix_reason reason_of_slow(const struct cot_mix_outcome *o,
					  const struct cot_mix_outcome *fixed, int own)
{
	if (!is_slow(o, fixed, own))
		return COT_MIX_OTHER_IS_MORE;
	return o->batch_least > COT_MIXES_EVENER * fixed[own].batch_least ? COT_MIX_EVENER
									  : COT_MIX_LESS;
}

enum cot_mix_reason cot_mix_reason(const struct cot_mix_result *r, unsigned way)
{
	const struct cot_mix_outcome *o = &r->outcomes[way], *fixed = cot_mix_fixed(r, way);
	int own = best_of(fixed, o);

	switch (cot_mix_judge(r, way)) {
	case COT_MIX_MISSED:
		if (own < 0)
			return COT_MIX_OTHER_KEEPS;
		return o->use <= NEAR ? COT_MIX_NEAR : COT_MIX_OVER;
	case COT_MIX_SLOW:
		return reason_of_slow(o, fixed, own);
	default:
		return COT_MIX_NO_FAULT;
	}
}

struct work {
	struct cot_mixes *mixes;
	const struct cot_study_options *options;
};

/* Of a single scenario everything is told. */
static int run_single(struct cot_mixes *all, const struct cot_mix *m, const char *policy,
		      const struct cot_study_options *options, struct cot_error *err)
{
	size_t size;
	FILE *notes = open_memstream(&all->notes, &size);
	int rc;

	all->text = strdup(m->text);
	if (!notes || !all->text) {
		if (notes)
			(void)fclose(notes);
		return -ENOMEM;
	}
	rc = cot_mix_play(m, policy, options, notes, &all->results[0], err);
	return fclose(notes) ? -ENOMEM : rc;
}

static int run_one(void *arg, size_t job)
{
	const struct work *w = arg;
	struct cot_mixes *all = w->mixes;
	const char *policy = all->policy ? all->policy : DEFAULT_POLICY;
	struct cot_error err;
	struct cot_mix *m;
	int rc = cot_mix_make(w->options->seed + job, &m, &err);

	if (rc)
		return rc;
	if (all->n == 1)
		rc = run_single(all, m, policy, w->options, &err);
	else
		rc = cot_mix_play(m, policy, w->options, NULL, &all->results[job], &err);
	cot_mix_destroy(m);
	return rc;
}

static void tell(void *arg, size_t n_done, size_t n_jobs)
{
	const struct work *w = arg;

	if (w->options->progress)
		w->options->progress(w->options->arg, (double)n_done / (double)n_jobs);
}

int cot_mixes_run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	struct cot_mixes *all = data;
	struct work w = {.mixes = all, .options = options};
	const struct cot_jobs jobs = {
		.n = all->n,
		.run = run_one,
		.progress = tell,
		.arg = &w,
		.stop = options->stop,
		.stop_arg = options->arg,
	};

	(void)err;
	all->results = calloc(all->n, sizeof(*all->results));
	return all->results ? cot_jobs_run(&jobs, options->n_threads) : -ENOMEM;
}

static void *create(void)
{
	struct cot_mixes *all = calloc(1, sizeof(*all));

	if (all)
		all->n = 1;
	return all;
}

static void destroy(void *data)
{
	struct cot_mixes *all = data;

	free(all->results);
	free(all->text);
	free(all->notes);
	free(all);
}

const struct cot_study cot_mixes_study = {
	.name = "random",
	.gpu = "h200, cut to 7 units of SMs",
	.summary = "random scenarios: slo against every fixed arrangement",
	.create = create,
	.destroy = destroy,
	.run = cot_mixes_run,
	.write_text = cot_mixes_write_text,
	.write_json = cot_mixes_write_json,
	.write_csv = cot_mixes_write_csv,
	.write_html = cot_mixes_write_html,
};
