/*
 * One daemon per runtime folder: the daemon that holds the lock serves. The others are candidates:
 * they wait until a daemon answers on the socket, or until they get the lock because the holder
 * ended or was killed, at whatever point of its start or stop.
 */
#ifndef COT_DAEMON_LOCK_H
#define COT_DAEMON_LOCK_H

#include "base/error.h"

#define COT_LOCK_NAME "cotenantd.lock" /* in the runtime folder */

/*
 * Takes the lock in the folder `runtime`; waits for at most twenty seconds.
 *   0          it is ours, until the descriptor in *ret_fd is closed
 *   -EALREADY  another daemon answers on `socket_path`; NULL: that says nothing, because a service
 *              manager listens there for whoever has the lock
 *   -EBUSY     another one holds the lock and does not answer
 * or another -errno. All failures come with a sentence.
 */
int cot_lock_take(const char *runtime, const char *socket_path, int *ret_fd, struct cot_error *err);

#endif
