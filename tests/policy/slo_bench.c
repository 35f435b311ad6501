#include "policy/slo_bench.h"

#include <stdlib.h>
#include <string.h>

#include "policy/policies.h"
#include "test.h"

struct slo_bench *slo_bench_begin(void)
{
	struct slo_bench *sb = calloc(1, sizeof(*sb));

	assert_non_null(sb);
	sb->b = bench_begin(&cot_policy_slo);
	sb->b->n_units = 15;
	sb->requests = cot_requests_create();
	assert_non_null(sb->requests);
	sb->rng.state = 1;
	sb->slowdown = slo_bench_pools;
	sb->load = 1;
	(void)bench_pool(sb->b, LATENCY_POOL, COT_CLASS_LATENCY);
	(void)bench_pool(sb->b, BATCH_POOL, COT_CLASS_BATCH);
	return sb;
}

void slo_bench_end(struct slo_bench *sb)
{
	bench_expect_no_mistakes(sb->b);
	bench_end(sb->b);
	cot_requests_destroy(sb->requests);
	free(sb);
}

static void join(struct slo_bench *sb, uint32_t id, struct cot_tenant_desc d)
{
	d.gpu_mask = GPU0;
	d.key = sb->nameless ? 0 : 0x1000 + id;
	assert_int_equal(
		bench_event(sb->b,
			    (struct cot_event){.type = COT_EV_TENANT, .id = id, .tenant = d}),
		0);
	(void)bench_parts(sb->b, id, true);
}

void slo_bench_other(struct slo_bench *sb, uint32_t id, uint32_t pool, uint32_t p99_us)
{
	join(sb, id,
	     (struct cot_tenant_desc){.cls = COT_CLASS_LATENCY,
				      .weight = COT_WEIGHT_DEFAULT,
				      .pool = pool,
				      .target = {COT_TARGET_P99, p99_us}});
}

static void measure(struct slo_bench *sb, uint32_t p99_us)
{
	sb->target_ns = p99_us * COT_NS_PER_US;
	cot_requests_set_target(sb->requests, sb->target_ns);
}

void slo_bench_server(struct slo_bench *sb, uint32_t p99_us)
{
	slo_bench_other(sb, SERVER, LATENCY_POOL, p99_us);
	measure(sb, p99_us);
}

void slo_bench_solo(struct slo_bench *sb, uint32_t p99_us)
{
	join(sb, SERVER,
	     (struct cot_tenant_desc){.cls = COT_CLASS_LATENCY,
				      .weight = COT_WEIGHT_DEFAULT,
				      .ready = true,
				      .target = {COT_TARGET_P99, p99_us}});
	measure(sb, p99_us);
}

void slo_bench_batch(struct slo_bench *sb, uint32_t id, uint32_t pool, uint32_t weight)
{
	join(sb, id,
	     (struct cot_tenant_desc){.cls = COT_CLASS_BATCH, .weight = weight, .pool = pool});
}

void slo_bench_target(struct slo_bench *sb, uint32_t id, enum cot_target_kind kind, uint32_t amount)
{
	const struct cot_tenant *t = cot_sched_tenant(sb->b->sched, id);
	struct cot_tenant_desc d = {.cls = t->cls,
				    .weight = t->weight,
				    .gpu_mask = t->gpu_mask,
				    .pool = t->pool,
				    .key = t->key,
				    .target = {kind, amount}};

	assert_int_equal(
		bench_event(sb->b,
			    (struct cot_event){.type = COT_EV_TENANT, .id = id, .tenant = d}),
		0);
}

/* Empty: nothing is said under this name. */
static struct cot_fact fact(const struct slo_bench *sb, uint32_t id, const char *name)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(sb->b->sched, id, facts);

	for (i = 0; i < n; i++)
		if (!strcmp(facts[i].name, name))
			return facts[i];
	return (struct cot_fact){0};
}

uint64_t slo_bench_fact(const struct slo_bench *sb, uint32_t id, const char *name)
{
	struct cot_fact f = fact(sb, id, name);

	return f.name && f.unit == COT_FACT_TEXT ? 1 : f.value;
}

const char *slo_bench_text(const struct slo_bench *sb, uint32_t id, const char *name)
{
	return fact(sb, id, name).text;
}

double slo_bench_rate(const struct slo_bench *sb, uint32_t id)
{
	const struct cot_part *part = &sb->b->part[id];

	if (sb->b->frozen[cot_sched_tenant(sb->b->sched, id)->pool])
		return 0;
	return (part->n ? part->n : 132) / 132.0;
}

static void count(struct slo_bench *sb, uint32_t id, double n)
{
	struct cot_launches l = {.n = (uint64_t)n, .span_ns = COT_NS_PER_S};

	if (id == SERVER && sb->waits > 0) {
		l.n_waits = COT_NS_PER_S / sb->gap_ns;
		l.waited_ns = (uint64_t)((double)(l.n_waits * sb->alone_ns) * sb->waits);
	}
	(void)bench_event(sb->b,
			  (struct cot_event){.type = COT_EV_PROGRESS, .id = id, .launches = l});
}

static void count_kernels(struct slo_bench *sb)
{
	uint32_t i;

	sb->next_count_ns += COT_NS_PER_S;
	if (sb->launches && sb->gap_ns)
		count(sb, SERVER, (double)sb->launches * 1e9 / (double)sb->gap_ns);
	for (i = 0; i < 8; i++) {
		double n = (double)sb->kernels[i];

		if (!sb->kernels[i] || !cot_sched_tenant(sb->b->sched, TRAIN + i))
			continue;
		count(sb, TRAIN + i, n * slo_bench_rate(sb, TRAIN + i));
	}
}

void slo_bench_load(struct slo_bench *sb, double per_s, uint32_t alone_us)
{
	sb->gap_ns = per_s > 0 ? (uint64_t)(1e9 / per_s) : 0;
	sb->alone_ns = alone_us * COT_NS_PER_US;
	sb->next_ns = sb->b->now_ns + sb->gap_ns;
}

uint32_t slo_bench_batch_end(const struct slo_bench *sb)
{
	uint32_t id, end = 0;

	for (id = TRAIN; id < TRAIN + 8; id++) {
		const struct cot_tenant *t = cot_sched_tenant(sb->b->sched, id);

		if (!t)
			continue;
		if (!sb->b->part[id].n)
			return 132;
		if (sb->b->part[id].first + sb->b->part[id].n > end)
			end = sb->b->part[id].first + sb->b->part[id].n;
	}
	return end;
}

double slo_bench_pools(const struct slo_bench *sb)
{
	const struct bench *b = sb->b;
	double wait_us = 170.0 + b->slice_us[BATCH_POOL];
	double alone_us = (double)sb->alone_ns / 1e3;

	if (b->frozen[BATCH_POOL])
		return 1;
	if (b->slice_us[LATENCY_POOL] < alone_us)
		wait_us *= 1 + alone_us / b->slice_us[LATENCY_POOL];
	return 1 + sb->load * wait_us / alone_us;
}

double slo_bench_parts(const struct slo_bench *sb)
{
	static const struct {
		double sms, slow;
	} at[] = {{0, 1.2}, {8, 1.27}, {32, 1.36}, {64, 1.45}, {96, 1.86}, {112, 3.14}, {132, 39}};
	double sms = slo_bench_batch_end(sb), slow = at[0].slow;
	unsigned i;

	for (i = 1; i < sizeof(at) / sizeof(at[0]) && sms > at[i - 1].sms; i++) {
		double part = (sms - at[i - 1].sms) / (at[i].sms - at[i - 1].sms);

		slow = at[i - 1].slow + (part < 1 ? part : 1) * (at[i].slow - at[i - 1].slow);
	}
	return 1 + (slow - 1) * sb->load;
}

/* The slowest of a hundred take about as long as `slowdown` says. */
static void one_request(struct slo_bench *sb)
{
	double part = (double)cot_rng_below(&sb->rng, 1000) / 1000, slow = sb->slowdown(sb);
	uint64_t ns = (uint64_t)((double)sb->alone_ns * (1 + (slow - 1) * (0.5 + part / 2)));

	if (slow < sb->was || slow > sb->was)
		sb->n_changes++;
	sb->was = slow;
	sb->n++;
	if (ns > sb->target_ns) {
		sb->n_missed++;
		sb->last_missed_ns = sb->b->now_ns;
	}
	cot_requests_add(sb->requests, sb->b->now_ns, ns, ns);
	sb->next_ns = sb->b->now_ns + sb->gap_ns;
}

static void deliver(struct slo_bench *sb)
{
	struct cot_requests_window w;

	while (cot_requests_take(sb->requests, sb->b->now_ns, &w))
		if (!sb->mute)
			(void)bench_event(sb->b,
					  (struct cot_event){.type = COT_EV_WINDOW,
							     .id = SERVER,
							     .window = {.horizon = w.horizon,
									.response = w.response,
									.service = w.service}});
}

void slo_bench_run(struct slo_bench *sb, uint64_t for_ns)
{
	uint64_t end_ns = sb->b->now_ns + for_ns;

	while (sb->b->now_ns < end_ns) {
		uint64_t next_ns = cot_requests_due_ns(sb->requests);

		if (next_ns > end_ns)
			next_ns = end_ns;
		if (sb->gap_ns && sb->next_ns < next_ns)
			next_ns = sb->next_ns;
		if (sb->next_count_ns < next_ns)
			next_ns = sb->next_count_ns;
		if (next_ns > sb->b->now_ns)
			bench_run(sb->b, next_ns - sb->b->now_ns);
		if (sb->gap_ns && sb->b->now_ns >= sb->next_ns)
			one_request(sb);
		if (sb->b->now_ns >= sb->next_count_ns)
			count_kernels(sb);
		deliver(sb);
	}
}

void slo_bench_count(struct slo_bench *sb)
{
	sb->n = sb->n_missed = sb->n_changes = 0;
}

double slo_bench_missed(const struct slo_bench *sb)
{
	return sb->n ? (double)sb->n_missed * 1000 / (double)sb->n : 0;
}
