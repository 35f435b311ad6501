/*
 * Which policy is at work. An administrator may choose it with `cotenant policy`, until he takes
 * that back or the configuration is read again; the configuration may name it. Otherwise it is
 * `pools`, and from the first program with a target on `slo`, until no program is there any longer:
 * programs that start meanwhile are started so that it can move and measure them. Both have the
 * same pools.
 */
#ifndef COT_DAEMON_CHOOSE_H
#define COT_DAEMON_CHOOSE_H

#include <stdbool.h>

#include "base/error.h"
#include "daemon/config.h"

struct basis;
struct roster;

/* Programs, or their targets, are others than before; `target` is that of one that comes. */
void cot_choose_look(struct roster *r, struct cot_target target);
/* A configuration that was read: its policy is the one that is to be at work. */
void cot_choose_in(const struct roster *r, struct cot_config *config);
/* What can be at work now of what is meant: another one where that needs MPS and there is none. */
const struct cot_policy_ops *cot_choose_now(const struct roster *r,
					    const struct cot_policy_ops *policy);
/* NULL takes the choice back. -errno with a sentence, and then nothing has changed. Programs go on
 * where they are. */
int cot_choose_by_user(struct roster *r, const struct cot_policy_ops *policy,
		       struct cot_error *err);
/* Programs in pools that programs which start now do not get. */
unsigned cot_choose_elsewhere(const struct roster *r);
/* Why the policy is another one than the configuration's without targets; NULL: it is not. */
const char *cot_choose_reason(const struct basis *b);
/* Of the programs that are there, a target that nobody keeps: as cot_choose_note(). */
const char *cot_choose_neglects(const struct roster *r);
/* For who gives a program a target: nobody keeps it; NULL: somebody may. */
const char *cot_choose_note(const struct basis *b, struct cot_target target);

#endif
