/*
 * The numbers of programs and pools.
 */
#ifndef COT_DAEMON_IDS_H
#define COT_DAEMON_IDS_H

#include <stdint.h>

struct daemon;

/* A number that no program and no pool has. */
uint32_t cot_ids_new(struct daemon *d);
/* A number that was given out before: new ones come after it. */
void cot_ids_old(struct daemon *d, uint32_t id);

#endif
