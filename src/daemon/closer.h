/*
 * Ends connections in which files of the peer may wait: to drop such a file can take as long as its
 * owner likes (a socket that lingers), and the daemon has one thread. So a child gets them. It
 * drops them by ending, when nothing lingers, and lives for a millisecond. One thread; knows no
 * peers.
 */
#ifndef COT_DAEMON_CLOSER_H
#define COT_DAEMON_CLOSER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors that wait for a child; and children at a time. */
#define COT_CLOSER_MAX	    512u
#define COT_CLOSER_CHILDREN 4u

/* Zeroed is empty. */
struct cot_closer {
	int fds[COT_CLOSER_MAX];
	unsigned n;
	pid_t children[COT_CLOSER_CHILDREN]; /* 0 = none */
	uint64_t n_closed;
};

/*
 * Ends a connection whose peer may go on sending: nothing more gets in from here on, what has
 * come is read and thrown away, and the descriptor is closed. If something has come along that
 * cannot be thrown away here, it is kept for cot_closer_run(). `guarded`: the kernel lets nothing
 * come along.
 */
void cot_closer_end(struct cot_closer *closer, int fd, bool guarded);
/* What is in it is not known: a listener. */
void cot_closer_keep(struct cot_closer *closer, int fd);
/* Whether it can keep no more; the server should then accept no connection. */
bool cot_closer_is_full(const struct cot_closer *closer);
/* Hands the files that it has kept to a child. -EAGAIN: no child can be started now. */
int cot_closer_run(struct cot_closer *closer);
/* A child has ended. */
void cot_closer_reap(struct cot_closer *closer);

/* Whether descriptors come with the next packet of a socket with SO_PASSCRED. */
enum cot_closer_head { COT_HEAD_NONE, COT_HEAD_PLAIN, COT_HEAD_FILES };
enum cot_closer_head cot_closer_look(int fd);

#endif
