/*
 * The file of what the next daemon must know.
 */
#ifndef COT_DAEMON_STATE_H
#define COT_DAEMON_STATE_H

#include "base/error.h"

struct daemon;

/*
 * Pools and programs of the daemon before this one: of its file, and what only processes know.
 * 0, or -errno when these cannot be known now.
 */
int cot_state_load(struct daemon *d, struct cot_error *err);
/* Saves what has changed, unless it is tried again later anyway. */
void cot_state_keep(struct daemon *d);
/* What cannot be written stays `state_dirty` and is tried again in a second; what changes soon
 * after a write waits for a moment. */
void cot_state_save(struct daemon *d);

#endif
