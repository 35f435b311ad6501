/*
 * For tests of the daemon's files that look at processes: a runtime folder, programs that only
 * sleep, with environments as `cotenant run` and the daemon make them, and the daemon's loop for a
 * while.
 */
#ifndef COT_TESTS_DAEMON_LIFE_H
#define COT_TESTS_DAEMON_LIFE_H

#include "daemon_stage.h"

int life_setup(void **state);
int life_teardown(void **state);
/* The daemon ends; the next one has the same folder and knows nothing yet. */
void life_next_daemon(void);

/* `env`: "KEY=VALUE" each, up to NULL; COTENANT_SOCKET comes by itself. */
pid_t life_process(const char *const env[]);
/* The same as a process of that user; the caller may do that. */
pid_t life_process_of(uid_t uid, const char *const env[]);
/* Under another name. */
pid_t life_process_as(uid_t uid, const char *name, const char *const env[]);
/* It ends, and is gone. */
void life_end(pid_t pid);
/* Runs the loop until `done` says so; fails after ten seconds. */
void life_until(bool (*done)(void));
/* For that long. */
void life_run(unsigned ms);
/* A file in the runtime folder: what is in it, or ""; writes and removes one. */
const char *life_read(const char *name);
void life_write(const char *name, const char *text, unsigned mode);
void life_remove(const char *name);

#endif
