/* What every policy keeps whatever hosts measure. */
#include "base/rng.h"
#include "policy/policy_bench.h"
#include "policy/policy_contract.h"

#define S  COT_NS_PER_S
#define MS COT_NS_PER_MS

static struct cot_times some_times(struct cot_rng *rng, uint64_t n)
{
	struct cot_times t = {.n = n};

	if (!n)
		return t;
	t.n_missed = cot_rng_below(rng, n + 1);
	t.p50_ns = cot_rng_below(rng, 20 * MS);
	t.p95_ns = t.p50_ns + cot_rng_below(rng, 20 * MS);
	t.p99_ns = t.p95_ns + cot_rng_below(rng, cot_rng_below(rng, 50) ? 20 * MS : 100 * S);
	return t;
}

static void some_window(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	uint64_t n = cot_rng_below(rng, 3) ? cot_rng_below(rng, 5000) : 0;
	struct cot_event ev = {.type = COT_EV_WINDOW, .id = id};

	ev.window.horizon = (enum cot_horizon)cot_rng_below(rng, COT_N_HORIZONS);
	ev.window.source = (enum cot_request_source)cot_rng_below(rng, 2);
	ev.window.service = some_times(rng, n);
	if (ev.window.source == COT_REQUESTS_MARKED)
		ev.window.response = some_times(rng, n);
	(void)bench_event(b, ev);
}

static void some_progress(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	(void)bench_event(
		b, (struct cot_event){.type = COT_EV_PROGRESS,
				      .id = id,
				      .launches = {.n = cot_rng_below(rng, 9999), .span_ns = S}});
}

/* Rows that follow each other: of a GEMM on an H200, more or less. */
void policy_random_predictions(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	uint32_t n = (uint32_t)cot_rng_below(rng, COT_PREDICTIONS_MAX), row;

	for (row = 0; row < n || !row; row++)
		(void)bench_event(
			b, (struct cot_event){.type = COT_EV_PREDICTION,
					      .id = id,
					      .prediction = {row,
							     n,
							     {.sms = 8 * (row + 1),
							      .duration_ns = 20 * MS / (row + 1),
							      .bytes_per_s = row * S,
							      .ipc_milli = 100 * row},
							     {0}}});
}

static struct cot_target some_target(struct cot_rng *rng)
{
	static const struct cot_target targets[] = {
		{COT_TARGET_NONE, 0},	     {COT_TARGET_P99, 1},     {COT_TARGET_P99, 5000},
		{COT_TARGET_SLOWDOWN, 1500}, {COT_TARGET_RATE, 1000}, {COT_TARGET_RATE, 10},
	};

	return targets[cot_rng_below(rng, 6)];
}

static void with_target(struct bench *b, uint32_t id, enum cot_class cls, struct cot_target target)
{
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TENANT,
						.id = id,
						.tenant = {.cls = cls,
							   .weight = COT_WEIGHT_DEFAULT,
							   .gpu_mask = GPU0,
							   .ready = true,
							   .target = target}});
}

void policy_random_measurement(struct bench *b, struct cot_rng *rng, uint32_t id)
{
	if (cot_rng_below(rng, 20) == 0)
		policy_random_predictions(b, rng, id);
	else if (cot_rng_below(rng, 2))
		some_window(b, rng, id);
	else
		some_progress(b, rng, id);
}

/* Targets that come, change, are kept and missed by far, and programs of which nothing is heard. */
const char *policy_check_measurements(const struct cot_policy_ops *ops, uint64_t seed)
{
	struct bench *b = bench_begin(ops);
	struct cot_rng rng = {seed};
	const char *said = NULL;
	uint32_t id;
	unsigned i;

	for (i = 0; i < 600; i++) {
		id = 1 + (uint32_t)cot_rng_below(&rng, 8);
		if (i < 8 || !cot_rng_below(&rng, 20))
			with_target(b, i < 8 ? i + 1 : id,
				    (i < 8 ? i : id) % 4 ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
				    some_target(&rng));
		policy_random_measurement(b, &rng, id);
		bench_run(b, cot_rng_below(&rng, 200 * MS));
	}
	bench_run(b, 15 * S); /* silence */
	bench_reset_times(b);
	bench_run(b, 15 * S);
	for (id = 1; id <= 8; id++)
		if (b->thawed_ns[id] < 500 * MS)
			said = "a program was frozen nearly all the time, long after it was measured";
	return policy_verdict(b, said);
}
