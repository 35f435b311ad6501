/*
 * What /proc says of processes: of one, whether it lives and since when; of all, which are programs
 * or pools of ours, by what is in their environment. For that a big machine takes tens of
 * milliseconds, so the daemon does it when it starts, and later in a child that stays (outlive.c).
 */
#ifndef COT_DAEMON_PROCESSES_H
#define COT_DAEMON_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/found.h"

struct cot_process {
	pid_t pid, parent;
	uid_t uid; /* the user who started it: a set-uid program keeps it */
	gid_t gid;
	uint64_t start_time; /* of /proc/PID/stat */
	bool is_server;	     /* an MPS server, not the control program that has started it */
	struct cot_found found;
};

struct cot_processes {
	unsigned n;
	struct cot_process p[1024];
};

/* -ESRCH: there is none; another -errno: it could not be seen now. */
int cot_process_start(pid_t pid, uint64_t *ret_start_time);
uint64_t cot_process_start_time(pid_t pid); /* 0 = there is none */
pid_t cot_process_parent(pid_t pid);	    /* 0 = likewise */
/* The kernel's own number of a process, by its pidfd; 0 where there are none. */
uint64_t cot_process_number(int pidfd);
bool cot_process_has_ended(int pidfd);
/* By a signal, or by a tracer. */
bool cot_process_is_stopped(pid_t pid);

/* What the processes of the daemon with this socket say; to be freed. NULL: that cannot be known
 * now, for a lack of memory or of descriptors; a list would be taken for all of them. */
struct cot_processes *cot_processes_read(const char *socket_path);
/* One process; false when it is nothing of that daemon's, or cannot be read. */
bool cot_process_read(const char *socket_path, pid_t pid, struct cot_process *ret_process);
/* Whether it was started with this argument. */
bool cot_process_has_argument(pid_t pid, const char *argument);
/* Whether no other process above it is the same program or pool. */
bool cot_process_is_root(const struct cot_processes *all, const struct cot_process *p);
/* The oldest process of the user's (or root's) that is this program; NULL: there is none. */
const struct cot_process *cot_processes_of(const struct cot_processes *all, uint32_t id, uid_t uid);

#endif
