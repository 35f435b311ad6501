/* The program of a job of which a knowledge file tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/words.h"
#include "sim/series.h"
#include "study/plan/plan.h"
#include "text/text.h"
#include "trace/program.h"
#include "trace/scenario_read.h"

#define PS_PER_NS	1000u
#define REGS_PER_BLOCK	65536u /* a block fills an SM: who gets the GPU has all of it */
#define LAUNCHES_MAX	COT_KNOWN_TASKS_MAX
#define NEARLY_PERMILLE 1050u /* as long as on all SMs */
#define BLOCKS_PER_SM	8u    /* of what SMs make faster: so finely it is divided */
#define NORMAL_P99	2.326 /* of the normal distribution */
#define SPREAD_MAX	5.0

/* On so many SMs it takes about as long as on all of them. */
static uint32_t enough_sms(const struct cot_knowledge *k, const uint64_t *time_ns)
{
	uint64_t last = time_ns[k->n_quotas - 1];
	uint32_t q = 0;

	while (q + 1 < k->n_quotas && time_ns[q] * 1000 > last * NEARLY_PERMILLE)
		q++;
	return k->sms[q];
}

static void fill_kernel(struct cot_kernel *kernel, const struct cot_knowledge *k,
			const struct cot_gpu *gpu, const uint64_t *time_ns, uint32_t launches)
{
	uint32_t sms = enough_sms(k, time_ns), all = k->sms[k->n_quotas - 1];
	uint64_t ps = time_ns[k->n_quotas - 1] * PS_PER_NS / launches;
	uint32_t waves = sms < all ? 1 : BLOCKS_PER_SM;

	*kernel = (struct cot_kernel){
		.name = "known",
		.n_blocks = sms * waves,
		.blocks_per_sm = 1,
		.block_ps = ps / waves ? ps / waves : 1,
		.regs_per_block =
			gpu->regs_per_sm < REGS_PER_BLOCK ? gpu->regs_per_sm : REGS_PER_BLOCK,
	};
	kernel->ctx_bytes_per_block = 4 * kernel->regs_per_block;
}

static uint32_t at_most(uint64_t n, uint32_t most)
{
	return n < 1 ? 1 : n < most ? (uint32_t)n : most;
}

/* Launches of a repetition: as many as the longest kernel is contained in it. */
static uint32_t repeat_launches(const struct cot_knowledge *k)
{
	uint32_t last = k->n_quotas - 1;
	uint64_t kernel_ns = k->kernel_ns[last];

	return kernel_ns ? at_most(k->repeats.time_ns[last] / kernel_ns, LAUNCHES_MAX) : 1;
}

/* The steps are the owner's, in one piece with their kernel. */
static int make_program(struct cot_job *job, const struct cot_gpu *gpu,
			const struct cot_knowledge *k, const uint64_t *time_ns, uint32_t launches,
			uint64_t out_ns)
{
	struct cot_program_store store = {0};
	struct cot_step *steps = calloc(3, sizeof(*steps));
	struct cot_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!steps || !kernel) {
		free(steps);
		free(kernel);
		return -ENOMEM;
	}
	fill_kernel(kernel, k, gpu, time_ns, launches);
	steps[0] = (struct cot_step){.kind = COT_STEP_KERNEL, .launches = launches};
	steps[1] = (struct cot_step){.kind = COT_STEP_SYNC};
	steps[2] = (struct cot_step){.kind = COT_STEP_CPU, .cpu_ps = out_ns * PS_PER_NS};
	store.steps = steps;
	store.n_steps = out_ns ? 3 : 2;
	store.kernels = kernel;
	store.n_kernels = 1;
	cot_scenario_give_program(job->owner, 0, &store);
	job->app.program = job->owner->apps[0].program;
	return 0;
}

static void take_rest(struct cot_job *job, const struct cot_knowledge *k)
{
	double spread = k->spread_milli / 1e3;

	if (job->app.arrivals.per_s > 0 && !(job->app.arrivals.size_cv > 0) && spread > 1)
		job->app.arrivals.size_cv =
			cot_ln_series(spread < SPREAD_MAX ? spread : SPREAD_MAX) / NORMAL_P99;
	if (!(job->watts > 0))
		job->watts = k->cost.power_w;
}

int cot_plan_program_of(struct cot_job *job, const struct cot_gpu *gpu,
			const struct cot_knowledge *k, struct cot_error *err)
{
	const struct cot_known_input *in = k->n_inputs ? k->inputs[k->n_inputs - 1] : NULL;
	int rc;

	if (k->cls != job->app.cls)
		return cot_error_set(err, -EINVAL, "it is of a program of class %s; expected %s",
				     cot_class_words[k->cls], cot_class_words[job->app.cls]);
	if (k->sms[k->n_quotas - 1] > gpu->n_sms)
		return cot_error_set(
			err, -EINVAL,
			"it was measured on %u SMs; expected at most %u, which the GPU "
			"has",
			k->sms[k->n_quotas - 1], gpu->n_sms);
	if (in)
		rc = make_program(job, gpu, k, in->time_ns,
				  at_most(in->n_tasks ? in->n_tasks : in->n_launches, LAUNCHES_MAX),
				  in->out_ns);
	else
		rc = make_program(job, gpu, k, k->repeats.time_ns, repeat_launches(k), 0);
	if (rc)
		return cot_error_set(err, rc, "out of memory");
	take_rest(job, k);
	return 0;
}

static int learn_one(struct cot_job *job, const struct cot_gpu *gpu, const char *name,
		     struct cot_error *err)
{
	struct cot_knowledge *k = NULL;
	char path[COT_PATH_MAX];
	struct cot_error inner = {""};
	int rc = cot_text_beside(name, job->knowledge, path, &inner);

	rc = rc ? rc : cot_knowledge_read(path, &k, &inner);
	rc = rc ? rc : cot_plan_program_of(job, gpu, k, &inner);
	cot_knowledge_destroy(k);
	if (rc)
		(void)cot_error_set(err, rc, "%s:%u:%u: the knowledge of '%s' cannot be used: %s",
				    name, job->line, job->col, job->app.name, inner.text);
	return rc == -ENOMEM ? rc : rc ? -EINVAL : 0;
}

int cot_plan_learn(struct cot_workload *w, const char *name, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < w->n_jobs && !rc; i++)
		if (w->jobs[i].knowledge[0])
			rc = learn_one(&w->jobs[i], &w->base.gpu, name, err);
	return rc;
}
