#include "base/rng.h"
#include "policy/slo.h"

/* A figure that differs by less than a twentieth is no news. */
static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a;

	return d * 20 <= (a > b ? a : b);
}

static uint32_t in_us(uint64_t ns)
{
	uint64_t us = ns / COT_NS_PER_US;

	return us < 1 ? 1 : us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* ---- of one program ---- */

static void write_alone(struct cot_policy *p, const struct cot_tenant *t)
{
	const struct slo_tenant *own = slo_of(t);
	struct cot_lesson l = {
		.key = t->key,
		.kind = SLO_LESSON_ALONE,
		.value = {own->alone_p99_us, own->alone_p50_us, own->load, own->launch_us},
	};
	const struct cot_lesson *known = cot_lesson_find(p, l.key, l.kind);

	if (!t->key ||
	    (known && is_near(known->value[0], l.value[0]) &&
	     is_near(known->value[1], l.value[1]) && is_near(known->value[2], l.value[2]) &&
	     is_near(known->value[3], l.value[3])))
		return;
	(void)cot_learn(p, &l);
}

/*
 * What is measured in a second is much as it happens: a standard deviation less makes the target
 * rather too strict (see slo_window.c). Of fewer than 100 the slowest is as it is.
 */
static uint32_t low_us(const struct cot_times *t)
{
	uint64_t length_ns = (t->p99_ns - t->p95_ns) / 161 * 100, n = t->n / 100, root = 1;

	if (!n)
		return in_us(t->p99_ns);
	while ((root + 1) * (root + 1) <= n)
		root++;
	return in_us(t->p99_ns > t->p95_ns + length_ns / root ? t->p99_ns - length_ns / root
							      : t->p95_ns);
}

void cot_slo_learn_alone(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	const struct cot_times *times = cot_slo_window_times(w);
	struct slo_tenant *own = slo_of(t);

	/* A p99 is never the same again: half of it is what was measured before, in this run. */
	own->alone_p99_us = own->n_alone ? (own->alone_p99_us + low_us(times)) / 2 : low_us(times);
	own->alone_p50_us = in_us(w->service.p50_ns);
	own->alone_load = (uint32_t)cot_slo_window_load(t, p->now_ns);
	own->alone_ns = p->now_ns;
	own->n_alone += own->n_alone < UINT16_MAX;
	write_alone(p, t);
}

/* Kernels are counted in 1000 s. */
static uint32_t time_of_a_launch(const struct slo_tenant *own, const struct cot_times *service)
{
	uint64_t busy_us = service->n * in_us(service->p50_ns), n = own->rate / 100;

	return n && busy_us / n < UINT32_MAX ? (uint32_t)(busy_us / n) : 0;
}

void cot_slo_learn_requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w,
			    bool alone)
{
	const struct cot_times *times = cot_slo_window_times(w);
	struct slo_tenant *own = slo_of(t);

	if (w->horizon != COT_HORIZON_10S || times->n < SLO_SOME)
		return;
	/* Until then the window is not full. */
	if (!own->load || p->now_ns / COT_NS_PER_S - own->joined_s > 11)
		own->load = (uint32_t)(times->n < UINT32_MAX ? times->n : UINT32_MAX);
	if (p->now_ns / COT_NS_PER_S - own->joined_s > 11)
		own->launch_us = time_of_a_launch(own, &w->service);
	if (own->alone_p99_us)
		write_alone(p, t);
	if (times->n < SLO_ENOUGH)
		return;
	if (alone)
		cot_slo_learn_alone(p, t, w);
	/* Nobody is quicker beside others than alone. */
	else if (own->alone_p99_us > in_us(times->p99_ns))
		own->alone_p99_us = in_us(times->p99_ns);
}

/* In 1000 requests: each waits, or nearly. */
#define OFTEN 900u

static void write_rate(struct cot_policy *p, const struct cot_tenant *t)
{
	uint64_t best = slo_of(t)->best_rate;
	struct cot_lesson l = {
		.key = t->key,
		.kind = SLO_LESSON_RATE,
		.value = {(uint32_t)best, (uint32_t)(best >> 32)},
	};
	const struct cot_lesson *known = cot_lesson_find(p, l.key, l.kind);

	if (!t->key || (known && is_near(best, known->value[0] | (uint64_t)known->value[1] << 32)))
		return;
	(void)cot_learn(p, &l);
}

void cot_slo_learn_rate(struct cot_policy *p, struct cot_tenant *t, bool alone)
{
	struct slo_tenant *own = slo_of(t);
	uint64_t rate;

	if (t->launches.n > UINT64_MAX / 1000 / COT_NS_PER_S)
		return;
	rate = t->launches.n * 1000 * COT_NS_PER_S / t->launches.span_ns;
	/* A program may launch a few long kernels a second. */
	own->rate = own->rate ? (own->rate * 3 + rate) / 4 : rate;
	if (alone && t->target.kind == COT_TARGET_RATE)
		own->alone_ns = p->now_ns;
	if (!alone || rate <= own->best_rate)
		return;
	own->best_rate = rate;
	write_rate(p, t);
}

/*
 * A wait and a request are seconds apart from being counted, and the load may have changed in
 * between: so how often a request waits is the most of late, and the time of a wait its mean. More
 * waiting counts at once, less of it by and by.
 */
void cot_slo_learn_waits(struct cot_tenant *t)
{
	const struct cot_times *service = &t->windows[COT_HORIZON_1S].service;
	struct slo_tenant *own = slo_of(t);
	uint64_t often = 0, part;

	if (service->n >= SLO_SOME && t->launches.n_waits < UINT32_MAX)
		often = t->launches.n_waits * 1000 / service->n;
	if (service->n < SLO_SOME || !service->p50_ns)
		return;
	own->waits_milli -= own->waits_milli / 8;
	if (often > own->waits_milli)
		own->waits_milli = often < UINT32_MAX ? (uint32_t)often : UINT32_MAX;
	/* It learns of the end in other ways. */
	if (own->waits_milli < OFTEN || !t->launches.n_waits) {
		own->waits_permille = 0;
		return;
	}
	part = t->launches.waited_ns / t->launches.n_waits * own->waits_milli / service->p50_ns;
	part = part < 1 ? 1 : part < 1000 ? part : 1000;
	own->waits_permille = part >= own->waits_permille
				      ? (uint32_t)part
				      : (own->waits_permille * 3 + (uint32_t)part) / 4;
}

void cot_slo_learn_recall(const struct cot_policy *p, struct cot_tenant *t)
{
	const struct cot_lesson *alone = cot_lesson_find(p, t->key, SLO_LESSON_ALONE);
	const struct cot_lesson *rate = cot_lesson_find(p, t->key, SLO_LESSON_RATE);
	struct slo_tenant *own = slo_of(t);

	own->joined_s = (uint32_t)(p->now_ns / COT_NS_PER_S);
	own->aim = t->target;
	if (alone && t->cls == COT_CLASS_LATENCY) {
		own->alone_p99_us = alone->value[0];
		own->alone_p50_us = alone->value[1];
		own->load = own->alone_load = alone->value[2];
		own->launch_us = alone->value[3];
		own->alone_ns = p->now_ns + 1;
		own->n_alone = SLO_ALONE_OFTEN;
	}
	if (rate)
		own->best_rate = rate->value[0] | (uint64_t)rate->value[1] << 32;
}

/* ---- of two programs ---- */

/* Whichever is which. */
static uint64_t pair_key(uint64_t a, uint64_t b)
{
	uint64_t first = a < b ? a : b, second = a < b ? b : a, key;

	if (!first)
		return 0;
	key = cot_hash64(cot_hash64(SLO_LESSON_MIX, first), second);
	return key ? key : 1;
}

static void write_result(struct cot_policy *p, uint64_t key, enum slo_topology topology,
			 const struct slo_result *r)
{
	struct cot_lesson l = {
		.key = key,
		.kind = SLO_LESSON_MIX + topology,
		.value = {r->rung, r->use, r->rate, r->load, r->target_us, r->failed},
	};

	const struct cot_lesson *known = cot_lesson_find(p, l.key, l.kind);
	uint32_t i;
	bool news = !known;

	for (i = 0; known && i < 6; i++)
		news |= !is_near(known->value[i], l.value[i]);
	if (key && news)
		(void)cot_learn(p, &l);
}

/* At most so many pairs: results are written now and then only. */
#define PAIRS_MAX 16u

void cot_slo_learn_result(struct cot_policy *p, uint32_t gpu, enum slo_topology topology,
			  const struct slo_result *r)
{
	const struct cot_tenant *a, *b;
	uint32_t n = 0;

	cot_for_each_tenant (a, p) {
		if (a->cls != COT_CLASS_LATENCY || !(a->gpu_mask >> gpu & 1))
			continue;
		cot_for_each_tenant (b, p) {
			if (b->cls != COT_CLASS_BATCH || !(b->gpu_mask >> gpu & 1))
				continue;
			if (n++ < PAIRS_MAX)
				write_result(p, pair_key(a->key, b->key), topology, r);
		}
	}
}

static void write_home(struct cot_policy *p, const struct cot_lesson *l)
{
	const struct cot_lesson *known = cot_lesson_find(p, l->key, l->kind);

	if (l->key &&
	    !(known && known->value[0] == l->value[0] && is_near(known->value[1], l->value[1]) &&
	      is_near(known->value[2], l->value[2])))
		(void)cot_learn(p, l);
}

void cot_slo_learn_home(struct cot_policy *p, uint32_t gpu, enum slo_topology best,
			uint32_t target_us, uint32_t load)
{
	struct cot_lesson l = {.kind = SLO_LESSON_HOME, .value = {best, target_us, load}};
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		if (t->cls != COT_CLASS_LATENCY || !(t->gpu_mask >> gpu & 1))
			continue;
		l.key = t->key;
		write_home(p, &l);
	}
}

bool cot_slo_learned(const struct cot_policy *p, uint64_t key_a, uint64_t key_b,
		     enum slo_topology topology, struct slo_result *ret_result)
{
	const struct cot_lesson *l =
		cot_lesson_find(p, pair_key(key_a, key_b), SLO_LESSON_MIX + topology);

	if (!l)
		return false;
	*ret_result = (struct slo_result){l->value[0], l->value[1], l->value[2],
					  l->value[3], l->value[4], l->value[5]};
	return true;
}
