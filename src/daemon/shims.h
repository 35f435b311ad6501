/*
 * What the shim in a program says: which GPU it is on, what its kernels want of it, and how it
 * moves between parts. One connection per GPU that the program uses.
 */
#ifndef COT_DAEMON_SHIMS_H
#define COT_DAEMON_SHIMS_H

#include <stdbool.h>

struct conn;

/* False: the connection is to be closed. */
bool cot_shims_packet(struct conn *c, const void *packet, int type);
void cot_shims_gone(struct conn *c);

#endif
