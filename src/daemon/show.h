/* What the files of answers in JSON have in common. */
#ifndef COT_DAEMON_SHOW_H
#define COT_DAEMON_SHOW_H

#include <jansson.h>
#include <stdint.h>

struct daemon;
struct tenant;

/* The value is the object's from then on. */
static inline void cot_show_put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static inline void cot_show_number(json_t *object, const char *key, uint64_t value)
{
	cot_show_put(object, key, json_integer((json_int_t)value));
}

/* Adds a program's part of the GPU to what is said of the program; show_part.c. */
void cot_show_part(struct daemon *d, json_t *tenant, const struct tenant *t);

#endif
