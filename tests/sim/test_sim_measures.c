/*
 * What the simulator's host tells a policy that measures: windows with the numbers of the report,
 * counts of launches; and nothing to a policy that does not.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/host.h"
#include "test.h"
#include "trace/gpu.h"

enum { REQUEST, BATCH, N_APPS };

#define RUN_S	   8u
#define N_REQUESTS 200u
#define TARGET_US  400u

extern const struct cot_policy_ops policy_keep; /* tests/policy/policy_keep.c */

static const struct cot_kernel kernels[N_APPS] = {
	{.name = "request", .n_blocks = 132, .blocks_per_sm = 1, .block_ps = 100 * COT_PS_PER_US},
	{.name = "train",
	 .n_blocks = 13 * 132,
	 .blocks_per_sm = 1,
	 .block_ps = COT_PS_PER_US * 500},
};
static struct cot_step request_steps[3 * N_REQUESTS];
static const struct cot_step batch_steps[] = {
	{.kind = COT_STEP_KERNEL, .launches = 1},
	{.kind = COT_STEP_SYNC},
};

/* What the policy was told. */
static struct {
	struct cot_window last[COT_N_HORIZONS];
	unsigned n_windows[COT_N_HORIZONS];
	uint64_t n_launches[N_APPS], launches_at_ns[N_APPS];
} told;

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	uint64_t slot_ns[] = {COT_NS_PER_S / 10, COT_NS_PER_S, 6 * COT_NS_PER_S};

	assert_int_equal(t->id, REQUEST + 1);
	assert_int_equal(w->source, COT_REQUESTS_MARKED);
	assert_int_equal(p->now_ns % slot_ns[w->horizon], 0);
	assert_memory_equal(&w->response, &w->service, sizeof(w->response));
	told.last[w->horizon] = *w;
	told.n_windows[w->horizon]++;
}

static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	assert_int_equal(t->launches.span_ns, COT_NS_PER_S);
	told.n_launches[t->id - 1] += t->launches.n;
	told.launches_at_ns[t->id - 1] = p->now_ns;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_measure_ops measures = {.requests = requests, .progress = progress};

static const struct cot_policy_ops watch = {
	.name = "watch",
	.summary = "writes down what is measured",
	.abi = COT_POLICY_ABI,
	.measures = &measures,
	.tick = tick,
};

/* ---- the scenario ---- */

/* One kernel, or now and then four of them; 0.5 to 4.5 ms apart. */
static void make_requests(void)
{
	struct cot_rng rng = {5};
	struct cot_step *s = request_steps;
	uint32_t i;

	for (i = 0; i < N_REQUESTS; i++) {
		uint64_t gap_us = 500 + cot_rng_below(&rng, 4001);

		*s++ = (struct cot_step){.kind = COT_STEP_CPU, .cpu_ps = gap_us * COT_PS_PER_US};
		*s++ = (struct cot_step){.kind = COT_STEP_KERNEL,
					 .launches = cot_rng_below(&rng, 40) ? 1 : 4};
		*s++ = (struct cot_step){.kind = COT_STEP_SYNC};
	}
}

static void make(struct cot_scenario *sc)
{
	uint32_t i;

	make_requests();
	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 1,
		.block_jitter_cv = 0.2,
		.quantum_ps = 2000 * COT_PS_PER_US,
		.stop_ps = RUN_S * COT_PS_PER_S + COT_PS_PER_US,
		.n_apps = N_APPS,
	};
	for (i = 0; i < N_APPS; i++) {
		struct cot_app *a = &sc->apps[i];

		a->tokens = COT_TOKENS_EQUAL;
		a->context = i;
		a->program.kernels = &kernels[i];
		a->program.n_kernels = 1;
		(void)snprintf(a->name, sizeof(a->name), "%s", kernels[i].name);
	}
	sc->apps[REQUEST].cls = COT_CLASS_LATENCY;
	sc->apps[REQUEST].target = (struct cot_target){COT_TARGET_P99, TARGET_US};
	sc->apps[REQUEST].program.steps = request_steps;
	sc->apps[REQUEST].program.n_steps = 3 * N_REQUESTS;
	sc->apps[BATCH].cls = COT_CLASS_BATCH;
	sc->apps[BATCH].program.steps = batch_steps;
	sc->apps[BATCH].program.n_steps = 2;
}

/* ---- playing it ---- */

struct tally {
	uint64_t until_ps;
	uint64_t n_kernels[N_APPS];
	unsigned n_measurements;
};

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct tally *t = arg;

	(void)begin_ps;
	(void)kernel;
	t->n_kernels[app] += end_ps <= t->until_ps;
}

static void tap(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	struct tally *t = arg;

	(void)a;
	t->n_measurements += ev && (ev->type == COT_EV_WINDOW || ev->type == COT_EV_PROGRESS);
}

static void play(const struct cot_scenario *sc, const struct cot_policy_ops *policy,
		 struct tally *tally, struct cot_sim_host_times *ret_times)
{
	static const struct cot_sim_observer obs = {.kernel_done = kernel_done};
	struct cot_sim_host_options opt = {.policy = policy, .tap = tap, .tap_arg = tally};
	struct cot_sched_stats stats;
	struct cot_sim_host *h;
	struct cot_error err;

	memset(&told, 0, sizeof(told));
	*tally = (struct tally){.until_ps = RUN_S * COT_PS_PER_S};
	if (cot_sim_host_create(sc, &opt, &obs, tally, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_times(h, REQUEST, ret_times);
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	assert_int_equal(stats.fallbacks, 0);
	assert_int_equal(stats.events_refused, 0);
	cot_sim_host_destroy(h);
}

static void assert_close(uint64_t got_ns, double want_ps)
{
	double want_ns = want_ps / 1000;

	if ((double)got_ns < 0.98 * want_ns || (double)got_ns > 1.02 * want_ns)
		fail_msg("got %llu ns, want %.0f ns", (unsigned long long)got_ns, want_ns);
}

/* The window of 10 s has the whole run of 8 s. */
static void test_windows_say_what_the_report_says(void **state)
{
	const struct cot_times *w = &told.last[COT_HORIZON_10S].response;
	static struct cot_scenario sc;
	struct cot_sim_host_times t;
	struct tally tally;

	(void)state;
	make(&sc);
	play(&sc, &watch, &tally, &t);
	print_message("%llu requests: p50 %.0f us, p95 %.0f us, p99 %.0f us, %llu missed\n",
		      (unsigned long long)t.n_responses, t.response_p50_ps / 1e6,
		      t.response_p95_ps / 1e6, t.response_p99_ps / 1e6,
		      (unsigned long long)t.n_missed);
	assert_int_equal(told.last[COT_HORIZON_10S].at_ns, RUN_S * COT_NS_PER_S);
	assert_true(t.n_responses > 1000);
	assert_int_equal(w->n, t.n_responses);
	assert_int_equal(w->n_missed, t.n_missed);
	assert_true(t.n_missed > 10 && t.n_missed < t.n_responses);
	assert_close(w->p50_ns, t.response_p50_ps);
	assert_close(w->p95_ns, t.response_p95_ps);
	assert_close(w->p99_ns, t.response_p99_ps);
	assert_int_equal(told.n_windows[COT_HORIZON_1S], 10 * RUN_S);
	assert_int_equal(told.n_windows[COT_HORIZON_10S], RUN_S);
	assert_int_equal(told.n_windows[COT_HORIZON_60S], 1);
	/* The last second alone. */
	assert_true(told.last[COT_HORIZON_1S].response.n < w->n / 5);
}

static void test_launches_are_counted(void **state)
{
	static struct cot_scenario sc;
	struct cot_sim_host_times t;
	struct tally tally;
	uint32_t i;

	(void)state;
	make(&sc);
	play(&sc, &watch, &tally, &t);
	for (i = 0; i < N_APPS; i++) {
		assert_int_equal(told.launches_at_ns[i], RUN_S * COT_NS_PER_S);
		assert_int_equal(told.n_launches[i], tally.n_kernels[i]);
		assert_true(told.n_launches[i] > 100);
	}
}

/* Without requests a window is delivered once more, and then no more. */
static void test_silence_is_told_once(void **state)
{
	static struct cot_scenario sc;
	struct cot_sim_host_times t;
	struct tally tally;

	(void)state;
	make(&sc);
	request_steps[3].cpu_ps = 2 * RUN_S * COT_PS_PER_S; /* there is no second one */
	play(&sc, &watch, &tally, &t);
	assert_int_equal(t.n_responses, 1);
	assert_int_equal(told.n_windows[COT_HORIZON_1S], 11);
	assert_int_equal(told.last[COT_HORIZON_1S].response.n, 0);
	assert_int_equal(told.n_windows[COT_HORIZON_10S], RUN_S);
}

static void test_who_does_not_ask_is_not_told(void **state)
{
	static struct cot_scenario sc;
	struct cot_sim_host_times t, again;
	struct tally tally;

	(void)state;
	make(&sc);
	play(&sc, cot_policy_find("pools"), &tally, &t);
	assert_int_equal(tally.n_measurements, 0);
	sc.apps[REQUEST].target = (struct cot_target){0};
	play(&sc, cot_policy_find("pools"), &tally, &again);
	assert_int_equal(again.n_missed, 0);
	assert_true(again.limit_ps == UINT64_MAX);
	again.n_missed = t.n_missed;
	again.limit_ps = t.limit_ps;
	assert_memory_equal(&t, &again, sizeof(t));
}

/* The example of the document: a loose target gives batch programs longer slices, a tight one does
 * not. */
static void test_the_example_keeps_targets(void **state)
{
	struct cot_sim_host_times tight, loose;
	static struct cot_scenario sc;
	struct tally by_tight, by_loose;

	(void)state;
	make(&sc);
	play(&sc, &policy_keep, &by_tight, &tight);
	sc.apps[REQUEST].target.amount = 20000;
	play(&sc, &policy_keep, &by_loose, &loose);
	print_message("tight: p99 %.0f us, %llu kernels; loose: p99 %.0f us, %llu kernels\n",
		      tight.response_p99_ps / 1e6, (unsigned long long)by_tight.n_kernels[BATCH],
		      loose.response_p99_ps / 1e6, (unsigned long long)by_loose.n_kernels[BATCH]);
	assert_true(by_loose.n_measurements > 100);
	assert_true(loose.response_p99_ps > 2 * tight.response_p99_ps);
	assert_true(loose.response_p99_ps < 20000 * 1e6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_say_what_the_report_says),
		cmocka_unit_test(test_launches_are_counted),
		cmocka_unit_test(test_silence_is_told_once),
		cmocka_unit_test(test_who_does_not_ask_is_not_told),
		cmocka_unit_test(test_the_example_keeps_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
