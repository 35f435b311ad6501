/*
 * The policy `smqos` on a simulated H200: a promised rate is kept wherever some part of a fixed
 * size keeps it, and the other program has what is left.
 */
#include <stdio.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/host.h"
#include "test.h"
#include "trace/gpu.h"

enum { GOAL, OTHER, N_APPS };

#define RUN_S	  100u
#define OTHERS_S  4u  /* the others begin: until then the program is alone */
#define SETTLED_S 50u /* what is promised is kept from then on */

static const struct cot_step steps[] = {
	{.kind = COT_STEP_KERNEL, .launches = 1},
	{.kind = COT_STEP_SYNC},
};

struct play {
	struct cot_kernel kernels[N_APPS];
	uint32_t permille; /* the promise */
	uint32_t sms;	   /* of a fixed part instead; 0 = none */
	uint64_t others_s;
	uint64_t n[N_APPS];	/* launches since they have settled */
	uint64_t n_alone;	/* of the first second but one */
	struct cot_tenant goal; /* in the end */
};

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct play *p = arg;
	uint64_t second = end_ps / COT_PS_PER_S;

	(void)begin_ps;
	(void)kernel;
	p->n[app] += second >= SETTLED_S;
	p->n_alone += app == GOAL && second == 1;
}

static void make(const struct play *p, struct cot_scenario *sc)
{
	uint32_t i;

	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 1,
		.quantum_ps = 2000 * COT_PS_PER_US,
		.stop_ps = RUN_S * COT_PS_PER_S,
		.n_apps = N_APPS,
	};
	for (i = 0; i < N_APPS; i++) {
		struct cot_app *a = &sc->apps[i];

		a->cls = COT_CLASS_BATCH;
		a->tokens = COT_TOKENS_EQUAL;
		a->context = i;
		a->program.kernels = &p->kernels[i];
		a->program.n_kernels = 1;
		a->program.steps = steps;
		a->program.n_steps = 2;
		(void)snprintf(a->name, sizeof(a->name), "app%u", i);
	}
	sc->apps[OTHER].start_ps = p->others_s * COT_PS_PER_S;
	if (p->permille)
		sc->apps[GOAL].target = (struct cot_target){COT_TARGET_RATE, p->permille};
	if (p->sms) {
		sc->apps[GOAL].cls = COT_CLASS_LATENCY; /* at the top */
		sc->apps[GOAL].sms.sms = (uint16_t)p->sms;
		sc->apps[OTHER].sms.sms = (uint16_t)(132 - p->sms);
	}
}

static void play(struct play *p)
{
	static const struct cot_sim_observer obs = {.kernel_done = kernel_done};
	struct cot_sim_host_options opt = {.policy = cot_policy_find(p->sms ? "parts" : "smqos")};
	static struct cot_scenario sc;
	struct cot_sched_stats stats;
	struct cot_sim_host *h;
	struct cot_error err;

	make(p, &sc);
	if (cot_sim_host_create(&sc, &opt, &obs, p, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	assert_int_equal(stats.wrong_actions + stats.fallbacks, 0);
	p->goal = *cot_sched_tenant(cot_sim_host_sched(h), GOAL + 1);
	cot_sim_host_destroy(h);
}

static struct cot_kernel kernel_of(uint32_t n_blocks, uint32_t block_us)
{
	return (struct cot_kernel){.name = "k",
				   .n_blocks = n_blocks,
				   .blocks_per_sm = 1,
				   .block_ps = block_us * COT_PS_PER_US,
				   .ctx_bytes_per_block = 65536};
}

/* In parts of the rate alone, on so many SMs of its own: blocks go in waves. */
static double rate_on(const struct cot_kernel *k, uint32_t sms)
{
	uint32_t waves = (k->n_blocks + sms - 1) / sms, alone = (k->n_blocks + 131) / 132;

	return (double)alone / waves;
}

static double kept(const struct play *p)
{
	return (double)p->n[GOAL] / (RUN_S - SETTLED_S) / (double)p->n_alone;
}

/* The smallest part that keeps the promise; 0: there is none. */
static uint32_t least_part(const struct play *p)
{
	uint32_t sms;

	for (sms = 12; sms <= 124; sms += 8)
		if (rate_on(&p->kernels[GOAL], sms) * 1000 >= p->permille)
			return sms;
	return 0;
}

/* What the next test takes for granted of parts of a fixed size. */
static void test_fixed_parts(void **state)
{
	static const uint32_t sms[] = {12, 44, 124};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct play p = {.sms = sms[i], .others_s = 0};
		double alone;

		p.kernels[GOAL] = kernel_of(264, 5000);
		p.kernels[OTHER] = kernel_of(264, 5000);
		play(&p);
		alone = 100.0; /* two waves of 5 ms */
		assert_float_equal((double)p.n[GOAL] / (RUN_S - SETTLED_S) / alone,
				   rate_on(&p.kernels[GOAL], sms[i]), 0.01);
	}
}

/* Programs of all sizes and promises; of 132 SMs at least one unit is the other one's. */
static void test_a_rate_is_kept_where_a_part_keeps_it(void **state)
{
	struct cot_rng rng = {2014};
	unsigned i, n_kept = 0;

	(void)state;
	for (i = 0; i < 30; i++) {
		uint32_t n_blocks = 20 + (uint32_t)cot_rng_below(&rng, 800);
		uint32_t waves = (n_blocks + 131) / 132, least;
		struct play p = {.permille = 50 + (uint32_t)cot_rng_below(&rng, 931),
				 .others_s = OTHERS_S};

		p.kernels[GOAL] = kernel_of(n_blocks, 8000 / waves);
		p.kernels[OTHER] = kernel_of(264, 5000);
		least = least_part(&p);
		if (!least)
			continue;
		play(&p);
		n_kept++;
		/* Between two units it has the one and the other by turns: an epoch is 3 of the 50
		 * seconds. */
		if (kept(&p) * 1000 < 0.98 * p.permille)
			fail_msg("%u blocks, %u of 1000 promised: %.3f; %u SMs would do", n_blocks,
				 p.permille, kept(&p), least);
		/* One unit more at most. For nearly all of its rate it keeps what it has for
		 * minutes. */
		if (p.permille <= 850 && p.goal.part.n > least + 8 + 4)
			fail_msg("%u blocks, %u of 1000 promised: %u SMs; %u would do", n_blocks,
				 p.permille, p.goal.part.n, least);
	}
	assert_true(n_kept >= 20);
}

/* Both begin at the same time: what it does alone is measured beside a unit of the other one. */
static void test_measured_beside_others(void **state)
{
	struct play p = {.permille = 600};

	(void)state;
	p.kernels[GOAL] = kernel_of(1320, 500);
	p.kernels[OTHER] = kernel_of(264, 5000);
	play(&p);
	p.n_alone =
		200; /* ten waves of 0.5 ms on all SMs, eleven on those that it is measured on */
	assert_true(kept(&p) >= 0.98 * 0.6 * 10 / 11);
	assert_in_range(p.goal.part.n, 68, 84);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_parts),
		cmocka_unit_test(test_a_rate_is_kept_where_a_part_keeps_it),
		cmocka_unit_test(test_measured_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
