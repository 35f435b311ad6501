/* cotenant model heat: the thermal term of the power model from a step test. */
#include <errno.h>
#include <string.h>

#include "model/heat.h"
#include "report/json.h"
#include "report/model.h"
#include "trace/step.h"

static int fit(const struct cot_step_test *step, const char *name, struct cot_model_heat *heat,
	       double *ret_gain, struct cot_error *err)
{
	double dynamic_w;

	if (cot_model_heat_fit(step->seconds, step->power_w, step->n, heat))
		return cot_error_set(err, -EINVAL, "%s:1:1: the samples are too few", name);
	dynamic_w = heat->start_w - step->idle_w;
	if (!(dynamic_w > 0))
		return cot_error_set(
			err, -EINVAL,
			"%s:1:1: the load starts at %.1f W, not above the %.1f W idle; "
			"expected a load",
			name, heat->start_w, step->idle_w);
	if (heat->rise_w < 0)
		return cot_error_set(err, -EINVAL,
				     "%s:1:1: the power falls by %.1f W while the chip warms; "
				     "expected it to rise (did the clock change?)",
				     name, -heat->rise_w);
	*ret_gain = heat->rise_w / dynamic_w;
	return 0;
}

int cot_model_show_heat(const struct cot_origin *origin, bool json, FILE *out,
			struct cot_error *err)
{
	const char *name = cot_origin_name(origin);
	struct cot_step_test step;
	struct cot_model_heat heat;
	double gain = 0;
	int rc;

	rc = cot_step_parse(name, origin->bytes, origin->size, &step, err);
	if (rc)
		return rc;
	rc = fit(&step, name, &heat, &gain, err);
	if (!rc && json)
		rc = cot_json_write(
			cot_origin_with(json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i}", "schema",
						  "cotenant.model.heat/1", "thermal_gain",
						  cot_json_number(gain), "thermal_tau_s",
						  cot_json_number(heat.tau_s), "start_w",
						  cot_json_number(heat.start_w), "rise_w",
						  cot_json_number(heat.rise_w), "worst_w",
						  cot_json_number(heat.worst_w), "samples",
						  (int)step.n),
					origin),
			COT_JSON_INDENTED, out);
	else if (!rc)
		(void)fprintf(
			out,
			"thermal_gain %.4g, thermal_tau_s %.4g\n\nFrom %.1f W when the load "
			"starts by %.1f W to the warm chip; %.1f W idle. No sample is\nfarther "
			"than %.2f W from the curve.\n",
			gain, heat.tau_s, heat.start_w, heat.rise_w, step.idle_w, heat.worst_w);
	cot_step_finish(&step);
	return rc;
}
