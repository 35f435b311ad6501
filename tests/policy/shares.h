/* Programs with shares on a GPU of 132 SMs, for tests of policies that deal out works. */
#ifndef COT_TESTS_SHARES_H
#define COT_TESTS_SHARES_H

#include "policy/policies.h"
#include "policy/policy_bench.h"
#include "test.h"

enum { LATENCY = 1, LATENCY2, BATCH, BATCH2, BATCH3 };

#define US	   COT_NS_PER_US
#define MS	   COT_NS_PER_MS
#define SHORT_NS   50000u
#define LONG_NS	   2000000u
#define MANY	   1000000u
#define SMS(n)	   ((struct cot_share){.sms = (n)})
#define PERCENT(n) ((struct cot_share){.pct = (n)})
#define NONE	   ((struct cot_share){0})

static inline void end(struct bench *b)
{
	bench_expect_no_mistakes(b);
	bench_end(b);
}

static inline void latency(struct bench *b, uint32_t id, struct cot_share reserve)
{
	assert_int_equal(bench_shares(b, id, COT_CLASS_LATENCY, NONE, reserve), 0);
}

static inline void batch(struct bench *b, uint32_t id, struct cot_share quota)
{
	assert_int_equal(bench_shares(b, id, COT_CLASS_BATCH, quota, NONE), 0);
}

static inline void expect(const struct bench *b, uint32_t work, uint32_t granted, uint32_t evicted)
{
	assert_int_equal(b->works[work].granted, granted);
	assert_int_equal(b->works[work].evicted, evicted);
}

static inline void latency_on_both(struct bench *b, uint32_t id, struct cot_share reserve)
{
	assert_int_equal(bench_shares_on(b, id, COT_CLASS_LATENCY, GPU0 | GPU1, NONE, reserve), 0);
}

static inline void batch_on_both(struct bench *b, uint32_t id, struct cot_share quota)
{
	assert_int_equal(bench_shares_on(b, id, COT_CLASS_BATCH, GPU0 | GPU1, quota, NONE), 0);
}

/* A work of batch tasks without end. */
static inline void batch_work(struct bench *b, uint32_t gpu, uint32_t id, uint32_t tenant)
{
	assert_int_equal(bench_work_on(b, gpu, id, tenant, MANY, 8, SHORT_NS, false), 0);
}

/* A row of launches of batch tasks, which gets more when there is more. */
static inline void batch_lease(struct bench *b, uint32_t id, uint32_t tenant)
{
	struct cot_event ev = {.type = COT_EV_WORK,
			       .id = id,
			       .work = {.tenant = tenant,
					.n_sms = 132,
					.method = COT_WORK_QUOTA,
					.can_grow = true,
					.per_sm = 8,
					.task_ns = SHORT_NS}};

	assert_int_equal(bench_event(b, ev), 0);
}

#endif
