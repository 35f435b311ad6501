/*
 * An answer to STATS as text for Prometheus (text format 0.0.4): what /metrics gives, and `cotenant
 * stats --format prometheus`. A function of the answer alone: names, types and help are in
 * families.def.
 */
#ifndef COT_DAEMON_EXPOSE_H
#define COT_DAEMON_EXPOSE_H

#include <jansson.h>
#include <stddef.h>

enum cot_family_type { COT_FAMILY_GAUGE, COT_FAMILY_COUNTER, COT_FAMILY_HISTOGRAM };

struct cot_family {
	const char *name;
	enum cot_family_type type;
	enum cot_family_scope { OF_DAEMON, OF_GPU, OF_POOL, OF_PROGRAM } scope;
	const char *key;
	enum cot_family_how {
		BY_NUMBER,
		BY_NONZERO,
		BY_TRUTH,
		BY_THERE,
		BY_SIZE,
		BY_UP,
		BY_FROZEN,
		BY_P99,
		BY_INFO,
		BY_ACTIONS,
		BY_LAUNCHES,
		BY_BUCKETS
	} how;
	double scale;
	const char *help;
};

extern const struct cot_family cot_families[];
extern const size_t cot_n_families;
extern const char *const cot_family_types[]; /* their words, by type */

/* The whole text; free() it. NULL: out of memory. */
char *cot_expose(const json_t *stats);

#endif
