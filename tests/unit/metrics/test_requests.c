/*
 * Windows of request times against the plain truth: a list of all requests, from which the test
 * takes those in the window, and sorts them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "metrics/requests.h"
#include "test.h"

#define ERROR_MAX 0.02
#define N_MAX	  20000u

static const uint64_t horizon_ns[] = {COT_NS_PER_S, 10 * COT_NS_PER_S, 60 * COT_NS_PER_S};

struct sample {
	uint64_t at_ns, response_ns, service_ns;
	bool missed_response, missed_service;
};

/* What was added, and when the time was last. */
struct truth {
	struct cot_requests *r;
	struct sample samples[N_MAX];
	unsigned n;
	uint64_t now_ns, target_ns;
};

static int create(void **state)
{
	struct truth *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	t->target_ns = COT_NEVER;
	t->r = cot_requests_create();
	*state = t;
	return t->r ? 0 : -1;
}

static int destroy(void **state)
{
	struct truth *t = *state;

	cot_requests_destroy(t->r);
	free(t);
	return 0;
}

static void set_target(struct truth *t, uint64_t target_ns)
{
	t->target_ns = target_ns;
	cot_requests_set_target(t->r, target_ns);
}

static void go_on(struct truth *t, uint64_t now_ns)
{
	if (now_ns > t->now_ns)
		t->now_ns = now_ns;
}

static void add(struct truth *t, uint64_t now_ns, uint64_t response_ns, uint64_t service_ns)
{
	assert_true(t->n < N_MAX);
	go_on(t, now_ns);
	t->samples[t->n++] = (struct sample){
		.at_ns = t->now_ns,
		.response_ns = response_ns,
		.service_ns = service_ns,
		.missed_response = response_ns > t->target_ns,
		.missed_service = service_ns > t->target_ns,
	};
	cot_requests_add(t->r, now_ns, response_ns, service_ns);
}

/* ---- the truth ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The current slot and the ten before. */
static uint64_t window_begin_ns(uint64_t now_ns, enum cot_horizon h)
{
	uint64_t slot_ns = horizon_ns[h] / 10, slot = now_ns / slot_ns;

	return slot < 10 ? 0 : (slot - 10) * slot_ns;
}

static void assert_percentile(const char *what, uint64_t got, const uint64_t *sorted, uint64_t n,
			      double q)
{
	uint64_t rank = (uint64_t)(q * (double)n + 0.999999);
	double want = (double)sorted[rank - 1], allowed = ERROR_MAX * want;

	if (allowed < 8)
		allowed = 8;
	if ((double)got < want - allowed || (double)got > want + allowed)
		fail_msg("%s of %llu: got %llu, want %llu", what, (unsigned long long)n,
			 (unsigned long long)got, (unsigned long long)want);
}

static void check_figure(const struct truth *t, enum cot_horizon h, const struct cot_times *got,
			 bool response)
{
	static uint64_t sorted[N_MAX];
	uint64_t begin_ns = window_begin_ns(t->now_ns, h), n = 0, n_missed = 0;
	unsigned i;

	for (i = t->n; i > 0 && t->samples[i - 1].at_ns >= begin_ns; i--) {
		const struct sample *s = &t->samples[i - 1];

		if (response && s->response_ns == COT_NEVER)
			continue;
		sorted[n++] = response ? s->response_ns : s->service_ns;
		n_missed += response ? s->missed_response : s->missed_service;
	}
	assert_int_equal(got->n, n);
	assert_int_equal(got->n_missed, n_missed);
	if (!n) {
		assert_int_equal(got->p50_ns | got->p95_ns | got->p99_ns, 0);
		return;
	}
	qsort(sorted, n, sizeof(*sorted), compare_u64);
	assert_percentile("p50", got->p50_ns, sorted, n, 0.50);
	assert_percentile("p95", got->p95_ns, sorted, n, 0.95);
	assert_percentile("p99", got->p99_ns, sorted, n, 0.99);
}

static void check_window(const struct truth *t, const struct cot_requests_window *w)
{
	check_figure(t, w->horizon, &w->response, true);
	check_figure(t, w->horizon, &w->service, false);
}

static void check(struct truth *t, uint64_t now_ns)
{
	struct cot_requests_window w;
	enum cot_horizon h;

	go_on(t, now_ns);
	for (h = 0; h < COT_N_HORIZONS; h++) {
		cot_requests_read(t->r, now_ns, h, &w);
		assert_int_equal(w.horizon, h);
		check_window(t, &w);
	}
}

/* ---- distributions ---- */

/* As many from each power of two. */
static uint64_t log_uniform(struct cot_rng *rng, uint64_t from, uint64_t to)
{
	uint64_t low = from;

	while (low < to / 2 && cot_rng_below(rng, 27))
		low *= 2;
	return low + cot_rng_below(rng, low < to - low ? low : to - low);
}

static uint64_t draw(struct cot_rng *rng, unsigned kind, uint64_t from, uint64_t to)
{
	switch (kind) {
	case 0: /* one value */
		return from + (to - from) / 3;
	case 1:
		return from + cot_rng_below(rng, to - from + 1);
	case 2:
		return log_uniform(rng, from, to);
	case 3: /* two values, far from each other */
		return cot_rng_below(rng, 100) < 97 ? from : to;
	default: /* short, with a long tail */
		return from + (to - from) / (1 + cot_rng_below(rng, 1000000));
	}
}

static void percentiles_are_within_two_percent(void **state)
{
	static const uint64_t spans_ns[][2] = {
		{1000, 100 * COT_NS_PER_S},
		{1000, 2000},
		{100 * COT_NS_PER_US, 10 * COT_NS_PER_MS},
		{50 * COT_NS_PER_S, 100 * COT_NS_PER_S},
	};
	static const unsigned sizes[] = {1, 2, 3, 99, 100, 101, 3000};
	unsigned kind, span, size, i;
	struct cot_rng rng = {7};

	print_message("seed %llu\n", (unsigned long long)rng.state);
	for (kind = 0; kind < 5; kind++)
		for (span = 0; span < 4; span++)
			for (size = 0; size < 7; size++) {
				void *fresh = NULL;
				struct truth *t;

				assert_int_equal(create(&fresh), 0);
				t = fresh;
				for (i = 0; i < sizes[size]; i++)
					add(t, 5,
					    draw(&rng, kind, spans_ns[span][0], spans_ns[span][1]),
					    draw(&rng, kind, spans_ns[span][0], spans_ns[span][1]));
				check(t, 5);
				(void)destroy(&fresh);
			}
	(void)state;
}

static void without_requests_all_is_zero(void **state)
{
	struct truth *t = *state;

	check(t, 0);
	check(t, 3600 * COT_NS_PER_S);
}

/* An unknown arrival is no response of zero, and no service time stands in for it. */
static void the_two_figures_stay_apart(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	add(t, 1, COT_NEVER, 1000000);
	add(t, 2, COT_NEVER, 3000000);
	add(t, 3, 9000000, 2000000);
	check(t, 4);
	cot_requests_read(t->r, 4, COT_HORIZON_1S, &w);
	assert_int_equal(w.response.n, 1);
	assert_int_equal(w.service.n, 3);
	assert_in_range(w.response.p50_ns, 8820000, 9180000);
	assert_in_range(w.service.p50_ns, 1960000, 2040000);
}

/* Beyond what the buckets tell apart nothing is lost but precision. */
static void extreme_times_count(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	cot_requests_add(t->r, 0, 0, UINT64_MAX - 1);
	cot_requests_read(t->r, 0, COT_HORIZON_60S, &w);
	assert_int_equal(w.response.n, 1);
	assert_in_range(w.response.p99_ns, 0, 8);
	assert_int_equal(w.service.n, 1);
	assert_in_range(w.service.p50_ns, 134 * COT_NS_PER_S, 138 * COT_NS_PER_S);
}

/* Exactly on target is kept; a new target judges only what ends from then on. */
static void misses_are_counted_when_requests_end(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	add(t, 0, 7000, 100); /* no target yet */
	set_target(t, 5000);
	add(t, 0, 5000, 100);
	add(t, 0, 5001, 5001);
	add(t, 0, COT_NEVER, 9000);
	set_target(t, 4000);
	cot_requests_read(t->r, 0, COT_HORIZON_10S, &w);
	assert_int_equal(w.response.n_missed, 1);
	assert_int_equal(w.service.n_missed, 2);
	check(t, 0);
	set_target(t, COT_NEVER);
	add(t, 0, 100 * COT_NS_PER_S, 100);
	check(t, 0);
}

/* A request is in a window for its horizon, and at most a tenth longer. */
static void requests_leave_with_their_slot(void **state)
{
	enum cot_horizon h;

	for (h = 0; h < COT_N_HORIZONS; h++) {
		uint64_t slot_ns = horizon_ns[h] / 10, at_ns = 12345 * slot_ns + slot_ns / 3;
		struct cot_requests *r = cot_requests_create();
		struct cot_requests_window w;

		assert_non_null(r);
		cot_requests_add(r, at_ns, 0, 0);
		cot_requests_read(r, at_ns + horizon_ns[h], h, &w);
		assert_int_equal(w.response.n, 1);
		cot_requests_read(r, 12356 * slot_ns - 1, h, &w);
		assert_int_equal(w.response.n, 1);
		cot_requests_read(r, 12356 * slot_ns, h, &w);
		assert_int_equal(w.response.n, 0);
		assert_int_equal(w.service.n, 0);
		cot_requests_add(r, 12367 * slot_ns, 1000, 1000);
		cot_requests_read(r, 12367 * slot_ns, h, &w);
		assert_in_range(w.response.p50_ns, 980, 1020);
		cot_requests_destroy(r);
	}
	(void)state;
}

/* ---- time that jumps ---- */

static void time_does_not_go_back(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	add(t, 100 * COT_NS_PER_S, 5000, 4000);
	add(t, 7, 6000, 4000);
	check(t, 0);
	check(t, 101 * COT_NS_PER_S);
	check(t, 111 * COT_NS_PER_S);
	/* What was due is due. */
	assert_true(cot_requests_take(t->r, 7, &w));
}

/* By more slots than there are, and by exactly as many. */
static void time_jumps_forward(void **state)
{
	static const uint64_t steps_ns[] = {
		COT_NS_PER_S,	     11 * COT_NS_PER_S / 10,
		11 * COT_NS_PER_S,   66 * COT_NS_PER_S,
		67 * COT_NS_PER_S,   (1ull << 32) * COT_NS_PER_S / 1000,
		3600 * COT_NS_PER_S, 1ull << 62,
	};
	struct truth *t = *state;
	unsigned i;

	for (i = 0; i < sizeof(steps_ns) / sizeof(steps_ns[0]); i++) {
		add(t, t->now_ns + steps_ns[i], 1000 * (i + 1), 1000);
		check(t, t->now_ns);
		add(t, t->now_ns, 1000 * (i + 1), COT_NS_PER_S);
		check(t, t->now_ns + 50 * COT_NS_PER_MS);
	}
}

static void the_end_of_time_is_no_overflow(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	cot_requests_add(t->r, UINT64_MAX, 5000, 5000);
	cot_requests_add(t->r, UINT64_MAX, 5000, 5000);
	cot_requests_read(t->r, UINT64_MAX, COT_HORIZON_60S, &w);
	assert_int_equal(w.response.n, 2);
	assert_true(cot_requests_due_ns(t->r) > UINT64_MAX / 2);
}

/* ---- passing on ---- */

/* What is taken until `until_ns`, when nothing is late: how many of each horizon. */
static void take_until(struct truth *t, uint64_t until_ns, unsigned ret_n[COT_N_HORIZONS])
{
	struct cot_requests_window w;

	memset(ret_n, 0, COT_N_HORIZONS * sizeof(ret_n[0]));
	while (cot_requests_due_ns(t->r) <= until_ns) {
		uint64_t due_ns = cot_requests_due_ns(t->r);

		assert_false(cot_requests_take(t->r, due_ns - 1, &w));
		go_on(t, due_ns);
		while (cot_requests_take(t->r, due_ns, &w)) {
			check_window(t, &w);
			assert_int_equal(due_ns % (horizon_ns[w.horizon] / 10), 0);
			ret_n[w.horizon]++;
		}
	}
}

/* Each slot until the window is empty, told once; then nothing until the next request. */
static void windows_are_due_when_slots_end(void **state)
{
	struct truth *t = *state;
	unsigned n[COT_N_HORIZONS];

	assert_true(cot_requests_due_ns(t->r) == COT_NEVER);
	add(t, 250 * COT_NS_PER_MS, 5000, 4000);
	assert_int_equal(cot_requests_due_ns(t->r), 300 * COT_NS_PER_MS);
	take_until(t, 1000 * COT_NS_PER_S, n);
	assert_int_equal(n[COT_HORIZON_1S], 11);
	assert_int_equal(n[COT_HORIZON_10S], 11);
	assert_int_equal(n[COT_HORIZON_60S], 11);
	assert_true(cot_requests_due_ns(t->r) == COT_NEVER);
	add(t, 1000 * COT_NS_PER_S, 5000, 4000);
	assert_int_equal(cot_requests_due_ns(t->r), 1000 * COT_NS_PER_S + 100 * COT_NS_PER_MS);
}

/* Whoever comes late gets one window, and the next one not at once. */
static void late_takers_are_not_flooded(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	add(t, 0, 5000, 4000);
	assert_true(cot_requests_take(t->r, 449 * COT_NS_PER_MS, &w));
	assert_false(cot_requests_take(t->r, 449 * COT_NS_PER_MS, &w));
	assert_int_equal(cot_requests_due_ns(t->r), 500 * COT_NS_PER_MS);
	assert_true(cot_requests_take(t->r, 550 * COT_NS_PER_MS, &w));
	assert_int_equal(cot_requests_due_ns(t->r), 700 * COT_NS_PER_MS);
}

/* Nor does a request that follows a late and empty window bring the next one too soon. */
static void requests_after_an_empty_window_wait(void **state)
{
	struct cot_requests_window w;
	struct truth *t = *state;

	add(t, 0, 5000, 4000);
	assert_true(cot_requests_take(t->r, 1199 * COT_NS_PER_MS, &w));
	assert_int_equal(w.service.n, 0);
	assert_true(cot_requests_take(t->r, 1199 * COT_NS_PER_MS, &w));
	assert_int_equal(w.horizon, COT_HORIZON_10S);
	add(t, 1199 * COT_NS_PER_MS, 5000, 4000);
	assert_int_equal(cot_requests_due_ns(t->r), 1300 * COT_NS_PER_MS);
}

/* ---- anything ---- */

static uint64_t random_step_ns(struct cot_rng *rng)
{
	switch (cot_rng_below(rng, 60)) {
	case 0:
		return cot_rng_below(rng, 100 * COT_NS_PER_S);
	case 1:
		return cot_rng_below(rng, 3 * COT_NS_PER_S);
	case 2:
		return 100 * COT_NS_PER_MS * cot_rng_below(rng, 30);
	default:
		return cot_rng_below(rng, 40 * COT_NS_PER_MS);
	}
}

static void random_step(struct truth *t, struct cot_rng *rng)
{
	uint64_t now_ns = t->now_ns + random_step_ns(rng), service_ns;
	struct cot_requests_window w;

	switch (cot_rng_below(rng, 20)) {
	case 0:
		check(t, now_ns);
		break;
	case 1:
		set_target(t, log_uniform(rng, 1000, 100 * COT_NS_PER_S));
		break;
	case 2:
		go_on(t, now_ns);
		while (cot_requests_take(t->r, now_ns, &w))
			check_window(t, &w);
		assert_true(cot_requests_due_ns(t->r) > t->now_ns);
		break;
	default:
		if (cot_rng_below(rng, 18) == 0)
			now_ns -= cot_rng_below(rng, now_ns + 1);
		service_ns = log_uniform(rng, 1000, 100 * COT_NS_PER_S);
		add(t, now_ns,
		    cot_rng_below(rng, 4) ? service_ns + draw(rng, 4, 0, service_ns) : COT_NEVER,
		    service_ns);
		break;
	}
}

static void random_stories_are_told_rightly(void **state)
{
	struct cot_rng rng = {2026};
	unsigned story, i;

	print_message("seed %llu\n", (unsigned long long)rng.state);
	for (story = 0; story < 20; story++) {
		void *fresh = NULL;

		assert_int_equal(create(&fresh), 0);
		for (i = 0; i < 3000; i++)
			random_step(fresh, &rng);
		check(fresh, ((struct truth *)fresh)->now_ns);
		(void)destroy(&fresh);
	}
	(void)state;
}

static void destroy_takes_null(void **state)
{
	(void)state;
	cot_requests_destroy(NULL);
}

#define with_truth(f) cmocka_unit_test_setup_teardown(f, create, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_within_two_percent),
		with_truth(without_requests_all_is_zero),
		with_truth(the_two_figures_stay_apart),
		with_truth(extreme_times_count),
		with_truth(misses_are_counted_when_requests_end),
		cmocka_unit_test(requests_leave_with_their_slot),
		with_truth(time_does_not_go_back),
		with_truth(time_jumps_forward),
		with_truth(the_end_of_time_is_no_overflow),
		with_truth(windows_are_due_when_slots_end),
		with_truth(late_takers_are_not_flooded),
		with_truth(requests_after_an_empty_window_wait),
		cmocka_unit_test(random_stories_are_told_rightly),
		cmocka_unit_test(destroy_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
