/* Which process is at the other end of a connection. */
#ifndef COT_DAEMON_PEER_H
#define COT_DAEMON_PEER_H

#include <stdbool.h>

struct conn;
struct watch;

/*
 * Fills in the process at the other end of a connection that was just accepted. -EMFILE, -ENFILE:
 * there was no descriptor for it. If the process cannot be identified for certain, because it has
 * ended or is not visible from here, `pidfd` is -1 and `start_time` 0.
 */
int cot_peer_identify(struct conn *c, int fd);
/* Gives back what that took. */
void cot_peer_finish(struct conn *c);
/* Whether the watched process is the one that connected. False in doubt. */
bool cot_peer_is(const struct conn *c, const struct watch *w);

#endif
