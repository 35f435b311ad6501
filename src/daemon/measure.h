/*
 * How long the requests of programs take: looks at the rings (proto/ring.h) of those that are
 * measured, tells the core, and `cotenant stats`. One timer for all, that runs only while there are
 * any.
 */
#ifndef COT_DAEMON_MEASURE_H
#define COT_DAEMON_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cotenant/policy.h"

struct conn;
struct cot_timer;
struct roster;
struct tenant;

/* A library of the program wants a ring. False: there is no memory for what would be in it. */
bool cot_measure_begin(struct tenant *t);
/* The program is gone. */
void cot_measure_drop(struct tenant *t);
/* The daemon ends. */
void cot_measure_finish(struct roster *r);
/* A text that the policy says of it, which stays; NULL: it says nothing of that name. */
const char *cot_measure_told(const struct tenant *t, const char *name);
/* A fact that the policy says of it. False: it does not. */
bool cot_measure_said(const struct tenant *t, const char *name, enum cot_fact_unit unit,
		      uint64_t *ret_value);
/* Its target may be another one. */
void cot_measure_aim(struct tenant *t);
/* The library is gone: what is still in its ring. */
void cot_measure_end(struct conn *c);
/* Where its figures come from; bursts until it has marked a request. */
enum cot_request_source cot_measure_source(const struct tenant *t);
/* The timer of the roster has fired. */
void cot_measure_look(struct cot_timer *timer, uint64_t now_ns);

#endif
