/* Measurements in the policy core: what is kept, who is told, and what is refused. */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

/* What the policy was told. */
static struct {
	unsigned n_windows, n_progress, n_ticks;
	uint32_t tenant;
	struct cot_window window;
	struct cot_launches launches;
} told;

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	assert_ptr_equal(w, &t->windows[w->horizon]);
	assert_int_equal(w->at_ns, p->now_ns);
	told.n_windows++;
	told.tenant = t->id;
	told.window = *w;
}

static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	assert_int_equal(t->launches.at_ns, p->now_ns);
	told.n_progress++;
	told.tenant = t->id;
	told.launches = t->launches;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	told.n_ticks++;
	return COT_NEVER;
}

static const struct cot_measure_ops measures = {.requests = requests, .progress = progress};
static const struct cot_measure_ops no_measures;

static struct cot_policy_ops listener = {
	.name = "listener",
	.summary = "writes down what it is told",
	.abi = COT_POLICY_ABI,
	.tick = tick,
};

static struct bench *begin(const struct cot_measure_ops *ops)
{
	struct bench *b;

	listener.measures = ops;
	b = bench_begin(&listener);
	memset(&told, 0, sizeof(told));
	(void)bench_solo(b, 1, COT_CLASS_LATENCY, 100);
	bench_run(b, 1000 * MS);
	return b;
}

static struct cot_event window(enum cot_horizon horizon)
{
	return (struct cot_event){.type = COT_EV_WINDOW,
				  .id = 1,
				  .window = {.horizon = horizon,
					     .response = {9, 2, 30, 40, 50},
					     .service = {10, 0, 20, 20, 20},
					     .at_ns = 77}};
}

static struct cot_event rate(uint64_t n_ended, uint64_t span_ns)
{
	return (struct cot_event){.type = COT_EV_PROGRESS,
				  .id = 1,
				  .launches = {.n = n_ended, .span_ns = span_ns, .at_ns = 77}};
}

static const struct cot_tenant *tenant(const struct bench *b)
{
	return cot_sched_tenant(b->sched, 1);
}

static void test_windows_are_kept_and_told(void **state)
{
	struct bench *b = begin(&measures);
	unsigned n_ticks = told.n_ticks;

	(void)state;
	assert_int_equal(tenant(b)->windows[COT_HORIZON_10S].at_ns, 0);
	assert_int_equal(bench_event(b, window(COT_HORIZON_10S)), 0);
	assert_int_equal(told.n_windows, 1);
	assert_int_equal(told.n_ticks, n_ticks + 1);
	assert_int_equal(told.tenant, 1);
	assert_int_equal(told.window.horizon, COT_HORIZON_10S);
	assert_int_equal(told.window.response.n, 9);
	assert_int_equal(told.window.response.n_missed, 2);
	assert_int_equal(told.window.response.p99_ns, 50);
	assert_int_equal(told.window.service.p50_ns, 20);
	assert_int_equal(tenant(b)->windows[COT_HORIZON_10S].service.n, 10);
	assert_int_equal(tenant(b)->windows[COT_HORIZON_1S].at_ns, 0);
	/* They outlive a policy, and tell how old they are. */
	assert_int_equal(cot_sched_set_policy(b->sched, &listener, NULL, b->now_ns, NULL), 0);
	bench_run(b, 500 * MS);
	assert_int_equal(tenant(b)->windows[COT_HORIZON_10S].at_ns, 1000 * MS);
	assert_int_equal(told.n_windows, 1);
	/* But not the program. */
	(void)bench_leave(b, 1);
	(void)bench_solo(b, 1, COT_CLASS_LATENCY, 100);
	assert_int_equal(tenant(b)->windows[COT_HORIZON_10S].at_ns, 0);
	bench_end(b);
}

static void test_progress_is_kept_and_told(void **state)
{
	struct bench *b = begin(&measures);

	(void)state;
	assert_int_equal(bench_event(b, rate(4096, 1000 * MS)), 0);
	assert_int_equal(told.n_progress, 1);
	assert_int_equal(told.launches.n, 4096);
	assert_int_equal(told.launches.span_ns, 1000 * MS);
	assert_int_equal(tenant(b)->launches.n, 4096);
	bench_run(b, 1000 * MS);
	assert_int_equal(bench_event(b, rate(0, 1000 * MS)), 0);
	assert_int_equal(told.launches.n, 0);
	assert_int_equal(told.n_progress, 2);
	bench_end(b);
}

/* Of one kind and one horizon; others do not count. */
static void test_not_too_often(void **state)
{
	struct bench *b = begin(&measures);

	(void)state;
	assert_int_equal(bench_event(b, window(COT_HORIZON_1S)), 0);
	assert_int_equal(bench_event(b, window(COT_HORIZON_1S)), -EAGAIN);
	assert_int_equal(bench_event(b, window(COT_HORIZON_60S)), 0);
	assert_int_equal(bench_event(b, rate(1, 1)), 0);
	bench_run(b, COT_SCHED_MEASURE_NS - 1);
	assert_int_equal(bench_event(b, window(COT_HORIZON_1S)), -EAGAIN);
	assert_int_equal(bench_event(b, rate(2, 1)), -EAGAIN);
	assert_int_equal(told.n_windows, 2);
	assert_int_equal(tenant(b)->launches.n, 1);
	bench_run(b, 1);
	assert_int_equal(bench_event(b, window(COT_HORIZON_1S)), 0);
	assert_int_equal(bench_event(b, rate(2, 1)), 0);
	assert_int_equal(told.n_windows, 3);
	assert_int_equal(told.n_progress, 2);
	bench_end(b);
}

static void refused(struct bench *b, struct cot_event ev)
{
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(tenant(b)->windows[COT_HORIZON_1S].at_ns, 0);
	assert_int_equal(tenant(b)->launches.at_ns, 0);
	assert_int_equal(told.n_windows + told.n_progress, 0);
}

static void test_what_makes_no_sense(void **state)
{
	struct cot_event ok = window(COT_HORIZON_1S), ev;
	struct bench *b = begin(&measures);

	(void)state;
	ev = ok, ev.id = 2;
	refused(b, ev);
	ev = ok, ev.window.horizon = COT_N_HORIZONS;
	refused(b, ev);
	ev = ok, ev.window.source = (enum cot_request_source)2;
	refused(b, ev);
	ev = ok, ev.window.source = COT_REQUESTS_BURSTS; /* has responses */
	refused(b, ev);
	ev = ok, ev.window.response.n = 11; /* more than were served */
	refused(b, ev);
	ev = ok, ev.window.response.n_missed = 10;
	refused(b, ev);
	ev = ok, ev.window.service.n_missed = 11;
	refused(b, ev);
	ev = ok, ev.window.response.p50_ns = 41;
	refused(b, ev);
	ev = ok, ev.window.response.p95_ns = 51;
	refused(b, ev);
	ev = ok, ev.window.response = (struct cot_times){.n_missed = 1};
	refused(b, ev);
	ev = ok, ev.window.response = (struct cot_times){.p99_ns = 1};
	refused(b, ev);
	ev = ok, ev.window.response = (struct cot_times){.p95_ns = 1, .p99_ns = 1};
	ev.window.response.p99_ns = 0;
	refused(b, ev);
	ev = ok, ev.window.response = (struct cot_times){.p50_ns = 1};
	refused(b, ev);
	refused(b, rate(1, 0));
	ev = rate(1, 1), ev.id = 2;
	refused(b, ev);
	ev = ok, ev.window.response = (struct cot_times){0}; /* no arrival is known */
	ev.window.source = COT_REQUESTS_BURSTS;
	assert_int_equal(bench_event(b, ev), 0);
	bench_end(b);
}

/* One that does not care, or does not care about this; or is not at work. */
static void test_without_a_listener(void **state)
{
	static const struct cot_measure_ops *const cases[] = {NULL, &no_measures};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bench *b = begin(cases[i]);

		assert_int_equal(bench_event(b, window(COT_HORIZON_1S)), 0);
		assert_int_equal(bench_event(b, rate(5, 6)), 0);
		assert_int_equal(tenant(b)->windows[COT_HORIZON_1S].response.n, 9);
		assert_int_equal(tenant(b)->launches.span_ns, 6);
		bench_end(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_are_kept_and_told),
		cmocka_unit_test(test_progress_is_kept_and_told),
		cmocka_unit_test(test_not_too_often),
		cmocka_unit_test(test_what_makes_no_sense),
		cmocka_unit_test(test_without_a_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
