/*
 * What the commands that play scenarios share.
 */
#ifndef COT_CLI_SCENARIO_H
#define COT_CLI_SCENARIO_H

#include <stdint.h>

#include "base/error.h"
#include "report/fanout.h"
#include "report/origin.h"
#include "report/sim_summary.h"
#include "sim/host.h"
#include "sim/host_measure.h"
#include "text/yaml.h"
#include "trace/scenario.h"

/* What the command line says in the scenario's stead; NULL: nothing. */
struct cot_cli_overrides {
	const char *scheduler, *preempt;
	const char *policy; /* trace/policy_name.h */
	const uint64_t *seed;
	const struct cot_yaml_setting *settings;
	unsigned n_settings;
};

/* Reads a scenario file ("-": standard input); release with cot_scenario_destroy(). Its hash goes
 * to the origin. */
int cot_cli_read_scenario(const char *path, const struct cot_cli_overrides *o,
			  struct cot_origin *origin, struct cot_scenario **ret_sc,
			  struct cot_error *err);

/* The same of a file that was read: `path` is for messages, and "-" standard input. */
int cot_cli_parse_scenario(const char *path, const void *bytes, size_t size,
			   const struct cot_cli_overrides *o, struct cot_scenario **ret_sc,
			   struct cot_error *err);

/* Gives the scenario this policy; -EINVAL with a sentence. */
int cot_cli_set_policy(const char *word, struct cot_scenario *sc, struct cot_error *err);

/* Each app alone. */
struct cot_cli_alone {
	double us[COT_MAX_APPS];       /* one run; NAN for one that never ends */
	uint64_t p99_ps[COT_MAX_APPS]; /* of the responses of those whose target is a slowdown */
};

/* Any thread. -EINTR when interrupted. */
int cot_cli_play_alone(const struct cot_scenario *sc, struct cot_cli_alone *ret_alone,
		       struct cot_error *err);
/* The same with a progress bar. */
int cot_cli_measure_alone(const struct cot_scenario *sc, struct cot_cli_alone *ret_alone,
			  struct cot_error *err);

/* Points in time between two looks at the signals and the progress bar: some 30 ms. */
#define COT_CLI_PLAY_INSTANTS 200000u

/* A scenario that is being played. */
struct cot_cli_play {
	struct cot_sim_host *host; /* of the scenario's policy; NULL without one */
	struct cot_sim *sim;	   /* the host's, if there is one */
	/* Without a host, of scenarios with requests: */
	bool measured;
	struct host_measures measures;
	struct cot_fanout fanout;
};

/* `known` is of the apps, as in struct cot_sim_host_options; it and `observer` may be NULL. As
 * cot_sim_host_create() and cot_sim_create(); end it in any case. */
int cot_cli_play_begin(struct cot_cli_play *p, const struct cot_scenario *sc,
		       const struct cot_cli_alone *alone, const struct cot_knowledge *const *known,
		       const struct cot_sim_observer *observer, void *arg, struct cot_error *err);
enum cot_sim_status cot_cli_play_on(struct cot_cli_play *p);
/* After the last status: -EINTR or -ENOMEM with a sentence, or 0. */
int cot_cli_play_check(enum cot_sim_status status, struct cot_error *err);
/* Adds how long responses took. */
void cot_cli_play_summarize(const struct cot_cli_play *p, struct cot_sim_summary *s);
void cot_cli_play_end(struct cot_cli_play *p);

#endif
