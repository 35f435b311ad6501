/*
 * cotenant record: what the daemon says, as lines of a recording (src/record/record.h). All are
 * functions of their arguments; record.c asks and writes. NULL when out of memory.
 */
#ifndef COT_CLI_RECORD_H
#define COT_CLI_RECORD_H

#include <jansson.h>

/* `stats` is an answer to COT_QUERY_STATS. */
json_t *cot_record_head(const json_t *stats, double interval_ms, const char *version,
			const char *started);
json_t *cot_record_sample(const json_t *stats, double at_ms);

/* What became otherwise from one answer to the next, one after the other. `explain` gives the
 * policy's words about a program, an answer to EXPLAIN, or NULL; `write` takes the line. */
struct cot_record_sink {
	json_t *(*explain)(void *arg, long long id);
	void (*write)(void *arg, json_t *line);
	void *arg;
};
void cot_record_compare(const json_t *before, const json_t *now, double at_ms,
			const struct cot_record_sink *sink);

#endif
