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
/* Who has started it: the real user. -ESRCH. */
int cot_process_user(pid_t pid, uid_t *ret_uid);
pid_t cot_process_parent(pid_t pid); /* 0 = likewise */
/* The kernel's own number of a process, by its pidfd; 0 where there are none. */
uint64_t cot_process_number(int pidfd);
bool cot_process_has_ended(int pidfd);
/* By a signal, or by a tracer. */
bool cot_process_is_stopped(pid_t pid);

/* One process; false when it is nothing of that daemon's, or cannot be read. It waits for as long
 * as the process's owner likes, unlike all above. */
bool cot_process_read(const char *socket_path, pid_t pid, struct cot_process *ret_process);

/* ---- processes_all.c ---- */

/* As cot_process_read(), by a child that has so long. 0; -ETIMEDOUT; another -errno: as `false`. */
int cot_process_read_within(const char *socket_path, pid_t pid, int ms,
			    struct cot_process *ret_process);
/* The others may take seconds. */

/* Tells of each process of the daemon with this socket, by their numbers. What lets it wait for a
 * second is left out, with all of its user's. -errno: not of all of them, for a lack of memory or
 * of descriptors. */
int cot_processes_each(const char *socket_path,
		       void (*found)(const struct cot_process *p, void *arg), void *arg);
/* They as a list, to be freed; of users with very many not all. NULL: that cannot be known now; a
 * list would be taken for all of them. */
struct cot_processes *cot_processes_read(const char *socket_path);

/* Whether it was started with this argument; waits as cot_process_read() does. */
bool cot_process_has_argument(pid_t pid, const char *argument);
/* Whether no other process above it is the same program or pool. */
bool cot_process_is_root(const struct cot_processes *all, const struct cot_process *p);
/* Whether it is one of this program, of the user or of root. */
bool cot_process_is_of(const struct cot_process *p, uint32_t id, uid_t uid);
/* The oldest process of the user's (or root's) that is this program; NULL: there is none. */
const struct cot_process *cot_processes_of(const struct cot_processes *all, uint32_t id, uid_t uid);

#endif
