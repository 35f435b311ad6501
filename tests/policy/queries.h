/* Services whose queries are known beforehand, beside batch programs, on a GPU of 132 SMs. */
#ifndef COT_TESTS_QUERIES_H
#define COT_TESTS_QUERIES_H

#include <stdlib.h>
#include <string.h>

#include "policy/policies.h"
#include "policy/policy_bench.h"
#include "test.h"

#define US COT_NS_PER_US
#define MS COT_NS_PER_MS
#define GB 1000000000u /* bytes per second */

enum { SERVICE = 1, SERVICE2, BATCH, BATCH2 };

/* Actions are done at once. */
static inline struct bench *queries_begin(const struct cot_policy_ops *ops, uint64_t dram)
{
	struct cot_policy_config config;
	struct bench *b = malloc(sizeof(*b));

	assert_non_null(b);
	cot_policy_config_init(&config);
	config.dram_bytes_per_s = dram;
	bench_init_with(b, ops, &config, NULL);
	b->delay_ns = 0;
	bench_run(b, 100 * MS);
	return b;
}

static inline void queries_end(struct bench *b)
{
	bench_expect_no_mistakes(b);
	bench_end(b);
}

static inline void join(struct bench *b, uint32_t id, enum cot_class cls, uint64_t target_us)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = id,
		.tenant = {
			.cls = cls, .weight = COT_WEIGHT_DEFAULT, .gpu_mask = GPU0, .ready = true}};

	if (target_us)
		ev.tenant.target = (struct cot_target){COT_TARGET_P99, (uint32_t)target_us};
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(bench_parts(b, id, true), 0);
	bench_run(b, 0);
}

static inline void service(struct bench *b, uint32_t id, uint64_t target_us)
{
	join(b, id, COT_CLASS_LATENCY, target_us);
}

static inline void batch(struct bench *b, uint32_t id)
{
	join(b, id, COT_CLASS_BATCH, 0);
}

static inline void predict(struct bench *b, uint32_t id, const struct cot_prediction *rows,
			   uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(
			bench_event(b, (struct cot_event){.type = COT_EV_PREDICTION,
							  .id = id,
							  .prediction = {i, n, rows[i], {0}}}),
			0);
	bench_run(b, 0);
}

/* It arrived `ago_ns` before it begins. */
static inline void query(struct bench *b, uint32_t id, uint32_t tenant, uint64_t ago_ns,
			 const struct cot_plan *plan)
{
	struct cot_event ev = {
		.type = COT_EV_QUERY,
		.id = id,
		.query = {.tenant = tenant, .arrived_ns = b->now_ns - ago_ns, .plan = plan}};

	assert_int_equal(bench_event(b, ev), 0);
	bench_run(b, 0);
}

static inline void tasks(struct bench *b, uint32_t id, uint32_t n_done)
{
	assert_int_equal(bench_query_tasks(b, id, n_done), 0);
	bench_run(b, 0);
}

static inline void query_ends(struct bench *b, uint32_t id)
{
	assert_int_equal(bench_query_end(b, id), 0);
	bench_run(b, 0);
}

static inline void expect_part(const struct bench *b, uint32_t id, uint32_t first, uint32_t n)
{
	assert_int_equal(b->part[id].first, first);
	assert_int_equal(b->part[id].n, n);
	assert_false(b->part[id].hold);
}

/* What the policy says of a program; UINT64_MAX: nothing by that name. */
static inline uint64_t fact(const struct bench *b, uint32_t id, const char *name)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned n = cot_sched_explain(b->sched, id, facts), i;

	for (i = 0; i < n; i++)
		if (!strcmp(facts[i].name, name))
			return facts[i].value;
	return UINT64_MAX;
}

#define EXPECT_HELD(b, id) assert_true((b)->part[id].hold)

#endif
