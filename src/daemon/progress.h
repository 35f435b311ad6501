/*
 * How fast programs get on: launches, by what their shims count, once a second. The core is told
 * while the policy wants to know; `cotenant stats` shows it. One timer for all, that runs only
 * while programs with a shim launch something.
 */
#ifndef COT_DAEMON_PROGRESS_H
#define COT_DAEMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cotenant/policy.h"

struct conn;
struct cot_timer;
struct tenant;

/* A shim counts launches that run as works, and all others, each in a message of its own. */
enum cot_progress_kind {
	COT_PROGRESS_WORKS,
	COT_PROGRESS_PARTS,
	COT_PROGRESS_CPU,
	COT_PROGRESS_KINDS
};

/* What has come of one shim. */
struct cot_progress_seen {
	uint64_t total[COT_PROGRESS_KINDS];
	bool known[COT_PROGRESS_KINDS];
	uint64_t n_waits, waited_ns;
	bool knows_waits;
};

/* Of a program. */
struct cot_progress {
	uint64_t n, since_ns; /* launches since it was told of; 0 = nothing was counted yet */
	uint64_t n_waits, waited_ns; /* for the GPU, in the same time */
	uint64_t counted_ns;	     /* when the last counts came */
	struct cot_launches told;
};

/* The shim says how many there were since it began: of this kind, since the message before. */
void cot_progress_count(struct conn *c, enum cot_progress_kind kind, uint64_t total,
			uint64_t now_ns);
/* And how often it waited for the GPU, and how long, both since it began. */
void cot_progress_waits(struct conn *c, uint64_t n, uint64_t ns);
/* The timer of the roster has fired. */
void cot_progress_look(struct cot_timer *timer, uint64_t now_ns);
/* Launches a second. False: not known now. */
bool cot_progress_rate(const struct tenant *t, uint64_t now_ns, double *ret_per_s);

#endif
