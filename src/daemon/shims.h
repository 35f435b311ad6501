/* Packets of the shim in a program: works, and parts of a GPU. */
#ifndef COT_DAEMON_SHIMS_H
#define COT_DAEMON_SHIMS_H

#include <stdbool.h>

struct conn;

/* False: the connection is to be closed. */
bool cot_shims_packet(struct conn *c, const void *packet, int type);
void cot_shims_gone(struct conn *c);

#endif
