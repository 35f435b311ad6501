/*
 * The daemon's door, for tests: a real socket on the stage of daemon_stage.h, to which the test
 * connects, and whose loop it runs itself, round by round. Who connects is this process, played as
 * another user where that matters.
 */
#ifndef COT_TESTS_DOOR_STAGE_H
#define COT_TESTS_DOOR_STAGE_H

#include "daemon_stage.h"

/* The daemon's own user, so that nobody is privileged but root and this one. */
#define STRANGER 4711u

extern _Alignas(8) char packet[COT_PROTO_PACKET_MAX + 1];
extern char folder[64]; /* the runtime folder */
extern int peers[MAX_CONNS + 1];
extern unsigned n_peers;

#define AT_THE_DOOR(test) cmocka_unit_test_setup_teardown(test, open_server, close_server)

int open_server(void **state);
int close_server(void **state);
/* What is there now is served, and again. */
void serve(unsigned rounds);
int dial(void);
/* A connection that is let in, as one of this user's. */
struct conn *enter(uid_t uid, int *ret_fd);
/* From here on it is that process which has connected. */
void stand_in(struct conn *c, pid_t pid);
void say(int fd, void *m, enum cot_msg_type type, size_t size);
/* Says it, and what comes of that is served. The type of the answer, as of hear(). */
int ask(int fd, void *m, enum cot_msg_type type, size_t size);
/* It hangs up, which is served. */
void leave(int fd);
/* The type of what has come, which is in `packet`; 0: nothing; -1: hung up. */
int hear(int fd);
/* The text in it; the status of a RESULT. */
const char *words(void);
int status(void);
/* As on a kernel that lets descriptors through. */
void let_files_through(void);
struct cot_msg_hello hello_of(uint64_t tenant);

#endif
