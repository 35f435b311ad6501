/* Random scenarios: what is drawn, how it is judged, and how many of some tens `slo` plays well. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/mixes/mixes.h"
#include "support/sim_random.h"
#include "test.h"

#define N_DRAWN 48u
#if COT_SANITIZED
#define N_PLAYED 2u /* ten times as slow */
#else
#define N_PLAYED 24u
#endif
#define N_BOUND 24u

/* ---- drawing ---- */

struct seen {
	unsigned latency[4], batch[5];
	unsigned even, bursts, curve, sizes, p99, slowdown, copies, repeat;
};

static void look(const struct cot_mix *m, struct seen *s)
{
	unsigned n_latency = 0, n_batch = 0;
	uint32_t i;

	for (i = 0; i < m->sc->n_apps; i++) {
		const struct cot_app *a = &m->sc->apps[i];

		if (a->cls == COT_CLASS_BATCH) {
			n_batch++;
			assert_int_equal(a->target.kind, COT_TARGET_NONE);
			assert_true(a->start_ps <= 2000000000000ull);
			continue;
		}
		n_latency++;
		s->even += a->arrivals.gaps == COT_GAPS_EVEN;
		s->bursts += a->arrivals.off_ps > 0;
		s->curve += a->arrivals.n_curve > 0;
		s->sizes += a->arrivals.size_cv > 0;
		s->p99 += a->target.kind == COT_TARGET_P99;
		s->slowdown += a->target.kind == COT_TARGET_SLOWDOWN;
		s->copies += a->program.kernels[0].work.insts > 0;
		assert_true(a->target.kind == COT_TARGET_P99 ||
			    a->target.kind == COT_TARGET_SLOWDOWN);
		assert_true(a->arrivals.per_s >= 0.1);
		assert_true(m->alone_p99_ps[i] > 0);
	}
	assert_in_range(n_latency, 1, 3);
	assert_in_range(n_batch, 1, 4);
	s->latency[n_latency]++;
	s->batch[n_batch]++;
}

/* Everything that may be drawn is, and a seed draws the same each time. */
static void test_drawing(void **state)
{
	struct seen s = {0};
	struct cot_error err = {""};
	struct cot_mix *m, *again;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= N_DRAWN; seed++) {
		if (cot_mix_make(seed, &m, &err))
			fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
		look(m, &s);
		if (seed % 8 == 0) {
			assert_int_equal(cot_mix_make(seed, &again, &err), 0);
			assert_string_equal(m->text, again->text);
			cot_mix_destroy(again);
		}
		cot_mix_destroy(m);
	}
	assert_true(s.latency[1] && s.latency[2] && s.latency[3]);
	assert_true(s.batch[1] && s.batch[2] && s.batch[3] && s.batch[4]);
	assert_true(s.even && s.bursts && s.curve && s.sizes && s.copies);
	assert_true(s.p99 > s.slowdown && s.slowdown);
}

/* ---- judging ---- */

static void test_judging(void **state)
{
	struct cot_mix_result r = {0};
	struct cot_mix_outcome *first = &r.outcomes[COT_MIXES_FIRST];

	(void)state;
	/* In other seconds it does not count. */
	r.outcomes[1] = (struct cot_mix_outcome){.kept = true, .use = 0.9, .batch_sum = 9};
	r.later[2] = (struct cot_mix_outcome){.kept = true, .use = 0.9, .batch_sum = 1.0};
	*first = (struct cot_mix_outcome){.kept = true, .use = 0.9, .batch_sum = 0.951};
	assert_int_equal(cot_mix_best(&r, COT_MIXES_FIRST), 2);
	assert_int_equal(cot_mix_best(&r, COT_MIXES_AGAIN), 1);
	assert_int_equal(cot_mix_judge(&r, COT_MIXES_FIRST), COT_MIX_FINE);
	first->batch_sum = 0.949;
	assert_int_equal(cot_mix_judge(&r, COT_MIXES_FIRST), COT_MIX_SLOW);
	first->kept = false;
	first->batch_sum = 2;
	assert_int_equal(cot_mix_judge(&r, COT_MIXES_FIRST), COT_MIX_MISSED);
	/* No fixed arrangement keeps the targets: nobody can be blamed. */
	r.later[2].kept = false;
	assert_int_equal(cot_mix_judge(&r, COT_MIXES_FIRST), COT_MIX_FINE);
}

static void test_reasons(void **state)
{
	struct cot_mix_result r = {0};
	struct cot_mix_outcome *next = &r.outcomes[COT_MIXES_AGAIN];

	(void)state;
	r.outcomes[0] = (struct cot_mix_outcome){.kept = true, .use = 0.9, .batch_sum = 0.5};
	r.outcomes[5] =
		(struct cot_mix_outcome){.kept = true, .parts = true, .use = 0.9, .batch_sum = 1};
	*next = (struct cot_mix_outcome){.kept = true, .use = 0.9, .batch_sum = 1};
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_NO_FAULT);
	next->batch_sum = 0.49;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_OTHER_IS_MORE);
	next->batch_sum = 0.4;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_LESS);
	/* In its topology one leaves a program less. */
	r.outcomes[0].batch_least = 0.1;
	next->batch_least = 0.104;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_LESS);
	next->batch_least = 0.106;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_EVENER);
	next->kept = false;
	next->use = 1.04;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_NEAR);
	next->use = 1.06;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_OVER);
	r.outcomes[0].kept = false;
	assert_int_equal(cot_mix_reason(&r, COT_MIXES_AGAIN), COT_MIX_OTHER_KEEPS);
}

/* ---- playing ---- */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static bool at_once(void *arg)
{
	(void)arg;
	return true;
}

static struct cot_mixes *play_all(unsigned n, uint64_t seed, unsigned n_threads, const char *policy)
{
	const struct cot_study_options options = {
		.seed = seed, .n_threads = n_threads, .stop = never};
	struct cot_mixes *all = cot_mixes_study.create();
	struct cot_error err = {""};

	assert_non_null(all);
	all->n = n;
	all->policy = policy;
	if (cot_mixes_run(all, &options, &err))
		fail_msg("%s", err.text);
	return all;
}

/* Played as a policy a fixed arrangement is what it is as a fixed one; the number of threads makes
 * no difference. */
static void test_playing(void **state)
{
	struct cot_mixes *a = play_all(2, 5, 2, "pools"), *b = play_all(2, 5, 1, "pools");
	unsigned i;

	(void)state;
	assert_memory_equal(a->results, b->results, 2 * sizeof(*a->results));
	for (i = 0; i < 2; i++) {
		const struct cot_mix_outcome *fixed = &a->results[i].outcomes[0];
		const struct cot_mix_outcome *own = &a->results[i].outcomes[COT_MIXES_AGAIN];

		assert_string_equal(cot_mixes_ways[0], "pools");
		assert_true(own->kept == fixed->kept);
		assert_true(own->use == fixed->use && own->batch_sum == fixed->batch_sum);
		assert_true(fixed->use > 0 && fixed->batch_sum > 0 && !fixed->parts);
		assert_true(a->results[i].outcomes[3].parts);
		/* And in the seconds of a first run. */
		fixed = &a->results[i].later[0];
		own = &a->results[i].outcomes[COT_MIXES_FIRST];
		assert_true(own->kept == fixed->kept);
	}
	cot_mixes_study.destroy(a);
	cot_mixes_study.destroy(b);
}

static void test_interrupted(void **state)
{
	const struct cot_study_options options = {.seed = 1, .n_threads = 1, .stop = at_once};
	struct cot_mixes *all = cot_mixes_study.create();
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_mixes_run(all, &options, &err), -EINTR);
	cot_mixes_study.destroy(all);
}

/*
 * Issue by issue: where some fixed arrangement keeps all targets, so does slo, and leaves batch
 * programs 0.95 of it. It is not there yet: results/cpu/slo says where it is, and these bounds are
 * what it reaches with the first seeds, less one.
 */
#define KEPT_AT_LEAST 14
#define FINE_AT_LEAST 8

static void test_slo(void **state)
{
	unsigned n = random_n_cases(N_PLAYED), i, possible = 0, kept = 0, fine = 0;
	struct cot_mixes *all = play_all(n, 1, 2, NULL);

	(void)state;
	for (i = 0; i < n; i++) {
		enum cot_mix_fault fault = cot_mix_judge(&all->results[i], COT_MIXES_AGAIN);

		if (cot_mix_best(&all->results[i], COT_MIXES_AGAIN) < 0)
			continue;
		possible++;
		kept += fault != COT_MIX_MISSED;
		fine += fault == COT_MIX_FINE;
	}
	print_message("%u scenarios, %u can be kept: %u kept, %u with 0.95 of the batch sum\n", n,
		      possible, kept, fine);
	cot_mixes_study.destroy(all);
	if (n != N_BOUND)
		return;
	assert_true(kept >= KEPT_AT_LEAST);
	assert_true(fine >= FINE_AT_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawing),	    cmocka_unit_test(test_judging),
		cmocka_unit_test(test_reasons),	    cmocka_unit_test(test_playing),
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_slo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
