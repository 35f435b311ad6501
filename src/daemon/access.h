/* What a user may do, by the configuration and the user of a connection. Asks no name service. */
#ifndef COT_DAEMON_ACCESS_H
#define COT_DAEMON_ACCESS_H

#include <stdint.h>

#include "base/error.h"
#include "base/words.h"

struct conn;
struct tenant;

/* 0, or -EPERM with a sentence. */
int cot_access_claim(const struct conn *c, enum cot_class cls, uint32_t weight,
		     struct cot_error *err);
/* Whether the user may start one more program now; else -EAGAIN. */
int cot_access_start(struct conn *c, struct cot_error *err);
/* -EAGAIN, with a sentence on why there is no place for its program: what cot_tenant_new() or
 * cot_tenant_watch_peer() returned. */
int cot_access_crowded(const struct conn *c, int rc, struct cot_error *err);
/* Whether programs of this class may have a reservation; else -EINVAL. */
int cot_access_reserve(enum cot_class cls, struct cot_error *err);
/* Likewise, such a target. */
int cot_access_target(enum cot_target_kind kind, enum cot_class cls, struct cot_error *err);
int cot_access_change(const struct conn *c, const struct tenant *t, struct cot_error *err);
/* For what concerns everybody's programs, such as "a pool". */
int cot_access_admin(const struct conn *c, const char *what, struct cot_error *err);

#endif
