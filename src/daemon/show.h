/* Answers to `cotenant ps`, `stats` and `doctor`, in JSON. */
#ifndef COT_DAEMON_SHOW_H
#define COT_DAEMON_SHOW_H

#include <jansson.h>
#include <stdint.h>

struct conns;

/* The value is the object's from then on. */
static inline void cot_show_put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static inline void cot_show_number(json_t *object, const char *key, uint64_t value)
{
	cot_show_put(object, key, json_integer((json_int_t)value));
}

/* The answer to a QUERY. NULL: unknown, or out of memory. */
char *cot_show_answer(struct conns *conns, unsigned what);

#endif
