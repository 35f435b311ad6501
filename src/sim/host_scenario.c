#include "sim/host_scenario.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/host.h"
#include "sim/hw/hw.h"

int cot_sim_host_scenario_check(const struct cot_scenario *sc, const struct cot_policy_ops *policy,
				struct cot_error *err)
{
	const struct hw_sched_ops *ops = hw_sched_find(sc->scheduler);

	if (!policy)
		return cot_error_set(err, -EINVAL, "unknown policy '%s'", sc->policy);
	if (!ops)
		return cot_error_set(err, -EINVAL, "unknown scheduler '%s'", sc->scheduler);
	if (!ops->contexts)
		return cot_error_set(err, -EINVAL,
				     "a software policy needs the scheduler 'timeslice', not '%s'",
				     sc->scheduler);
	return 0;
}

struct cot_policy_config cot_sim_host_scenario_config(const struct cot_scenario *sc,
						      const struct cot_policy_config *wanted)
{
	uint32_t n_sms = sc->gpu.n_sms;
	struct cot_policy_config config;

	if (wanted)
		config = *wanted;
	else
		cot_policy_config_init(&config);
	config.dram_bytes_per_s =
		(uint64_t)((double)sc->gpu.dram_bytes_per_s *
			   (sc->gpu.dram_efficiency > 0.0 ? sc->gpu.dram_efficiency : 1.0));
	if (sc->batch_sms) /* rounded up, because the policy rounds down */
		config.latency_permille =
			(uint32_t)cot_div_up((n_sms - sc->batch_sms) * 1000ull, n_sms);
	return config;
}

/* A size that the scenario's policy gives all batch programs stands for their own. */
static struct cot_share sms_of(const struct cot_scenario *sc, const struct cot_app *app)
{
	if (sc->batch_sms && app->cls == COT_CLASS_BATCH)
		return (struct cot_share){0};
	return app->sms;
}

struct cot_tenant_desc cot_sim_host_scenario_tenant(const struct cot_scenario *sc, uint32_t app)
{
	const struct cot_app *a = &sc->apps[app];

	return (struct cot_tenant_desc){
		.cls = a->cls,
		.weight = a->weight ? a->weight : COT_WEIGHT_DEFAULT,
		.gpu_mask = 1,
		.ready = true,
		.block_us = a->block_hint_us,
		.quota = a->quota,
		.reserve = a->reserve,
		.sms = sms_of(sc, a),
		.target = a->target,
		.key = cot_hash_text(0, a->name),
	};
}

/* In which parts can be had: that of an H200, whose 132 SMs make 15 units and 12 are left over. Any
 * other GPU has as many units as fit. */
#define PART_UNIT   8u
#define SPLIT_SMS   132u
#define SPLIT_UNITS 15u

static uint32_t part_unit(const struct cot_gpu *gpu)
{
	return gpu->n_sms < PART_UNIT ? 1 : PART_UNIT;
}

uint32_t cot_sim_host_scenario_quotas(const struct cot_gpu *gpu, uint32_t ret_sms[COT_QUOTAS_MAX])
{
	uint32_t unit = part_unit(gpu), n = 0, i;
	uint32_t n_units = gpu->n_sms == SPLIT_SMS ? SPLIT_UNITS : (gpu->n_sms - 1) / unit;
	uint32_t step = n_units / COT_QUOTAS_MAX + 1;

	for (i = step; i <= n_units; i += step)
		ret_sms[n++] = i * unit;
	ret_sms[n++] = gpu->n_sms;
	return n;
}

struct cot_event cot_sim_host_scenario_parts(const struct cot_scenario *sc, uint32_t app)
{
	const struct cot_gpu *gpu = &sc->gpu;

	return (struct cot_event){
		.type = COT_EV_PARTS,
		.id = app + 1,
		.parts = {.n_sms = gpu->n_sms,
			  .unit = part_unit(gpu),
			  .n_units = gpu->n_sms == SPLIT_SMS ? SPLIT_UNITS : 0},
	};
}

unsigned cot_sim_host_part_sizes(const struct cot_gpu *gpu,
				 uint32_t ret_sizes[COT_SIM_HOST_PART_SIZES])
{
	static const uint32_t eighths[COT_SIM_HOST_PART_SIZES - 1] = {2, 4, 6, 7};
	uint32_t unit = part_unit(gpu), before = 0, i;
	unsigned n = 0;

	for (i = 0; i < COT_ARRAY_LEN(eighths); i++) {
		uint32_t size = gpu->n_sms * eighths[i] / 8 / unit * unit;

		if (size > before && size < gpu->n_sms)
			ret_sizes[n++] = before = size;
	}
	ret_sizes[n++] = gpu->n_sms;
	return n;
}
