/*
 * Processes that do for the daemon what may take long, and are asked over a socket. They are begun
 * once and stay: fork() waits for everybody who reads the daemon's memory, as `ps` does, and so may
 * take as long as those wait for a processor.
 */
#ifndef COT_DAEMON_CHILD_H
#define COT_DAEMON_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * `serve` runs in the child, with the socket (SOCK_SEQPACKET) and `with`, and should return when
 * the other end is closed. The child keeps nothing else of the daemon's open but stderr, ends with
 * the daemon, and heeds no signal that is meant for that. `name`: what ps shows. -errno.
 */
int cot_child_start(const char *name, void (*serve)(int fd, const void *with), const void *with,
		    int *ret_fd, pid_t *ret_pid);

/* SIGCHLD came: *pid is 0 afterwards if it was that one. */
void cot_child_reap(pid_t *pid);

#endif
