/*
 * A program's part of the GPU, for answers in JSON.
 */
#ifndef COT_DAEMON_SHOW_PART_H
#define COT_DAEMON_SHOW_PART_H

#include <jansson.h>

struct conns;
struct tenant;

/* Adds a program's part of the GPU to what is said of the program. */
void cot_show_part(struct conns *conns, json_t *tenant, const struct tenant *t);

#endif
