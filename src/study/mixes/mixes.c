/* The study as `cotenant compare --random` sees it. */
#include "study/mixes/mixes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/jobs.h"

#define DEFAULT_POLICY "slo"

enum cot_mix_fault cot_mix_judge(const struct cot_mix_result *r, unsigned way)
{
	const struct cot_mix_outcome *o = &r->outcomes[way];

	if (r->best < 0)
		return COT_MIX_FINE;
	if (!o->kept)
		return COT_MIX_MISSED;
	if (o->batch_sum < COT_MIXES_BOUND * r->outcomes[r->best].batch_sum)
		return COT_MIX_SLOW;
	return COT_MIX_FINE;
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
	.summary = "random scenarios: slo against every fixed arrangement",
	.create = create,
	.destroy = destroy,
	.run = cot_mixes_run,
	.write_text = cot_mixes_write_text,
	.write_json = cot_mixes_write_json,
};
