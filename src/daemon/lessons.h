/*
 * What policies learned, kept for the next daemon and for the next runs of the same programs: the
 * file `lessons` (lesson_text.h) of the runtime folder, or of systemd's $STATE_DIRECTORY for the
 * machine's daemon. Written soon after a change, at most every ten seconds, and at the end.
 */
#ifndef COT_DAEMON_LESSONS_H
#define COT_DAEMON_LESSONS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/loop.h"

struct basis;

struct lessons {
	struct basis *basis;
	struct cot_timer pause; /* after a write */
	uint64_t n_written;	/* changes until the last write */
	bool lost;		/* it could not be written, and that has been said */
};

/* Gives the core what the file has; a file that makes no sense counts as none, and is told. */
void cot_lessons_load(struct lessons *l);
/* Before every sleep: writes what has changed, unless it was written just now. */
void cot_lessons_keep(struct lessons *l);
/* At the end: now. */
void cot_lessons_end(struct lessons *l);

#endif
