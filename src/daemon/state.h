/* The file of what the next daemon must know. */
#ifndef COT_DAEMON_STATE_H
#define COT_DAEMON_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/loop.h"

struct roster;

struct state_file {
	bool dirty;		/* it does not say what is so now */
	bool lost;		/* it could not be written, and that has been said */
	struct cot_timer retry; /* it is not written before */
	uint64_t since_ns;	/* writes are counted since then */
	uint32_t n_writes;
};

/*
 * Pools and programs of the daemon before this one: of its file, and what only processes know.
 * 0, or -errno when these cannot be known now.
 */
int cot_state_load(struct roster *r, struct cot_error *err);
/* Saves what has changed, unless it is tried again later anyway. */
void cot_state_keep(struct roster *r);
/* What cannot be written stays `dirty` and is tried again in a second; what changes soon
 * after a write waits for a moment. */
void cot_state_save(struct roster *r);

#endif
