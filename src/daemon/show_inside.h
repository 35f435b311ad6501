/* What the files of answers in JSON share. Outsiders use show.h. */
#ifndef COT_DAEMON_SHOW_INSIDE_H
#define COT_DAEMON_SHOW_INSIDE_H

#include <jansson.h>
#include <stdint.h>

#include "daemon/loop.h"

struct conns;
struct cot_account;
struct cot_lateness;
struct roster;
struct pool;
struct tenant;

/* The value is the object's from then on. */
static inline void put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static inline void put_number(json_t *object, const char *key, uint64_t value)
{
	put(object, key, json_integer((json_int_t)value));
}

static inline double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static inline double seconds_since(uint64_t then_ns)
{
	return (double)(cot_now_ns() - then_ns) / 1e9;
}

/* Of an object of reasons and how often each was met: the first of the most frequent; NULL. */
static inline const char *main_reason(json_t *reasons)
{
	const char *reason, *most = NULL;
	json_int_t most_n = 0;
	json_t *n;

	json_object_foreach (reasons, reason, n) {
		if (json_integer_value(n) <= most_n)
			continue;
		most_n = json_integer_value(n);
		most = reason;
	}
	return most;
}

/* ---- show.c ---- */

json_t *cot_show_daemon(struct conns *conns);
json_t *cot_show_tenant(struct conns *conns, const struct tenant *t);
json_t *cot_show_pool(struct conns *conns, const struct pool *p);
/* The text; the object ends. NULL: not enough memory for all of it since cot_json_whole() was
 * called last. */
char *cot_show_dump(json_t *o);

/* ---- show_core.c ---- */

json_t *cot_show_core(struct conns *conns);
/* Of the daemon: what it uses, and what its allocator has of the machine for that. */
json_t *cot_show_memory(void);
/* How late deadlines came; `own`: without what the daemon waited for a processor. */
json_t *cot_show_timers(const struct cot_lateness *l);
/* What users have of the daemon's tables. */
json_t *cot_show_users(const struct cot_account *a);

/* ---- show_part.c ---- */

/* Adds a program's part of the GPU to what is said of the program. */
void cot_show_part(struct conns *conns, json_t *tenant, const struct tenant *t);

/* ---- show_energy.c ---- */

/* What a GPU has taken, or null. */
json_t *cot_show_gpu_energy(const struct conns *conns, unsigned gpu);
/* Adds what a program has taken to what is said of the program. */
void cot_show_energy(struct conns *conns, json_t *tenant, const struct tenant *t);
/* What gangs have taken, those of before included. */
json_t *cot_show_gangs_energy(const struct conns *conns);
/* Null, or why nothing is measured. */
json_t *cot_show_energy_why(const struct conns *conns);

/* ---- show_requests.c ---- */

/* Likewise, how long its requests took. */
void cot_show_requests(struct conns *conns, json_t *tenant, const struct tenant *t);

#endif
