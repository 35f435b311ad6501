#include "study/preemption/variants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/sim.h"

/* Launches of a kernel until so many blocks have run: enough for its mean time. */
#define ENOUGH_BLOCKS 2000u
#define MAX_LAUNCHES  20u

#define MANY_LAUNCHES 10u

static int copy(const struct cot_program *p, uint64_t n_steps, struct cot_preemption_variant *ret)
{
	ret->steps = calloc(n_steps + 1, sizeof(*ret->steps));
	ret->kernels = calloc(p->n_kernels + 1, sizeof(*ret->kernels));
	if (!ret->steps || !ret->kernels)
		return -ENOMEM;
	memcpy(ret->kernels, p->kernels, p->n_kernels * sizeof(*p->kernels));
	ret->program = *p;
	ret->program.steps = ret->steps;
	ret->program.kernels = ret->kernels;
	return 0;
}

void cot_preemption_variant_finish(struct cot_preemption_variant *v)
{
	free(v->steps);
	free(v->kernels);
	*v = (struct cot_preemption_variant){0};
}

/* Time of `launches` launches of k one after the other, alone on the GPU. */
static int time_alone(const struct cot_scenario *like, const struct cot_kernel *k,
		      uint32_t launches, double *ret_us)
{
	const struct cot_step steps[] = {{.kind = COT_STEP_KERNEL, .launches = launches},
					 {.kind = COT_STEP_SYNC}};
	struct cot_scenario sc = *like;

	sc.n_apps = 1;
	sc.apps[0] = (struct cot_app){.tokens = COT_TOKENS_EQUAL, .name = "alone"};
	sc.apps[0].program = (struct cot_program){
		.steps = steps, .n_steps = COT_ARRAY_LEN(steps), .kernels = k, .n_kernels = 1};
	return cot_sim_isolated_us(&sc, 0, NULL, NULL, ret_us);
}

int cot_preemption_keep_times(const struct cot_scenario *sc, const struct cot_program *program,
			      struct cot_preemption_variant *ret)
{
	struct cot_scenario equal = *sc;
	uint32_t i, launches;
	double us, equal_us;
	int rc = copy(program, program->n_steps, ret);

	if (rc)
		return rc;
	memcpy(ret->steps, program->steps, program->n_steps * sizeof(*program->steps));
	equal.block_jitter_cv = 0.0;
	for (i = 0; i < program->n_kernels && !rc; i++) {
		struct cot_kernel *k = &ret->kernels[i];

		launches = 1 + ENOUGH_BLOCKS / k->n_blocks;
		if (launches > MAX_LAUNCHES)
			launches = MAX_LAUNCHES;
		rc = time_alone(&equal, k, launches, &equal_us);
		if (!rc)
			rc = time_alone(sc, k, launches, &us);
		/* The draws are factors: all times scale alike. */
		if (!rc)
			k->block_ps = (uint64_t)((double)k->block_ps * equal_us / us + 0.5);
	}
	return rc;
}

static uint64_t count_launches(const struct cot_program *p)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == COT_STEP_KERNEL)
			n += p->steps[i].launches;
	return n;
}

static uint64_t sum_cpu_ps(const struct cot_program *p)
{
	uint64_t ps = 0;
	uint32_t i;

	for (i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == COT_STEP_CPU)
			ps += p->steps[i].cpu_ps;
	return ps;
}

int cot_preemption_spread_cpu(const struct cot_program *program, struct cot_preemption_variant *ret)
{
	uint64_t launches = count_launches(program), gap_ps;
	uint32_t i, j, n = 0;
	int rc;

	if (launches < MANY_LAUNCHES)
		return 0;
	rc = copy(program, program->n_steps + 3 * launches, ret);
	if (rc)
		return rc;
	gap_ps = sum_cpu_ps(program) / 10 * 9 / launches;
	for (i = 0; i < program->n_steps; i++) {
		struct cot_step step = program->steps[i];

		step.cpu_ps /= 10;
		if (step.kind != COT_STEP_KERNEL) {
			ret->steps[n++] = step;
			continue;
		}
		step.launches = 1;
		for (j = 0; j < program->steps[i].launches; j++) {
			ret->steps[n++] = step;
			ret->steps[n++] = (struct cot_step){.kind = COT_STEP_SYNC};
			ret->steps[n++] = (struct cot_step){.kind = COT_STEP_CPU, .cpu_ps = gap_ps};
		}
	}
	ret->program.n_steps = n;
	return 0;
}
