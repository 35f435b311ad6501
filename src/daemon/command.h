/* Packets of the command line. */
#ifndef COT_DAEMON_COMMAND_H
#define COT_DAEMON_COMMAND_H

#include <stdbool.h>

struct conn;

bool cot_command_packet(struct conn *c, const void *packet, int type);

#endif
