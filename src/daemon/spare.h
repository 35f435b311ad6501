/*
 * Processes that are ready to become other programs. The daemon starts one by sending it what it is
 * to be: fork() would wait for everybody who reads the daemon's memory (child.h). A child that
 * stays makes them; they are the daemon's own children all the same (CLONE_PARENT), so it can wait
 * for them and watch them from the start.
 *
 *     daemon ------- "one more" -------> cotenant-spare ---- clone ----> a spare one
 *       ^------- its number, a socket to it ----+                            ^
 *       +------- arguments, variables, descriptors: it becomes the program --+
 *
 * Where none is ready, fork() it is. One thread, and no packet that waits.
 */
#ifndef COT_DAEMON_SPARE_H
#define COT_DAEMON_SPARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/loop.h"

/* The programs of a pool that begins, and of another one at the same time. */
#define COT_SPARES 4u

/* Zeroed: there are none, and none will be. */
struct cot_spares {
	struct cot_loop *loop;
	pid_t maker;		  /* 0: it is not there */
	struct cot_source source; /* the socket to it, while `is_there` */
	bool is_there;
	unsigned n_asked; /* for, and not heard of yet */
	unsigned n;
	struct {
		pid_t pid;
		int fd;
	} ready[COT_SPARES];
};

#define COT_PROGRAM_ARGS      8u
#define COT_PROGRAM_VARIABLES 16u

/* A program that is to be started: in a session of its own, with no signal blocked or ignored, and
 * the umask 022. It has the daemon's environment and `variables`. */
struct cot_program {
	const char *path;
	const char *argv[COT_PROGRAM_ARGS + 1]; /* up to NULL */
	const char *variables[COT_PROGRAM_VARIABLES + 1];
	int fds[3]; /* its stdin, stdout, stderr; -1: /dev/null, or the daemon's stderr */
};

/* Begins the maker. -errno: there are none, and the next start tries it again. */
int cot_spares_begin(struct cot_spares *s, struct cot_loop *loop);
/* The number of the process, a child that is to be waited for; it ends with status 127 if the
 * program is not there, with 126 if it cannot be started. -errno. */
pid_t cot_spares_start(struct cot_spares *s, const struct cot_program *program);
/* SIGCHLD came. */
void cot_spares_reap(struct cot_spares *s);
/* All of them end. */
void cot_spares_end(struct cot_spares *s);

#endif
