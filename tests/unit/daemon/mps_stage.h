/*
 * A pool with an MPS control program that the test plays: a script that listens, lists the clients
 * that the test names, and quits when it is told to. On the stage of daemon_life.h; these files in
 * the runtime folder are its side of the play:
 *
 *   args, told           how it was started, and the commands that it has got, a line each
 *   servers, clients     what it answers; clients-PID goes before for this server
 *   deaf, mute, fails    when they are there: `quit` ends nothing; it does not listen; it does not
 *                        start
 *   old                  it does not know the option -M
 *   broken               get_server_list and start_server end with status 1
 *   hold-WORD            the command WORD does not end while it is there
 *   look                 shell commands that each control program carries out when it starts
 */
#ifndef COT_TESTS_MPS_STAGE_H
#define COT_TESTS_MPS_STAGE_H

#include "daemon_life.h"

extern struct pool *p; /* the batch pool of GPU 0, number 1; it lingers for no time */

#define WITH_MPS(test) cmocka_unit_test_setup_teardown(test, mps_setup, mps_teardown)

int mps_setup(void **state);
int mps_teardown(void **state);
/* It comes up, for one program of this user. */
void start_pool(uid_t uid);
/* The same; then the daemon knows nothing of it any more. */
void leave_pool(void);
/* This control program, which no pool has, does not stay when the test ends, however that is. */
void ends_with_test(pid_t control);
/* Whether the control program was told this line, or a part of one. */
bool told(const char *line);
/* How many descriptors this process has. */
unsigned count_fds(void);
/* From now on it may have this many more; -1: as many as before. */
void allow_fds(int n);

/* For life_until(). */
bool is_up(void);
bool is_down(void);
bool is_failed(void);
bool is_stopping(void);
bool is_asking(void); /* for its clients */
/* It has been answered, and waits for a second at least until it asks again, if at all. */
bool is_answered(void);
bool has_no_command(void);

#endif
