/*
 * Reads a scenario (docs/scenario.md) from YAML into the resolved form of scenario.h. Every mistake
 * is one sentence "FILE:LINE:COL: what is wrong; what was expected". No state: any number of
 * threads may read at once.
 */
#ifndef COT_TRACE_SCENARIO_READ_H
#define COT_TRACE_SCENARIO_READ_H

#include <stddef.h>

#include "base/error.h"
#include "text/yaml.h"
#include "trace/scenario.h"

/* What the command line changes; NULL keeps what the file says. */
struct cot_scenario_options {
	const char *const *schedulers; /* the names that exist; NULL: any name will do */
	unsigned n_schedulers;
	const char *const *policies; /* software policies, likewise */
	unsigned n_policies;
	const char *scheduler;
	const char *preempt; /* "switch" or "drain" */
	const char *policy;  /* policy_name.h */
	const uint64_t *seed;
	const struct cot_yaml_setting *settings; /* of any keys */
	unsigned n_settings;
};

/*
 * Reads `path` ("-": standard input); the caller destroys *ret. `opt` may be NULL. -EINVAL for
 * mistakes in the file or the options, -ENOENT and others when it cannot be read, -ENOMEM.
 */
int cot_scenario_read(const char *path, const struct cot_scenario_options *opt,
		      struct cot_scenario **ret, struct cot_error *err);

/* The same from bytes; `name` stands in messages, and traces are looked for beside it. */
int cot_scenario_parse(const char *name, const void *bytes, size_t size,
		       const struct cot_scenario_options *opt, struct cot_scenario **ret,
		       struct cot_error *err);

void cot_scenario_destroy(struct cot_scenario *sc);

/* Gives an app of a scenario that was read this program instead of its own; takes what is in the
 * store. */
struct cot_program_store;
void cot_scenario_give_program(struct cot_scenario *sc, uint32_t app,
			       struct cot_program_store *store);

#endif
