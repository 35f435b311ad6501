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

static void look_fast(struct slo_use *use, const struct cot_times *t, uint64_t target_ns)
{
	if (t->n >= SLO_ENOUGH) {
		use->fast = permille(t->p99_ns, target_ns);
		use->fast_sure = true;
		use->far = t->p95_ns > target_ns || use->fast > FAR_PERMILLE;
	} else if (t->n >= SLO_SOME) {
		use->fast = permille(t->p95_ns, target_ns);
		use->far = t->p95_ns > target_ns;
	} else if (t->n >= SLO_FEW) {
		use->fast = permille(t->p50_ns, target_ns);
		use->far = t->p50_ns > target_ns;
	}
}

static void look_slow(struct slo_use *use, const struct cot_times *t, uint64_t target_ns)
{
	uint32_t by = 0;

	if (t->n >= SLO_ENOUGH)
		by = permille(t->p99_ns, target_ns);
	else if (t->n >= SLO_SOME)
		by = permille(t->p95_ns, target_ns);
	use->slow_sure |= t->n >= SLO_ENOUGH;
	if (by > use->slow)
		use->slow = by;
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
	if (is_fresh(s1, FRESH_1S_NS, now_ns) && s1->at_ns > since_ns)
		look_fast(&use, cot_slo_window_times(s1), target_ns);
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
	use.fast = permille(need, rate);
	use.fast_sure = true;
	use.far = use.fast > FAR_PERMILLE;
	if (t->launches.at_ns >= since_ns + SPAN_10S_NS) {
		use.slow = use.fast;
		use.slow_sure = true;
	}
	return use;
}

/* What is not known of one program is not known of all. */
static uint32_t worst(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

struct slo_use cot_slo_use_worst(struct slo_use a, struct slo_use b)
{
	return (struct slo_use){
		.fast = worst(a.fast, b.fast),
		.fast_sure = a.fast_sure && b.fast_sure,
		.far = a.far || b.far,
		.slow = worst(a.slow, b.slow),
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
