/*
 * Programs whose rate is a known function of their SMs: 100 launches a second on each, up to as
 * many as they have use for. For tests of policies that keep rates.
 */
#ifndef COT_TESTS_RATES_H
#define COT_TESTS_RATES_H

#include <math.h>

#include "base/rng.h"
#include "policy/shares.h"

#define S COT_NS_PER_S

enum { GOAL = 1, GOAL2, OTHER, OTHER2, N_PROGRAMS = 40 };

static struct {
	bool runs;
	double sat, per_sm, noise;
	double done;  /* launches in all */
	double carry; /* what is not a whole launch yet */
} programs[N_PROGRAMS];
static struct cot_rng rng;
/* Of programs that start. */
static uint64_t key;
static uint32_t weight;

static inline struct bench *begin(void)
{
	unsigned i;

	for (i = 0; i < N_PROGRAMS; i++)
		programs[i].runs = false;
	rng = (struct cot_rng){7};
	key = 0;
	weight = COT_WEIGHT_DEFAULT;
	return bench_begin(&cot_policy_smqos);
}

static inline void set_target(struct bench *b, uint32_t id, struct cot_target target)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = id,
			       .tenant = {.cls = COT_CLASS_BATCH,
					  .weight = weight,
					  .gpu_mask = GPU0,
					  .ready = true,
					  .target = target,
					  .key = key}};

	assert_int_equal(bench_event(b, ev), 0);
}

static inline void set_rate(struct bench *b, uint32_t id, uint32_t permille)
{
	set_target(b, id,
		   (struct cot_target){permille ? COT_TARGET_RATE : COT_TARGET_NONE, permille});
}

/* A program with a promised rate; 0: with none. */
static inline void start(struct bench *b, uint32_t id, double sat, uint32_t permille)
{
	set_rate(b, id, permille);
	assert_int_equal(bench_parts(b, id, true), 0);
	programs[id].runs = true;
	programs[id].sat = sat;
	programs[id].per_sm = 100;
	programs[id].noise = programs[id].done = programs[id].carry = 0;
}

static inline uint32_t first(const struct bench *b, uint32_t id)
{
	return b->part[id].first;
}

static inline uint32_t sms(const struct bench *b, uint32_t id)
{
	return b->part[id].n ? b->part[id].n : 132;
}

static inline bool is_on(const struct bench *b, uint32_t id, uint32_t sm)
{
	return programs[id].runs && sm >= first(b, id) && sm < first(b, id) + sms(b, id);
}

/* An SM with several programs on it works for each of them in turn. */
static inline double rate(const struct bench *b, uint32_t id)
{
	double n = 0, noise;
	uint32_t sm, i, users;

	for (sm = first(b, id); sm < first(b, id) + sms(b, id); sm++) {
		for (users = 0, i = 0; i < N_PROGRAMS; i++)
			users += is_on(b, i, sm);
		n += 1.0 / users;
	}
	noise = programs[id].noise * ((double)cot_rng_below(&rng, 2001) / 1000 - 1);
	return programs[id].per_sm * fmin(n, programs[id].sat) * (1 + noise);
}

/* It ends when what was decided by the counts is done. */
static inline void one_second(struct bench *b)
{
	struct cot_event ev = {.type = COT_EV_PROGRESS, .launches = {.span_ns = S}};
	double done[N_PROGRAMS];
	uint32_t id;

	bench_run(b, S / 2);
	for (id = 0; id < N_PROGRAMS; id++)
		done[id] = programs[id].runs ? rate(b, id) : 0;
	bench_run(b, S / 4);
	for (id = 0; id < N_PROGRAMS; id++) {
		if (!programs[id].runs)
			continue;
		programs[id].done += done[id];
		programs[id].carry += done[id];
		ev.id = id;
		ev.launches.n = (uint64_t)programs[id].carry;
		programs[id].carry -= (double)ev.launches.n;
		(void)bench_event(b, ev);
	}
	bench_run(b, S / 4);
}

static inline void run(struct bench *b, unsigned seconds)
{
	while (seconds--)
		one_second(b);
	bench_run(b, 200 * MS); /* what was decided last is done */
}

/* The mean over so many seconds, in parts of what it does on `of` SMs. */
static inline double mean(struct bench *b, uint32_t id, unsigned seconds, double of)
{
	double before = programs[id].done;

	run(b, seconds);
	return (programs[id].done - before) / seconds / (of * programs[id].per_sm);
}

static inline bool is_quiet(const struct bench *b, uint32_t id)
{
	return first(b, id) == 8 && sms(b, id) == 124;
}

static inline void expect_apart(const struct bench *b, uint32_t n_programs)
{
	uint32_t sm, i, users;

	for (sm = 0; sm < 132; sm++) {
		for (users = 0, i = 0; i <= n_programs; i++)
			users += is_on(b, i, sm);
		assert_true(users <= 1);
	}
}

#endif
