/* The study as `cotenant plan` sees it. */
#include "study/plan/plan.h"

#include <stdlib.h>

static void *create(void)
{
	struct cot_fleet *p = calloc(1, sizeof(*p));

	if (p) {
		p->max_gpus = COT_PLAN_GPUS_MAX;
		p->per_gpu = COT_MAX_APPS;
		p->margin = COT_PLAN_MARGIN_DEFAULT;
		p->seconds = COT_PLAN_SECONDS_DEFAULT;
	}
	return p;
}

static void destroy(void *data)
{
	free(data);
}

const struct cot_study cot_plan_study = {
	.name = "plan",
	.summary = "which programs share which GPU",
	.create = create,
	.destroy = destroy,
	.run = cot_plan_run,
	.write_text = cot_plan_write_text,
	.write_json = cot_plan_write_json,
	.write_csv = cot_plan_write_csv,
};
