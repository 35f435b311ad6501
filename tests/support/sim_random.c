#include "support/sim_random.h"

#include <stdlib.h>

static const double some_us[] = {1, 2, 2.5, 5, 7.3, 10, 10, 20, 33.333333};

static uint32_t below(struct cot_rng *rng, uint32_t n)
{
	return (uint32_t)cot_rng_below(rng, n);
}

static double pick_us(struct cot_rng *rng)
{
	return some_us[below(rng, COT_ARRAY_LEN(some_us))];
}

/* Drawn one after the other: arguments have no order of their own. */
static struct cot_step *random_kernel(struct sim_build *b, struct cot_rng *rng,
				      uint32_t most_blocks, uint32_t most_per_sm, uint32_t most_kb)
{
	uint32_t n_blocks = 1 + below(rng, most_blocks);
	double us = pick_us(rng);
	uint32_t per_sm = 1 + below(rng, most_per_sm);

	return build_kernel(b, n_blocks, us, per_sm, below(rng, most_kb));
}

static void random_step(struct sim_build *b, struct cot_rng *rng)
{
	uint32_t most_blocks, most_per_sm;

	switch (below(rng, 8)) {
	case 0:
		build_cpu(b, pick_us(rng));
		break;
	case 1:
		build_h2d(b, cot_rng_below(rng, 40000));
		break;
	case 2:
		build_d2h(b, cot_rng_below(rng, 40000));
		break;
	case 3:
		build_sync(b);
		break;
	default:
		most_blocks = below(rng, 3) ? 12 : 60;
		most_per_sm = below(rng, 2) ? 2 : 8;
		random_kernel(b, rng, most_blocks, most_per_sm, 4)->launches = 1 + below(rng, 3);
		break;
	}
}

static void random_app(struct sim_build *b, struct cot_rng *rng, bool shared)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	uint32_t i = b->sc.n_apps, n_steps = 1 + below(rng, 5), s;
	struct cot_app *app = build_app(b, names[i]);

	app->priority = below(rng, 2) ? (int32_t)below(rng, 4) - 1 : 0;
	app->start_ps = below(rng, 2) ? cot_rng_below(rng, 50000000) : below(rng, 3) * 5000000;
	if (!below(rng, 4))
		app->tokens = (int32_t)below(rng, 6);
	if (shared)
		app->context = below(rng, i + 1);
	for (s = 0; s < n_steps; s++)
		random_step(b, rng);
	build_cpu(b, pick_us(rng));
	if (below(rng, 2))
		(void)random_kernel(b, rng, 40, 4, 2);
}

void random_build(struct sim_build *b, const struct random_case *rc)
{
	struct cot_rng rng = {rc->seed};
	uint32_t n_apps, i;
	bool shared;

	build_init(b, rc->scheduler, below(&rng, 8) ? 1 + below(&rng, 6) : 13);
	b->sc.preempt = rc->preempt;
	b->sc.seed = rc->seed;
	b->sc.block_jitter_cv = rc->jitter_cv;
	b->sc.transfers = below(&rng, 2) ? COT_TRANSFERS_FCFS : COT_TRANSFERS_PRIORITY;
	b->sc.quantum_ps = 1000000 + cot_rng_below(&rng, 40000000);
	b->sc.gpu.trap_ps = below(&rng, 3) ? 0 : cot_rng_below(&rng, 2000000);
	b->sc.gpu.setup_ps = below(&rng, 3) ? 0 : cot_rng_below(&rng, 2000000);
	n_apps = 1 + below(&rng, 6);
	shared = !below(&rng, 3);
	for (i = 0; i < n_apps; i++)
		random_app(b, &rng, shared);
	if (below(&rng, 2))
		build_stop_runs(b, 1 + below(&rng, 3));
	else
		b->sc.stop_ps = 1000000 + cot_rng_below(&rng, 400000000);
}

void random_build_long(struct sim_build *b, const struct random_case *rc)
{
	struct cot_rng rng = {~rc->seed};
	uint32_t i, k;

	random_build(b, rc);
	for (i = 0; i < b->sc.n_apps; i++)
		for (k = 0; k < b->sc.apps[i].program.n_kernels; k++)
			b->kernels[i][k].n_blocks *= 1 + below(&rng, 40);
	build_stop_at(b, 100 + below(&rng, 3000));
}

unsigned random_n_cases(unsigned n)
{
	const char *s = getenv("COT_PROPERTY_RUNS");

	return s ? (unsigned)strtoul(s, NULL, 10) : n;
}

uint64_t random_first_seed(void)
{
	const char *s = getenv("COT_PROPERTY_SEED");

	return s ? strtoull(s, NULL, 10) : 1;
}
