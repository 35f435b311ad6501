/*
 * Laws that hold for every scenario, checked at every instant of random ones (support/sim_check.h),
 * under every scheduler, by both mechanisms, with equal and with varying blocks.
 *
 * A failure prints the case. To play it again: COT_PROPERTY_SEED=<seed> COT_PROPERTY_RUNS=1.
 */
#include <stdio.h>

#include "support/sim_check.h"
#include "support/sim_random.h"
#include "support/sim_trail.h"
#include "test.h"

#define N_CASES	     80	 /* of each scheduler, mechanism and jitter */
#define MAX_INSTANTS 600 /* unimportant programs may starve: not every case comes to its end */

static void fail_case(const struct random_case *rc, const char *text)
{
	fail_msg("seed %llu, %s, %s, jitter %g: %s", (unsigned long long)rc->seed, rc->scheduler,
		 rc->preempt == COT_PREEMPT_SWITCH ? "switch" : "drain", rc->jitter_cv, text);
}

typedef void case_fn(const struct random_case *rc);

static void for_each_case(case_fn *fn, unsigned n)
{
	uint64_t first = random_first_seed(), seed;
	unsigned s, m, j;

	n = random_n_cases(n);
	for (s = 0; s < hw_n_scheds; s++)
		for (m = 0; m < 2; m++)
			for (j = 0; j < 2; j++)
				for (seed = first; seed < first + n; seed++)
					fn(&(struct random_case){hw_scheds[s]->name,
								 m ? COT_PREEMPT_DRAIN
								   : COT_PREEMPT_SWITCH,
								 j ? 0.3 : 0.0, seed});
}

static struct cot_sim *create(const struct random_case *rc, struct sim_build *b)
{
	struct cot_sim *sim;

	random_build(b, rc);
	if (cot_sim_create(&b->sc, NULL, NULL, NULL, &sim, NULL))
		fail_case(rc, "cannot be created");
	return sim;
}

/* ---- the laws, at full speed ---- */

static void check_case(const struct random_case *rc)
{
	enum cot_sim_status status = COT_SIM_MORE;
	struct sim_build b;
	struct sim_check c;
	uint32_t n;

	sim_check_init(&c, create(rc, &b));
	for (n = 0; n < MAX_INSTANTS && status == COT_SIM_MORE; n++) {
		status = cot_sim_run(c.sim, 1);
		if (!sim_check_instant(&c))
			fail_case(rc, c.text);
	}
	if (status != COT_SIM_MORE && status != COT_SIM_DONE)
		fail_case(rc, "stalls");
	cot_sim_destroy(c.sim);
	sim_check_finish(&c);
}

static void the_laws_hold(void **state)
{
	(void)state;
	for_each_case(check_case, N_CASES);
}

/* ---- the laws, at rates that change all the time ---- */

static void change_rates(struct sim_check *c, struct cot_rng *rng)
{
	uint32_t n_sms = c->sim->sc->gpu.n_sms, sm = (uint32_t)cot_rng_below(rng, n_sms);
	uint64_t quarter = COT_RATE_ONE / 4;

	switch (cot_rng_below(rng, 12)) {
	case 0:
		sim_check_set_rate(c, sm, 0);
		break;
	case 1:
		sim_check_set_rate(c, sm, COT_RATE_ONE);
		break;
	case 2:
	case 3:
		sim_check_set_rate(c, sm, quarter + cot_rng_below(rng, 3 * quarter));
		break;
	default:
		break;
	}
}

static void check_case_with_rates(const struct random_case *rc)
{
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_rng rng = {~rc->seed};
	struct sim_build b;
	struct sim_check c;
	uint32_t n, i;

	sim_check_init(&c, create(rc, &b));
	for (n = 0; n < MAX_INSTANTS && status != COT_SIM_DONE; n++) {
		status = cot_sim_run(c.sim, 1);
		if (!sim_check_instant(&c))
			fail_case(rc, c.text);
		change_rates(&c, &rng);
		if (status != COT_SIM_STALLED)
			continue;
		for (i = 0; i < b.sc.gpu.n_sms; i++) /* all that could go on is halted */
			sim_check_set_rate(&c, i, COT_RATE_ONE);
	}
	cot_sim_destroy(c.sim);
	sim_check_finish(&c);
}

static void the_laws_hold_at_changing_rates(void **state)
{
	(void)state;
	for_each_case(check_case_with_rates, N_CASES / 4);
}

/* ---- the same seed gives the same result, however the run is cut ---- */

static const struct cot_sim_observer trail = {
	.sm_changed = trail_sm_changed,
	.app_changed = trail_app_changed,
	.kernel_done = trail_kernel_done,
};

/* Returns the hash of all that an observer is told; `piece` instants at a time. */
static uint64_t play_once(const struct random_case *rc, uint64_t piece, bool rates,
			  struct cot_sim_result *ret)
{
	struct cot_rng rng = {rc->seed};
	struct sim_build b;
	struct cot_sim *sim;
	uint64_t hash = 0;
	uint32_t i;

	random_build_long(&b, rc);
	assert_int_equal(cot_sim_create(&b.sc, NULL, &trail, &hash, &sim, NULL), 0);
	for (i = 0; rates && i < b.sc.gpu.n_sms; i++)
		if (cot_rng_below(&rng, 2)) /* the others stay at full speed */
			cot_sim_set_rate(sim, i, 1 + cot_rng_below(&rng, 4 * COT_RATE_ONE));
	while (cot_sim_run(sim, piece) == COT_SIM_MORE)
		;
	cot_sim_result(sim, ret);
	cot_sim_destroy(sim);
	return hash;
}

static void check_repeats(const struct random_case *rc)
{
	struct cot_sim_result first, second;

	if (play_once(rc, UINT64_MAX, false, &first) != play_once(rc, UINT64_MAX, false, &second))
		fail_case(rc, "two plays differ");
	play_same_result(&first, &second);
}

static void a_seed_always_gives_the_same(void **state)
{
	(void)state;
	for_each_case(check_repeats, N_CASES / 10);
}

/*
 * In one piece the engine may leap over instants at which nothing but waves of blocks end; asked
 * for one instant at a time it may not. Nobody can tell.
 */
static void check_pieces(const struct random_case *rc)
{
	struct cot_sim_result whole, steps;
	bool rates = rc->seed % 2 == 0;

	if (play_once(rc, UINT64_MAX, rates, &whole) != play_once(rc, 1, rates, &steps) ||
	    whole.end_ps != steps.end_ps || whole.block_completions != steps.block_completions)
		fail_case(rc, "a run in one piece and one in steps differ");
	play_same_result(&whole, &steps);
}

static void leaps_change_nothing(void **state)
{
	(void)state;
	for_each_case(check_pieces, N_CASES / 2);
}

/* ---- schedulers differ only when programs meet ---- */

/* Alone, a program takes the same time under every scheduler: block times belong to it. */
static void a_program_alone_does_not_feel_the_scheduler(void **state)
{
	uint64_t first = random_first_seed(), seed;
	unsigned n = random_n_cases(N_CASES);

	(void)state;
	for (seed = first; seed < first + n; seed++) {
		struct random_case rc = {"fcfs", COT_PREEMPT_SWITCH, seed % 2 ? 0.2 : 0.0, seed};
		uint64_t want = 0;
		unsigned s;

		for (s = 0; s < hw_n_scheds; s++) {
			struct cot_sim_result r;
			struct sim_build b;
			struct cot_sim *sim;

			random_build(&b, &rc);
			b.sc.n_apps = 1;
			build_stop_runs(&b, 2);
			assert_int_equal(
				cot_sim_create(&b.sc, hw_scheds[s], NULL, NULL, &sim, NULL), 0);
			assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
			cot_sim_result(sim, &r);
			cot_sim_destroy(sim);
			rc.scheduler = hw_scheds[s]->name;
			if (s && r.end_ps != want)
				fail_case(&rc, "takes longer or shorter than under fcfs");
			if (r.preemptions)
				fail_case(&rc, "preempts a lone program");
			want = r.end_ps;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_laws_hold),
		cmocka_unit_test(the_laws_hold_at_changing_rates),
		cmocka_unit_test(a_seed_always_gives_the_same),
		cmocka_unit_test(leaps_change_nothing),
		cmocka_unit_test(a_program_alone_does_not_feel_the_scheduler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
