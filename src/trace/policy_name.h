/*
 * The word for a software policy, as scenarios and the command line write it: its name, and for
 * `parts` how many SMs batch programs have together while latency programs are active.
 *
 *     pools    parts    parts@64
 *
 * Pure.
 */
#ifndef COT_TRACE_POLICY_NAME_H
#define COT_TRACE_POLICY_NAME_H

#include <stddef.h>

#include "base/error.h"
#include "trace/scenario.h"

/* Sets sc->policy and sc->batch_sms; sc->gpu is known. `names` NULL: any name will do. -EINVAL with
 * a sentence without a place. */
int cot_policy_name_read(const char *text, const char *const *names, unsigned n_names,
			 struct cot_scenario *sc, struct cot_error *err);

/* The word again; "" without a policy. */
#define COT_POLICY_NAME_MAX (COT_NAME_MAX + 12)
const char *cot_policy_name_word(const struct cot_scenario *sc, char buf[COT_POLICY_NAME_MAX]);

#endif
