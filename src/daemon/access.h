/*
 * What a user may do, by the configuration and the user of a connection. Asks no name service.
 */
#ifndef COT_DAEMON_ACCESS_H
#define COT_DAEMON_ACCESS_H

#include <stdint.h>

#include "base/error.h"
#include "base/words.h"

struct conn;
struct daemon;
struct tenant;

/* 0, or -EPERM with a sentence. */
int cot_access_claim(const struct conn *c, enum cot_class cls, uint32_t weight,
		     struct cot_error *err);
int cot_access_change(const struct conn *c, const struct tenant *t, struct cot_error *err);
int cot_access_admin(const struct conn *c, struct cot_error *err);
/* Of the folders above the socket and of the pools. */
unsigned cot_access_folder_mode(const struct daemon *d);

#endif
