/*
 * Which policy is at work. The user may name it in the configuration. Otherwise it is `pools`, and
 * from the first program with a target on `slo`, until no program is there any longer: programs
 * that start meanwhile are started so that it can move and measure them. Both have the same pools.
 */
#ifndef COT_DAEMON_CHOOSE_H
#define COT_DAEMON_CHOOSE_H

#include <stdbool.h>

#include "daemon/config.h"

struct basis;
struct roster;

/* Programs, or their targets, are others than before; `target` is that of one that comes. */
void cot_choose_look(struct roster *r, struct cot_target target);
/* A configuration that was read: its policy is the one that is to be at work. */
void cot_choose_in(const struct roster *r, struct cot_config *config);
/* Why the policy is another one than without targets; NULL: it is not. */
const char *cot_choose_reason(const struct basis *b);
/* For who gives a program a target: nobody keeps it; NULL: somebody may. */
const char *cot_choose_note(const struct basis *b, struct cot_target target);

#endif
