#include "policy/slo.h"

/* A window that is older says nothing of now. Hosts deliver each once in a tenth of its horizon;
 * twice that, and half a second for a host that is late. */
#define FRESH_1S_NS  (700 * COT_NS_PER_MS)
#define FRESH_10S_NS (2500 * COT_NS_PER_MS)
#define FRESH_60S_NS (12500 * COT_NS_PER_MS)

/* How far windows look back: up to a tenth more than their horizon. */
#define SPAN_1S_NS  (1100 * COT_NS_PER_MS)
#define SPAN_10S_NS (11 * COT_NS_PER_S)
#define SPAN_60S_NS (66 * COT_NS_PER_S)

/* Counts come once a second; a rate is the mean of the last few. */
#define FRESH_COUNT_NS (2500 * COT_NS_PER_MS)
#define SPAN_COUNT_NS  (4 * COT_NS_PER_S)

/* So little of a request's time is for the GPU that without it it would hardly be shorter: our
 * choice. */
#define OWN_PERMILLE 250u

/* In the last second this much over the target is no chance, whatever the other figures say. */
#define FAR_PERMILLE 1500u

const struct cot_times *cot_slo_window_times(const struct cot_window *w)
{
	return w->response.n ? &w->response : &w->service;
}

static bool is_fresh(const struct cot_window *w, uint64_t fresh_ns, uint64_t now_ns)
{
	return w->at_ns && now_ns - w->at_ns <= fresh_ns;
}

static uint32_t permille(uint64_t ns, uint64_t of_ns)
{
	uint64_t p = ns / 1000 < UINT32_MAX ? ns * 1000 / of_ns : UINT32_MAX;

	/* 0 would say that it is not known. */
	return p < 1 ? 1 : p < UINT32_MAX ? (uint32_t)p : UINT32_MAX;
}

static uint64_t square_root(uint64_t x)
{
	uint64_t r = 0, bit;

	for (bit = 1ull << 31; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= x)
			r |= bit;
	return r;
}

/*
 * A standard deviation above the p99. The tail is taken for an exponential one: from p95 to p99 it
 * falls to a fifth, which is 1.61 of its lengths; and of n requests n / 100 are in it, give or take
 * the square root of that.
 */
static uint64_t high_ns(const struct cot_times *t)
{
	uint64_t length_ns = (t->p99_ns - t->p95_ns) / 161 * 100, root = square_root(t->n);

	return t->p99_ns + length_ns * 10 / (root ? root : 1);
}

/* Two standard deviations below it: what it is at least. */
static uint64_t low_ns(const struct cot_times *t)
{
	uint64_t up_ns = 2 * (high_ns(t) - t->p99_ns);

	return t->p99_ns > up_ns ? t->p99_ns - up_ns : 1;
}

/* So many misses of n requests are no chance if 1 % may miss: two standard deviations. */
static bool is_no_chance(uint64_t n_missed, uint64_t n)
{
	return n_missed > 1 + n / 100 + square_root(4 * n / 100);
}

static uint64_t between(uint64_t ns, uint64_t from_ns, uint64_t to_ns, uint64_t from, uint64_t to)
{
	return to_ns > from_ns ? from - (from - to) * (ns - from_ns) / (to_ns - from_ns) : to;
}

/* How many took longer, as far as three percentiles say: a straight line between each two. A host
 * counts misses of a p99 that the user said, but it does not know what a slowdown means. */
static uint64_t n_over(const struct cot_times *t, uint64_t target_ns, bool counted)
{
	uint64_t permille = 0;

	if (counted)
		return t->n_missed;
	if (target_ns < t->p50_ns)
		permille = 500;
	else if (target_ns < t->p95_ns)
		permille = between(target_ns, t->p50_ns, t->p95_ns, 500, 50);
	else if (target_ns < t->p99_ns)
		permille = between(target_ns, t->p95_ns, t->p99_ns, 50, 10);
	return (t->n * permille + 999) / 1000;
}

/* 1 % of the requests of 10 s may miss. When a second alone uses a third of them, that is soon too
 * much; when it uses all, it is. */
static void look_fast(struct slo_use *use, const struct cot_times *t, uint64_t n_10s,
		      uint64_t target_ns, bool counted)
{
	uint64_t over = n_over(t, target_ns, counted), may = (n_10s > t->n ? n_10s : t->n) / 100;

	if (t->n < SLO_FEW)
		return;
	use->fast = permille(t->n >= SLO_SOME ? t->p95_ns : t->p50_ns, target_ns);
	use->fast_high = permille(t->p99_ns, target_ns);
	use->most = t->n >= SLO_SOME ? use->fast : 0;
	use->missing = is_no_chance(over, t->n) && over > may / 3;
	use->far = use->missing && over > may;
	if (t->n < SLO_ENOUGH)
		return;
	use->fast = permille(t->p99_ns, target_ns);
	use->fast_high = permille(high_ns(t), target_ns);
	use->over = use->fast > 1000;
}

static void look_busy(struct slo_use *use, const struct cot_times *service)
{
	uint64_t busy = service->n * (service->p50_ns / COT_NS_PER_US) / 1000;

	use->n = service->n < UINT32_MAX ? (uint32_t)service->n : UINT32_MAX;
	use->each_us = (uint32_t)(service->p50_ns / COT_NS_PER_US < UINT32_MAX
					  ? service->p50_ns / COT_NS_PER_US
					  : UINT32_MAX);
	use->busy = busy < 1000 ? (uint32_t)busy : 1000;
}

static void look_slow(struct slo_use *use, const struct cot_times *t, uint64_t target_ns)
{
	uint32_t by = 0, high = 0;

	if (t->n >= SLO_ENOUGH) {
		by = permille(t->p99_ns, target_ns);
		high = permille(high_ns(t), target_ns);
		use->slow_low = permille(low_ns(t), target_ns);
	} else if (t->n >= SLO_SOME) {
		by = high = permille(t->p95_ns, target_ns);
	}
	if (t->n >= SLO_ENOUGH)
		use->most = permille(t->p95_ns, target_ns);
	use->slow_sure |= t->n >= SLO_ENOUGH;
	if (by > use->slow)
		use->slow = by;
	if (high > use->slow_high)
		use->slow_high = high;
}

/* Hosts count misses of the target that a request had when it was answered. */
static bool is_counted(const struct cot_tenant *t, const struct cot_window *w)
{
	return t->target.kind == COT_TARGET_P99 &&
	       (!slo_of(t)->aimed_ns || w->at_ns >= slo_of(t)->aimed_ns + SPAN_1S_NS);
}

struct slo_use cot_slo_window_use(const struct cot_tenant *t, uint64_t target_ns, uint64_t since_ns,
				  uint64_t now_ns)
{
	const struct cot_window *s1 = &t->windows[COT_HORIZON_1S];
	const struct cot_window *s10 = &t->windows[COT_HORIZON_10S];
	const struct cot_window *s60 = &t->windows[COT_HORIZON_60S];
	struct slo_use use = {0};

	if (!target_ns)
		return use;
	use.target_us = (uint32_t)(target_ns / COT_NS_PER_US);
	if (is_fresh(s1, FRESH_1S_NS, now_ns) && s1->at_ns > since_ns) {
		look_busy(&use, &s1->service);
		look_fast(&use, cot_slo_window_times(s1), cot_slo_window_times(s10)->n, target_ns,
			  is_counted(t, s1));
	}
	if (is_fresh(s10, FRESH_10S_NS, now_ns) && s10->at_ns >= since_ns + SPAN_10S_NS)
		look_slow(&use, cot_slo_window_times(s10), target_ns);
	if (!use.slow_sure && is_fresh(s60, FRESH_60S_NS, now_ns) &&
	    s60->at_ns >= since_ns + SPAN_60S_NS)
		look_slow(&use, cot_slo_window_times(s60), target_ns);
	return use;
}

struct slo_use cot_slo_window_rate(const struct cot_tenant *t, uint64_t rate, uint64_t best_rate,
				   uint64_t since_ns, uint64_t now_ns)
{
	uint64_t need = best_rate / 1000 * t->target.amount;
	struct slo_use use = {0};

	if (!need || !rate || !t->launches.at_ns || now_ns - t->launches.at_ns > FRESH_COUNT_NS ||
	    t->launches.at_ns < since_ns + SPAN_COUNT_NS)
		return use;
	use.fast = use.fast_high = permille(need, rate);
	use.n = SLO_ENOUGH;
	use.busy = 1000;
	use.missing = use.fast > 1000;
	use.far = use.fast > FAR_PERMILLE;
	if (t->launches.at_ns >= since_ns + SPAN_10S_NS) {
		use.slow = use.slow_high = use.slow_low = use.fast;
		use.slow_sure = true;
	}
	return use;
}

bool cot_slo_window_own(const struct cot_tenant *t, uint64_t now_ns)
{
	uint32_t part = slo_of(t)->waits_permille;

	return part && part <= OWN_PERMILLE && now_ns - t->launches.at_ns <= FRESH_COUNT_NS;
}

/* What is not known of one program is not known of all. */
static uint32_t worst(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t strictest(uint32_t a, uint32_t b)
{
	return a && (!b || a < b) ? a : b;
}

struct slo_use cot_slo_use_worst(struct slo_use a, struct slo_use b)
{
	return (struct slo_use){
		.fast = worst(a.fast, b.fast),
		.fast_high = worst(a.fast_high, b.fast_high),
		.missing = a.missing || b.missing,
		.over = a.over || b.over,
		.n = a.n < b.n ? a.n : b.n,
		.busy = worst(a.busy, b.busy),
		.each_us = worst(a.each_us, b.each_us),
		.alone = a.alone < b.alone ? a.alone : b.alone,
		.far = a.far || b.far,
		.target_us = strictest(a.target_us, b.target_us),
		.most = worst(a.most, b.most),
		.slow = worst(a.slow, b.slow),
		.slow_high = worst(a.slow_high, b.slow_high),
		.slow_low = worst(a.slow_low, b.slow_low),
		.slow_sure = a.slow_sure && b.slow_sure,
	};
}

uint64_t cot_slo_window_load(const struct cot_tenant *t, uint64_t now_ns)
{
	const struct cot_window *s1 = &t->windows[COT_HORIZON_1S];
	const struct cot_window *s10 = &t->windows[COT_HORIZON_10S];

	if (is_fresh(s10, FRESH_10S_NS, now_ns))
		return s10->service.n;
	return is_fresh(s1, FRESH_1S_NS, now_ns) ? s1->service.n * 10 : 0;
}
