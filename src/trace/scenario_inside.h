/*
 * Parts of the scenario reader for the reader of workloads. Private to src/trace.
 */
#ifndef COT_TRACE_SCENARIO_INSIDE_H
#define COT_TRACE_SCENARIO_INSIDE_H

#include "base/error.h"
#include "text/yaml.h"
#include "trace/scenario.h"

/* The file that is read. */
struct cot_scenario_place {
	const char *name;
	const struct cot_yaml *doc;
};

/* The preset that the root's `gpu` names, before the file's values are filled in; then what is to
 * be checked of `gpu` and `seed`. -EINVAL with a sentence. */
int cot_scenario_take_preset(const struct cot_scenario_place *place, struct cot_scenario *sc,
			     struct cot_error *err);
int cot_scenario_check_head(const struct cot_scenario_place *place, struct cot_scenario *sc,
			    struct cot_error *err);

/*
 * A scenario with one app, that of `node`: *app has what its rows say, `base` all but the apps. An
 * app with the key `knowledge` has no program. -EINVAL with a sentence, -ENOMEM.
 */
int cot_scenario_of_app(const struct cot_scenario_place *place, uint32_t node,
			const struct cot_scenario *base, const struct cot_app *app,
			struct cot_scenario **ret, struct cot_error *err);

#endif
