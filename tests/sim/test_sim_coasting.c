/*
 * Coasting (src/sim/sm.c) must change nothing but the time that a simulation takes. A simulation
 * run one instant at a time never coasts, because every call brings the tables up to date; so the
 * two ways are held against each other: the same trail of everything that an observer sees, and the
 * same result. Kernels are long and their phases differ, so that waves of several SMs end at
 * different times, at the same time, and just when somebody else's event comes.
 *
 * A failure prints the case. To play it again: COT_PROPERTY_SEED=<seed> COT_PROPERTY_RUNS=1.
 */
#include "base/rng.h"
#include "base/units.h"
#include "support/sim_random.h"
#include "test.h"

#define N_CASES 150
#define STOP_US 3000.0

struct trail {
	uint64_t hash, n;
};

static void note(struct trail *t, uint64_t a, uint64_t b, uint64_t c)
{
	t->hash = cot_hash64(cot_hash64(cot_hash64(t->hash, a), b), c);
	t->n++;
}

static void sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		       uint32_t app, const char *kernel)
{
	(void)kernel;
	note(arg, t_ps, (uint64_t)sm << 32 | app, activity);
}

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	(void)kernel;
	note(arg, begin_ps, end_ps, app);
}

/* Every kernel gets up to 64 times as many blocks. */
static void lengthen(struct sim_build *b, uint64_t seed)
{
	struct cot_rng rng = {seed};
	uint32_t i, j;

	for (i = 0; i < b->sc.n_apps; i++)
		for (j = 0; j < b->sc.apps[i].program.n_kernels; j++)
			b->kernels[i][j].n_blocks *= 1 + (uint32_t)cot_rng_below(&rng, 64);
	build_stop_at(b, STOP_US);
}

static struct trail play_by(const struct random_case *rc, uint64_t instants_a_call,
			    struct cot_sim_result *ret)
{
	static const struct cot_sim_observer obs = {.sm_changed = sm_changed,
						    .kernel_done = kernel_done};
	enum cot_sim_status status;
	struct trail t = {0};
	struct sim_build b;
	struct cot_sim *sim;

	random_build(&b, rc);
	lengthen(&b, rc->seed);
	assert_int_equal(cot_sim_create(&b.sc, NULL, &obs, &t, &sim, NULL), 0);
	do {
		status = cot_sim_run(sim, instants_a_call);
	} while (status == COT_SIM_MORE);
	assert_int_equal(status, COT_SIM_DONE);
	cot_sim_result(sim, ret);
	cot_sim_destroy(sim);
	return t;
}

static void compare(const struct random_case *rc)
{
	struct cot_sim_result stepped, coasted;
	struct trail a = play_by(rc, 1, &stepped), b = play_by(rc, UINT64_MAX, &coasted);

	if (a.hash != b.hash || a.n != b.n)
		fail_msg("seed %llu, %s, %s: %llu changes one way, %llu the other",
			 (unsigned long long)rc->seed, rc->scheduler,
			 rc->preempt == COT_PREEMPT_SWITCH ? "switch" : "drain",
			 (unsigned long long)a.n, (unsigned long long)b.n);
	play_same_result(&stepped, &coasted);
}

static void coasting_changes_nothing(void **state)
{
	uint64_t first = random_first_seed(), seed;
	unsigned n = random_n_cases(N_CASES), s;

	(void)state;
	for (s = 0; s < hw_n_scheds; s++)
		for (seed = first; seed < first + n; seed++) {
			compare(&(struct random_case){hw_scheds[s]->name, COT_PREEMPT_SWITCH, 0.0,
						      seed});
			compare(&(struct random_case){hw_scheds[s]->name, COT_PREEMPT_DRAIN, 0.0,
						      seed});
		}
}

static void count_instant(void *arg, uint64_t t_ps)
{
	(void)t_ps;
	(*(uint64_t *)arg)++;
}

/* The comparison compares something: 1000 waves of a lone kernel take few instants. */
static void a_long_kernel_coasts(void **state)
{
	static const struct cot_sim_observer obs = {.instant_done = count_instant};
	uint64_t n_instants = 0;
	struct cot_sim_result r;
	struct cot_sim *sim;
	struct sim_build b;

	(void)state;
	build_init(&b, "fcfs", 4);
	(void)build_one(&b, "a", 0.0, 8000, 1.0, 2, 1);
	build_stop_at(&b, 2000.0);
	assert_int_equal(cot_sim_create(&b.sc, NULL, &obs, &n_instants, &sim, NULL), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r);
	assert_int_equal(r.block_completions, 8000);
	assert_in_range(n_instants, 2, 100);
	cot_sim_destroy(sim);
}

/* Blocks of 10 us, and one that is more important at the very end of a wave, when the next blocks
 * have begun: drained, it waits for these. */
static void preempted_between_two_waves(void **state)
{
	static const enum cot_preempt how[] = {COT_PREEMPT_DRAIN, COT_PREEMPT_SWITCH};
	struct sim_build b;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		build_init(&b, "ppq", 2);
		b.sc.preempt = how[i];
		(void)build_one(&b, "a", 0, 120, 10, 1, 2);
		build_one(&b, "b", 300, 1, 5, 1, 0)->priority = 1;
		/* Drained until 310; or saved for 2 us, and restored. */
		play_expect_kernels(&b, i ? "b 300-307, a 0-609" : "b 300-315, a 0-605");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coasting_changes_nothing),
		cmocka_unit_test(a_long_kernel_coasts),
		cmocka_unit_test(preempted_between_two_waves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
